"""Placements of traffic in phases: the sum of the busiest channels, its bound, and all that reads it."""

from __future__ import annotations

import importlib.util
import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import flitloom as fl
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.placing import Placement, Traffic, axes_traffic, pairs_traffic, parse_axes, place
from flitloom.placing import check as check_placement
from flitloom.placing.checking import PROGRAM
from flitloom.placing.phases import in_phases, read_phases
from flitloom.placing.placement import written_topology
from flitloom.placing.running import as_packets
from flitloom.placing.search import _Task, problem_of
from flitloom.placing.seats import seats_of

AXES = "tensor=8:a2a:1,data=4:ring:8,pipe=2:line:3"


def sums(topology: fl.Topology, parts: list[Traffic], nodes: NDArray[np.int64]) -> int:
    """The sum over phases of the busiest channel, as the core counts it."""
    slots = range(topology.nodes)
    loads = [problem_of(topology, part, slots).loads(nodes.astype(np.uint32)) for part in parts]
    return sum(one[1][0] for one in loads)


def optimum(topology: fl.Topology, parts: list[Traffic]) -> tuple[int, list[int]]:
    """The least sum of all placements, and the least of each phase alone, by the routes of the checker."""
    spec = importlib.util.spec_from_file_location("recheck", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    board, number = program.Board(written_topology(topology)), {}
    ways = np.zeros(
        (topology.nodes, topology.nodes, 2 * topology.nodes * len(topology.sizes)), dtype=np.int32
    )
    for a, b in permutations(range(topology.nodes), 2):
        for channel in board.way(a, b):
            ways[a, b, number.setdefault(channel, len(number))] = 1
    nodes = np.array(list(permutations(range(topology.nodes), parts[0].ranks)))
    busiest = []
    for part in parts:
        loads = np.zeros((len(nodes), ways.shape[2]), dtype=np.int32)
        for a, b, amount in zip(part.sources, part.destinations, part.bytes.tolist(), strict=True):
            loads += amount * ways[nodes[:, a], nodes[:, b]]
        busiest.append(loads.max(axis=1))
    return int(sum(busiest).min()), [int(each.min()) for each in busiest]


#: Network, axes, phases.
SMALL = [
    (fl.Torus(2, 4), "t=2:a2a:3,d=4:ring:2", "t,d"),
    (fl.Torus(8), "t=4:a2a:1,d=2:ring:5", "t,d"),
    (fl.Torus(4, 2), "t=4:a2a:2,d=2:ring:3", "d,t"),
    (fl.Torus(2, 2, 2), "t=2:ring:4,d=2:a2a:3,p=2:line:1", "t+p,d"),
    (fl.Mesh(2, 4), "t=4:ring:5,d=2:ring:3", "t,d"),
    (fl.Mesh(7), "t=3:a2a:2,d=2:ring:3", "t,d"),
    (fl.Torus(2, 3), "t=3:a2a:1,d=2:ring:5", "t,d"),
    (fl.Torus(7), "t=3:ring:4,d=2:line:7", "t,d"),
]


@pytest.mark.parametrize(("topology", "axes", "phases"), SMALL, ids=str)
def test_every_placement_of_few_ranks(tmp_path: Path, topology: fl.Topology, axes: str, phases: str) -> None:
    traffic = axes_traffic(parse_axes(axes))
    parts = list(in_phases(traffic, read_phases(phases, traffic.axes)))
    least, alone = optimum(topology, parts)
    found = place(topology, traffic, phases=phases, effort=2)
    assert found.busiest_channel == sums(topology, parts, found.nodes)
    assert found.bound <= least <= found.busiest_channel
    assert found.busiest_channel == least
    assert all(phase.bound <= best for phase, best in zip(found.phases, alone, strict=True))
    assert found.bound >= sum(phase.bound for phase in found.phases)
    found.save(tmp_path / "p.json")
    assert check_placement(tmp_path / "p.json").problem is None


@pytest.fixture(scope="module")
def placed() -> Placement:
    traffic = axes_traffic(parse_axes(AXES))
    return place(fl.Torus(4, 4, 4), traffic, phases="tensor,data+pipe", effort=4)


def test_a_placement_says_what_every_phase_has(placed: Placement) -> None:
    parts = list(in_phases(placed.traffic, (("tensor",), ("data", "pipe"))))
    assert [phase.name for phase in placed.phases] == ["tensor", "data+pipe"]
    for phase, part in zip(placed.phases, parts, strict=True):
        loads, (busiest, count, _), port = problem_of(placed.topology, part, range(64)).loads(
            placed.nodes.astype(np.uint32)
        )
        assert (phase.busiest_channel, phase.channels_at_maximum) == (busiest, count)
        assert phase.busiest_port == port
        assert phase.loads.tolist() == loads.tolist()
    assert placed.busiest_channel == sum(phase.busiest_channel for phase in placed.phases)
    assert placed.busiest_port == sum(phase.busiest_port for phase in placed.phases)
    assert placed.row_major["busiest_channel"] == sum(phase.row_major for phase in placed.phases) == 38
    assert placed.hop_bytes == placed.loads.sum() == sum(phase.loads.sum() for phase in placed.phases)
    assert placed.bound_proof == {"kind": "phases"}
    assert placed.bound == 3 + 8 <= placed.busiest_channel <= 12


def test_phases_are_placed_better_than_all_at_once() -> None:
    traffic = axes_traffic(parse_axes("t=4:a2a:3,d=9:ring:7"))
    torus = fl.Torus(6, 6)
    parts = list(in_phases(traffic, (("t",), ("d",))))
    at_once = place(torus, traffic, effort=20)
    found = place(torus, traffic, phases="t,d", effort=20)
    assert found.busiest_channel < sums(torus, parts, at_once.nodes)
    assert found.spent <= 20_000_000


def test_one_phase_is_all_at_the_same_time() -> None:
    traffic = axes_traffic(parse_axes("a=4:a2a:1,b=4:ring:4"))
    plain = place(fl.Torus(4, 4), traffic, effort=1)
    found = place(fl.Torus(4, 4), traffic, phases=[["b", "a"]], effort=1)
    assert found == plain
    assert "phases" not in found.facts()
    assert place(fl.Torus(4, 4), traffic, phases="a,b", effort=1) != plain


def test_the_same_seed_gives_the_same_placement() -> None:
    traffic = axes_traffic(parse_axes("t=4:a2a:3,d=9:ring:7"))
    one, other = (place(fl.Torus(6, 6), traffic, phases="t,d", effort=3, seed=5) for _ in range(2))
    assert one.nodes.tolist() == other.nodes.tolist()
    assert one.spent == other.spent


@pytest.mark.parametrize(
    ("topology", "options"),
    [
        (fl.Torus(4, 4, failed_links=[(0, 1)], failed_nodes=[9]), {}),
        (fl.Torus(4, 4), {"routing": "balanced"}),
        (fl.Torus(4, 8, twist=True), {"nodes": [*range(10), *range(20, 30)]}),
        (fl.Product("full4 x ring4"), {}),
        (fl.Mesh(3, 4), {"per_node": 2}),
        ("dragonfly(3,2,2)", {}),
        ("fattree(4)", {}),
        (fl.Torus(4, 4), {"minimise": "hops"}),
        (fl.Torus(4, 4), {"minimise": "time"}),
    ],
    ids=str,
)
def test_phases_on_every_kind_of_network(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    topology: fl.Topology | str,
    options: dict[str, object],
) -> None:
    traffic = axes_traffic(parse_axes("t=4:a2a:64,d=3:ring:96"))
    found = place(topology, traffic, phases="t,d", effort=1, **options)  # type: ignore[arg-type]
    file = tmp_path / "p.json"
    found.save(file)
    assert check_placement(file).problem is None
    assert run(["recheck", str(file)]) == 0
    shown = seats_of(json.loads(file.read_text()))
    busiest = [f"{phase.busiest_channel} bytes" for phase in found.phases]
    assert [one.facts["busiest channel"] for one in shown if one.title.startswith("placed")] == busiest
    capsys.readouterr()
    assert run(["simulate", "--placement", str(file), "--json"]) == 0
    out, err = capsys.readouterr()
    duration = json.loads(out)["duration"]
    assert "phases begin at cycles 0, " in err
    assert int(err.split(", ")[-1].split()[0]) < duration
    if found.minimised == "time":
        assert found.reached == duration >= found.bound


def test_phases_are_simulated_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], placed: Placement
) -> None:
    file = tmp_path / "p.json"
    placed.save(file)
    parts = list(in_phases(placed.traffic, (("tensor",), ("data", "pipe"))))
    network = fl.Network(placed.topology)
    alone = [fl.simulate(network, as_packets(part, placed.nodes)).duration for part in parts]
    assert run(["simulate", "--placement", str(file), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["duration"] == sum(alone)
    assert err == f"phases begin at cycles 0, {alone[0]}\n"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda p: p.update(busiest_channel=p["phases"][1]["busiest_channel"]), "busiest_channel: the file"),
        (lambda p: p["phases"][0].update(busiest_channel=1), "phases.0.busiest_channel: the file says 1"),
        (lambda p: p["phases"][0].update(channels_at_maximum=1), "phases.0.channels_at_maximum: the file"),
        (
            lambda p: p["phases"][1].update(bound=9),
            "phases.1.bound: the file says 9, its certificate proves 8",
        ),
        (lambda p: p.update(bound=12), "bound: the file says 12, its certificate proves 11"),
        (lambda p: p["phases"][1].update(axes=["data"]), "every axis of the traffic is in one"),
        (lambda p: p["phases"][1].update(axes=["data", "data"]), "every axis of the traffic is in one"),
        (lambda p: p.pop("phases"), "channels_at_maximum: the file says 320, the ways say"),
        (lambda p: p.update(hop_bytes_certificate={"kind": "phases"}), "a certificate of phases is about"),
    ],
)
def test_the_check_refuses_what_does_not_hold_of_phases(
    tmp_path: Path, placed: Placement, change: object, told: str
) -> None:
    document = placed.document()
    change(document)  # type: ignore[operator]
    file = tmp_path / "p.json"
    file.write_text(json.dumps(document))
    assert told in str(check_placement(file).problem)


