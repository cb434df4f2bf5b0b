"""Judges from outside: OpenSM loads flitloom's tables, ibdmchk finds no loop, and both judge alike.

`make fabric` draws more and larger fabrics.
"""

import os
import random

import numpy as np
import pytest

from fabrics import failed
from flitloom.fabric import check_subnet, read_fabric, recognise, route_subnet, with_port_lanes
from flitloom.fabric.torus_2qos import torus_2qos
from flitloom.tables.by_destination.beside import Beside, assumed_tree, read_multicast
from flitloom.tables.by_destination.tables import read_forwarding
from flitloom.tables.by_destination.writing import levels_text
from opensm_lab import engine_used, judge, lab, lane_lines, missing, netlist, torus

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")

FULL = os.environ.get("FLITLOOM_FABRIC") == "full"
#: Sizes, cables and switches missing, mode.
FABRICS = [
    ((4, 4, 4), 0, 0, None), ((4, 4, 4), 4, 1, "portable"), ((6, 5), 2, 1, None), ((6, 4), 1, 0, "sl2vl")
]  # fmt: skip
LARGE = [
    ((8, 8, 8), 0, 0, None), ((8, 8, 8), 3, 1, None), ((8, 8, 8), 0, 0, "sl2vl"), ((16, 16), 0, 0, None),
    ((16, 16), 6, 1, None), ((6, 6, 4), 0, 0, None), ((6, 6, 4), 5, 1, "sl2vl"),
    ((10, 10, 10), 0, 0, "sl2vl"),
]  # fmt: skip
ENGINES = ["minhop", "updn", "dor"] + (["lash", "dfsssp", "sssp", "nue"] if FULL else [])


def petersen():
    """Two rings of five, spoke by spoke: no torus."""
    nodes = [(ring, n) for ring in range(2) for n in range(5)]
    cables = []
    for n in range(5):
        cables.append(((0, n), 1, (0, (n + 1) % 5), 2))
        cables.append(((0, n), 3, (1, n), 3))
        cables.append(((1, n), 1, (1, (n + 2) % 5), 2))
    return nodes, cables


def loaded(tmp_path, nodes, cables, mode, hosts=1):
    """OpenSM loads our tables; what it then has is what we wrote, and ibdmchk finds no loop."""
    with lab(tmp_path, netlist(nodes, cables, hosts)) as fabric:
        fabric.opensm("first")
        topology = fabric.discover()
        tables = route_subnet(read_fabric(topology), mode=mode)
        out = tables.write(tmp_path / "out")
        policy = [
            word
            for option, name in (("-Y", "qos-policy.conf"), ("-P", "partitions.conf"))
            if (out / name).exists()
            for word in (option, str(out / name))
        ]
        # What the subnet administrator answers is what applications use.
        answered = tmp_path / "answered.txt"
        load = ["-R", "file,no_fallback", "-U", str(out / "opensm-lfts.dump"), *policy]
        dumped = fabric.path_levels("ours", tables.subnet, answered, *load)
    theirs, _ = read_forwarding(tables.subnet, dumped / "opensm-lfts.dump")
    ours = tables.ports()
    assert np.array_equal(theirs[:, 1 : ours.shape[1]], ours[:, 1:])
    count = len(tables.subnet.hosts)
    if tables.mode == "portable":
        assert sorted(answered.read_text().splitlines()) == sorted("".join(levels_text(tables)).splitlines())
        assert judge(dumped, answered, lane_lines(dumped)) == (False, count * (count - 1))
    else:
        assert (out / "README.txt").read_text().startswith("Not to be loaded: lanes change along routes")
        assert judge(dumped, out / "path-sl.txt", out / "slvl.txt") == (False, count * (count - 1))
    return tables


