"""Hosts of switches take part in collective operations, one member each; switches pass on what these send."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.fabric import parse_fabric
from flitloom.fabric.identifiers import with_identifiers
from flitloom.fabric.networks import graph_of, named_subnet

OPERATIONS = ("all-gather", "reduce-scatter", "all-reduce", "all-to-all", "broadcast", "reduce", "gather")
#: A host with a port at each of two switches, and a third switch above.
DUAL = "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[0-3]\nSwitchName=t Switches=a,b\n"


def arrived(plan: fl.CollectivePlan) -> dict[int, set[int]]:
    """Whose chunks every node has at the end of an all-gather, if every move brings what its sender has."""
    cables = nx.Graph(plan.ground.topology.cable_ends)
    has = {node: {node} if node in plan.nodes else set() for node in cables}
    moves = sorted(map(tuple, plan.moves))
    for step in sorted({row[0] for row in moves}):
        now = [row for row in moves if row[0] == step]
        assert len({row[1:3] for row in now}) == len(now), "a link transfers two chunks"
        assert all(cables.has_edge(a, b) and origin in has[a] for _, a, b, origin, _ in now)
        for _, _, b, origin, _ in now:
            has[b].add(origin)
    return has


@pytest.mark.parametrize("text", ["fattree(4)", "dragonfly(3,1,2)", "dragonfly(2,1,3)"])
def test_every_host_of_a_family_gets_every_chunk(text: str) -> None:
    family, fabric = fl.Graph.family(text), graph_of(named_subnet(text))
    assert (family.shape, family.names) == (fabric.shape, fabric.names)
    plan = fl.collectives.plan(text, "all-gather")
    has = arrived(plan)
    assert plan.nodes == list(family.hosts)
    assert all(has[host] == {*family.hosts} for host in family.hosts)
    # All chunks but its own enter a host over its one cable.
    assert plan.steps >= plan.bound >= len(family.hosts) - 1


def test_a_name_and_a_file_of_the_same_cables_have_the_same_members(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, file = "dragonfly(3,1,2)", tmp_path / "cables.csv"
    family = fl.Graph.family(text)
    rows = [
        (family.names[a], "host" if a in family.hosts else "switch", family.names[b])
        for a, b in family.cables
    ]
    file.write_text("a,a_type,b,b_type\n" + "".join(f"{a},{kind},{b},switch\n" for a, kind, b in rows))
    told = []
    for words in (["--network", text], ["--graph", str(file)]):
        assert run(["collective", "all-gather", *words, "--json"]) == 0
        said = capsys.readouterr()
        assert "hosts that take part: 24; switches only forward" in said.err
        told.append({name: json.loads(said.out)[name] for name in ("bound", "steps", "optimal")})
    assert told[0] == told[1]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("network", "members"),
    [
        (fl.Mesh(2, 2, failed_links=["0-1", "0-2"]), [1, 2]),
        (fl.Graph(["0-1", "1-2"], nodes=4), [0, 2]),
        (fl.Graph(["0-1", "1-2", "3-4"], nodes=5), [0, 2]),
    ],
)
def test_what_is_not_joined_to_the_members_does_not_matter(
    network: fl.Topology | fl.Graph, members: list[int], operation: str
) -> None:
    rooted = operation in ("broadcast", "reduce", "gather")
    root, alone_root = ({"root": members[0]}, {"root": 0}) if rooted else ({}, {})
    plan = fl.collectives.plan(network, operation, nodes=members, **root)
    assert fl.collectives.check(plan)["passed"]
    # Two hops between the members, and the same without what is apart.
    assert plan.steps >= plan.bound >= 2
    alone = fl.collectives.plan(fl.Graph(["0-1", "1-2"], nodes=3), operation, nodes=[0, 2], **alone_root)
    assert (plan.steps, plan.bound) == (alone.steps, alone.bound)


def test_a_failed_switch_takes_its_hosts_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    words = ["collective", "all-gather", "--network", "dragonfly(3,1,2)", "-o", str(file)]
    assert run([*words, "--fail", "node:g0s1"]) == 0
    assert "hosts that take part: 22;" in capsys.readouterr().err
    plan = fl.collectives.read(file)
    has = arrived(plan)
    assert all(has[host] == {*plan.nodes} for host in plan.nodes)
    assert {2, 3}.isdisjoint(plan.nodes)
    assert run(["simulate", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert run(["simulate", str(file), "--model", "pipelined", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert found["chunks_sent"] == len(plan.moves)


def test_plans_over_switches_run_on_pipelined_routers() -> None:
    star = fl.Graph(["0-4", "1-4", "2-4", "3-4"], nodes=5, names=[*"abcd", "sw"], hosts=[0, 1, 2, 3])
    plan = fl.collectives.plan(star, "all-gather")
    found = fl.collectives.simulate(plan, fl.Router(model="pipelined"))
    # Into the switch and out of it, one after the other; then no link can deliver more than a chunk a step.
    assert 2 * found.step_cycles <= found.cycles <= plan.steps * found.step_cycles
    names = [*"abcd", "a-host0"]
    same = fl.Graph(star.cables, nodes=5, names=names, hosts=star.hosts)
    again = fl.collectives.simulate(fl.collectives.plan(same, "all-gather"), fl.Router(model="pipelined"))
    assert again.cycles == found.cycles


def test_a_host_of_two_ports_is_counted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "topology.conf"
    file.write_text(DUAL)
    for words, says in (
        (["fabric", "show", file], "3 switches, 4 hosts with 8 ports, 2 cables"),
        (["route", "--fabric", file, "-o", tmp_path / "out"], "3 mesh, 4 hosts with 8 ports"),
        (
            ["check", "--fabric", file, "--lft", tmp_path / "out" / "opensm-lfts.dump"],
            "fabric of 3 switches and 4 hosts with 8 ports",
        ),
    ):
        assert run(list(map(str, words))) == 0
        told = capsys.readouterr()
        assert says in told.out
        assert told.err.count("4 hosts with several ports") == 1
    for verb in (["fabric", "show"], ["route", "--fabric"]):
        assert run([*verb, str(file), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["hosts"] == 4
    # Ports of a host have its GUID, also where GUIDs are made up.
    assert len({host.guid for host in with_identifiers(parse_fabric(DUAL)).hosts}) == 4
