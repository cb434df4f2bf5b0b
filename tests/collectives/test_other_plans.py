"""Plans of collective operations that claim what does not hold are used nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run


@pytest.fixture(scope="module")
def separated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    shuffle = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl", payload=14, slices=2))
    shuffle.save(folder / "plan.json")
    fl.collectives.plan(fl.Torus(4, 4), "all-gather").save(folder / "gather.json")
    fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Operation("all-gather")).save(folder / "operation.json")
    return folder


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        # The verdict about late packets would be one about other channels than those they begin in.
        (
            "plan",
            lambda data: data["packets"][3].update(channel=5),
            "packets[3].channel: 5 is out of range; a plan whose channels are not separated",
        ),
        (
            "plan",
            lambda data: (data.update(channels=2), data["packets"][7].update(channel=2)),
            "packets[7].channel: 2 is out of range; the plan has 2 virtual channels",
        ),
        ("operation", lambda data: data["operation"].update(root=3), "operation.root: all-gather has none"),
        ("gather", lambda data: data.update(root=1), "root: all-gather has none"),
        ("gather", lambda data: data.update(twist=True), "twist: a 4x4 torus has none"),
        (
            "gather",
            lambda data: data.update(twist=True, topology={"kind": "mesh", "sizes": [4, 8]}),
            "twist: a 4x8 mesh has none",
        ),
    ],
)
def test_what_belongs_to_other_plans_is_refused(file, change, message, separated, tmp_path, capsys):
    data = json.loads((separated / f"{file}.json").read_text())
    change(data)
    (tmp_path / "forged.json").write_text(json.dumps(data))
    assert run(["check", str(tmp_path / "forged.json")]) in (1, 2)
    told = capsys.readouterr()
    assert message in told.out + told.err


def test_failures_on_the_command_line_are_not_ignored(separated, capsys):
    for file in ("plan", "gather"):
        command = ["check", str(separated / f"{file}.json"), "--torus", "4x4"]
        assert run(command) == 0
        for fail in ("node:5", "link:0-1"):
            assert run([*command, "--fail", fail]) == 2
            assert "4x4 torus with 1 failed part" in capsys.readouterr().err
    whole = fl.Torus(4, 4, failed_links=["0-1"])
    plan = fl.plans.search(fl.Network(whole), fl.Packets([[2, 3, 4, 0, 0]]))
    plan.save(separated / "failed.json")
    assert run(["check", str(separated / "failed.json"), "--torus", "4x4", "--fail", "link:(1,0)-(0,0)"]) == 0


def test_what_a_check_of_a_collective_leaves_is_told(separated, capsys):
    file = str(separated / "gather.json")
    assert run(["check", file]) == 0
    assert "seed, version: nothing in the moves says so" in capsys.readouterr().out
    assert run(["check", file, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["not_verified"]) == {"seed", "version"}


def test_plans_of_collectives_that_claim_too_much_are_used_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = fl.collectives.plan(fl.Torus(4, 4), "all-gather")
    good.save(tmp_path / "good.json")
    fields = json.loads((tmp_path / "good.json").read_text())
    moves = json.loads(good.expanded().model_dump_json())
    file = tmp_path / "plan.json"
    for change, problem in [
        ({"sends": fields["sends"][:-4]}, "4 chunks never arrive at a node"),
        ({"steps": fields["steps"] - 1, "bound": fields["steps"] - 1}, "the replay takes"),
        ({"bound": 9}, "its proof shows only 4"),
        ({"optimal": False}, "does not agree"),
        ({**moves, "moves": moves["moves"][1:]}, "does not have the chunk"),
    ]:
        file.write_text(json.dumps({**fields, **change}))
        assert run(["check", str(file)]) == 1
        assert problem in capsys.readouterr().out
        with pytest.raises(fl.SpecError, match=f"does not do what it claims: .*{problem}"):
            fl.collectives.read(file)
        assert not fl.collectives.check(fl.collectives.read(file, checked=False))["passed"]
        for target in ("a.goal", "a.bin", "a.xml", "a.mscclpp.json", "a.et", "a.json"):
            assert run(["convert", str(file), str(tmp_path / target)]) == 2
            assert "does not do what it claims" in capsys.readouterr().err
        assert run(["simulate", str(file)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.json", "plan.json"]
    # A trace with a plan in it is held against it, too.
    assert run(["convert", str(tmp_path / "good.json"), str(tmp_path / "t.et")]) == 0
    assert run(["convert", str(tmp_path / "t.et"), str(tmp_path / "again.json")]) == 0
    (tmp_path / "t.3.et").write_bytes((tmp_path / "t.0.et").read_bytes())
    assert run(["convert", str(tmp_path / "t.et"), str(tmp_path / "wrong.json")]) == 2
