"""Mixtures of two sets of tables, against walks of packets through every choice of an entry."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabrics import command, discovered, torus_cables
from flitloom.errors import SpecError
from flitloom.fabric import Subnet, check_mixture, parse_fabric, route_subnet
from flitloom.tables.by_destination.beside import Beside, assumed_tree
from flitloom.tables.by_destination.mixing import judge_mixture
from flitloom.tables.by_destination.mixtures import mixed
from flitloom.tables.by_destination.tables import LEVELS, ForwardingTables, port_rows

NONE = 0xFFFFFFFF
RING = "a,b\nb,c\nc,d\nd,a\nh1,a\nh2,b\nh3,c\nh4,d\n"


def drawn(chance: random.Random) -> Subnet:
    """A connected graph with some hosts, two on one switch."""
    graph = nx.connected_watts_strogatz_graph(
        chance.randint(4, 7), 2 + 2 * chance.randint(0, 1), 0.4, seed=chance
    )
    lines = [f"s{a},s{b}" for a, b in graph.edges]
    lines += [f"h{node},s{node}" for node in graph if node == 0 or chance.random() < 0.7]
    return parse_fabric("\n".join([*lines, "h00,s0"]) + "\n")


def changed(tables: ForwardingTables, chance: random.Random, share: float) -> ForwardingTables:
    """The same tables with some entries that lead elsewhere or nowhere, other levels, and tables of lanes."""
    subnet = tables.subnet
    outgoing = [[channel for channel, _, _ in lists] for lists in subnet.outgoing()]
    following = tables.following.copy()
    for row, switch in product(*map(range, following.shape)):
        if switch != tables.roots[row] and chance.random() < share:
            following[row, switch] = chance.choice([*outgoing[switch], NONE])
    shape = (len(tables.owners), len(subnet.hosts))
    levels = np.array(
        [[chance.randrange(3) for _ in range(shape[1])] for _ in range(shape[0])], dtype=np.uint8
    )
    rows = None
    if chance.random() < 0.6:
        counts = [len(ports) * len(out) for ports, out in zip(port_rows(subnet), outgoing, strict=True)]
        entries = [[chance.choice((0, 0, 1, 2, 15)) for _ in range(LEVELS)] for _ in range(sum(counts))]
        rows = np.cumsum([0, *counts[:-1]], dtype=np.uint64), np.array(entries, dtype=np.uint8)
    return replace(tables, following=following, levels=levels, rows=rows, lanes=chance.choice((2, 8)))


def lane(tables: ForwardingTables, port: int, channel: int, level: int) -> int:
    """The lane of a packet that came in by a port of a switch and leaves by a channel."""
    subnet = tables.subnet
    if tables.rows is None:
        return level % tables.lanes
    cable = subnet.cables[channel // 2]
    switch = cable.b if channel % 2 else cable.a
    columns = [found for found, _, _ in subnet.outgoing()[switch]]
    row = port_rows(subnet)[switch][port]
    start, entries = tables.rows
    return int(entries[int(start[switch]) + row * len(columns) + columns.index(channel), level])


def after(subnet: Subnet, channel: int) -> tuple[int, int]:
    """The switch at the end of a channel, and the port that packets come in by."""
    cable = subnet.cables[channel // 2]
    return (cable.a, cable.a_port) if channel % 2 else (cable.b, cable.b_port)


class Walk:
    """Packets of a host to a destination that take either entry, lane and level wherever they come."""

    def __init__(self, both: tuple[ForwardingTables, ForwardingTables]) -> None:
        self.both, self.subnet = both, both[0].subnet
        self.waits = nx.DiGraph()

    def follow(self, host: int, row: int, more: tuple[int, ...] = ()) -> tuple[nx.DiGraph, bool]:
        """The switches of all ways, and whether one of them ends elsewhere; packets may have more levels."""
        start = self.subnet.hosts[host]
        levels = {0 if one.levels is None else int(one.levels[row, host]) for one in self.both} | {*more}
        entries = [one.following[row] for one in self.both]
        return self.along((start.switch, start.switch_port), entries, self.both[0].roots[row], levels)

    def along(
        self, start: tuple[int, int], both: list[Any], root: int, levels: set[int]
    ) -> tuple[nx.DiGraph, bool]:
        """The same from a switch and a port on, by either entries of a destination."""
        seen, ends, ways = set(), False, nx.DiGraph()
        waiting: list[Any] = [(*start, None, level) for level in levels]
        while waiting:
            state = waiting.pop()
            at, port, came, level = state
            if state in seen or at == root:
                continue
            seen.add(state)
            for entries in both:
                channel = int(entries[at])
                if channel == NONE:
                    ends = True
                    continue
                there, into = after(self.subnet, channel)
                ways.add_edge(at, there)
                for lanes in self.both:
                    on = lane(lanes, port, channel, level)
                    # The last lane drops: the packet goes on in other mixtures only.
                    if came is not None and on < LEVELS - 1 and came[1] < LEVELS - 1:
                        self.waits.add_edge(came, (channel, on))
                    waiting.append((there, into, (channel, on), level))
        return ways, ends


def serves(tables: ForwardingTables, host: int, row: int) -> bool:
    """Whether packets of a host come to a destination."""
    at = tables.subnet.hosts[host].switch
    for _ in tables.subnet.switches:
        if at == tables.roots[row]:
            return True
        channel = int(tables.following[row, at])
        if channel == NONE:
            return False
        at = after(tables.subnet, channel)[0]
    return at == tables.roots[row]


def pairs(tables: ForwardingTables) -> Iterator[tuple[int, int]]:
    """Hosts and destinations on other switches."""
    for host, row in product(range(len(tables.subnet.hosts)), range(len(tables.owners))):
        if tables.subnet.hosts[host].switch != tables.roots[row]:
            yield host, row


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_the_verdict_is_that_of_all_walks(seed: int, plain: bool) -> None:
    """Where lanes are levels the core says the same."""
    chance = random.Random(seed)
    base = route_subnet(drawn(chance)).forwarding()
    first, second = (changed(base, chance, chance.choice((0.0, 0.05, 0.15))) for _ in range(2))
    if chance.random() < 0.5:
        second = replace(second, levels=first.levels)
    if plain:
        first, second = (replace(each, rows=None, lanes=first.lanes) for each in (first, second))
    found = judge_mixture(first, second)
    walk = Walk((first, second))
    around, lost, unserved, moved = set(), set(), [0, 0], 0
    for host, row in pairs(first):
        ways, ends = walk.follow(host, row)
        served = [serves(tables, host, row) for tables in (first, second)]
        unserved = [count + (not one) for count, one in zip(unserved, served, strict=True)]
        if not nx.is_directed_acyclic_graph(ways):
            around.add(row)
        if ends and all(served):
            lost.add((host, row))
        moved += all(served) and first.levels[row, host] != second.levels[row, host]
    assert (found.circles, found.lost, found.moved) == (len(around), len(lost), moved)
    assert list(found.unserved) == unserved
    assert bool(found.cycle) != nx.is_directed_acyclic_graph(walk.waits)
    core = mixed(first, second)
    assert plain <= (core is not None)
    if core is not None:
        assert set(core["circles"]) == around
        assert {(host, row) for row, host in core["lost"]} == lost
        assert (core["unserved"], core["moved"]) == (unserved, moved)
        assert core["acyclic"] == (not found.cycle)
    other_levels = any(first.levels[row, host] != second.levels[row, host] for host, row in pairs(first))
    assert (found.levels_first is not None) == (bool(found.cycle) and other_levels)
    assert found.passed == (not around and not lost and not found.cycle)
    names = {f"{first.subnet.channel_name(channel)}, lane {on}": (channel, on) for channel, on in walk.waits}
    ring = [names[name] for name in found.cycle]
    assert all(walk.waits.has_edge(*two) for two in zip(ring, [*ring[1:], *ring[:1]], strict=True))
    if found.circles:
        assert goes_round(first, second, found.circle)


def goes_round(first: ForwardingTables, second: ForwardingTables, circle: list[str]) -> bool:
    """Whether entries of either set lead round a circle that is named."""
    subnet = first.subnet
    last, _, owner = circle[-1].partition(", for ")
    numbers = {switch.name: number for number, switch in enumerate(subnet.switches)}
    row = next(row for row, host in enumerate(first.owners) if subnet.hosts[host].name == owner)
    way = [numbers[name] for name in [*circle[:-1], last]]
    return way[0] == way[-1] and all(
        there
        in [
            after(subnet, int(one.following[row, at]))[0]
            for one in (first, second)
            if one.following[row, at] != NONE
        ]
        for at, there in pairwise(way)
    )


def test_tables_of_a_repair_are_loaded_as_it_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A repair that moves levels is safe where they come first, and one that moves none in any order."""
    network = ["--network", "dragonfly(4,2)"]
    fail = ["--fail", "node:g0s1"]
    code, _, _ = command(capsys, "route", *network, "--one-way", "-o", tmp_path / "out")
    assert code == 0
    code, out, _ = command(
        capsys, "route", *network, *fail, "--from", tmp_path / "out", "-o", tmp_path / "next", "--json"
    )
    assert "new service levels" in json.loads(out)["update"]
    code, out, _ = command(
        capsys, "check", *network, *fail, tmp_path / "out", "--mix", tmp_path / "next", "--json"
    )
    told = json.loads(out)
    assert (code, told["passed"], told["circles"], told["lost"], told["levels_first"]) == (1, False, 0, 0, [])
    assert told["moved"] > 0 < len(told["cycle"])
    code, out, _ = command(capsys, "check", *network, *fail, tmp_path / "out", "--mix", tmp_path / "next")
    assert out.endswith("FAILED\n")
    assert "levels first  none possible" in out
    code, out, _ = command(capsys, "check", *network, tmp_path / "out", "--mix", tmp_path / "out")
    assert (code, out.splitlines()[-1]) == (0, "passed")


