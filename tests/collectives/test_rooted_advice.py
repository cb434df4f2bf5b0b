"""Advice on broadcasts and reductions: pipelines, beside the narrowest cut from the root."""

import json
import shlex

import networkx as nx
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.reading import read_collective
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


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_a_root_is_the_node_that_is_named(operation, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Node 3 joins two parts; the first node has two cables and node `tail` one.
    (tmp_path / "cables.csv").write_text("a,b\na,c\nb,c\nc,mid\nmid,tail\nmid,tail\n")
    where = ["--graph", "cables.csv", "--no-hosts"]
    sized = ["--size", "1MiB", "--root", "mid"]
    assert run(["collective", "advise", *where, "--operation", operation, *sized]) == 0
    said = capsys.readouterr().out
    command = next(line for line in said.splitlines() if line.startswith("plan of the best"))
    assert run([*shlex.split(command.partition("flitloom ")[2]), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert f"{made['microseconds']:.2f}" in said
    plan = read_collective("plan.json")
    assert plan.ground.topology.node_names[plan.root] == "mid"
    assert run(["check", "plan.json"]) == run(["recheck", "plan.json"]) == 0
    capsys.readouterr()
    for asked in (
        ["collective", "advise", *where, "--operation", operation, "--root", "mit"],
        ["collective", operation, *where, "--algorithm", "best", "--size", "1MiB", "--root", "mit"],
        ["collective", operation, *where, "--root", "mit"],
    ):
        assert run(asked) == 2
        assert "--root: no node is called 'mit'; did you mean 'mid'?" in capsys.readouterr().err


def test_bytes_of_a_named_root_are_those_over_its_narrowest_cut():
    line = fl.Graph(["0-1", "0-1", "1-2"], nodes=3)
    # Each root has a neighbour or itself behind the single cable.
    by_root = [weigh(line, [2.0**30], 1e-6, 50e9, operation="broadcast", root=root) for root in range(3)]
    assert [advice.plan.root for advice in by_root] == [0, 1, 2]
    assert [advice.proof.every for advice in by_root] == [(1.0,)] * 3
    wide = fl.Graph(["0-1", "0-1", "1-2", "0-2", "2-3"], nodes=4, hosts=[0, 1, 3])
    assert weigh(wide, [1.0], 1e-6, 50e9, operation="reduce", root=3).proof.every == (1.0,)
    assert weigh(wide, [1.0], 1e-6, 50e9, operation="reduce", root=1).plan.root == 1
    mesh = fl.Mesh(3, 3)
    corner, middle = (
        weigh(mesh, [1.0], 1e-6, 50e9, operation="broadcast", root=root).algorithms[0].rounds
        for root in (0, 4)
    )
    assert (corner, middle) == (4, 2)
    given = fl.collectives.advise(mesh, [1.0], operation="broadcast", root=4)
    assert given.rounds.values[0] == 2


@pytest.mark.parametrize("operation", ["broadcast", "reduce", "scatter", "gather"])
def test_the_root_is_the_first_node_that_takes_part(operation):
    assert fl.collectives.plan(fl.Torus(3, 3, failed_nodes=[0]), operation).root == 1
    assert fl.collectives.plan(fl.Torus(3, 3), operation, nodes=[7, 5]).root == 5
    star = fl.Graph(["0-3", "1-3", "2-3"], nodes=4, hosts=[1, 2])
    assert fl.collectives.plan(star, operation).root == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fail", "node:0", "--root", "0"], "root: node 0 has failed; name one that takes part"),
        (["--nodes", "1,2", "--root", "3"], "root: node 3 does not take part; name one that takes part"),
        (["--root", "9"], "nodes are 0 to 8"),
    ],
)
def test_a_root_that_takes_no_part_is_refused(options, message, capsys):
    assert run(["collective", "broadcast", "--torus", "3x3", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_switch_is_no_root_and_named_as_its_file_does(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "star.csv").write_text("g0,sw\ng1,sw\ng2,sw\n")
    for more in ([], ["--algorithm", "best", "--size", "1KiB"]):
        assert run(["collective", "reduce", "--graph", "star.csv", "--root", "sw", *more]) == 2
        assert "root: node 'sw' does not take part" in capsys.readouterr().err


def test_an_operation_without_a_root_takes_none(capsys):
    for asked in (["advise"], ["all-gather", "--algorithm", "best", "--size", "1MiB"]):
        assert run(["collective", *asked, "--torus", "4", "--root", "1"]) == 2
        assert "has none; broadcast, reduce, scatter, gather have" in capsys.readouterr().err


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
