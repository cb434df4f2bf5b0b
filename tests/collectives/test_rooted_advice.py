"""Advice on broadcasts and reductions: pipelines, beside the narrowest cut from the root."""

import json

import networkx as nx
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.commands import run

UNEVEN = fl.Graph(["0-1", "0-2", "1-2", "2-3", "3-4", "3-5", "4-5", "4-5"], nodes=6)


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
@pytest.mark.parametrize("network", [UNEVEN, fl.Torus(3, 4, failed_nodes=[0]), fl.Product("full2*3 x ring3")])
def test_bytes_of_a_root_are_those_over_its_narrowest_cut(network, operation):
    advice = weigh(network, [1024, 2.0**30], 1e-6, 50e9, operation=operation)
    graph = nx.DiGraph()
    for (one, other), several in advice.plan.ground.links.items():
        graph.add_edge(one, other, capacity=several)
    root, *others = advice.plan.members
    ends = [(root, node) if operation == "broadcast" else (node, root) for node in others]
    narrow = min(nx.maximum_flow_value(graph, *pair) for pair in ends)
    assert advice.proof.every == pytest.approx((1 / narrow,))
    best = [advice.algorithms[advice.best(row)] for row in range(2)]
    assert best[0].rounds < best[1].rounds
    assert 1 <= best[1].factor * narrow < 1.06
    for row, one in enumerate(best):
        assert fl.collectives.check(one.plan)["problems"] == []
        assert advice.seconds[row][advice.best(row)] == pytest.approx(
            one.rounds * 1e-6 + one.rounds / one.plan.chunks * advice.sizes[row] / 50e9
        )
        assert advice.bounds[row] <= advice.seconds[row][advice.best(row)]


def test_the_command_for_a_broadcast_makes_the_plan_that_was_advised(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["collective", "advise", "--torus", "4x4", "--operation", "broadcast", "--size", "1MiB"]
    assert run(asked) == 0
    said = capsys.readouterr().out
    command = next(line for line in said.splitlines() if line.startswith("plan of the best"))
    assert run([*command.partition("flitloom ")[2].split(), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert f"{made['microseconds']:.2f}" in said
    assert made["busbw"] == made["algbw"] == pytest.approx(made["bytes"] / made["microseconds"] * 1e6, 1e-4)
    assert run(["recheck", "plan.json"]) == 0