def test_lanes_and_links_as_the_programs_of_infiniband_print_them(tmp_path):
    file, links = tmp_path / "ports.txt", tmp_path / "links.txt"
    settings = tmp_path / "opensm.conf"
    settings.write_text("max_op_vls 3\n")
    with lab(tmp_path, netlist(*torus((4,)))) as fabric:
        fabric.opensm("first", "-F", str(settings))
        subnet = read_fabric(fabric.discover("-f"))
        ends = [end for cable in subnet.cables for end in ((cable.a, cable.a_port), (cable.b, cable.b_port))]
        asked = [
            ("smpquery", "portinfo", str(subnet.switches[switch].lid), str(port)) for switch, port in ends
        ]
        file.write_text("".join(fabric.ask(*words) for words in asked))
        links.write_text(fabric.ask("iblinkinfo", "-l"))
    # ibsim has eight lanes, and OpenSM enables four.
    assert (subnet.fewest_lanes() or (0,))[0] == 8
    found = with_port_lanes(subnet, file)
    assert (len(found.port_lanes.lanes), found.fewest_lanes()[0], found.remarks) == (8, 4, subnet.remarks)
    listed = read_fabric(links)
    assert (listed.switches, listed.cables) == (subnet.switches, subnet.cables)
    assert [host.lid for host in listed.hosts] == [host.lid for host in subnet.hosts]


def test_without_its_policy_the_subnet_administrator_answers_what_can_deadlock(tmp_path):
    """So the test above would see it."""
    with lab(tmp_path, netlist(*failed((6, 5), 1, 0, 1))) as fabric:
        fabric.opensm("first")
        tables = route_subnet(read_fabric(fabric.discover()))
        out = tables.write(tmp_path / "out")
        answered = tmp_path / "answered.txt"
        load = ["-R", "file,no_fallback", "-U", str(out / "opensm-lfts.dump")]
        dumped = fabric.path_levels("plain", tables.subnet, answered, *load)
    assert {line.split()[2] for line in answered.read_text().splitlines()} == {"0"}
    assert judge(dumped, answered, lane_lines(dumped))[0]
    assert check_subnet(tables.subnet, out / "opensm-lfts.dump", path_levels=answered, lanes=8).deadlock


@pytest.mark.parametrize(("sizes", "cables", "switches", "mode"), FABRICS + (LARGE if FULL else []))
def test_opensm_loads_our_tables_and_ibdmchk_finds_no_loop(tmp_path, sizes, cables, switches, mode):
    tables = loaded(tmp_path, *failed(sizes, cables, switches, 1), mode)
    assert sorted(tables.recognition.sizes) == sorted(sizes)


def test_a_graph_with_several_hosts_per_switch_is_loaded_too(tmp_path):
    tables = loaded(tmp_path, *petersen(), None, hosts=2)
    assert tables.recognition.kind == "graph"


@pytest.mark.skipif(not FULL, reason="50 fabrics; make fabric draws them")
def test_fabrics_drawn_at_random_are_loaded(tmp_path):
    draw = random.Random(7)
    gaps = []
    for number in range(50):
        sizes = draw.choice([(4, 4, 4), (8, 8), (16, 16), (6, 6, 4), (4, 4, 4, 4), (5, 5, 5)])
        count = int(np.prod(sizes)) * len(sizes)
        folder = tmp_path / str(number)
        folder.mkdir()
        fabric = failed(sizes, int(count * draw.uniform(0.005, 0.05)), draw.randrange(3), number)
        tables = loaded(folder, *fabric, None)
        assert tables.lanes <= 8
        gaps.append(tables.report.max_load / tables.bound["value"] - 1)
    print(f"mean gap {100 * np.mean(gaps):.2f} %, worst {100 * max(gaps):.2f} %")
    assert np.mean(gaps) <= 0.01


