"""Twisted tori as topologies: where they are known they are right, and everywhere else they are refused."""

from __future__ import annotations

import json
from collections import deque
from itertools import product

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.programs import recheck

SIZES = (4, 8)


def step(sizes, place, dimension, sign):
    """The next place in a twisted torus, by its definition."""
    place = list(place)
    place[dimension] += sign
    if not 0 <= place[dimension] < sizes[dimension]:
        place[dimension] %= sizes[dimension]
        if sizes[dimension] == min(sizes):
            place = [
                at if size == min(sizes) else (at + size // 2) % size
                for at, size in zip(place, sizes, strict=True)
            ]
    return tuple(place)


def distances(sizes, origin=None):
    """Hops from the origin, or another place, to every place, found by walking."""
    origin = origin or (0,) * len(sizes)
    found, waiting = {origin: 0}, deque([origin])
    while waiting:
        here = waiting.popleft()
        for dimension, sign in product(range(len(sizes)), (1, -1)):
            there = step(sizes, here, dimension, sign)
            if there not in found:
                found[there] = found[here] + 1
                waiting.append(there)
    return found


@pytest.mark.parametrize("sizes", [(4, 8), (2, 2, 4), (4, 4, 8), (3, 6, 6), (8, 4)])
def test_every_packet_goes_a_shortest_way(sizes):
    # Every node sees the same, so the distances from the origin are those from anywhere.
    near = distances(sizes)
    nodes = len(near)
    network = fl.Network(fl.Torus(*sizes, twist=True))
    rows = [[a, b, 3, 0, 0] for a in range(nodes) for b in range(nodes) if a != b]
    result = fl.simulate(network, fl.Packets(table=rows))
    assert result.packets_delivered == len(rows)
    assert result.flit_hops == 3 * nodes * sum(near.values())
    alone = fl.simulate(network, fl.Packets(table=[[0, nodes - 1, 5, 0, 0]]))
    corner = tuple(size - 1 for size in sizes)
    assert alone.duration == near[corner] + 5 + 1


@pytest.mark.parametrize("sizes", [(4, 4, 8), (8, 4)])
def test_a_load_meets_no_deadlock_in_any_number_of_parts(sizes):
    network = fl.Network(fl.Torus(*sizes, twist=True))
    # Nodes are numbered with the first dimension fastest.
    places = [place[::-1] for place in product(*map(range, sizes[::-1]))]
    near = [distances(sizes, place) for place in places]
    load = fl.Load("rand", rate=0.9, cycles=300)
    result = fl.simulate(network, load, packets=True)
    table = result.packets
    assert result.packets_delivered == table.sizes["packet"] > 800
    # Records of packets are kept in one part; in three, opposite rows of every part lie in both others.
    for threads in (2, 3, 4):
        divided = fl.simulate(network, load, threads=threads)
        assert (divided.parts, result.parts) == (threads, 1)
        assert divided.fingerprint == result.fingerprint
        assert divided.flit_hops == result.flit_hops == 8 * table.hops.values.sum()
        assert divided.link_rows() == result.link_rows()
    ends = zip(table.source.values, table.destination.values, strict=True)
    assert table.hops.values.tolist() == [near[a][places[b]] for a, b in ends]


def test_a_twist_is_part_of_what_a_topology_is():
    twisted = fl.Torus(4, 8, twist=True, failed_links=["(3,1)+x"])
    assert str(twisted) == "4x8 twisted torus with 1 failed part"
    assert twisted.failed_links == ((7, 20),)  # (3,1) and (0,5)
    assert fl.Topology(**twisted.model_dump()).is_as(twisted)
    assert not twisted.is_as(fl.Torus(4, 8, failed_links=["(3,1)-(2,1)"]))
    assert fl.Torus(2, 4, twist=True).wraps == (True, True)
    for fields in ({"sizes": "4x4"}, {"sizes": "4x6"}, {"sizes": "4x8", "kind": "mesh"}):
        with pytest.raises(fl.SpecError, match=r"e\.g\. 4x4x8 or 4x8x8"):
            fl.Topology(**fields, twist=True)
    with pytest.raises(fl.SpecError, match="neither true nor false"):
        fl.Topology(sizes="4x8", twist="maybe")


@pytest.mark.parametrize("routes", ["dor", "balanced-ties", "any-order", "minimal"])
def test_schedules_hold_by_a_program_that_shares_nothing(tmp_path, capsys, routes):
    plan, certificate = tmp_path / "plan.json", tmp_path / "certificate.json"
    asked = [
        "--torus",
        "2x2x4",
        "--twist",
        "--operation",
        "all-to-all",
        "--routes",
        routes,
        "--moves",
        "2000",
    ]
    assert run(["schedule", *asked, "--separate", "-o", str(plan)]) == 0
    assert run(["check", str(plan), "--certificate", str(certificate)]) == 0
    data = json.loads(plan.read_text())
    recheck.certified(data, json.loads(certificate.read_text()))
    network = recheck.Network(data["topology"])
    near = distances((2, 2, 4))
    for packet in data["packets"]:
        nodes = network.walk(packet["source"], packet["route"])
        ends = [network.coordinates(node) for node in (nodes[0], nodes[-1])]
        # The difference of two places, reached from the origin step by step.
        apart = (0, 0, 0)
        for dimension, (a, b) in enumerate(zip(*ends, strict=True)):
            for _ in range(abs(b - a)):
                apart = step((2, 2, 4), apart, dimension, 1 if b > a else -1)
        assert len(nodes) - 1 == near[apart]
    assert run(["check", str(plan), "--torus", "2x2x4"]) == 2
    capsys.readouterr()


def test_symmetric_searches_know_the_twist(tmp_path, capsys):
    # Tornado on the long side of 4x8 shortens by the twist; the plan is proven either way.
    plan = tmp_path / "plan.json"
    assert run(["schedule", "--torus", "4x8", "--twist", "--pattern", "torn", "-o", str(plan)]) == 0
    made = json.loads(plan.read_text())
    assert made["duration"] == made["bound"]
    assert run(["simulate", "--plan", str(plan), "--json"]) == 0
    assert f'"duration": {made["duration"]}' in capsys.readouterr().out


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A spec, a result and a plan of a twisted torus, and tables of a plain one."""
    folder = tmp_path_factory.mktemp("twist")
    (folder / "spec.toml").write_text(
        '[topology]\nsizes = "4x8"\ntwist = true\n[traffic]\nkind = "collective"\npattern = "torn"\n'
    )
    assert run(["simulate", str(folder / "spec.toml"), "--out", str(folder / "result.nc")]) == 0
    assert (
        run(["schedule", "--torus", "4x8", "--twist", "--pattern", "torn", "-o", str(folder / "plan.json")])
        == 0
    )
    assert run(["route", "--torus", "4x8", "--method", "dor", "-o", str(folder / "tables.json")]) == 0
    return folder


TWISTED = ["--torus", "4x8", "--twist"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["simulate", *TWISTED, "--pattern", "torn", "--routing", "sa"], "router.routing is sa"),
        (["simulate", *TWISTED, "--pattern", "torn", "--routing", "o1turn"], "router.routing is o1turn"),
        (["simulate", *TWISTED, "--pattern", "torn", "--routing", "valiant"], "router.routing is valiant"),
        (["simulate", *TWISTED, "--pattern", "torn", "--throttle", "spth:8"], "throttle is spth"),
        (["simulate", *TWISTED, "--pattern", "torn", "--throttle", "pt"], "throttle is pt"),
        (["simulate", *TWISTED, "--pattern", "torn", "--tables", "tables.json"], "topology"),
        (["simulate", "--mesh", "4x8", "--twist", "--pattern", "torn"], "mesh has none"),
        (["simulate", "--torus", "8x8", "--twist", "--pattern", "torn"], "torus has none"),
        (["load", "bound", *TWISTED, "--pattern", "rand"], "loads of links"),
        (["route", "--mesh", "4x8", "--twist"], "--twist belongs to --torus"),
        (["route", *TWISTED, "--method", "ftree"], "ftree is for fabrics of kind fat tree"),
        (["route", *TWISTED, "--compare"], "--compare"),
        (["check", "tables.json", *TWISTED], "source routes know no twist"),
        (["check", "plan.json", "--torus", "4x8"], "the plan is for 4x8 twisted torus"),
        (["simulate", *TWISTED, "--plan", "plan.json", "--set", "topology.twist=false"], "plan"),
        (["schedule", "--torus", "4x4", "--twist", "--pattern", "torn"], "torus has none"),
    ],
)
def test_what_knows_no_twist_says_so(written, monkeypatch, capsys, command, said):
    monkeypatch.chdir(written)
    before = set(written.iterdir())
    assert run(command) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert said in told
    assert set(written.iterdir()) == before


@pytest.mark.parametrize("file", ["spec.toml", "result.nc", "plan.json"])
def test_pages_show_twisted_tori(written, tmp_path, capsys, file):
    out = tmp_path / "page.html"
    assert run(["view", str(written / file), "-o", str(out)]) == 0
    assert "a step over the edge of x also moves 4 along y" in capsys.readouterr().out
    assert '"twist":true' in out.read_text()


def test_functions_that_know_no_twist_say_so():
    from flitloom.analysis.demands import make_demands
    from flitloom.analysis.load_bound import load_bound, uniform_rule
    from flitloom.analysis.minimal_routes import minimal_routes_bound
    from flitloom.tables.by_source.resilience import survive

    twisted = fl.Torus(4, 8, twist=True)
    network, traffic = fl.Network(twisted), fl.Collective("torn")
    for use in (
        lambda: fl.tables.make(twisted),
        lambda: survive(twisted, 1, 0),
        lambda: load_bound(network, traffic),
        lambda: uniform_rule(twisted),
        lambda: minimal_routes_bound(make_demands(network, traffic)),
        lambda: (
            fl.simulate_collective(fl.collectives.plan(twisted, "all-gather"))
            if hasattr(fl, "simulate_collective")
            else fl.tables.make(twisted)
        ),
    ):
        with pytest.raises(fl.SpecError, match="twist"):
            use()


def test_plans_of_collective_operations_take_the_topology():
    assert fl.collectives.plan(fl.Torus(4, 4, 8, twist=True), "all-to-all").steps == 74


def test_loads_are_told_apart_from_those_of_the_plain_torus(capsys):
    asked = ["--pattern", "rand", "--rate", "0.1", "--measure", "300", "--warm-up", "100", "--json"]
    assert run(["load", "steady", *TWISTED, *asked]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["torus"] == "4x8 twisted"
