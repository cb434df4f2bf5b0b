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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["all-gather"],
            "each of 4 chunks goes to node a1 and leaves the 4 nodes b0, b1, b2, b3 by one of 1 link",
        ),
        (["broadcast", "--root", "b3"], "root b3 by one of 3 links"),
        (["all-reduce", "--chunks", "8"], "leaves the 4 nodes a0, a1, a2, a3 by one of 1 link"),
    ],
)
def test_bounds_call_nodes_as_the_file_does(asked, said, tmp_path, capsys):
    assert run(["collective", asked[0], "--graph", written(BARBELL, tmp_path), *asked[1:]]) == 0
    assert said in capsys.readouterr().out


def test_notes_name_a_file_as_seen_from_here_in_every_verb(tmp_path, capsys, monkeypatch):
    written(BARBELL, tmp_path)
    monkeypatch.chdir(tmp_path)
    for asked in (
        "collective all-gather --graph cables.csv",
        "simulate --graph cables.csv --pattern next",
        "route --graph cables.csv",
    ):
        assert run(asked.split()) == 0
        assert capsys.readouterr().err.startswith(
            "note: cables.csv is taken for 8 switches with a host each;"
        )
