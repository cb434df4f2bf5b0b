"""The verdict on every kind of traffic of a subnet, against walks over the channel dependency graph."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabrics import ONE_WAY, command, discovered, failed, torus_cables
from flitloom.errors import SpecError
from flitloom.fabric import Subnet, check_subnet, examples, parse_fabric, read_fabric, route_subnet
from flitloom.tables.by_destination import making
from flitloom.tables.by_destination.beside import Beside, assumed_tree, read_multicast
from flitloom.tables.by_destination.checking import judge
from flitloom.tables.by_destination.tables import ForwardingTables, read_tables


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
    made = route_subnet(subnet, mode="portable", lanes=4, seed=seed, safe_for=())
    tables, draw = made.forwarding(), random.Random(seed)
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
    code, text, notes = command(capsys, "route", "--fabric", file, *ONE_WAY, "-o", out)
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
    for option, how in zip(ONE_WAY, ("both ways", "for managers", "for multicast"), strict=True):
        assert f"not safe {how}: leave {option} out" in notes
        assert f"not safe {how}: leave {option} out" in (out / "README.txt").read_text()
    # Managers and multicast on lanes that no pair uses.
    apart = ["--sm-sl", 7, "--multicast-sl", 6]
    assert command(capsys, *checked, *apart, "--safe-for", "managers,multicast")[0] == 0
    # Two managers, one of whom is no host.
    for asked in (checked, ["route", "--fabric", file]):
        code, _, err = command(capsys, *asked, "--manager", "hsw1-1", "--manager", "nobody")
        assert (code, "--manager" in err) == (2, True)


@pytest.mark.parametrize("lanes", [8, 6, 4, 3, 2])
@pytest.mark.parametrize(("sizes", "cables", "switches"), [((6, 6), 4, 1), ((4, 4, 4), 9, 1)])
def test_tables_are_safe_for_all_that_a_subnet_carries(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    sizes: tuple[int, ...],
    cables: int,
    switches: int,
    lanes: int,
) -> None:
    """What is written is read from the files and walked here, hop by hop; levels are those of report.json."""
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed(sizes, cables, switches, 7), seed=7))
    code, text, _ = command(capsys, "route", "--fabric", file, "--lanes", lanes, "-o", out)
    assert code == 0
    assert text.splitlines()[0].endswith("safe for host pairs, both ways, managers, multicast")
    report = json.loads((out / "report.json").read_text())
    said = Beside(manager_level=report["sm_sl"], multicast_level=report["multicast_sl"])
    subnet = read_fabric(file)
    tables = read_tables(subnet, out / "opensm-lfts.dump", path_levels=out / "path-sl.txt", lanes=lanes)
    assert tables.levels is None or tables.levels.max() < lanes
    verdict = dict(reference(tables, said, assumed_tree(subnet)))
    assert verdict == {"host pairs": False, "both ways": False, "multicast": False, "places": []}
    # The folder says its levels to the check, and how they are loaded.
    assert command(capsys, "check", "--fabric", file, out, "--lanes", lanes, "--safe-for", "all")[0] == 0
    manual = (out / "README.txt").read_text()
    multicast = report["multicast_sl"]
    assert (" -P partitions.conf" in manual) == (out / "partitions.conf").exists() == (multicast > 0)
    if multicast:
        assert (out / "partitions.conf").read_text() == f"Default=0x7fff, ipoib, sl={multicast} : ALL=full;\n"
        # Else pairs without a level of their own would get that of the partition.
        assert "name: DEFAULT\n        sl: 0\n" in (out / "qos-policy.conf").read_text()


def test_a_lane_is_kept_for_managers_where_they_are_to_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed((6, 6), 4, 1, 7), seed=7))
    asked = ["route", "--fabric", file, "-o", out]
    code, _, notes = command(capsys, *asked, "--sm-lane", 3)
    assert (code, "'sm_sl 3' in opensm.conf" in notes) == (0, True)
    report = json.loads((out / "report.json").read_text())
    assert (report["sm_sl"], report["multicast_sl"], report["given_up"]) == (3, 7, [])
    levels = {row.split()[2] for row in (out / "path-sl.txt").read_text().splitlines()}
    assert levels.isdisjoint({"3", "7"})
    assert " --sm_sl 3" in (out / "README.txt").read_text()
    assert command(capsys, "check", "--fabric", file, out, "--safe-for", "all")[0] == 0
    # Several managers are judged together, and the folder says who they are.
    code, text, _ = command(capsys, *asked, "--manager", "hsw1-1", "--manager", "hsw4-4", "--no-multicast")
    assert code == 0
    assert "hosts and 2 managers on level" in text
    assert json.loads((out / "report.json").read_text())["managers"] == ["hsw1-1", "hsw4-4"]
    assert not (out / "partitions.conf").exists()
    assert "hosts and 2 managers on level" in command(capsys, "check", "--fabric", file, out)[1]
    for wrong in (
        ["--sm-lane", 8],
        ["--sm-lane", 0, "--lanes", 1],
        ["--no-managers", "--sm-lane", 1],
        ["--no-managers", "--manager", "hsw1-1"],
        ["--one-way", "--reversible"],
    ):
        code, _, err = command(capsys, *asked, *wrong)
        assert (code, wrong[0] in err or wrong[1] in err) == (2, True)


def test_the_former_name_of_the_default_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*failed((4, 4), 2, 1, 5), seed=5))
    plain, former = (
        command(capsys, "route", "--fabric", file, "--json", *more) for more in ([], ["--reversible"])
    )
    assert "--one-way gives it up" in former[2]
    assert json.loads(plain[1]) | {"seconds": 0} == json.loads(former[1]) | {"seconds": 0}
    subnet = read_fabric(file)
    with pytest.warns(FutureWarning, match="safe_for"):
        assert route_subnet(subnet, reversible=False).cover.kinds == ("managers", "multicast")
    with pytest.raises(SpecError, match="both ways"):
        route_subnet(subnet, safe_for=["both way"])


def test_repairs_keep_both_ways_on_one_level_beside_traffic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out, again = tmp_path / "cluster.topo", tmp_path / "out", tmp_path / "again"
    file.write_text(discovered(*failed((4, 4, 4), 9, 1, 1), seed=1))
    asked = ["route", "--fabric", file]
    code, _, _ = command(capsys, *asked, "-o", out)
    report = json.loads((out / "report.json").read_text())
    assert code == 0
    # Two of eight lanes are left to managers and multicast.
    assert 1 < report["lanes"] <= 6
    assert (report["sm_sl"], report["multicast_sl"]) == (0, 7)
    assert command(capsys, "check", "--fabric", file, out, "--safe-for", "all")[0] == 0
    subnet = read_fabric(file)
    for cable in subnet.cables[::30]:
        gone = ["--fail", f"cable:{subnet.switches[cable.a].name}/{cable.a_port}"]
        assert command(capsys, *asked, *gone, "--from", out, "-o", again)[0] == 0
        repair = json.loads((again / "report.json").read_text())
        assert repair["update_safe"]
        # Pairs that move take no lane of managers or multicast.
        levels = {row.split()[2] for row in (again / "path-sl.txt").read_text().splitlines()}
        assert levels <= {"1", "2", "3", "4", "5", "6"}
        assert (repair["sm_sl"], repair["multicast_sl"]) == (0, 7)
        now = ["check", "--fabric", file, *gone]
        assert command(capsys, *now, again, "--safe-for", "all")[0] == 0
        # Rounds and stages are not what any order is.
        if repair["update_rounds"] == []:
            mixed = command(capsys, *now, out, "--mix", again)[1]
            assert re.search(r"^(deadlock|levels first) +none possible", mixed, re.MULTILINE)
    # Tables whose directions differ are repaired as they are, which is said.
    assert command(capsys, *asked, *ONE_WAY, "-o", out)[0] == 0
    code, text, notes = command(capsys, *asked, *gone, "--from", out, "-o", again)
    assert (code, "not for both ways" in text.splitlines()[0]) == (0, True)
    assert "not safe both ways: a repair beside running traffic cannot change that" in notes
    assert json.loads((again / "report.json").read_text())["update_safe"]


def test_links_with_fewer_lanes_fold_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed((6, 6), 4, 1, 7), seed=7))
    assert command(capsys, "route", "--fabric", file, *ONE_WAY, "-o", out)[0] == 0
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


@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_where_nothing_broke_a_repair_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hosts: int
) -> None:
    file, out, again = tmp_path / "cluster.topo", tmp_path / "out", tmp_path / "again"
    file.write_text(discovered(*failed((6, 6), 4, 1, 7), seed=7, hosts=hosts))
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    code, text, _ = command(capsys, "route", "--fabric", file, "--from", out, "-o", again, "--json")
    repair = json.loads(text)
    assert (code, repair["changed_entries"], repair["moved_levels"], repair["update_safe"]) == (0, 0, 0, True)
    for name in ("opensm-lfts.dump", "path-sl.txt", "qos-policy.conf", "partitions.conf"):
        assert (again / name).read_bytes() == (out / name).read_bytes()


def two_ports(text: str, pairs: list[tuple[str, str]]) -> str:
    """The same fabric with the second host of every pair as the second port of the first one."""
    for one, other in pairs:
        first, second = (
            re.search(rf'caguid=0x(\w+)\nCa\t1 "H-(\w+)"\t\t# "{name} HCA-1"\n\[1\]\(.*\n', text)
            for name in (one, other)
        )
        assert first is not None
        assert second is not None
        row = second[0].splitlines()[-1].replace("[1](", "[2](", 1)
        text = text.replace(f"vendid=0x2c9\ndevid=0x1011\n{second[0]}", "")
        text = text.replace(first[0], first[0].replace("Ca\t1", "Ca\t2") + row + "\n")
        plug = f'"H-{second[2]}"[1]({int(second[1], 16) + 1:x}) \t\t# "{other} HCA-1"'
        assert plug in text
        text = text.replace(
            plug, plug.replace(second[2], first[2]).replace("[1](", "[2](").replace(other, one)
        )
    return text


def test_ports_of_a_host_at_several_switches_have_separate_levels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out, again = tmp_path / "cluster.topo", tmp_path / "out", tmp_path / "again"
    pairs = [("hsw0-0", "hsw2-3"), ("hsw1-2", "hsw4-4")]
    file.write_text(two_ports(discovered(*failed((6, 6), 4, 0, 7), seed=7), pairs))
    subnet = read_fabric(file)
    assert subnet.count_hosts() == "34 hosts with 36 ports"
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    # The maker's levels are those that the check reads, and a proof of them holds for a program of its own.
    made = route_subnet(subnet).forwarding()
    read = read_tables(subnet, out)
    apart = read.owners[:, None] != np.arange(36)
    assert read.levels is not None
    assert made.levels is not None
    assert np.array_equal(read.levels[apart], made.levels[apart])
    proof = tmp_path / "proof.json"
    asked = ["check", "--fabric", file, out, "--safe-for", "all", "--certificate", proof]
    assert command(capsys, *asked)[0] == 0
    assert command(capsys, "recheck", out, proof)[0] == 0
    # Two lines of one host say other things, each with the GUID of its port.
    lines = [row.split() for row in (out / "path-sl.txt").read_text().splitlines()]
    assert len({(guid, lid) for guid, lid, _ in lines}) == len(lines) == 36 * 35
    # Nothing changes where nothing broke.
    code, text, _ = command(capsys, "route", "--fabric", file, "--from", out, "-o", again, "--json")
    repair = json.loads(text)
    assert (code, repair["changed_entries"], repair["moved_levels"], repair["update_safe"]) == (0, 0, 0, True)
    assert (again / "path-sl.txt").read_bytes() == (out / "path-sl.txt").read_bytes()
    assert (again / "opensm-lfts.dump").read_bytes() == (out / "opensm-lfts.dump").read_bytes()


@pytest.mark.parametrize("wrong", ["half of a switch", "levels of another fabric"])
def test_files_that_are_no_whole_or_of_another_fabric_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed((6, 6), 4, 1, 7), seed=7))
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    dump, levels = out / "opensm-lfts.dump", out / "path-sl.txt"
    if wrong == "half of a switch":
        text = dump.read_text()
        # To the end of a line, so that every line is right.
        dump.write_text(text[: 1 + text.rindex("\n", 0, len(text) // 2)])
        said = f"{dump} ends within a switch"
    else:
        levels.write_text(levels.read_text().replace("0x0002ca", "0x0003cb"))
        said = f"{levels} is of another fabric"
    checked = ["check", "--fabric", file, "--lft", dump, "--path-sl", levels]
    for asked in (checked, ["check", "--fabric", file, out], ["check", "--fabric", file, out, "--mix", out]):
        code, text, err = command(capsys, *asked)
        assert (code, text) == (2, "")
        assert err.startswith(f"error: {said}")
        assert len(err.splitlines()) == 1


def test_the_verdict_says_who_says_the_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed((6, 6), 4, 1, 7), seed=7))
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    asked = ["check", "--fabric", file]
    assert f"on level 7 by {out}/report.json" in command(capsys, *asked, out)[1]
    dump = ["--lft", out / "opensm-lfts.dump", "--path-sl", out / "path-sl.txt"]
    text = command(capsys, *asked, *dump)[1]
    assert "on level 0, assumed" in text
    # Both on one lane is not what was made.
    assert "not for managers" in text.splitlines()[0]
    assert "on level 7)" in command(capsys, *asked, *dump, "--multicast-sl", 7)[1]


def test_where_one_place_of_the_manager_is_not_safe_others_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    subnet = examples.torus((6, 6), 4, 1, 5)
    # The tables of large fabrics, which are made once, are unsafe for one place.
    made = route_subnet(subnet)
    assert made.report.safe_for == "safe for host pairs, both ways, managers, multicast"
    monkeypatch.setattr(making, "_LARGE", 0)
    tables = route_subnet(subnet)
    assert tables.report.safe_for == "safe for host pairs, both ways, multicast; not for managers"
    assert tables.report.max_load <= 1.1 * made.report.max_load
    [note] = [note for note in tables.notes() if "not safe for managers" in note]
    said = re.search(r"at 1 of 35 places of one manager, e\.g\. (\S+), on level 0: --manager HOST says", note)
    assert said is not None
    others = [host.name for host in subnet.hosts if host.name != said[1]]
    for host, unsafe in ((said[1], True), *((name, False) for name in others[::20])):
        known = replace(tables.beside, managers=(host,))
        found = {kind.kind: kind.deadlock for kind in judge(tables.forwarding(), beside=known).kinds}
        assert found["managers"] is unsafe
    named = route_subnet(subnet, managers=[others[0]])
    assert named.report.safe_for == made.report.safe_for
