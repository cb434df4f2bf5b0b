"""Whom the tables of a fabric serve: all hosts on few lanes, those outside a job, further LIDs, weights."""

import csv
import itertools
import json
import random
import re
from collections import Counter, defaultdict
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from fabrics import ONE_WAY, command, discovered, failed
from flitloom.fabric import examples, read_fabric, recognise, route_subnet
from flitloom.fabric.failures import fail_parts
from flitloom.tables.by_destination import repairing
from flitloom.tables.by_destination.checking import check_subnet
from flitloom.tables.by_destination.qos_policy import cannot_be_loaded
from flitloom.tables.by_destination.tables import destinations, read_path_levels


def walked(subnet, folder):
    """Every pair of hosts walked over written tables, port by port; dependencies go to networkx.

    Gives whether they are free of cycles, the ways as channels by (source, LID), and the lanes in use;
    no reader of the package has a part in it.
    """
    ports, here = {}, None
    for line in (folder / "opensm-lfts.dump").read_text().splitlines():
        if head := re.search(r"of switch Lid \d+ guid 0x([0-9a-f]+)", line):
            here = int(head[1], 16)
        elif row := re.match(r"0x([0-9a-f]{4}) (\d{3}) :", line):
            ports[here, int(row[1], 16)] = int(row[2])
    file, levels = folder / "path-sl.txt", Counter()
    if file.exists():
        rows = (line.split() for line in file.read_text().splitlines())
        levels |= {(int(guid, 16), int(lid)): int(level) for guid, lid, level in rows}
    ends = {}
    for cable in subnet.cables:
        ends[cable.a, cable.a_port], ends[cable.b, cable.b_port] = cable.b, cable.a
    dependencies, ways, lanes = nx.DiGraph(), {}, set()
    for source in subnet.hosts:
        for target in subnet.hosts:
            if source is target:
                continue
            for lid in range(target.lid, target.lid + (1 << target.lmc)):
                at, way = source.switch, []
                while (
                    port := ports[subnet.switches[at].guid, lid]
                ) != target.switch_port or at != target.switch:
                    way.append((at, port))
                    at = ends[at, port]
                    assert len(way) <= len(subnet.switches)
                lane = levels[source.guid, lid] % 8
                lanes.add(lane)
                dependencies.add_edges_from(
                    ((*one, lane), (*other, lane)) for one, other in itertools.pairwise(way)
                )
                ways[source.lid, lid] = way
    return nx.is_directed_acyclic_graph(dependencies), ways, lanes


def loads(ways, weight=None):
    """The most that crosses a channel."""
    sums = Counter()
    for pair, way in ways.items():
        sums.update({channel: weight(*pair) if weight else 1 for channel in way})
    return max(sums.values(), default=0)


@pytest.mark.parametrize(("sizes", "cables", "lanes"), [((5, 5), 0, 1), ((6, 4), 3, 1), ((6, 6, 2), 12, 2)])
def test_however_few_the_lanes_there_are_tables_and_their_price(tmp_path, capsys, sizes, cables, lanes):
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed(sizes, cables, 0, 3), seed=3, hosts=2))
    asked = ["route", "--fabric", file, "-o", out, "--mode", "portable", "--lanes", lanes, "--json", *ONE_WAY]
    code, text, err = command(capsys, *asked)
    facts = json.loads(text)
    assert (code, facts["short_of_lanes"], facts["lanes"]) == (0, True, lanes)
    free, ways, used = walked(read_fabric(file), out)
    assert free
    assert used == set(range(lanes))
    assert loads(ways) == facts["max_load"] > facts["balanced_load"] >= facts["bound"]
    more = 100 * (facts["max_load"] / facts["balanced_load"] - 1)
    assert f"{facts['max_load']} host pairs on a channel, {more:.1f} % more than the" in err
    assert f"{more:.1f} % more" in (out / "README.txt").read_text()
    # Enough lanes cost nothing, and no price is told.
    code, text, err = command(capsys, "route", "--fabric", file, "--json", *ONE_WAY)
    facts = json.loads(text)
    assert (code, facts["short_of_lanes"], "more than the" in err) == (0, False, False)