def waits_of(walk: Walk) -> nx.DiGraph:
    """What packets of a walk wait for, as a graph of its own."""
    found, walk.waits = walk.waits, nx.DiGraph()
    return found


def to_switch(tables: ForwardingTables, switch: int) -> Any:
    """Entries to the LID of a switch."""
    numbers, rows = tables.to_switches or ([], [])
    if switch in numbers:
        return rows[numbers.index(switch)]
    if switch in tables.roots:
        return tables.following[tables.roots.index(switch)]
    # The tables that are made have shortest ways, in the order of channels.
    subnet, row, near = tables.subnet, [NONE] * len(tables.subnet.switches), [switch]
    for here in near:
        for channel, _, there in subnet.outgoing()[here]:
            if there not in near:
                row[there] = channel ^ 1
                near.append(there)
    return row


def detours(tables: ForwardingTables, chance: random.Random) -> Any:
    """Entries to the LIDs of some switches that are those of other switches, as far as these lead there."""
    subnet = tables.subnet
    some = sorted(chance.sample(range(len(subnet.switches)), 2))
    rows = []
    for switch in some:
        row = np.array(to_switch(tables, switch), dtype=np.uint32)
        row[switch] = NONE
        at = chance.randrange(len(row))
        if at != switch:
            row[at] = chance.choice([channel for channel, _, _ in subnet.outgoing()[at]])
        rows.append(row)
    return some, np.array(rows)


