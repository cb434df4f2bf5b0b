"""Plans of collective operations on routers: cycles beside steps, who waits for whom."""

import json
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives import simulate as simulate_collective
from flitloom.collectives.transfers import transfers
from flitloom.commands import run
from flitloom.messages import MessageGraph, simulate_messages


@pytest.mark.parametrize(
    ("topology", "operation"),
    [
        (fl.Torus(4, 4), "all-gather"),
        (fl.Torus(4, 4, 4), "broadcast"),
        (fl.Mesh(3, 4), "all-to-all"),
        (fl.Torus(2, 5), "all-reduce"),
        (fl.Torus(5, 5, failed_links=["0-1"], failed_nodes=[12]), "reduce-scatter"),
        (fl.Torus(2, 2, 4, twist=True), "all-gather"),
        (fl.Torus(4, 8, twist=True), "all-to-all"),
        (fl.Torus(4, 4, 8, twist=True), "broadcast"),
        (fl.Torus(3, 6, twist=True, failed_links=["0-1"], failed_nodes=[12]), "all-reduce"),
    ],
)
@pytest.mark.parametrize("ports", [None, 1, 2])
@pytest.mark.parametrize("latency", [1, 3])
def test_chunks_leave_when_they_can(
    topology: fl.Topology, operation: str, ports: int | None, latency: int
) -> None:
    plan = fl.collectives.plan(topology, operation)
    found = simulate_collective(plan, fl.Router(latency=latency), flits=20, packet_payload=12, ports=ports)
    flits = 12 + 1 + 8 + 1
    assert found.flits == flits
    assert found.step_cycles == flits + latency
    moves, entered, arrived = found.transfers, found.injected, found.arrived
    # Every move of the plan, after what it forwards; links carry a flit a cycle, in the plan's order.
    rows = sorted([*plan.expanded().moves, *plan.expanded().sums], key=lambda row: row[:3])
    assert (
        sorted([[one.step, one.start, one.end, *one.block] for one in moves], key=lambda row: row[:3]) == rows
    )
    assert (arrived - entered >= flits + latency - 1).all()
    for number, one in enumerate(moves):
        assert all(arrived[other] < entered[number] for other in one.needs)
        assert one.before < 0 or entered[number] >= entered[one.before] + flits
    # Nothing is received before it is sent: the busiest node bounds the whole.
    into = np.bincount([one.end for one in moves], minlength=topology.nodes)
    ways = found.ports
    assert found.cycles >= -(-int(into.max()) // ways) * flits + latency
    assert found.cycles >= plan.bound * flits + latency
    if ports is None:
        # Chunks meet nowhere, so that every step is over when one chunk and its link are.
        assert found.cycles <= plan.steps * found.step_cycles
        assert not found.for_ports
        assert not found.on_the_way
        # Idle links, counted from the times alone.
        idle = sum(
            max(0, max((int(arrived[other]) + 1 for other in one.needs), default=0)
                - (int(entered[one.before]) + flits if one.before >= 0 else 0))
            for one in moves
        )  # fmt: skip
        assert found.for_chunks.total() == idle
    last = [number for number in range(len(moves)) if arrived[number] == arrived.max()]
    assert found.chain[-1] in last
    assert entered[found.chain[0]] == 0


def test_steps_of_hand() -> None:
    # Four steps of 17 flits and a cycle on the link; a chain of three nodes passes four chunks on.
    assert simulate_collective(fl.collectives.plan(fl.Torus(4, 4), "all-gather")).cycles == 4 * 18
    line = fl.collectives.plan(fl.Mesh(3), "broadcast", chunks=4)
    found = simulate_collective(line, flits=9, packet_payload=9)
    assert (line.steps, found.cycles) == (5, 2 * (10 + 1) + 3 * 10)
    assert [(one.start, one.end) for one in transfers(line)] == [(0, 1)] + [(0, 1), (1, 2)] * 3 + [(1, 2)]
    assert [found.transfers[number].end for number in found.chain] == [1, 1, 1, 1, 2]
    assert dict(found.for_chunks) == {(1, 0): 11}


@pytest.mark.parametrize("operation", ["all-gather", "all-to-all", "all-reduce"])
def test_twisted_tori_and_parallel_links(operation: str) -> None:
    for network in (fl.Torus(4, 4, 8, twist=True), fl.Product("ring3*2 x ring4")):
        plan = fl.collectives.plan(network, operation)
        found = simulate_collective(plan, flits=5, packet_payload=5)
        assert found.ports == 6
        # Every link of the plan's own ground carries its chunks; more than one at a time where it is double.
        used = {(one.start, one.end) for one in found.transfers}
        assert used == set(plan.ground.links)
        assert plan.bound * 6 < found.cycles <= plan.steps * 7
        if operation == "all-gather":
            # Every node gets every other node's chunk, once; each had reached the node that forwards it.
            came = {
                (one.end, one.block): int(time)
                for one, time in zip(found.transfers, found.arrived, strict=True)
            }
            nodes = range(plan.ground.nodes)
            assert sorted((node, block[0]) for node, block in came) == [
                (node, other) for node in nodes for other in nodes if node != other
            ]
            for one, entered in zip(found.transfers, found.injected, strict=True):
                assert one.block[0] == one.start or came[one.start, one.block] < entered


def test_steps_with_latency_run_too() -> None:
    plan = fl.collectives.plan(fl.Mesh(3, 3), "all-gather", latency=2)
    found = simulate_collective(plan, flits=4, packet_payload=4)
    # Every chunk of the plan, no earlier than distance and links allow, no later than the plan's steps.
    assert len(found.transfers) == 9 * 8
    assert 4 * (5 + 1) <= found.cycles <= plan.steps * (5 + 1)


def test_one_port_is_the_message_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, goal, tables = (str(tmp_path / name) for name in ("plan.json", "plan.goal", "tables.json"))
    assert run(["collective", "all-to-all", "--mesh", "3x3", "-o", plan]) == 0
    assert run(["convert", plan, goal, "--chunk-bytes", "256"]) == 0
    capsys.readouterr()
    assert run(["simulate", plan, "--ports", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    totals = simulate_messages(fl.Network(fl.Mesh(3, 3)), MessageGraph.read(goal))
    assert report["cycles"] == totals["cycles"]
    assert report["chunks_sent"] == totals["packets_delivered"]
    assert sum(row["cycles"] for row in report["waits"]) <= report["waited_for_chunks"]
    # Neighbours have one way: tables do not change it, and are used.
    router = ["--flow-control", "bubble", "--buffer", "64", "--channels", "1"]
    assert run(["route", "--mesh", "3x3", "-o", tables]) == 0
    capsys.readouterr()
    assert run(["simulate", goal, "--mesh", "3x3", *router, "--tables", tables, "--json"]) == 0
    routed = json.loads(capsys.readouterr().out)
    assert run(["simulate", goal, "--mesh", "3x3", *router, "--json"]) == 0
    assert routed.pop("tables") == {"method": "balanced", "seed": 1}
    assert json.loads(capsys.readouterr().out) == routed
    assert run(["simulate", goal, "--mesh", "4x3", *router, "--tables", tables]) == 2
    assert capsys.readouterr().err.count("\n") == 1


#: Plans on networks that are no tori or meshes, and whether routers of one cycle know them.
OTHERS = [
    (fl.Product("full4 x ring5"), True),
    (fl.Product("line3 x full4"), True),
    (fl.Product("ring4*2 x full3"), True),
    (fl.Graph.family("tori(4x4;2x2;2)"), False),
    (fl.Graph.family("circulant(16;1,4)"), False),
]


@pytest.mark.parametrize("ports", [None, 1, 2])
@pytest.mark.parametrize("operation", ["all-gather", "all-to-all"])
@pytest.mark.parametrize(("network", "has_one_cycle"), OTHERS, ids=lambda value: str(value))
def test_plans_run_on_products_and_families(
    network, has_one_cycle: bool, operation: str, ports: int | None
) -> None:
    plan = fl.collectives.plan(network, operation)
    for router in (fl.Router(), fl.Router(model="pipelined")):
        if router.model != "pipelined" and not has_one_cycle:
            with pytest.raises(fl.SpecError, match=r"router\.model = pipelined"):
                simulate_collective(plan, router)
            continue
        found = simulate_collective(plan, router, flits=32, ports=ports)
        least = found.step_cycles - 1
        for number, one in enumerate(found.transfers):
            # A chunk leaves when it is there, and goes straight to its neighbour.
            assert all(found.arrived[other] < found.injected[number] for other in one.needs)
            assert found.arrived[number] - found.injected[number] >= least
        assert found.cycles == found.arrived.max() + 1
        if ports is None:
            # Chunks meet nowhere.
            assert found.on_the_way.total() == found.for_ports.total() == 0
            assert found.cycles <= plan.steps * found.step_cycles


def test_plans_on_a_product_of_rings_run_as_on_the_torus() -> None:
    for router in (fl.Router(), fl.Router(model="pipelined")):
        cycles = [
            simulate_collective(fl.collectives.plan(network, "all-gather"), router, flits=32).cycles
            for network in (fl.Product("ring5 x ring4"), fl.Torus(5, 4))
        ]
        assert cycles[0] == cycles[1]


def test_plans_on_other_graphs_run_on_pipelined_routers_only() -> None:
    star = fl.collectives.plan(fl.Graph([(0, 1), (0, 2), (0, 3)], nodes=4), "all-gather")
    with pytest.raises(fl.SpecError, match="routers of one cycle do not know"):
        simulate_collective(star, fl.Router())
    # All four pieces reach all four nodes.
    assert simulate_collective(star, fl.Router(model="pipelined")).cycles > star.steps


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ports", "5"], "ports: 5; a node has 1 to 4"),
        (["--flits", "0"], "flits, packet_payload"),
        (["--torus", "4x4"], "the plan is for a 3x3 mesh"),
        (["--flow-control", "cut-through"], "router.buffer is 4 flits"),
        (["--pattern", "shfl"], "brings its own traffic"),
    ],
)
def test_what_routers_do_not_have(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = str(tmp_path / "plan.json")
    assert run(["collective", "all-gather", "--mesh", "3x3", "-o", plan]) == 0
    capsys.readouterr()
    assert run(["simulate", plan, *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert run(["simulate", "--torus", "4x4", "--pattern", "next", "--ports", "2"]) == 2


def test_a_twisted_plan_is_for_the_twisted_torus(tmp_path, capsys):
    file = tmp_path / "plan.json"
    fl.collectives.plan(fl.Torus(2, 2, 4, twist=True), "all-gather").save(file)
    named = [str(file), "--torus", "2x2x4"]
    for command in ("check", "simulate"):
        assert run([command, *named]) == 2
        assert "for a 2x2x4 twisted torus, not for a 2x2x4 torus" in capsys.readouterr().err
        assert run([command, *named, "--twist"]) == 0
        capsys.readouterr()
    assert run(["check", str(file), "--twist"]) == 2
    assert "no torus is named" in capsys.readouterr().err
