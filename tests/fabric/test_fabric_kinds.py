"""The verdict on every kind of traffic of a subnet, against walks over the channel dependency graph."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabrics import command, discovered, failed, torus_cables
from flitloom.errors import SpecError
from flitloom.fabric import Subnet, check_subnet, parse_fabric, read_fabric, route_subnet
from flitloom.tables.by_destination.beside import Beside, assumed_tree, read_multicast
from flitloom.tables.by_destination.checking import judge
from flitloom.tables.by_destination.tables import ForwardingTables


def ends_of(subnet: Subnet) -> list[tuple[int, int]]:
    """Both switches of every channel."""
    return [ends for cable in subnet.cables for ends in ((cable.a, cable.b), (cable.b, cable.a))]


def walks(tables: ForwardingTables, levels: list[tuple[int, int, int]]) -> nx.DiGraph:
    """What packets wait for that go from hosts to destinations on levels, hop by hop."""
    graph, ends = nx.DiGraph(), ends_of(tables.subnet)
    for host, row, level in levels:
        at, way = tables.subnet.hosts[host].switch, []
        while at != tables.roots[row] and tables.following[row, at] < len(ends):
            way.append(int(tables.following[row, at]))
            at = ends[way[-1]][1]
        if at != tables.roots[row]:
            continue
        graph.add_edges_from(((a, level % tables.lanes), (b, level % tables.lanes)) for a, b in pairwise(way))
    return graph


def flooded(tables: ForwardingTables, tree: list[int], level: int) -> nx.DiGraph:
    """What packets of a multicast tree wait for: every channel that leaves where one arrives."""
    ends, lane = ends_of(tables.subnet), level % tables.lanes
    follow = ((a, b) for a, b in product(tree, tree) if ends[a][1] == ends[b][0] and b != a ^ 1)
    return nx.DiGraph([((a, lane), (b, lane)) for a, b in follow])


def loops(graph: nx.DiGraph) -> bool:
    """Whether packets can wait for each other."""
    return not nx.is_directed_acyclic_graph(graph)


def reference(tables: ForwardingTables, beside: Beside, trees: list[list[int]]) -> Iterator[tuple[str, Any]]:
    """The same verdicts, in the order in which kinds join those that are free of deadlock."""
    hosts, rows = range(len(tables.subnet.hosts)), range(len(tables.owners))
    level = np.zeros((len(rows), len(hosts)), np.uint8) if tables.levels is None else tables.levels
    of = [[row for row in rows if tables.owners[row] == host] for host in hosts]
    pairs = [(host, row) for host in hosts for row in rows if tables.owners[row] != host]
    known = walks(tables, [(host, row, int(level[row, host])) for host, row in pairs])
    yield "host pairs", loops(known)
    back = [(host, row, int(level[r, tables.owners[row]])) for host, row in pairs for r in of[host]]
    grown = nx.compose(known, walks(tables, back))
    yield "both ways", loops(grown)
    known = known if loops(grown) else grown
    grown = nx.compose_all([known, *(flooded(tables, tree, beside.multicast_level) for tree in trees)])
    yield "multicast", loops(grown)
    known = known if loops(grown) else grown

    def of_managers(managers: list[int]) -> nx.DiGraph:
        those = [p for p in pairs if p[0] in managers or tables.owners[p[1]] in managers]
        return nx.compose(known, walks(tables, [(*pair, beside.manager_level) for pair in those]))

    managers = beside.hosts(tables.subnet)
    if managers:
        yield "managers", loops(of_managers(managers))
    else:
        yield "places", [host for host in hosts if loops(of_managers([host]))]


def drawn(subnet: Subnet, seed: int, lanes: int) -> ForwardingTables:
    """Tables with some levels and some entries that nobody checked."""
    tables, draw = route_subnet(subnet, mode="portable", lanes=4, seed=seed).forwarding(), random.Random(seed)
    assert tables.levels is not None or lanes
    levels = np.zeros((len(tables.owners), len(subnet.hosts)), np.uint8)
    if tables.levels is not None:
        levels[:] = tables.levels
    for _ in range(draw.choice((0, 0, 3, 12))):
        levels[draw.randrange(len(levels)), draw.randrange(levels.shape[1])] = draw.randrange(4)
    return ForwardingTables(tables.subnet, tables.owners, tables.following, levels, None, lanes, "drawn")


@pytest.mark.parametrize("seed", range(12))
def test_every_kind_of_traffic_is_judged_as_by_walks_over_its_dependencies(seed: int) -> None:
    sizes = ((4, 4), (5,), (3, 3, 2), (6, 3), (2, 2, 2), (7,))[seed % 6]
    text = discovered(*failed(sizes, seed % 3, int(len(sizes) > 1 and seed % 2), seed), seed=seed)
    tables = drawn(parse_fabric(text), seed, (8, 8, 2, 3)[seed % 4])
    subnet = tables.subnet
    names = tuple(
        subnet.hosts[host].name.split()[0] for host in random.Random(seed).sample(range(4), seed % 3)
    )
    beside = Beside(managers=names, manager_level=seed % 4, multicast_level=seed % 5)
    wanted = dict(reference(tables, beside, assumed_tree(subnet)))
    report = judge(tables, beside=beside)
    if wanted["host pairs"]:
        assert report.deadlock
        assert [kind.deadlock for kind in report.kinds] == [True, None, None, None]
        return
    found = {kind.kind: kind.deadlock for kind in report.kinds}
    assert not report.deadlock
    assert (found["both ways"], found["multicast"]) == (wanted["both ways"], wanted["multicast"])
    if names:
        assert found["managers"] == wanted["managers"]
    else:
        assert found["managers"] == bool(wanted["places"])
        said = report.kinds[2].premise
        places = len(subnet.hosts)
        at = (
            f"at {len(wanted['places'])} of {places} places"
            if wanted["places"]
            else f"any of {places} places"
        )
        assert at in said


def test_the_drawn_tables_have_all_verdicts() -> None:
    """What the comparison above compares is not all alike."""
    found = set()
    for seed in range(12):
        sizes = ((4, 4), (5,), (3, 3, 2), (6, 3), (2, 2, 2), (7,))[seed % 6]
        text = discovered(*failed(sizes, seed % 3, int(len(sizes) > 1 and seed % 2), seed), seed=seed)
        report = judge(drawn(parse_fabric(text), seed, (8, 8, 2, 3)[seed % 4]), beside=Beside())
        found |= {(kind.kind, kind.deadlock) for kind in report.kinds}
    assert found >= {
        (kind, loop) for kind in ("host pairs", "both ways", "multicast") for loop in (True, False)
    }
    assert ("managers", True) in found


def test_the_first_line_of_route_check_and_readme_names_the_kinds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed((6, 6), 4, 1, 7), seed=7))
    code, text, notes = command(capsys, "route", "--fabric", file, "-o", out)
    said = "safe for host pairs; not for both ways, managers, multicast"
    assert (code, text.splitlines()[0].partition("; ")[2]) == (0, said)
    assert (out / "README.txt").read_text().splitlines()[0].endswith(said)
    checked = ["check", "--fabric", file, out]
    code, text, _ = command(capsys, *checked)
    assert code == 0
    assert text.splitlines()[0].endswith(f"; {said}")
    # The exit code covers what is asked for.
    for kinds in ("both-ways", "managers", "multicast", "all"):
        assert command(capsys, *checked, "--safe-for", kinds)[0] == 1
    code, _, err = command(capsys, *checked, "--safe-for", "both-way")
    assert code == 2
    assert "--safe-for" in err
    assert "both-ways" in err
    # Managers and multicast on lanes that no pair uses, which a note names.
    named = re.search(r"'sm_sl (\d)'.* sl=(\d) : .*(--sm-sl \1 --multicast-sl \2) judges", notes)
    assert named is not None
    assert command(capsys, *checked, *named[3].split(), "--safe-for", "managers,multicast")[0] == 0
    assert named[1] in (out / "README.txt").read_text()
    # And tables that are safe both ways, as the other one says.
    assert "not safe both ways: --reversible puts both" in notes
    again = ["route", "--fabric", file, "--reversible", "-o", tmp_path / "again"]
    assert command(capsys, *again)[0] == 0
    assert command(capsys, "check", "--fabric", file, tmp_path / "again", "--safe-for", "both-ways")[0] == 0
    # Two managers, one of whom is no host.
    code, _, err = command(capsys, *checked, "--manager", "hsw1-1", "--manager", "nobody")
    assert (code, "--manager" in err) == (2, True)


def test_repairs_keep_both_ways_on_one_level_beside_traffic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out, again = tmp_path / "cluster.topo", tmp_path / "out", tmp_path / "again"
    file.write_text(discovered(*failed((4, 4, 4), 9, 1, 1), seed=1))
    asked = ["route", "--fabric", file, "--reversible"]
    code, _, notes = command(capsys, *asked, "-o", out)
    report = json.loads((out / "report.json").read_text())
    assert code == 0
    # Two of eight lanes are left to managers and multicast.
    assert 1 < report["lanes"] <= 6
    named = re.search(r"'sm_sl 7'.* sl=6 : .*(--sm-sl 7 --multicast-sl 6) judges", notes)
    assert named is not None
    assert command(capsys, "check", "--fabric", file, out, *named[1].split(), "--safe-for", "all")[0] == 0
    subnet = read_fabric(file)
    for cable in subnet.cables[::30]:
        gone = ["--fail", f"cable:{subnet.switches[cable.a].name}/{cable.a_port}"]
        assert command(capsys, *asked, *gone, "--from", out, "-o", again)[0] == 0
        repair = json.loads((again / "report.json").read_text())
        assert repair["update_safe"]
        now = ["check", "--fabric", file, *gone]
        assert command(capsys, *now, again, "--safe-for", "both-ways")[0] == 0
        # Rounds are not what any order is.
        if not repair["update_rounds"]:
            mixed = command(capsys, *now, out, "--mix", again)[1]
            assert re.search(r"^(deadlock|levels first) +none possible", mixed, re.MULTILINE)
    # Tables whose directions differ are made anew where both are to be on one level.
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    assert command(capsys, *asked, "--from", out, "-o", again)[0] == 0
    assert command(capsys, "check", "--fabric", file, again, "--safe-for", "both-ways")[0] == 0


def test_links_with_fewer_lanes_fold_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed((6, 6), 4, 1, 7), seed=7))
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    for lanes, code in ((8, 0), (4, 0), (2, 1), (1, 1)):
        found, text, _ = command(capsys, "check", "--fabric", file, out, "--lanes", lanes, "--json")
        verdict = json.loads(text)
        assert (found, verdict["deadlock"]) == (code, bool(code))
        assert verdict["rules_in_words"].startswith(f"lanes by {out}/sl2vl.dump mod {lanes}")
        # Without tables of lanes the rule is the same.
        files = ["--lft", out / "opensm-lfts.dump", "--path-sl", out / "path-sl.txt"]
        assert command(capsys, "check", "--fabric", file, *files, "--lanes", lanes)[0] == code


def dumped(subnet: Subnet, tree: list[int]) -> str:
    """A multicast tree of all hosts as OpenSM dumps it."""
    ports = [port for cable in subnet.cables for port in (cable.a_port, cable.b_port)]
    ends, text = ends_of(subnet), ""
    for index, switch in enumerate(subnet.switches):
        here = {ports[channel] for channel in tree if ends[channel][0] == index}
        here |= {host.switch_port for host in subnet.hosts if host.switch == index}
        row = "".join(f" 0x{port:03X} " for port in sorted(here))
        text += f"\nSwitch 0x{switch.guid:016x}\nLID    : Out Port(s)\n0xC000 :{row}\n0xC001 :{row}\n"
    return text


def test_multicast_tables_are_read_and_the_assumed_tree_is_one(tmp_path: Path) -> None:
    subnet = parse_fabric(discovered(*failed((4, 4), 2, 1, 5), seed=5))
    [tree] = assumed_tree(subnet)
    ends = ends_of(subnet)
    joined = nx.Graph([ends[channel] for channel in tree])
    assert nx.is_tree(joined)
    assert len(joined) == len(subnet.switches)
    # On shortest ways from a switch that is nowhere farther from any than the best one can be.
    whole = nx.Graph(ends)
    radius = nx.radius(whole)
    shortest = dict(nx.all_pairs_shortest_path_length(whole))
    roots = [switch for switch in whole if max(shortest[switch].values()) == radius]
    assert any(nx.single_source_shortest_path_length(joined, root) == shortest[root] for root in roots)
    file = tmp_path / "opensm.mcfdbs"
    file.write_text(dumped(subnet, tree))
    assert read_multicast(subnet, file) == [tree]
    # A cable more closes a ring, round which multicast packets go for ever.
    more = next(channel for channel in range(0, len(ends), 2) if channel not in tree)
    file.write_text(dumped(subnet, sorted([*tree, more, more + 1])))
    out = route_subnet(subnet).write(tmp_path / "out")
    free = Beside(multicast=file, multicast_level=7, safe_for=("multicast",))
    report = check_subnet(subnet, out, beside=free)
    assert report.kinds[3].deadlock
    assert not report.passed
    assert str(file) in report.kinds[3].premise
    assert check_subnet(subnet, out, beside=Beside(multicast_level=7, safe_for=("multicast",))).passed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0xC000 : 0x001\n", "line 1"),
        ("Switch 0x1\n", "not in the fabric"),
        ("Switch 0xGUID\n0x0001 : 0x001\n", "not a multicast row"),
        ("Switch 0xGUID\n0xC000 : one\n", "line 2"),
    ],
)
def test_damaged_multicast_tables_are_refused(text: str, message: str, tmp_path: Path) -> None:
    subnet = parse_fabric(discovered(*torus_cables((3, 3))))
    file = tmp_path / "opensm.mcfdbs"
    file.write_text(text.replace("GUID", f"{subnet.switches[0].guid:016x}"))
    with pytest.raises(SpecError, match=message):
        read_multicast(subnet, file)


@pytest.mark.parametrize("fields", [{"manager_level": 16}, {"multicast_level": -1}, {"safe_for": ("pairs",)}])
def test_levels_and_kinds_that_there_are_not_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        Beside(**fields)