def test_an_uneven_fabric_of_many_hosts_is_served_on_few_lanes():
    subnet = uneven((5, 5, 4), 10, 4, 7)
    for mode in ("portable", "sl2vl"):
        tables = route_subnet(subnet, lanes=3, mode=mode, safe_for=())
        assert (tables.report.passed, tables.mode) == (True, mode)
        assert tables.report.lanes <= 3
        # Far below what one destination after the other on up*/down* ways would cost.
        assert tables.report.max_load <= 2 * tables.bound["value"]


def uneven(sizes, cables, most, seed):
    """A torus less some cables with 1 to `most` hosts at every switch, drawn at random."""
    draw = random.Random(seed)
    whole = examples.torus(sizes, cables=cables, seed=seed)
    pairs = [(whole.switches[cable.a].name, whole.switches[cable.b].name) for cable in whole.cables]
    return examples.subnet(pairs, lambda _: draw.randint(1, most))


def test_tables_that_opensm_loads_come_first_and_their_price_is_said():
    """Two lanes: tables of the switches would carry 132, and the best without lanes 131."""
    tables = route_subnet(uneven((4, 4, 4), 2, 3, 1), lanes=2, safe_for=())
    facts = tables.facts()
    assert (facts["mode"], facts["short_of_lanes"]) == ("portable", False)
    best, load = facts["balanced_load"], facts["max_load"]
    assert best < load <= 1.1 * best
    more = f"{100 * (load / best - 1):.1f} % more than the {best} of tables balanced without lanes"
    assert [said for said in tables.prices() if more in said] == tables.prices()
    # Nobody asked what others carry.
    assert facts["mode_loads"] == {"portable": load}


def test_where_portable_tables_cost_more_both_modes_are_tried():
    tables = route_subnet(uneven((7, 5), 4, 3, 17), lanes=2, safe_for=())
    loads = tables.facts()["mode_loads"]
    assert (tables.mode, set(loads)) == ("portable", {"portable", "sl2vl"})
    assert tables.report.max_load == loads["portable"] <= 1.1 * loads["sl2vl"]
    assert loads["portable"] > 1.1 * tables.balanced
    said = f"portable tables have {loads['portable']}, sl2vl ones {loads['sl2vl']}"
    assert any(said in price for price in tables.prices())


def test_tables_that_opensm_does_not_load_say_so_first(tmp_path, capsys):
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed((5, 5, 4), 0, 0, 3), seed=3))
    asked = ["route", "--fabric", file, "--lanes", 2, "--mode", "sl2vl"]
    code, text, _ = command(capsys, *asked, "-o", out)
    assert (code, "safe for host pairs, both ways" in text.splitlines()[0]) == (0, True)
    assert (out / "README.txt").read_text().startswith("Not to be loaded: lanes change along routes")
    # Where both modes were made, the loads of both are said.
    tables = replace(
        route_subnet(read_fabric(file), lanes=2, mode="sl2vl"), mode_loads={"portable": 99, "sl2vl": 60}
    )
    assert "portable ones have 99 on the busiest channel, these 60" in cannot_be_loaded(tables)


def test_tables_for_everything_that_cost_much_say_what_less_costs(tmp_path, capsys):
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*failed((5, 5, 4), 0, 0, 3), seed=3))
    asked = ["route", "--fabric", file, "--lanes", 2, "--json"]
    code, text, notes = command(capsys, *asked)
    facts, plain = json.loads(text), json.loads(command(capsys, *asked, *ONE_WAY)[1])
    assert (code, facts["mode"], facts["host_pairs_load"]) == (0, "portable", plain["max_load"])
    assert facts["max_load"] > 1.1 * plain["max_load"]
    more = f"{100 * (facts['max_load'] / plain['max_load'] - 1):.1f} % more than the {plain['max_load']}"
    assert f"{more} of {' '.join(ONE_WAY)}" in notes
    assert plain["host_pairs_load"] is None


@pytest.mark.parametrize(
    ("sizes", "cables", "hosts", "times"),
    # A mesh of even sizes has a bound twice that of the torus; up*/down* ways need 2.8 to 6 times.
    [((6, 6), 0, 2, 2.0), ((4, 4, 4), 3, 1, 2.6)],
)
def test_one_lane_loads_a_torus_about_as_much_as_a_mesh(tmp_path, sizes, cables, hosts, times):
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*failed(sizes, cables, 0, 3), seed=3, hosts=hosts))
    subnet = read_fabric(file)
    tables = route_subnet(subnet, lanes=1)
    free, ways, used = walked(subnet, tables.write(tmp_path / "out"))
    assert (free, used, len(ways)) == (True, {0}, len(subnet.hosts) * (len(subnet.hosts) - 1))
    assert loads(ways) == tables.report.max_load <= times * tables.bound["value"]


