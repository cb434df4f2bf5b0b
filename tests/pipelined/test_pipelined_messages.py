"""Message graphs and plans of collective operations on pipelined routers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.run import simulate_collective
from flitloom.commands import run
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.networks.fabric import Fabric
from flitloom.networks.pipelined import timing

PIPELINED = fl.Router(model="pipelined")
#: A message from one rank to another, which computes and answers.
PING = """num_ranks 2
rank 0 {
l1: send 112b to 1 tag 0
l2: recv 112b from 1 tag 1
}
rank 1 {
l1: recv 112b from 0 tag 0
l2: calc 100
l3: send 112b to 0 tag 1
l2 requires l1
l3 requires l2
}
"""


def alone(router: fl.Router, hops: int, flits: int) -> int:
    """Cycles from the start of an unhindered packet to the arrival of its tail."""
    takes = timing(router)
    stages = takes["router"]
    return (hops + 1) * stages + hops * takes["latency"] + 4 + flits - 1


@pytest.mark.parametrize("fields", [{}, {"latency": 3, "routing_delay": 0}, {"speculative": True}])
@pytest.mark.parametrize(
    ("topology", "nodes", "hops"),
    [
        (fl.Torus(4, 4), [0, 10], 4),
        (fl.Mesh(3, 2, 2), [11, 0], 4),
        (fl.Product("ring5 x full4"), [0, 6], 2),
        # Two hosts at a switch, and two in different groups.
        (Fabric(network="dragonfly(4,2,2)"), [0, 1], 0),
        (Fabric(network="dragonfly(4,2,2)"), [0, 71], None),
    ],
)
def test_an_answer_takes_the_time_of_the_way_and_back(fields, topology, nodes, hops):
    router = fl.Router(model="pipelined", **fields)
    network = fl.Network(topology, router)
    found = simulate_messages(network, MessageGraph(PING), nodes=nodes)
    # Seven flits and a header each; the message is received in the cycle behind its arrival.
    there = found["flit_hops"] // 16 if hops is None else hops
    assert found["flit_hops"] == 16 * there
    assert found["duration"] == 2 * alone(router, there, 8) + 1 + 100


def test_threads_change_nothing() -> None:
    phase = [(rank, (7 * rank + 5) % 144, 200) for rank in range(144)]
    graph = MessageGraph.steps(144, [(phase, 30), (phase, 0)])
    network = fl.Network(fl.Torus(12, 12), PIPELINED)
    one = simulate_messages(network, graph)
    assert one["parts"] == 1
    assert simulate_messages(network, graph, threads=5) == {**one, "parts": 2}


@pytest.mark.parametrize("where", ["--torus 4x4", "--mesh 4x4", "--network ring4*4", "--network fattree(4)"])
def test_verbs_run_what_python_runs(where, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    steps = [
        ([(int(a), int(b), int(size)) for a, b, size in rng.integers(0, 16, (30, 3)) * (1, 1, 90)], cycles)
        for cycles in (0, 40, 0)
    ]
    graph = MessageGraph.steps(16, steps)
    (tmp_path / "t.goal").write_text(graph.text)
    option, name = where.split(" ", 1)
    # Four parallel links are a name of switches, whose hosts are its nodes.
    name = name.replace("ring4*4", "ring4 x ring4")
    topology = {"--torus": fl.Torus(4, 4), "--mesh": fl.Mesh(4, 4)}.get(option) or Fabric(network=name)
    words = ["simulate", str(tmp_path / "t.goal"), "--model", "pipelined", option, name, "--buffer", "4"]
    assert run([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    network = fl.Network(topology, fl.Router(model="pipelined", buffer=4))
    totals = simulate_messages(network, graph)
    assert facts["fingerprint"] == f"{totals['fingerprint']:016x}"
    assert facts["duration"] == totals["duration"]
    # Every flit is there, and no phase is done sooner than its busiest node sends.
    flits = [[-(-size // 16) for _, _, size in messages] for messages, _ in steps]
    heads = [[max(1, -(-count // 16)) for count in part] for part in flits]
    assert totals["flits_delivered"] == sum(map(sum, flits)) + sum(map(sum, heads))
    sent = [
        max(sum(f + h for f, h, one in zip(part, head, messages, strict=True) if one[0] == node)
            for node in range(16))
        for part, head, (messages, _) in zip(flits, heads, steps, strict=True)
    ]  # fmt: skip
    assert totals["duration"] > max(sent) + alone(PIPELINED, 0, 1)
    assert simulate_messages(network, graph, threads=2) == totals
    assert run(words) == 0
    assert "cycles from generation to arrival" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--network dragonfly(4,2,2) --model one-cycle", "topology.network: has switches with hosts"),
        ("--network line2 --model pipelined", "t.goal: 3 ranks, the network has 2 nodes"),
        ("--torus 4x4 --model pipelined --routing ugal", "router.routing: ugal is not known with pipelined"),
        ("--torus 4x4 --model pipelined --cycle-limit 20", "not finished after 20 cycles"),
        ("--torus 4x4 --model pipelined --threads 0", "threads: 0 is out of range"),
    ],
)
def test_what_cannot_run_is_told(words, message, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = MessageGraph.exchange(3, [(0, 1, 1600), (1, 2, 1600)])
    (tmp_path / "t.goal").write_text(graph.text)
    assert run(["simulate", str(tmp_path / "t.goal"), *words.split()]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_ranks_that_wait_for_each_other_are_named() -> None:
    rank = "rank {0} {{\na: recv 8b from {1} tag 0\nb: send 8b to {1} tag 0\nb requires a\n}}\n"
    graph = MessageGraph("num_ranks 2\n" + rank.format(0, 1) + rank.format(1, 0))
    said = []
    for router in (PIPELINED, fl.Router()):
        with pytest.raises(fl.SpecError, match="4 operations can never start") as caught:
            simulate_messages(fl.Network(fl.Torus(4), router), graph)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_tables_of_packets_are_refused() -> None:
    tables = fl.tables.make(fl.Torus(4))
    with pytest.raises(
        fl.SpecError, match=r"router.model: is pipelined, and source routes are for routers of one cycle"
    ):
        simulate_messages(fl.Network(fl.Torus(4), PIPELINED), MessageGraph(PING), tables=tables)


@pytest.mark.parametrize("ports", [None, 1])
@pytest.mark.parametrize("topology", [fl.Torus(4, 4), fl.Mesh(3, 3)])
def test_plans_keep_their_order(topology, ports) -> None:
    plan = fl.collectives.plan(topology, "all-gather")
    found = simulate_collective(plan, PIPELINED, flits=32, packet_payload=16, ports=ports)
    assert found.step_cycles == alone(PIPELINED, 1, 34) + 1
    for number, one in enumerate(found.transfers):
        # A chunk leaves when it is there, and not faster than one flit per cycle.
        assert all(found.arrived[other] < found.injected[number] for other in one.needs)
        assert found.arrived[number] - found.injected[number] >= alone(PIPELINED, 1, 34)
    assert found.cycles == found.arrived.max() + 1
    count = len(found.transfers)
    assert sorted({(one.end, one.block) for one in found.transfers}) == sorted(
        (one.end, one.block) for one in found.transfers
    )
    assert count == topology.nodes * (topology.nodes - 1)
    if ports is None:
        # Chunks meet nowhere: each waits for others, or is as fast as alone.
        assert found.for_ports.total() == 0


def test_one_port_is_the_message_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, goal = str(tmp_path / "plan.json"), str(tmp_path / "plan.goal")
    assert run(["collective", "all-to-all", "--mesh", "3x3", "-o", plan]) == 0
    assert run(["convert", plan, goal, "--chunk-bytes", "256"]) == 0
    capsys.readouterr()
    assert run(["simulate", plan, "--model", "pipelined", "--ports", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    totals = simulate_messages(fl.Network(fl.Mesh(3, 3), PIPELINED), MessageGraph.read(goal))
    assert report["cycles"] == totals["duration"] + 1
    assert report["chunks_sent"] == totals["packets_delivered"]
