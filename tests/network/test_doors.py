"""Every kind of input in every verb: it works, or is refused in one message that names it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.commands.actions import validate_doors as doors


@pytest.mark.long
def test_no_door_answers_badly() -> None:
    found = list(doors.cells())
    assert [cell.fields() for cell in found if cell.verdict == doors.BADLY] == []
    counts = Counter(cell.verdict for cell in found)
    assert counts[doors.WORKS] > 300
    # What --network names is an answer, or no network of that kind is known by the verb.
    texts = {given.name for given in doors.INPUTS if given.network == given.name}
    for cell in found:
        if cell.given.name in texts and cell.verdict == doors.REFUSED:
            assert cell.given.name != "4x4", cell.message


@pytest.mark.parametrize(
    ("code", "out", "error"),
    [
        (-1, "", "KeyError: 'nodes'"),
        (1, "", "error: ring.csv: no"),
        (2, "", "error: format: Input should be 1\nchunks: is missing"),
        (2, "", "error: something is wrong"),
        (2, "half a table", "error: ring.csv: no"),
        (2, "", "error: ring.csv" + 500 * "x"),
    ],
)
def test_what_a_bad_door_is(code: int, out: str, error: str) -> None:
    given = next(given for given in doors.INPUTS if given.name == "ring.csv")
    assert doors._judged(given, code, out, error)[0] == doors.BADLY
    assert doors._judged(given, 2, "", "error: ring.csv: is a graph")[0] == doors.REFUSED


def test_another_network_than_was_named_is_bad() -> None:
    given = next(given for given in doors.INPUTS if given.name == "ring.csv")
    here, there = (0, '{"network": "a", "steps": 3}', ""), (0, '{"network": "b", "steps": 4}', "")
    assert doors._compared(given, here, (0, '{"network": "b", "steps": 3}', ""))[0] == doors.WORKS
    assert doors._compared(given, here, there)[0] == doors.BADLY
    # Ports have other names in other files.
    named = [
        (0, f'{{"steps": 3, "judged": [{{"cycle": ["{name}/1"], "premise": "at {name}"}}]}}', "")
        for name in "ab"
    ]
    assert doors._compared(given, *named)[0] == doors.WORKS


def test_a_plan_on_switches_names_its_hosts(tmp_path: Path) -> None:
    file, plan = tmp_path / "star.csv", tmp_path / "plan.json"
    file.write_text("".join(f"gpu{n},switch\n" for n in range(8)))
    made = fl.collectives.plan(str(file), "all-gather")
    assert (made.nodes, made.bound) == (list(range(8)), 8)
    made.save(plan)
    assert fl.Network(plan).nodes == fl.Network(file).nodes == 8
    assert run(["check", str(plan)]) == 0
    assert run(["recheck", str(plan)]) == 0
    durations = {fl.simulate(what, fl.Collective("next")).duration for what in (plan, file)}
    assert len(durations) == 1


def test_a_file_of_cables_is_shown_and_named_to_other_verbs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "pair.csv", tmp_path / "page.html"
    file.write_text("a,b\nc,d\n")
    assert run(["view", str(file), "-o", str(page)]) == 0
    assert page.is_file()
    for verb in (["check"], ["simulate"], ["load", "curve"]):
        assert run([*verb, str(file)]) == 2
        said = capsys.readouterr().err
        assert "is a file that describes a network" in said
        assert "--network" in said
    with pytest.raises(fl.SpecError, match="no way leads from 'a' to 'c', 'd' and back"):
        fl.collectives.plan(f"{file} no hosts", "all-gather")