@pytest.mark.long
@pytest.mark.parametrize(("size", "most", "cables"), [(8, 2, 77), (10, 1, 30)])
def test_a_large_torus_of_uneven_hosts_has_tables_that_opensm_loads(size, most, cables):
    tables = route_subnet(uneven((size,) * 3, cables, most, 1), safe_for=())
    facts = tables.facts()
    assert (tables.report.passed, tables.mode, facts["unreachable"]) == (True, "portable", 0)
    # Rings cut with all lanes keep most ways as short as they are.
    assert facts["max_load"] <= (1.1 if size == 8 else 1.03) * facts["balanced_load"]
    assert bool(tables.prices()) == (facts["max_load"] > 1.005 * facts["balanced_load"])


def test_a_seed_draws_the_order_of_destinations(tmp_path, capsys):
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*failed((4, 4, 4), 6, 0, 3), seed=3))
    subnet = read_fabric(file)
    made = {seed: route_subnet(subnet, seed=seed) for seed in (1, 2, 2**64 - 1)}
    assert all(tables.report.passed for tables in made.values())
    assert not np.array_equal(made[1].following, made[2].following)
    assert np.array_equal(made[2].following, route_subnet(subnet, seed=2).following)
    texts = [command(capsys, "route", "--fabric", file, "--seed", 2, "--json") for _ in range(2)]
    facts = [{**json.loads(text), "seconds": 0} for _, text, _ in texts]
    assert facts[0] == facts[1]
    assert facts[0]["max_load"] == made[2].report.max_load
    assert command(capsys, "route", "--fabric", file, "--critical", "--seed", 2)[0] == 2


@pytest.mark.parametrize(("sizes", "cables"), [((4, 4, 4), 5), ((6, 6), 0)])
def test_tables_of_a_job_serve_all_others_too(tmp_path, capsys, sizes, cables):
    file, listed, out = tmp_path / "cluster.topo", tmp_path / "hosts.txt", tmp_path / "job"
    file.write_text(discovered(*failed(sizes, cables, 0, 3), seed=3, hosts=2))
    subnet = read_fabric(file)
    names = set(random.Random(5).sample(sorted({host.name for host in subnet.hosts}), 12))
    job = [host for host in subnet.hosts if host.name in names]
    listed.write_text(",".join(f'"{name}"' for name in sorted(names)))
    code, text, err = command(capsys, "route", "--fabric", file, "--nodes", listed, "-o", out, "--json")
    facts = json.loads(text)
    assert (code, facts["hosts"], facts["job_hosts"]) == (0, len(subnet.hosts), len(job))
    assert f"{len(subnet.hosts) - len(job)} hosts are not in" in err
    free, ways, _ = walked(subnet, out)
    lids = {host.lid for host in job}
    assert free
    assert len(ways) == len(subnet.hosts) * (len(subnet.hosts) - 1)
    assert loads(ways, lambda source, lid: int({source, lid} <= lids)) == facts["max_load"]
    # The check of the job has the same load and bound, that of all finds nobody cut off.
    made = ["--lft", out / "opensm-lfts.dump", "--path-sl", out / "path-sl.txt", "--json"]
    code, text, _ = command(capsys, "check", "--fabric", file, "--nodes", listed, *made)
    judged = json.loads(text)
    assert (code, judged["max_load"]) == (0, facts["max_load"])
    # Where only hosts of the job are there, loads are multiples of what their switches have of it.
    assert facts["bound"] <= judged["bound"] <= facts["bound"] + facts["bound"] % 2
    code, text, _ = command(capsys, "check", "--fabric", file, *made)
    assert (code, json.loads(text)["unreachable"]) == (0, 0)
    # Balanced for the job: tables for all hosts load its channels more, or no less.
    whole = tmp_path / "all"
    assert command(capsys, "route", "--fabric", file, "-o", whole)[0] == 0
    _, others, _ = walked(subnet, whole)
    assert facts["max_load"] <= loads(others, lambda source, lid: int({source, lid} <= lids))
    assert facts["max_load"] <= 1.1 * facts["bound"] + 1