@pytest.mark.parametrize(
    ("phases", "told"),
    [
        ("tensor,data", "axis 'pipe' is left out"),
        ("tensor,data+pipe,tensor", "axis 'tensor' is there twice"),
        ("tensor,data+pipes+pipe", "there is no axis 'pipes'; there are tensor, data, pipe"),
        ("tensor,,data+pipe", "there is no axis ''"),
        ("", "there is no axis ''"),
    ],
)
def test_bad_phases_are_refused(capsys: pytest.CaptureFixture[str], phases: str, told: str) -> None:
    assert run(["place", "--torus", "4x4x4", "--axes", AXES, "--phases", phases]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "--phases: " in err
    assert told in err


def test_phases_belong_to_axes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["place", "--torus", "4x4", "--stencil", "4x4", "--phases", "a,b"]) == 2
    assert "--phases: names axes; give the traffic as --axes" in capsys.readouterr().err
    for other in ("--shape", "4x4"), ("--jobs", "jobs.toml"):
        assert run(["place", "--torus", "4x4", *other, "--phases", "a,b"]) == 2
        assert "--phases" in capsys.readouterr().err
    with pytest.raises(SpecError, match="a phase has no axis"):
        place(fl.Torus(2), axes_traffic(parse_axes("a=2:ring:1")), phases=[["a"], []])
    with pytest.raises(SpecError, match="names axes"):
        place(fl.Torus(2), pairs_traffic(2, [(0, 1, 1)]), phases="a")