def first_port(subnet: Subnet, switch: int) -> int:
    """The port of the first host of a switch, or the first one there is."""
    ports = [host.switch_port for host in subnet.hosts if host.switch == switch]
    return (ports or list(port_rows(subnet)[switch]))[0]


@pytest.mark.parametrize("seed", range(40))
def test_kinds_of_traffic_beside_a_mixture_are_those_of_all_walks(seed: int) -> None:
    chance = random.Random(seed)
    base = route_subnet(drawn(chance)).forwarding()
    first, second = (changed(base, chance, chance.choice((0.0, 0.0, 0.1))) for _ in range(2))
    lanes = chance.choice((2, 4, 8))
    first, second = (replace(one, rows=None, lanes=lanes) for one in (first, second))
    if chance.random() < 0.3:
        second = replace(second, to_switches=detours(second, chance))
    level, cast = chance.choice((0, 1, 3)), chance.choice((0, 2, 5))
    named = tuple(host.name for host in chance.sample(base.subnet.hosts, chance.choice((0, 1, 2))))
    # Levels of managers may differ between the sets.
    besides = tuple(Beside(named, one, None, cast) for one in (level, chance.choice((level, 1))))
    found = judge_mixture(first, second, None, besides)
    if found.cycle or found.circles:
        assert all(kind.deadlock is None for kind in found.kinds[1:])
        return
    walk, both = Walk((first, second)), (first, second)
    everyone = list(pairs(first))
    row_of = {int(owner): row for row, owner in enumerate(first.owners)}

    def back(host: int, row: int) -> tuple[int, ...]:
        there = row_of[host], int(first.owners[row])
        return tuple(int(one.levels[there]) for one in both if one.levels is not None)

    for host, row in everyone:
        walk.follow(host, row)
    known = waits_of(walk)

    def beside(more: nx.DiGraph) -> bool:
        """Whether more waits close a cycle; kept if they do not."""
        nonlocal known
        whole = nx.compose(known, more)
        if not nx.is_directed_acyclic_graph(whole):
            return True
        known = whole
        return False

    for host, row in everyone:
        walk.follow(host, row, back(host, row))
    expected = {"both ways": beside(waits_of(walk))}
    tree, subnet = nx.DiGraph(), first.subnet
    (channels,) = assumed_tree(subnet)
    for one, other in product(channels, channels):
        if after(subnet, one)[0] == after(subnet, other ^ 1)[0] and one != other ^ 1:
            tree.add_edge((one, cast % lanes), (other, cast % lanes))
    expected["multicast"] = beside(tree)

    def managed(managers: list[int]) -> nx.DiGraph:
        levels = {one.manager_level for one in besides}
        for host, row in everyone:
            if host in managers or int(first.owners[row]) in managers:
                walk.follow(host, row, tuple(levels))
        # Monitors ask switches, too, which have the entries of their first hosts, or ways of their own.
        for switch, host in product(range(len(subnet.switches)), managers):
            own = subnet.hosts[host]
            rows = [number for number, owner in enumerate(first.owners) if owner == host]
            for row in rows:
                answers = [one.following[row] for one in both]
                walk.along((switch, first_port(subnet, switch)), answers, own.switch, levels)
            asked = [to_switch(one, switch) for one in both]
            walk.along((own.switch, own.switch_port), asked, switch, levels)
        return waits_of(walk)

    if named:
        numbers = [number for number, host in enumerate(subnet.hosts) if host.name in named]
        expected["managers"] = beside(managed(numbers))
    else:
        unsafe = [
            host
            for host in range(len(subnet.hosts))
            if not nx.is_directed_acyclic_graph(nx.compose(known, managed([host])))
        ]
        expected["managers"] = bool(unsafe)
        said = next(kind.premise for kind in found.kinds if kind.kind == "managers")
        assert (f"at {len(unsafe)} of {len(subnet.hosts)} places" in said) == bool(unsafe)
    assert {kind.kind: kind.deadlock for kind in found.kinds[1:]} == expected