def test_tables_are_balanced_by_the_weights_of_a_matrix(tmp_path, capsys):
    file, matrix, out = tmp_path / "cluster.topo", tmp_path / "weights.csv", tmp_path / "out"
    file.write_text(discovered(*failed((4, 4), 2, 0, 3), seed=3, hosts=2))
    subnet = read_fabric(file)
    draw = np.random.default_rng(1)
    weights = draw.integers(0, 50, (32, 32)) * (draw.random((32, 32)) < 0.3)
    with matrix.open("w", newline="") as place:
        csv.writer(place).writerows(weights.tolist())
    code, text, _ = command(capsys, "route", "--fabric", file, "--traffic", matrix, "-o", out, "--json")
    facts = json.loads(text)
    free, ways, _ = walked(subnet, out)
    number = {host.lid: index for index, host in enumerate(subnet.hosts)}

    def of_pair(source, lid):
        return int(weights[number[source], number[lid]])

    assert (code, free, len(ways)) == (0, True, 32 * 31)
    assert loads(ways, of_pair) == facts["max_load"]
    # No table does with less than what enters and leaves the hosts of a switch over its cables.
    degree = Counter(end for cable in subnet.cables for end in (cable.a, cable.b))
    where = np.array([host.switch for host in subnet.hosts])
    apart = where[:, None] != where[None, :]
    least = max(
        int(-(-(weights * apart)[where == switch].sum() // cables)) for switch, cables in degree.items()
    )
    assert least <= facts["bound"] <= facts["max_load"] <= 1.25 * facts["bound"]
    plain = tmp_path / "plain"
    assert command(capsys, "route", "--fabric", file, "-o", plain)[0] == 0
    assert facts["max_load"] < loads(walked(subnet, plain)[1], of_pair)
    asked = ["route", "--fabric", file, "--traffic", matrix]
    assert command(capsys, *asked, "--nodes", matrix)[0] == 2
    matrix.write_text("1,2\n3,4\n")
    assert command(capsys, *asked)[0] == 2


def _with_lmc(text, lmc):
    """The same fabric with ``2**lmc`` LIDs per host."""
    for lid in sorted({int(found) for found in re.findall(r"lid (\d+) lmc 0 ", text)}, reverse=True):
        if lid >= 20000:
            text = re.sub(rf"\blid {lid}\b", f"lid {20000 + (lid - 20000 << lmc)}", text)
    return re.sub(r"(# lid \d+) lmc 0 ", rf"\1 lmc {lmc} ", text)


@pytest.mark.parametrize(("sizes", "cables"), [((4, 4), 0), ((5, 4), 2)])
def test_further_lids_have_ways_of_their_own_and_the_base_lids_count(tmp_path, capsys, sizes, cables):
    file, out, plain = tmp_path / "cluster.topo", tmp_path / "out", tmp_path / "plain.topo"
    plain.write_text(discovered(*failed(sizes, cables, 0, 3), seed=3))
    file.write_text(_with_lmc(plain.read_text(), 2))
    subnet = read_fabric(file)
    assert {host.lmc for host in subnet.hosts} == {2}
    code, text, _ = command(capsys, "route", "--fabric", file, "-o", out, "--json", *ONE_WAY)
    facts = json.loads(text)
    base = json.loads(command(capsys, "route", "--fabric", plain, "--json", *ONE_WAY)[1])
    assert (code, facts["max_load"], facts["bound"]) == (0, base["max_load"], base["bound"])
    free, ways, _ = walked(subnet, out)
    assert free
    assert len(ways) == 4 * len(subnet.hosts) * (len(subnet.hosts) - 1)
    by_offset = defaultdict(dict)
    bases = {lid + offset: offset for lid in (host.lid for host in subnet.hosts) for offset in range(4)}
    for (source, lid), way in ways.items():
        by_offset[bases[lid]][source, lid - bases[lid]] = way
    assert loads(by_offset[0]) == facts["max_load"]
    assert any(by_offset[1][pair] != way for pair, way in by_offset[0].items())
    assert all(loads(by_offset[offset]) <= 1.3 * facts["bound"] + 1 for offset in range(4))
    made = ["--lft", out / "opensm-lfts.dump", "--path-sl", out / "path-sl.txt", "--json"]
    code, text, _ = command(capsys, "check", "--fabric", file, *made)
    judged = json.loads(text)
    assert (code, judged["max_load"], judged["bound"]) == (0, facts["max_load"], facts["bound"])


@pytest.mark.parametrize("wrong", ["nothing", "entries of a switch", "all but the base LID"])
def test_unreachable_pairs_count_once_however_many_lids(tmp_path, capsys, wrong):
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(_with_lmc(discovered(*failed((4, 3), 0, 0, 3), seed=3, hosts=2), 2))
    subnet = read_fabric(file)
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    dump, target, hosts = out / "opensm-lfts.dump", subnet.hosts[5], len(subnet.hosts)
    head, *blocks = re.split(r"(?=Unicast lids)", dump.read_text())
    lids = range(target.lid + 1, target.lid + 4)
    expected = 0
    if wrong == "entries of a switch":
        # Ways through this switch are lost, too: they are walked here, LID by LID.
        gone = next(guid for guid in (s.guid for s in subnet.switches) if guid != _guid(subnet, target))
        cut = [n for n, block in enumerate(blocks) if f"0x{gone:016x} (" in block]
        for lid in lids:
            blocks[cut[0]] = re.sub(rf"0x{lid:04x} \d+ : .*\n", "", blocks[cut[0]])
        ways = walked(subnet, out)[1]
        number = next(n for n, switch in enumerate(subnet.switches) if switch.guid == gone)
        expected = sum(
            any(number in {at for at, _ in ways[host.lid, lid]} for lid in lids)
            for host in subnet.hosts
            if host is not target
        )
        assert expected >= 2
    elif wrong == "all but the base LID":
        for lid in lids:
            blocks = [re.sub(rf"0x{lid:04x} \d+ : .*\n", "", block) for block in blocks]
        expected = hosts - 1
    dump.write_text(head + "".join(blocks))
    code, text, err = command(
        capsys, "check", "--fabric", file, "--lft", dump, "--path-sl", out / "path-sl.txt", "--json"
    )
    facts = json.loads(text)
    assert (code, facts["unreachable"], facts["remarks"], err) == (int(expected > 0), expected, [], "")
    named = facts["unreachable_pairs"]
    assert len(named) == len(set(named))
    assert all(pair.endswith(f"to {target.name}") for pair in named)


def _guid(subnet, host):
    return subnet.switches[host.switch].guid


def test_missing_levels_are_counted_and_the_file_is_read_once(tmp_path, capsys, monkeypatch):
    """Lines to other hosts' LIDs only: a host sends nothing to its own, whatever its LMC."""
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(_with_lmc(discovered(*failed((4, 3), 0, 0, 3), seed=3), 1))
    subnet = read_fabric(file)
    lids, owners = destinations(subnet)
    assert command(capsys, "route", "--fabric", file, "-o", out, *ONE_WAY)[0] == 0
    levels = out / "path-sl.txt"
    assert read_path_levels(subnet, levels, lids)[1:] == (0, ())
    reads = []

    def counted(*asked):
        reads.append(asked)
        return read_path_levels(*asked)

    monkeypatch.setattr(repairing, "read_path_levels", counted)
    repairing.read_old(subnet, out, lids, owners)
    assert len(reads) == 1
    levels.write_text("".join(levels.read_text().splitlines(keepends=True)[7:]))
    _, missing, remarks = read_path_levels(subnet, levels, lids)
    assert missing == 7
    assert remarks[0].startswith(f"{levels}: 7 lines ")


def test_moved_pairs_count_once_however_many_lids(tmp_path, capsys):
    file, first, second = tmp_path / "cluster.topo", tmp_path / "first", tmp_path / "second"
    file.write_text(_with_lmc(discovered(*failed((5, 4), 0, 0, 2), seed=2, hosts=2), 1))
    assert command(capsys, "route", "--fabric", file, "-o", first, *ONE_WAY)[0] == 0
    gone = ["--fail", "link:(1,1)+x", "--fail", "link:(2,1)+x", "--fail", "link:(1,2)+x"]
    code, text, _ = command(
        capsys,
        "route",
        "--fabric",
        file,
        *gone,
        "--from",
        first,
        "--lanes",
        3,
        "--json",
        "-o",
        second,
        *ONE_WAY,
    )
    facts = json.loads(text)
    host_of = {lid: host.guid for host in read_fabric(file).hosts for lid in (host.lid, host.lid + 1)}
    rows = [(f / "path-sl.txt").read_text().splitlines() for f in (first, second)]
    before, after = ({tuple(row.split()[:2]): row.split()[2] for row in some} for some in rows)
    moved = {(guid, host_of[int(lid)]) for guid, lid in after if before[guid, lid] != after[guid, lid]}
    assert (code, facts["moved_levels"]) == (0, len(moved))
    assert moved
    if facts["update_safe"]:
        assert f"first give {len(moved)} pairs of hosts" in facts["update"]


def test_route_and_check_have_the_same_bound(tmp_path):
    """Where cuts leave a gap, both ask for prices of channels."""
    for case in (0, 3):
        subnet = examples.torus((5, 4, 3), cables=4 * case, seed=case)
        tables = route_subnet(subnet, lanes=8 if case % 2 else 3)
        tables.write(tmp_path / f"{case}")
        report = check_subnet(
            tables.subnet,
            tmp_path / f"{case}/opensm-lfts.dump",
            path_levels=tmp_path / f"{case}/path-sl.txt",
            lane_tables=tmp_path / f"{case}/slvl.txt",
        )
        assert recognise(tables.subnet).grid() is not None
        assert (report.bound, report.max_load) == (tables.bound["value"], tables.report.max_load)
        assert len(destinations(tables.subnet)[0]) == len(subnet.hosts)


def test_repairs_say_more_than_from_scratch_only_where_they_are():
    tables = route_subnet(examples.torus((4, 4), 3))
    load, bound = tables.report.max_load, tables.bound["value"]
    said = {scratch: replace(tables, scratch=scratch).prices() for scratch in (load - 1, load, load + 1)}
    more = f"{100 / (load - 1):.1f} % more than the {load - 1} from scratch"
    assert more in said[load - 1][-1]
    for scratch in (load, load + 1):
        assert "more than" not in said[scratch][-1]
        above = f"{100 * (load / bound - 1):.1f} % above the lower bound"
        assert above in said[scratch][-1]
        assert said[scratch][-1].endswith(f"tables from scratch are not better ({scratch})")
    none = tables.following[:0], tables.levels[:0]
    before = repairing.OldTables(tables.following, tables.levels, none, tables.ports(), None)
    for far in (False, True):
        bound = tables.bound | {"value": load // 2 if far else load}
        prices = replace(tables, scratch=None, old=before, bound=bound).prices()
        told = "above the lower bound; tables from scratch may be better, and were not made"
        assert any(price.endswith(told) for price in prices) == far


@pytest.mark.parametrize("seed", [7, 12, 47])
def test_pairs_that_no_way_joins_do_not_count_in_the_bound(tmp_path, seed):
    """A graph in several parts has the bound of the worst of them, also in the check and for a job."""
    draw = random.Random(seed)
    whole = examples.random_regular(12, 3, seed)
    pairs = [(whole.switches[cable.a].name, whole.switches[cable.b].name) for cable in whole.cables]
    apart = [(f"{name}-{a}", f"{name}-{b}") for name in "uv" for a, b in pairs]
    plugged = {name: draw.randint(1, 3) for pair in pairs for name in pair}
    one = route_subnet(examples.subnet(pairs, lambda name: plugged[name]))
    both = route_subnet(examples.subnet(apart, lambda name: plugged[name[2:]]))
    assert (both.bound["value"], both.report.max_load) == (one.bound["value"], one.report.max_load)
    assert (one.report.unreachable, both.report.unreachable) == (0, 2 * len(one.subnet.hosts) ** 2)
    both.write(tmp_path)
    levels = tmp_path / "path-sl.txt"
    checked = check_subnet(both.subnet, tmp_path / "opensm-lfts.dump", path_levels=levels)
    assert (checked.bound, checked.max_load) == (one.bound["value"], one.report.max_load)
    job = route_subnet(both.subnet, job=range(0, len(both.subnet.hosts), 2))
    assert job.bound["value"] <= job.report.max_load


@pytest.mark.parametrize(("sizes", "cables", "seed"), [((4, 4, 4), 4, 2), ((4, 4, 4), 6, 2), ((6, 4), 3, 1)])
def test_repairs_come_near_the_bound_or_tell_their_price(tmp_path, capsys, sizes, cables, seed):
    file, old, out = tmp_path / "cluster.topo", tmp_path / "old", tmp_path / "out"
    file.write_text(discovered(*failed(sizes, 0, 0, seed), seed=seed))
    assert command(capsys, "route", "--fabric", file, "-o", old)[0] == 0
    subnet = read_fabric(file)
    gone = [
        f"cable:{subnet.switches[cable.a].name}/{cable.a_port}"
        for cable in random.Random(seed).sample(subnet.cables, cables)
    ]
    fails = [word for part in gone for word in ("--fail", part)]
    asked = ["route", "--fabric", file, *fails, "--json"]
    code, text, err = command(capsys, *asked, "--from", old, "-o", out)
    facts = json.loads(text)
    free, ways, _ = walked(fail_parts(subnet, gone), out)
    assert (code, free, facts["unreachable"]) == (0, True, 0)
    assert loads(ways) == facts["max_load"]
    near = facts["max_load"] <= 1.02 * facts["bound"]
    assert (facts["scratch_load"] is None) == near
    if not near:
        scratch = json.loads(command(capsys, *asked)[1])["max_load"]
        assert facts["scratch_load"] == scratch
        assert f"more than the {scratch} from scratch, without --from" in err
        assert f"the {scratch} from scratch" in (out / "README.txt").read_text()
    # Pairs without a cable less keep their levels, and most entries stay.
    assert facts["changed_entries"] < 0.2 * facts["entries"]


def test_service_levels_are_written_only_where_some_are_not_0(tmp_path, capsys):
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed((5, 5), 0, 0, 1), seed=1))
    made = ("route", "--fabric", file, "-o", out)
    assert command(capsys, *made)[0] == 0
    assert {"path-sl.txt", "qos-policy.conf"} < {path.name for path in out.iterdir()}
    # Those of other tables would be wrong.
    assert command(capsys, *made, "--lanes", 1)[0] == 0
    assert not {"path-sl.txt", "qos-policy.conf"} & {path.name for path in out.iterdir()}
    check = ("check", "--fabric", file, "--json", "--lft")
    verdict = json.loads(command(capsys, *check, out)[1])
    assert (verdict["passed"], verdict["service_levels"]) == (True, 1)
    # A missing file says so only where a report says that it is no loss.
    levels = ("--path-sl", out / "path-sl.txt")
    assert json.loads(command(capsys, *check, out / "opensm-lfts.dump", *levels)[1])["passed"]
    repaired = ("route", "--fabric", file, "--fail", "node:(0,0)", "--lanes", 1, "--json", "--from", out)
    facts = json.loads(command(capsys, *repaired)[1])
    assert facts["update_safe"]
    report = json.loads((out / "report.json").read_text())
    (out / "report.json").write_text(json.dumps(report | {"service_levels": 2}))
    code, _, err = command(capsys, *check, out / "opensm-lfts.dump", *levels)
    assert code == 2
    assert "path-sl.txt" in err
    assert not json.loads(command(capsys, *repaired)[1])["update_safe"]


def test_what_stands_beside_old_tables_is_read_as_any_other_file(tmp_path, capsys):
    file, old = tmp_path / "cluster.topo", tmp_path / "old"
    file.write_text(discovered(*failed((4, 4), 0, 0, 1), seed=1))
    assert command(capsys, "route", "--fabric", file, "-o", old)[0] == 0
    # Lanes nobody can read are taken to be others than those of the levels.
    (old / "sl2vl.dump").write_bytes(b"1: \xff\xfe lanes\n")
    code, text, _ = command(capsys, "route", "--fabric", file, "--from", old, "--json")
    assert (code, json.loads(text)["unreachable"]) == (0, 0)
    (old / "sl2vl.dump").unlink()
    (old / "sl2vl.dump").mkdir()
    code, text, _ = command(capsys, "route", "--fabric", file, "--from", old, "--json")
    assert (code, json.loads(text)["changed_entries"]) == (0, 0)