def test_ctrl_c_keeps_the_best_of_the_searches_before(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = axes_traffic(parse_axes("t=4:a2a:3,d=9:ring:7"))
    search, calls = _Task.search, []

    def pressed(task: _Task, *rest: object) -> dict[str, object]:
        calls.append(1)
        return search(task, *rest) | {"interrupted": len(calls) == 2}  # type: ignore[arg-type]

    monkeypatch.setattr(_Task, "search", pressed)
    found = place(fl.Torus(6, 6), traffic, phases="t,d", effort=2)
    assert calls == [1, 1]
    assert found.interrupted
    assert found.busiest_channel < found.row_major["busiest_channel"]


def test_phases_that_need_no_channel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    # Both ranks of a pair share a node, and an axis of one rank has nothing to send.
    traffic = axes_traffic(parse_axes("a=2:a2a:1000,one=1:ring:5,b=4:ring:64"))
    for minimise in ("channel", "time"):
        found = place(
            fl.Torus(4), traffic, phases="a,one,b", per_node=2, nodes=range(4), effort=1, minimise=minimise
        )
        assert [phase.busiest_channel for phase in found.phases] == [0, 0, 128]
        found.save(file)
        assert check_placement(file).problem is None
        assert run(["simulate", "--placement", str(file), "--json"]) == 0
        out, err = capsys.readouterr()
        assert err == "phases begin at cycles 0\n"
        assert found.duration in (None, json.loads(out)["duration"])
    place(fl.Torus(4), axes_traffic(parse_axes("a=1:ring:5,b=1:ring:5")), phases="a,b").save(file)
    assert run(["simulate", "--placement", str(file)]) == 2
    assert "has no bytes between different nodes" in capsys.readouterr().err