def test_kinds_beside_a_mixture_are_said_and_required(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A repair on one lane leaves no level to multicast; the check says so, and fails where it must not."""
    file, less, first = (tmp_path / name for name in ("f.topo", "g.topo", "first"))
    nodes, cables = torus_cables((4, 4))
    file.write_text(discovered(nodes, cables, seed=3))
    less.write_text(discovered(nodes, cables[1:], seed=3))
    assert command(capsys, "route", "--fabric", file, "-o", first, "--lanes", 1)[0] == 0
    assert command(capsys, "route", "--fabric", less, "--from", first, "-o", tmp_path / "next")[0] == 0
    asked = ["check", "--fabric", less, first, "--mix", tmp_path / "next"]
    code, text, _ = command(capsys, *asked, "--json")
    facts = json.loads(text)
    unsafe = {kind["kind"] for kind in facts["traffic_kinds"] if kind["deadlock"]}
    assert (code, facts["passed"]) == (0, True)
    for kind in ("both-ways", "managers", "multicast"):
        code, text, _ = command(capsys, *asked, "--safe-for", kind, "--manager", "hsw0-0")
        assert code == int(kind.replace("-", " ") in unsafe)
        assert "hosts and 1 manager on level 0 by" in text
    code, _, err = command(capsys, *asked, "--safe-for", "mangers")
    assert (code, "managers" in err) == (2, True)


def test_tables_of_two_methods_send_packets_in_circles() -> None:
    """On a ring one set goes up and the other down: half-loaded tables send packets to and fro."""
    subnet = parse_fabric(RING)
    tables = route_subnet(subnet).forwarding()
    ends = [after(subnet, channel)[0] for channel in range(8)]
    up, down = tables.following.copy(), tables.following.copy()
    for row, switch in product(range(4), range(4)):
        if switch != tables.roots[row]:
            ways = [channel for channel, _, _ in subnet.outgoing()[switch]]
            up[row, switch], down[row, switch] = sorted(ways, key=lambda way: (ends[way] - switch) % 4)
    found = judge_mixture(replace(tables, following=up), replace(tables, following=down))
    assert (found.circles, found.lost, found.unserved) == (4, 0, (0, 0))
    assert len(found.circle) == 3


def test_a_mixture_loses_what_both_sets_bring() -> None:
    """The first set goes there at once and says nothing at the detour of the second."""
    tables = route_subnet(parse_fabric("a,b\nb,c\nc,a\nh1,a\nh3,c\n")).forwarding()
    subnet = tables.subnet
    a, b, c = (next(n for n, switch in enumerate(subnet.switches) if switch.name == name) for name in "abc")
    ways = {(here, there): channel for here in (a, b, c) for channel, _, there in subnet.outgoing()[here]}
    row = tables.roots.index(c)
    straight, detour = tables.following.copy(), tables.following.copy()
    straight[row, a], straight[row, b] = ways[a, c], NONE
    detour[row, a], detour[row, b] = ways[a, b], ways[b, c]
    found = judge_mixture(replace(tables, following=straight), replace(tables, following=detour))
    assert (found.circles, found.lost, found.lost_pairs) == (0, 1, ["h1 to h3"])
    assert (found.unserved, found.passed) == ((0, 0), False)


def test_what_does_not_belong_together_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    subnet = parse_fabric(discovered(*torus_cables((3, 3)), seed=1))
    others = parse_fabric(discovered(*torus_cables((3, 3)), seed=2))
    for name, one in (("out", subnet), ("others", others)):
        route_subnet(one).write(tmp_path / name)
    with pytest.raises(SpecError, match="is not in the fabric"):
        check_mixture(subnet, tmp_path / "out", tmp_path / "others")
    code, _, err = command(
        capsys,
        "check",
        "--network",
        "dragonfly(4,2)",
        tmp_path / "out",
        "--mix",
        tmp_path / "out",
        "--lanes",
        "4",
    )
    assert (code, err) == (
        2,
        "error: --lanes: does not go with --mix; each folder names its levels and lanes\n",
    )
    route_subnet(parse_fabric("a,b\nb,c\nh1,a\nh2,b\nh3,c\n")).write(tmp_path / "line")
    with pytest.raises(
        SpecError, match="line brings no packet to another switch; name tables of this fabric"
    ):
        check_mixture(parse_fabric("h1,a\nh2,c\na,x\nx,y\ny,z\nz,c\n"), tmp_path / "line", tmp_path / "line")
    for given, said in (
        (["out"], "no fabric is named; name it with --fabric, --network or --torus --twist"),
        (
            ["--network", "dragonfly(4,2)"],
            "only one set of tables is named; name the other one, too: a folder",
        ),
    ):
        words = [tmp_path / given[0]] if given == ["out"] else given
        code, _, err = command(capsys, "check", *words, "--mix", tmp_path / "out")
        assert (code, err) == (2, f"error: --mix: {said}\n")
