"""Links with a latency of their own: what rounds take is counted anew, route by route."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom.collectives.advice import IN_ROUNDS, weigh
from flitloom.collectives.grouped_advice import weigh_groups
from flitloom.collectives.making import from_messages
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_hops import messages_by_round
from flitloom.collectives.rounds_plan import RoundsPlan
from flitloom.collectives.transfers import transfers
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.placing import axes_traffic, parse_axes, place
from flitloom.placing.timed import microseconds
from flitloom.programs.recheck import verified_rounds
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.machine import Machine
from flitloom.spec.speeds import latencies_of

NETWORKS: list[AnyNetwork] = [
    fl.Torus(4, 3),
    fl.Torus(4, 4, failed_nodes=[5]),
    fl.Mesh(3, 2),
    fl.Product("full3 x ring4"),
    fl.Torus(2, 2, 4, twist=True),
    fl.Graph(["0-4", "1-4", "2-5", "3-5", "4-5"], nodes=6, hosts=[0, 1, 2, 3]),
]
SLOW = {0: {"x": 2e-6}, 1: {"y": 3e-6, "0-1": 1e-6}, 2: {"0-1": 5e-6}, 3: {"x": 1e-6, "y": 4e-6}}


def _of(number: int) -> dict[tuple[int, int], float]:
    network = NETWORKS[number]
    named = SLOW.get(number, {"0-4": 2e-6})
    links = {name: {"latency": f"{1e6 * value:g}us"} for name, value in named.items()}
    return latencies_of(network, Machine.model_validate({"links": links}))


def _routes(links: set[tuple[int, int]], start: int, end: int) -> list[list[int]]:
    """All minimal routes, found by lengthening all of them at once."""
    found = [[start]]
    while not any(route[-1] == end for route in found):
        found = [[*route, b] for route in found for a, b in links if a == route[-1]]
    return [route for route in found if route[-1] == end]


def _counted(ground: Ground, pairs: set[tuple[int, int, int]], slow: dict[tuple[int, int], float]) -> float:
    """Seconds of the slowest routes of all rounds."""
    links = {*ground.links}

    @cache
    def slowest(start: int, end: int) -> float:
        return max(
            sum(slow.get(link, 0.0) for link in pairwise(route)) for route in _routes(links, start, end)
        )

    found: defaultdict[int, float] = defaultdict(float)
    for turn, start, end in pairs:
        found[turn] = max(found[turn], slowest(start, end))
    return sum(found.values())


def _refused(document: dict[str, Any]) -> str:
    try:
        verified_rounds(document)
    except Exception as error:
        return str(error)
    return ""


@pytest.mark.parametrize("operation", [*IN_ROUNDS, "broadcast", "reduce"])
@pytest.mark.parametrize("number", range(len(NETWORKS)))
def test_every_row_takes_what_its_slowest_routes_take(number: int, operation: str) -> None:
    network, slow = NETWORKS[number], _of(number)
    message = None if number % 2 else 0.0
    cost = (2.0**16, 1e-6, 5e10)
    advice = weigh(network, [cost[0]], *cost[1:], operation=operation, message=message, latencies=slow)
    plain = weigh(network, [cost[0]], *cost[1:], operation=operation, message=message)
    for row, one in enumerate(advice.algorithms):
        taken = advice.seconds[0][row]
        if one.messages is not None:
            plan = from_messages(advice, one, one.messages(), *cost)
            pairs = {
                (turn, sent.start, sent.end)
                for turn, messages in enumerate(messages_by_round(plan))
                for sent in messages
            }
            assert plan.seconds == pytest.approx(taken, rel=1e-9)
            report = check_rounds(RoundsPlan(**plan.model_dump()))
            assert report["problems"] == []
            assert report["microseconds"] == pytest.approx(1e6 * taken, abs=1e-4)
            document = json.loads(json.dumps(plan.model_dump()))
            assert verified_rounds(document)[0]["microseconds"] == pytest.approx(1e6 * taken)
        else:
            assert one.plan is not None
            pairs = {(sent.step, sent.start, sent.end) for sent in transfers(one.plan)}
        further = _counted(Ground(network), pairs, slow)
        assert taken - plain.seconds[0][row] == pytest.approx(further, abs=1e-12), one.name
        assert taken >= advice.bounds[0] * (1 - 1e-9)
    assert plain.bounds[0] <= advice.bounds[0]


def test_the_farthest_two_bound_every_plan() -> None:
    """From one end of a line to the other three hops of 2 us and two of 5 us pass."""
    slow = {(a, b): 5e-6 if min(a, b) < 2 else 2e-6 for a, b in Ground(fl.Mesh(6)).links}
    for message in (None, 0.0):
        advice = weigh(fl.Mesh(6), [1.0], 1e-6, 5e10, operation="all-gather", message=message, latencies=slow)
        best = advice.seconds[0][advice.best(0)]
        assert advice.bounds[0] >= 16e-6
        assert best >= advice.bounds[0]
    # In one round all send straight to all.
    assert best == pytest.approx(17e-6, rel=1e-3)


@cache
def _made(number: int) -> str:
    advice = weigh(NETWORKS[number], [4096.0], 1e-6, 5e10, latencies=_of(number))
    one = advice.algorithms[0]
    assert one.messages is not None
    return json.dumps(from_messages(advice, one, one.messages(), 4096.0, 1e-6, 5e10).model_dump())


@pytest.mark.parametrize("number", range(4))
def test_plans_that_say_less_are_refused(number: int) -> None:
    good = json.loads(_made(number))
    assert not _refused(good)
    rows = good["latencies"]
    halved = [[a, b, value / 2] for a, b, value in rows]
    for forged in ([], [*rows, rows[0]], [*rows, [0, 0, 1e-6]], halved):
        wrong = good | {"latencies": forged}
        assert check_rounds(RoundsPlan(**wrong))["problems"], forged
        assert _refused(wrong), forged
    more = good | {"bound": good["bound"] * 1.001}
    assert any("bound" in one for one in check_rounds(RoundsPlan(**more))["problems"])
    assert "bound" in _refused(more)


def test_groups_have_the_latencies_of_their_own_links() -> None:
    torus = fl.Torus(4, 2)
    slow = {(4, 5): 3e-6, (5, 4): 3e-6}
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    advice = weigh_groups(torus, groups, [1024.0], 1e-6, 5e10, latencies=slow)
    assert [one.groups for one in advice.kinds] == [((0, 1, 2, 3),), ((4, 5, 6, 7),)]
    plain, other = (one.advice for one in advice.kinds)
    assert other.seconds[0][other.best(0)] >= plain.seconds[0][plain.best(0)] + 3e-6
    assert advice.slowest(0).advice is other


MACHINE = '[links]\nx = {latency = "2us", bandwidth = "100GB/s"}\n'


@pytest.mark.parametrize(
    "words",
    [
        "simulate p.json --machine m.toml",
        "convert p.json p.goal --machine m.toml",
        "simulate q.goal --torus 4 --machine m.toml",
        "place --torus 4x4 --axes data=16:ring:8 --machine m.toml",
        "place --torus 4x4 --jobs jobs.toml --machine m.toml",
    ],
)
def test_what_knows_one_latency_refuses_others_by_name(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(MACHINE)
    Path("jobs.toml").write_text('[[job]]\nname = "a"\nshape = "4x2"\naxes = "all=8:ring:65536"\n')
    Path("q.goal").write_text("num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n")
    plan = "collective all-gather --torus 4x4 --algorithm best --size 4KiB --machine m.toml -o p.json"
    assert run(plan.split()) == 0
    capsys.readouterr()
    assert run(words.split()) == 2
    assert capsys.readouterr().err.startswith("error: machine.links.x.latency: ")


def test_python_refuses_them_too() -> None:
    machine = Machine.model_validate({"links": {"x": {"latency": "2us"}}})
    traffic = axes_traffic(parse_axes("data=16:ring:8"))
    with pytest.raises(SpecError, match="one latency"):
        microseconds(place(fl.Torus(4, 4), traffic, effort=1), machine)
    with pytest.raises(SpecError, match="one latency"):
        machine.set_clock({})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = {}", "says nothing"),
        ("x = 3", "not a text"),
        ('x = {latency = "2"}', "not understood"),
        ("x = {latency = 2}", "not a text"),
        ('x = {latency = "1us", hops = 1}', "unknown field"),
        ('z = {latency = "1us"}', "2 dimensions"),
        ('"0-7" = {latency = "1us"}', "neither a dimension nor a cable"),
    ],
)
def test_wrong_classes_end_in_one_message(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.toml"
    file.write_text(f"[links]\n{text}\n")
    assert run(["collective", "advise", "--torus", "4x4", "--machine", str(file)]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert why in told


def test_advice_prints_the_latency_of_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(MACHINE)
    advise = "collective advise --torus 4x4 --size 1KiB:1KiB --machine m.toml"
    assert run(advise.split()) == 0
    printed = capsys.readouterr().out
    assert "latency us" in printed.splitlines()[0]
    command = next(line for line in printed.splitlines() if "plan of the best" in line).partition(": ")[2]
    said = next(line for line in printed.splitlines() if line.startswith("1KiB")).split()
    assert run([*command.split()[1:], "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert f"{facts['microseconds']:.2f}".rstrip("0").rstrip(".") in said


def test_a_cable_overrules_its_dimension() -> None:
    machine = Machine.model_validate({"links": {"x": {"latency": "2us"}, "0-1": {"latency": "0s"}}})
    slow = latencies_of(fl.Torus(3, 2), machine)
    assert (0, 1) not in slow
    assert slow[1, 2] == slow[3, 4] == 2e-6
