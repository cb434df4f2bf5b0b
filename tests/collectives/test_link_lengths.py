"""Bounds of all-to-alls by lengths of links, which share what all blocks have to go."""

import json

import networkx as nx
import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.least import along
from flitloom.collectives.making import make_rounds
from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.spec.ground import Ground

#: The eight GPUs of a DGX-1 with V100s; some pairs have two cables.
CUBE_MESH = fl.Graph(
    [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
    + 2 * [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)],
    nodes=8,
)
#: A ring with four, one, four and two cables between neighbours.
UNEVEN = fl.Graph(4 * [(0, 1)] + [(1, 2)] + 4 * [(2, 3)] + 2 * [(3, 0)], nodes=4)


@pytest.mark.parametrize("network", [CUBE_MESH, UNEVEN])
def test_busiest_links_transfer_what_lengths_prove(network, tmp_path):
    advice = weigh(network, [2.0**30], 1e-6, 50e9, operation="all-to-all")
    best = advice.algorithms[advice.best(0)]
    assert advice.link_lengths
    assert advice.proof.every[0] == pytest.approx(best.factor, 1e-4)
    # Shortest ways by networkx, with parallel cables counted each.
    graph, total = nx.DiGraph(), 0
    for (start, end), several in advice.plan.ground.links.items():
        graph.add_edge(start, end, length=0, several=several)
    for start, end, length in advice.link_lengths:
        graph[start][end]["length"] = length
        total += length * graph[start][end]["several"]
    far = dict(nx.all_pairs_dijkstra_path_length(graph, weight="length"))
    count = len(graph)
    assert advice.proof.every[0] == pytest.approx(
        sum(map(sum, map(dict.values, far.values()))) / total / count
    )
    plan = make_rounds(network, "all-to-all", best.name, 2.0**30, 1e-6, 50e9)
    assert plan.bound == advice.bounds[0] > 0.999 * plan.seconds
    plan.save(tmp_path / "plan.json")
    assert run(["check", str(tmp_path / "plan.json")]) == run(["recheck", str(tmp_path / "plan.json")]) == 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"link_lengths": []}, "bound"),
        ({"link_lengths": [[0, 1, 1]]}, "bound"),
        ({"link_lengths": [[0, 2, 1]]}, "link"),
        ({"link_lengths": [[0, 1, 0]]}, "link_lengths"),
    ],
)
def test_a_bound_that_lengths_do_not_prove_is_refused(change, word, tmp_path, capsys):
    file = tmp_path / "plan.json"
    make_rounds(UNEVEN, "all-to-all", "best", 2.0**30, 1e-6, 50e9).save(file)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    for verb in ("check", "recheck"):
        assert run([verb, str(file)]) == 1
        said = capsys.readouterr()
        assert word in said.out + said.err


def test_lengths_are_of_all_to_alls():
    with pytest.raises(SpecError, match="all-to-alls"):
        along(Ground(UNEVEN), "all-gather", [[0, 1, 1]])
    assert weigh(UNEVEN, [2.0**20], 1e-6, 50e9).link_lengths == ()
    # All nodes see the same: hops prove as much.
    assert weigh(fl.Torus(4, 4), [2.0**20], 1e-6, 50e9, operation="all-to-all").link_lengths == ()