def multicast_rows(subnet, tree):
    """A multicast tree as OpenSM dumps it, with all hosts as members."""
    ports = {host.switch: {host.switch_port} for host in subnet.hosts}
    for channel in tree:
        cable, back = subnet.cables[channel // 2], channel % 2
        ports.setdefault(cable.b if back else cable.a, set()).add(cable.b_port if back else cable.a_port)
    return "".join(
        f"Switch 0x{subnet.switches[switch].guid:016x}\nLID    : Out Port(s) \n0xC000 : "
        + " ".join(f"0x{port:03x}" for port in sorted(leaves))
        + " \n"
        for switch, leaves in sorted(ports.items())
    )


@pytest.mark.parametrize("safe_for", [(), ("both ways",)])
@pytest.mark.parametrize(("sizes", "cables", "switches"), [((6, 6), 4, 1), ((4, 4, 4), 9, 1)])
def test_ibdmchk_agrees_on_every_kind_of_traffic(tmp_path, sizes, cables, switches, safe_for):
    with lab(tmp_path, netlist(*failed(sizes, cables, switches, 1))) as fabric:
        fabric.opensm("first")
        tables = route_subnet(read_fabric(fabric.discover()), safe_for=safe_for)
        out = tables.write(tmp_path / "out")
        load = ["-R", "file,no_fallback", "-U", str(out / "opensm-lfts.dump")]
        dumped = fabric.opensm("ours", *load, "-Y", str(out / "qos-policy.conf"))
    subnet, lanes = tables.subnet, lane_lines(dumped)
    rows = [row.split() for row in "".join(levels_text(tables)).splitlines()]
    guids = {host.lid: host.guid for host in subnet.hosts}
    own = {(int(guid, 16), guids[int(lid)]): int(level) for guid, lid, level in rows}

    def loops(level_of, **how):
        file = tmp_path / "levels.txt"
        levels = ((guid, lid, level_of(int(guid, 16), guids[int(lid)])) for guid, lid, _ in rows)
        file.write_text("".join(f"{guid} {lid} {level}\n" for guid, lid, level in levels))
        return judge(dumped, file, lanes, **how)[0]

    def verdicts(**known):
        report = check_subnet(subnet, out, beside=Beside(**known))
        return {kind.kind: kind.deadlock for kind in report.kinds}

    ours = verdicts()
    assert ours["host pairs"] is loops(lambda a, b: own[a, b]) is False
    # Of every pair one side asks first, and both directions have the level of its path.
    draws = [random.Random(seed) for seed in range(3)]
    for draw in draws:
        first = {frozenset(pair): pair for pair in own if draw.random() < 0.5 or (pair[1], pair[0]) > pair}
        looped = loops(lambda a, b, first=first: own[first.get(frozenset((a, b)), (a, b))])
        assert ours["both ways"] is looped is (not safe_for)
    for host in draws[0].sample(subnet.hosts, 4):
        for level in (0, 7):
            looped = loops(lambda a, b, at=host.guid, level=level: level if at in (a, b) else own[a, b])
            assert verdicts(managers=(host.name,), manager_level=level)["managers"] is looped
    (dumped / "opensm.mcfdbs").write_text(multicast_rows(subnet, assumed_tree(subnet)[0]))
    assert read_multicast(subnet, dumped / "opensm.mcfdbs") == assumed_tree(subnet)
    assert ours["multicast"] is loops(lambda a, b: own[a, b], multicast=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("sizes", "cables"), [((4, 4, 4), 0), ((5, 4), 2)] + ([((6, 6, 4), 3)] if FULL else [])
)
def test_the_check_agrees_with_ibdmchk_on_the_tables_of_others(tmp_path, sizes, cables, engine):
    """On one service level, and on levels drawn at random."""
    draw = random.Random(3)
    with lab(tmp_path, netlist(*failed(sizes, cables, 0, 2))) as fabric:
        dumped = fabric.opensm("theirs", "-R", engine)
        subnet = read_fabric(fabric.discover())
    for levels in [1, 2, 4, 8] * (4 if FULL else 1):
        file = tmp_path / "levels.txt"
        lines = [
            f"0x{source.guid:016x} {host.lid} {draw.randrange(levels)}\n"
            for source in subnet.hosts for host in subnet.hosts if source is not host
        ]  # fmt: skip
        file.write_text("".join(lines))
        for tables in ("opensm-lfts.dump", "opensm.fdbs"):
            report = check_subnet(subnet, dumped / tables, path_levels=file)
            assert report.unreachable == 0
            assert report.deadlock == judge(dumped, file)[0], (levels, tables)
    assert (
        check_subnet(read_fabric(dumped / "opensm-subnet.lst"), dumped / "opensm.fdbs").deadlock
        == judge(dumped)[0]
    )


@pytest.mark.parametrize(
    ("sizes", "cables", "switches"),
    [((4, 4, 4), 0, 0), ((6, 4), 2, 1)] + ([((8, 8), 3, 0), ((6, 6, 4), 5, 1)] if FULL else []),
)
def test_no_engine_has_a_lower_load_on_its_busiest_channel(tmp_path, sizes, cables, switches):
    configuration = tmp_path / "torus-2QoS.conf"
    with lab(tmp_path, netlist(*failed(sizes, cables, switches, 4))) as fabric:
        fabric.opensm("first")
        subnet = read_fabric(fabric.discover())
        configuration.write_text(torus_2qos(recognise(subnet)) or "")
        ours = route_subnet(subnet).report.max_load
        for engine in ("torus-2QoS", "dor", "sssp", "nue"):
            options = ["--torus_config", str(configuration), *LEVELLED[engine]]
            dumped = fabric.opensm(engine, "-R", engine, *options)
            theirs = check_subnet(subnet, dumped / "opensm-lfts.dump")
            assert theirs.unreachable > 0 or ours <= theirs.max_load, (engine, engine_used(dumped))


#: Engines that choose service levels, and what else they are told.
LEVELLED = {
    "torus-2QoS": [], "dfsssp": [], "lash": [], "nue": ["--nue_max_num_vls", "8"],
    "minhop": [], "updn": [], "dor": [], "sssp": [],
}  # fmt: skip
#: Sizes and cables missing: with all engines, eight times as many tables.
JUDGED = [((3, 3), 0)]
if FULL:
    JUDGED += [
        (sizes, cables)
        for sizes in [(4, 4), (5, 3), (4, 3), (5, 2), (3, 3, 2), (4, 2, 2), (8, 2), (6, 3)]
        for cables in (0, 1, 2)
    ]


@pytest.mark.parametrize(("sizes", "cables"), JUDGED)
def test_the_check_agrees_with_ibdmchk_on_the_levels_and_lanes_of_engines(tmp_path, sizes, cables):
    """With the levels OpenSM answers with and the SL2VL tables it installed."""
    with lab(tmp_path, netlist(*failed(sizes, cables, 0, 3))) as fabric:
        fabric.opensm("first")
        subnet = read_fabric(fabric.discover())
        configuration = tmp_path / "torus-2QoS.conf"
        configuration.write_text(torus_2qos(recognise(subnet)) or "")
        for engine in LEVELLED if FULL else ("torus-2QoS", "dfsssp"):
            options = ["-R", engine, "--torus_config", str(configuration), *LEVELLED[engine]]
            levels = tmp_path / f"{engine}.levels"
            dumped = fabric.path_levels(engine, subnet, levels, *options)
            report = check_subnet(
                subnet,
                dumped / "opensm-lfts.dump",
                path_levels=levels,
                lane_tables=dumped / "opensm-sl2vl.dump",
            )
            loops, _ = judge(dumped, levels, lane_lines(dumped))
            print(sizes, cables, engine, engine_used(dumped), report.deadlock, loops, report.max_load)
            assert (report.deadlock, report.unreachable) == (loops, 0), engine


@pytest.mark.parametrize(
    ("sizes", "cables", "switches", "hosts"),
    [((4, 4, 4), 0, 0, 1), ((5, 4), 1, 0, 2)]
    + ([((4, 4, 4), 1, 1, 1), ((5, 3, 2), 0, 0, 3)] if FULL else []),
)
def test_torus_2qos_finds_the_torus_by_our_configuration(tmp_path, sizes, cables, switches, hosts):
    with lab(tmp_path, netlist(*failed(sizes, cables, switches, 1), hosts)) as fabric:
        fabric.opensm("first")
        subnet = read_fabric(fabric.discover())
        route_subnet(subnet).write(tmp_path / "out")
        file = str(tmp_path / "out" / "torus-2QoS.conf")
        dumped = fabric.opensm("theirs", "-R", "torus-2QoS,no_fallback", "--torus_config", file)
    assert engine_used(dumped) == "torus-2QoS"
    assert check_subnet(subnet, dumped / "opensm-lfts.dump").unreachable == 0
