"""Bounds of exchanges behind relays: chunks share few links, and have hops before and behind these."""

import json
import random

import numpy as np
import pytest

import flitloom as fl
from flitloom.collectives.reading import read_collective
from flitloom.commands import run
from flitloom.errors import SpecError


def star(hosts: int, switches: int = 1) -> fl.Graph:
    """Hosts with a link to each of several switches."""
    cables = [(host, hosts + one) for host in range(hosts) for one in range(switches)]
    return fl.Graph(cables, nodes=hosts + switches, hosts=[*range(hosts)])


def leaves(each: int, spines: int) -> fl.Graph:
    """Two leaves with hosts, and spines."""
    hosts = 2 * each
    cables = [(host, hosts + host // each) for host in range(hosts)]
    cables += [(hosts + leaf, hosts + 2 + spine) for leaf in range(2) for spine in range(spines)]
    return fl.Graph(cables, nodes=hosts + 2 + spines, hosts=[*range(hosts)])


def rails(servers: int, size: int) -> fl.Graph:
    """Servers with a switch of their own, and a switch for the first, second, ... hosts of all of them."""
    hosts = servers * size
    cables = [
        (host, end) for host in range(hosts) for end in (hosts + host // size, hosts + servers + host % size)
    ]
    return fl.Graph(cables, nodes=hosts + servers + size, hosts=[*range(hosts)])


@pytest.mark.parametrize(
    ("operation", "network", "steps", "bound"),
    [
        # Seven chunks enter over one link, and were on another one before; over six links it takes two steps.
        ("all-to-all", star(8), 8, 8),
        ("all-to-all", star(8, 6), 3, 3),
        ("all-gather", star(8, 6), 3, 3),
        ("reduce-scatter", star(8, 6), 3, 3),
        # 64 chunks leave a leaf over two links, three hops from their ends.
        ("all-to-all", leaves(8, 2), 35, 35),
        # 448 leave a server over eight rails.
        ("all-to-all", rails(8, 8), 58, 57),
    ],
)
def test_hops_before_and_behind_few_links_count(operation, network, steps, bound, tmp_path):
    plan = fl.collectives.plan(network, operation)
    assert (plan.steps, plan.bound, plan.proof["kind"]) == (steps, bound, "crossing")
    assert fl.collectives.check(plan)["problems"] == []
    plan.save(tmp_path / "plan.json")
    assert run(["recheck", str(tmp_path / "plan.json")]) == 0
    # Both checkers count what the proof says, and no more.
    document = json.loads((tmp_path / "plan.json").read_text())
    document["bound"] += 1
    (tmp_path / "more.json").write_text(json.dumps(document))
    assert run(["recheck", str(tmp_path / "more.json")]) == run(["check", str(tmp_path / "more.json")]) == 1


def test_chunks_of_a_matrix_that_enter_one_host_count_its_links(tmp_path):
    network, matrix = star(4), np.zeros((5, 5), int)
    matrix[0, 3], matrix[1, 3], matrix[0, 1] = 3, 2, 1
    plan = fl.collectives.plan(network, "all-to-all-v", matrix=matrix)
    assert (plan.steps, plan.bound, plan.proof) == (6, 6, {"kind": "crossing", "all_but": [3], "to": 3})
    assert "each of 5 chunks to node 3 leaves all nodes but 3 by one of 1 link" in plan.proof_text
    plan.save(tmp_path / "plan.json")
    assert run(["recheck", str(tmp_path / "plan.json")]) == 0


@pytest.mark.parametrize(
    "proof",
    [
        {"kind": "crossing", "nodes": [0], "from": 1},
        {"kind": "crossing", "nodes": [0], "to": 0},
        {"kind": "crossing", "nodes": [8]},
        {"kind": "crossing", "all_but": []},
    ],
)
def test_ends_that_take_no_part_prove_nothing(proof, tmp_path):
    plan = fl.collectives.plan(star(8), "all-to-all").model_copy(update={"proof": proof})
    with pytest.raises(SpecError, match="proof"):
        plan.proven()
    plan.save(tmp_path / "plan.json")
    assert run(["recheck", str(tmp_path / "plan.json")]) != 0


@pytest.mark.parametrize("seed", range(12))
def test_no_plan_is_below_its_bound(seed):
    rng = random.Random(seed)
    hosts, relays = rng.randint(2, 6), rng.randint(1, 4)
    cables = [(hosts + one, hosts + rng.randrange(one)) for one in range(1, relays)]
    cables += [(host, hosts + rng.randrange(relays)) for host in range(hosts)]
    cables += [tuple(rng.sample(range(hosts + relays), 2)) for _ in range(rng.randint(0, 5))]
    network = fl.Graph(cables, nodes=hosts + relays, hosts=[*range(hosts)])
    for operation in ("all-to-all", "all-gather", "reduce-scatter"):
        for latency in (0, 2):
            plan = fl.collectives.plan(network, operation, chunks=rng.randint(1, 3), latency=latency)
            assert plan.bound <= plan.steps
            assert fl.collectives.check(plan)["problems"] == []


#: Two boxes of two GPUs that are joined to each other, each with a NIC; the NICs are joined.
BOXES = "a_gpu0,a_gpu1\na_gpu0,a_nic\na_gpu1,a_nic\nb_gpu0,b_gpu1\nb_gpu0,b_nic\nb_gpu1,b_nic\na_nic,b_nic\n"


@pytest.mark.parametrize("hosts", [[], ["--hosts", "a_gpu[0-1],b_gpu[0-1]"]])
def test_gpus_of_a_box_are_hosts_with_their_own_cables(hosts, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boxes.csv").write_text(BOXES)
    asked = ["--graph", "boxes.csv", *hosts]
    assert run(["collective", "all-gather", *asked, "-o", "plan.json"]) == 0
    said = capsys.readouterr()
    assert "hosts that take part: 4; switches only forward" in said.err
    assert ("those of GPUs" in said.err) == (not hosts)
    plan = read_collective("plan.json")
    graph = plan.ground.topology
    assert graph.node_names == ("a_gpu0", "a_gpu1", "b_gpu0", "b_gpu1", "a_nic", "b_nic")
    assert plan.members == graph.members == (0, 1, 2, 3)
    # The GPUs of a box are neighbours; two chunks cross the cable between NICs, one after the other.
    assert sorted(graph.cables) == [(0, 1), (0, 4), (1, 4), (2, 3), (2, 5), (3, 5), (4, 5)]
    assert (plan.steps, plan.bound, plan.proof["kind"]) == (4, 4, "crossing")
    assert run(["recheck", "plan.json"]) == 0
    for operation in ("all-to-all", "all-reduce"):
        assert (
            run(["collective", operation, *asked, "--algorithm", "best", "--size", "1MiB", "-o", "plan.json"])
            == 0
        )
        assert run(["check", "plan.json"]) == run(["recheck", "plan.json"]) == 0


def test_nodes_of_other_names_beside_gpus_take_part(tmp_path, capsys):
    (tmp_path / "boxes.csv").write_text(BOXES.replace("nic", "helper"))
    assert run(["collective", "all-gather", "--graph", str(tmp_path / "boxes.csv"), "--json"]) == 0
    assert "6 switches with a host each" in capsys.readouterr().err
