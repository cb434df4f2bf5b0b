"""Bounds of sums see bottlenecks, which an independent program counts."""

import json
from itertools import combinations

import networkx as nx
import pytest

import flitloom as fl
from flitloom.commands import run

#: Two full meshes of four and one cable between them.
BARBELL = [(f"a{one}", f"a{other}") for one, other in combinations(range(4), 2)]
BARBELL += [(f"b{one}", f"b{other}") for one, other in combinations(range(4), 2)] + [("a0", "b0")]
#: A ring of four and a full mesh of six, with one cable.
UNEVEN = [(f"a{one}", f"a{(one + 1) % 4}") for one in range(4)]
UNEVEN += [(f"b{one}", f"b{other}") for one, other in combinations(range(6), 2)] + [("a0", "b0")]
#: Three full meshes of five in a row, with two cables between neighbours.
CHAIN = [(f"{mesh}{one}", f"{mesh}{other}") for mesh in "abc" for one, other in combinations(range(5), 2)]
CHAIN += [("a0", "b0"), ("a1", "b1"), ("b2", "c2"), ("b3", "c3")]


def written(cables, folder):
    file = folder / "cables.csv"
    file.write_text("".join(f"{one},{other}\n" for one, other in cables))
    return str(file)


def test_what_crosses_the_only_cable_between_two_halves_is_a_bound(tmp_path, capsys):
    file = written(BARBELL, tmp_path)
    asked = ["collective", "all-reduce", "--graph", file, "--chunks", "8", "-o", str(tmp_path / "plan.json")]
    assert run(asked) == 0
    # 64 chunks have to cross the cable after the first have come to its end.
    assert "steps       66, proven optimal\n" in capsys.readouterr().out
    assert run(["check", str(tmp_path / "plan.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["optimal"]


@pytest.mark.parametrize(("cables", "chunks"), [(BARBELL, 3), (UNEVEN, 16), (CHAIN, 4)])
def test_a_bound_of_sums_is_at_least_that_of_the_narrowest_cut(cables, chunks, tmp_path):
    graph = nx.Graph(cables)
    links = nx.edge_connectivity(graph)
    plan = fl.collectives.plan(written(cables, tmp_path), "all-reduce", chunks=chunks)
    narrow = -(-chunks * graph.number_of_nodes() // links)
    assert links < min(degree for _, degree in graph.degree)
    assert narrow < plan.bound <= plan.steps
    inside = set(plan.proof.get("nodes") or plan.proof["all_but"])
    leaving = sum(n for (a, b), n in plan.ground.links.items() if a in inside and b not in inside)
    assert leaving == links
