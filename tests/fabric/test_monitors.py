"""Monitors read counters of switches, too: packets to the LIDs of switches, and their answers."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest

from fabrics import command
from flitloom.fabric import Subnet, examples, read_fabric
from flitloom.spec import families
from flitloom.tables.by_destination.beside import assumed_tree
from flitloom.tables.by_destination.making import route_subnet


def _damaged(seed: int) -> Subnet:
    """A fat tree less four cables; the switches of its upper levels have no hosts."""
    pairs = list(families.fat_tree(4))
    lost = set(random.Random(seed).sample(range(len(pairs)), 4))
    kept = [pair for number, pair in enumerate(pairs) if number not in lost]
    order = dict.fromkeys(name for pair in pairs for name in pair)
    return examples.subnet(kept, lambda name: 2 if name.startswith("edge") else 0, order=order)


class Dump:
    """Ways through a dump, port by port, from nothing but its text."""

    def __init__(self, subnet: Subnet, file: Path) -> None:
        guids = {f"0x{switch.guid:016x}": number for number, switch in enumerate(subnet.switches)}
        self.entries: dict[tuple[int, int], int] = {}
        for line in file.read_text().splitlines():
            words = line.split()
            if line.startswith("Unicast"):
                here = guids[words[words.index("guid") + 1]]
            elif line.startswith("0x"):
                self.entries[here, int(words[0], 16)] = int(words[1])
        self.ends: dict[tuple[int, int], int] = {}
        for cable in subnet.cables:
            self.ends[cable.a, cable.a_port] = cable.b
            self.ends[cable.b, cable.b_port] = cable.a

    def waits(self, at: int, lid: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Which ports wait for which on the way from a switch."""
        way: list[tuple[int, int]] = []
        while (hop := (at, self.entries.get((at, lid), 0))) in self.ends:
            way.append(hop)
            at = self.ends[hop]
            assert len(way) < 100
        return list(pairwise(way))


def _multicast(subnet: Subnet) -> nx.DiGraph:
    """Which ports wait for which in the tree that OpenSM builds."""
    ends = [end for c in subnet.cables for end in ((c.a, c.a_port, c.b), (c.b, c.b_port, c.a))]
    tree = [(channel, ends[channel]) for channel in assumed_tree(subnet)[0]]
    waits = nx.DiGraph()
    for channel, (at, port, there) in tree:
        onwards = [end for out, end in tree if end[0] == there and out != channel ^ 1]
        waits.add_edges_from(((at, port), end[:2]) for end in onwards)
    return waits


def _unsafe_places(subnet: Subnet, file: Path) -> list[str]:
    """Hosts whose monitor closes a circle with pairs of hosts and multicast, all on one lane."""
    dump = Dump(subnet, file)
    pairs = nx.DiGraph()
    for source in subnet.hosts:
        for target in subnet.hosts:
            pairs.add_edges_from(dump.waits(source.switch, target.lid))
    assert nx.is_directed_acyclic_graph(pairs)
    with_tree = nx.compose(pairs, _multicast(subnet))
    if nx.is_directed_acyclic_graph(with_tree):
        pairs = with_tree
    unsafe = []
    for host in subnet.hosts:
        both = pairs.copy()
        for number, switch in enumerate(subnet.switches):
            both.add_edges_from(dump.waits(host.switch, switch.lid))
            both.add_edges_from(dump.waits(number, host.lid))
        if not nx.is_directed_acyclic_graph(both):
            unsafe.append(host.name)
    return unsafe


@pytest.mark.parametrize("seed", range(2, 8))
def test_monitors_of_switches_are_judged_and_have_a_safe_lane(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = route_subnet(_damaged(seed))
    out = tables.write(tmp_path / "out")
    file = out / "fabric.topo"
    subnet = read_fabric(file)
    assert tables.report.safe_for == "safe for host pairs, both ways, managers, multicast"
    unsafe = _unsafe_places(subnet, out / "opensm-lfts.dump")
    # The dump alone has everything on one lane.
    code, said, _ = command(capsys, "check", "--fabric", file, "--lft", out / "opensm-lfts.dump")
    assert code == 0
    places = f"at {len(unsafe)} of 16 places" if unsafe else "one manager at any of 16 places"
    assert places in said
    # Where some place is unsafe, managers have a level without pairs.
    assert not unsafe or tables.beside.manager_level not in tables.levels


def test_mixtures_are_judged_with_the_packets_of_monitors_to_switches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ring of four, hosts at three: the last switch closes it by answers to a monitor in the middle."""
    fabric = tmp_path / "ring.csv"
    fabric.write_text("a,b\nb,c\nc,d\nd,a\nh1,a\nh2,b\nh3,c\n")
    out = tmp_path / "out"
    assert command(capsys, "route", "--fabric", fabric, "--lanes", 1, "-o", out)[0] == 0
    for more in ([], ["--mix", out]):
        code, said, _ = command(capsys, "check", "--fabric", fabric, out, *more)
        assert (code, "at 1 of 3 places of one manager, e.g. h2" in said) == (0, True)
        code, said, _ = command(
            capsys, "check", "--fabric", fabric, out, *more, "--safe-for", "managers", "--manager", "h2"
        )
        assert (code, "hosts and 1 manager on level 0" in said) == (1, True)
        code, said, _ = command(
            capsys, "check", "--fabric", fabric, out, *more, "--safe-for", "managers", "--manager", "h1"
        )
        assert code == 0


@pytest.mark.parametrize("seed", range(2, 8))
def test_a_mixture_of_tables_with_themselves_is_as_safe_as_they_are(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = route_subnet(_damaged(seed)).write(tmp_path / "out")
    dump = out / "opensm-lfts.dump"
    asked = ["check", "--fabric", out / "fabric.topo"]
    alone = command(capsys, *asked, "--lft", dump, "--json")[1]
    mixed = command(capsys, *asked, dump, "--mix", dump, "--json")[1]
    kinds = [json.loads(said)["traffic_kinds"] for said in (alone, mixed)]
    verdicts = [[(kind["kind"], kind["deadlock"]) for kind in some] for some in kinds]
    assert verdicts[0] == verdicts[1]
    premises = [next(kind["premise"] for kind in some if kind["kind"] == "managers") for some in kinds]
    assert premises[0] == premises[1]
