"""Fabrics that others described: every dialect, damage named by its line, tables written and judged."""

import contextlib
import itertools
import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flitloom as fl
from fabrics import command, discovered, failed, torus_cables
from flitloom.errors import SpecError
from flitloom.fabric import check_subnet, examples, parse_fabric, read_fabric, recognise, route_subnet
from flitloom.fabric.failures import fail_parts
from flitloom.fabric.hostlist import expand
from flitloom.fabric.torus_2qos import torus_2qos
from flitloom.networks.fabric import Fabric
from flitloom.tables.by_destination.checking import judge
from flitloom.tables.by_destination.tables import (
    ForwardingTables,
    channels,
    destinations,
    read_forwarding,
    read_path_levels,
)

#: A fragment of a two-switch subnet as ibnetdiscover has printed since 2007.
DISCOVERED = """#
# Topology file: generated on Tue Jun  5 14:15:10 2007
#
# Max of 3 hops discovered
# Initiated from node 0008f10403960558 port 0008f10403960559

Non-Chassis Nodes

vendid=0x8f1
devid=0x5a06
sysimgguid=0x5442ba00003000
switchguid=0x5442ba00003080(5442ba00003080)
Switch\t24 "S-005442ba00003080"         # "ISR9024 Voltaire lid 99" base port 0 lid 6 lmc 0
[22]\t"H-0008f10403961354"[1](8f10403961355)         # "MT23108 InfiniHost Mellanox" lid 4 4xSDR
[10]\t"S-0008f10400410015"[1]         # "SW-6IB4 Voltaire" lid 3 4xSDR
[8][ext 2]\t"S-0008f10400410015"[3][ext 1]         # "SW-6IB4 Voltaire" lid 3 4xSDR

vendid=0x8f1
devid=0x5a05
switchguid=0x8f10400410015(8f10400410015)
Switch\t8 "S-0008f10400410015"         # "SW-6IB4 Voltaire" enhanced port 0 lid 3 lmc 0
[1]\t"S-005442ba00003080"[10]         # "ISR9024 Voltaire" lid 6 4xSDR
[3]\t"S-005442ba00003080"[8]         # "ISR9024 Voltaire" lid 6 4xSDR
[6]\t"H-0008f10403960984"[1](8f10403960985)         # "MT23108 InfiniHost Mellanox" lid 16 4xSDR

vendid=0x2c9
devid=0x5a44
caguid=0x8f10403961354
Ca\t2 "H-0008f10403961354"         # "MT23108 InfiniHost Mellanox"
[1](8f10403961355)\t"S-005442ba00003080"[22]         # lid 4 lmc 1 "ISR9024 Voltaire" lid 6 4xSDR

caguid=0x8f10403960984
Ca\t2 "H-0008f10403960984"         # "MT23108 InfiniHost Mellanox"
[1](8f10403960985)\t"S-0008f10400410015"[6]         # lid 16 lmc 1 "SW-6IB4 Voltaire" lid 3 4xSDR
"""


def test_the_dialect_of_2007_is_read():
    subnet = parse_fabric(DISCOVERED)
    assert [(switch.name, switch.lid) for switch in subnet.switches] == [
        ("SW-6IB4 Voltaire", 3), ("ISR9024 Voltaire lid 99", 6),
    ]  # fmt: skip
    assert [(host.lid, host.lmc, host.switch_port) for host in subnet.hosts] == [(16, 1, 6), (4, 1, 22)]
    assert [host.port_guid for host in subnet.hosts] == [0x8F10403960985, 0x8F10403961355]
    assert len(subnet.cables) == 2
    assert subnet.remarks == ()


def test_ibsim_netlists_and_ends_named_once():
    text = '# a comment\nSwitch 8 "Switch1"\n[1] "Hca1"[1]\n[3] "Switch2"[3] w=4\n[4] "Switch2"[4]\n\n'
    text += 'Switch 8 "Switch2"\n\nHca 2 "Hca1"\n'
    subnet = parse_fabric(text)
    assert (len(subnet.switches), len(subnet.hosts), len(subnet.cables)) == (2, 1, 2)


def test_a_file_that_was_cut_off_says_so():
    cut = DISCOVERED[: DISCOVERED.index("vendid=0x8f1\ndevid=0x5a05")]
    subnet = parse_fabric(cut)
    assert len(subnet.switches) == 2
    assert "was the file cut off?" in subnet.remarks[0]
    assert [host.lid for host in subnet.hosts] == [4]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[10]\t\"S-0008f10400410015\"[1] ", "[10]\t\"S-0008f10400410015[1] ", "line 15: .* is not a cable"),
        ("[10]\t\"S-0008f10400410015\"[1] ", "[10]\t\"S-0008f10400410015\"[2] ", "leads to .* here and to"),
        ("Switch\t8 ", "Switch\tx ", "line 21: .* is not a node"),
        ("[22]\t", "[255]\t", "line 14: port 255"),
        ("Switch\t8 \"S-0008f10400410015\"", "Switch\t24 \"S-005442ba00003080\"", "described a second time"),
        ("lid 16 lmc 1", "lid 4 lmc 1", "LID 0x4 belongs to two nodes"),
    ],
)  # fmt: skip
def test_damage_is_named(old, new, message):
    with pytest.raises(SpecError, match=message):
        parse_fabric(DISCOVERED.replace(old, new, 1))


def test_lines_nobody_knows_are_told_and_left_out():
    remarks = parse_fabric("surprise = 3\n" + DISCOVERED).remarks
    assert "lines not understood and left out: 1 ('surprise = 3')" in remarks[0]


def test_other_descriptions(tmp_path):
    ring = [(n, (n + 1) % 6) for n in range(6)]
    nodes = "".join(f'<node id="n{n}"/><node id="h{n}"><data key="k">host</data></node>' for n in range(6))
    edges = "".join(
        f'<edge source="n{a}" target="n{b}"/><edge source="n{a}" target="h{a}"/>' for a, b in ring
    )
    texts = {
        "graphml": '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'<key id="k" for="node" attr.name="type"/><graph edgedefault="undirected">{nodes}{edges}</graph>'
        "</graphml>",
        "anynet": "".join(f"router {a} node {a} router {b} 3\n" for a, b in ring),
        "csv": "".join(f"s{a},1,s{b},2\ns{a},3,h{a},1\n" for a, b in ring),
        "slurm": "".join(f"SwitchName=s{a} Switches=s{b} Nodes=h[{a}]\n" for a, b in ring),
        "subnet.lst": "".join(
            f"{{ SW Ports:24 NodeGUID:{a + 16:016x} PortGUID:{a + 16:016x} VenID:0 DevID:0 Rev:0 "
            f"{{s {a}}} LID:{a + 16:04X} PN:1A }} {{ SW Ports:24 SystemGUID:0 NodeGUID:{b + 16:016x} "
            f"PortGUID:{b + 16:016x} VenID:0 DevID:0 Rev:0 {{s {b}}} LID:{b + 16:04X} PN:02 }}\n"
            for a, b in ring
        ),
    }
    for name, text in texts.items():
        file = tmp_path / name
        file.write_text(text)
        subnet = read_fabric(file)
        assert (len(subnet.switches), len(subnet.hosts), len(subnet.cables)) == (6, 6, 6), name
        assert recognise(subnet).describe() == "6 torus", name
        if name == "subnet.lst":
            assert {subnet.cables[0].a_port, subnet.cables[0].b_port} == {0x1A, 2}
            assert "the file names no hosts" in subnet.remarks[0]


@pytest.mark.parametrize("text", ["", "hello", "a,b,c\n", "router 0 nod 1\n", "<graphml"])
def test_texts_that_are_no_fabric(text):
    with pytest.raises(SpecError):
        parse_fabric(text)


def test_a_switch_has_at_most_254_ports():
    def star(leaves):
        return parse_fabric("\n".join(f"hub,leaf{n}\nleaf{n},host{n}" for n in range(leaves)))

    assert len(star(254).cables) == 254
    with pytest.raises(SpecError, match="'hub' has more than 254 ports"):
        star(255)


RING = {("s1", "s2"), ("s2", "s3"), ("s1", "s3")}


@pytest.mark.parametrize(
    "text",
    [
        "Switch A,Port A,Switch B,Port B,Length\ns1,1,s2,1,2m\ns2,2,s3,1,2m\ns3,2,s1,2,2m\n",
        "s1;1;s2;1\ns2;2;s3;1\ns3;2;s1;2\n",
        "# ours\ns1\t1\ts2\t1\ns2\t2\ts3\t1\ns3\t2\ts1\t2\n",
        "cable;from;from_port;to;to_port\nc1;s1;P1;s2;P1\nc2;s2;P2;s3;P1\nc3;s3;P2;s1;P2\n",
        "source,destination\r\ns1,s2\r\ns2,s3\r\ns3,s1\r\n",
        '"switch_a","port_a","switch_b","port_b"\n"s1","1","s2","1"\n"s2","2","s3","1"\n"s3","2","s1","2"\n',
        "SwitchName=s1 Switches=s2,\\\n  s3\nSwitchName=s2 Switches=s3\nSwitchName=s3 Nodes=n1\n",
    ],
)
def test_tables_of_cables_in_many_forms(text):
    subnet = parse_fabric(text)
    names = [switch.name for switch in subnet.switches]
    assert {tuple(sorted((names[cable.a], names[cable.b]))) for cable in subnet.cables} == RING


PORTS = """\
SW     2 19 0x0002c90300a1b2c0 4x EDR - SW     3 19 0x0002c90300a1b2d0 ( 'MF0;sw1' - 'sw2' )
SW     2  1 0x0002c90300a1b2c0 4x FDR - CA     5  1 0x0002c90300aabbcc ( 'MF0;sw1' - 'node01 HCA-1' )
SW     3 19 0x0002c90300a1b2d0 4x EDR - SW     2 19 0x0002c90300a1b2c0 ( 'sw2' - 'MF0;sw1' )
SW     3  2 0x0002c90300a1b2d0 4x SDR                                    'sw2'
CA     5  1 0x0002c90300aabbcc 4x FDR - SW     2  1 0x0002c90300a1b2c0 ( 'node01 HCA-1' - 'MF0;sw1' )
"""
LINKS = """\
CA: node01 HCA-1:
      0x0002c90300aabbcc      5    1[  ] ==( 4X 14.0625 Gbps Active/  LinkUp)==>       2    1[  ] "MF0;sw1"
Switch: 0x0002c90300a1b2c0 MF0;sw1:
           2    1[  ] ==( 4X       14.0625 Gbps Active/  LinkUp)==>       5    1[  ] "node01 HCA-1" ( )
           2    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )
           2   19[  ] ==( 4X       25.78125 Gbps Active/  LinkUp)==>       3   19[  ] "sw2" ( )
Switch: 0x0002c90300a1b2d0 sw2:
           3   19[  ] ==( 4X       25.78125 Gbps Active/  LinkUp)==>       2   19[  ] "MF0;sw1" ( )
"""
LINES = """\
0x0002c90300aabbcc "                  node01 HCA-1"      5    1[  ] ==( 4X 14.0625 Gbps Active/  LinkUp)==>  0x0002c90300a1b2c0      2    1[  ] "MF0;sw1" (Could be 12X)
0x0002c90300a1b2c0 "                       MF0;sw1"      2    1[  ] ==( 4X 14.0625 Gbps Active/  LinkUp)==>  0x0002c90300aabbcc      5    1[  ] "node01 HCA-1" ( )
0x0002c90300a1b2c0 "                       MF0;sw1"      2    2[  ] ==(                Down/ Polling)==>             [  ] "" ( )
0x0002c90300a1b2c0 "                       MF0;sw1"      2   19[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  0x0002c90300a1b2d0      3   19[  ] "sw2" ( )
0x0002c90300a1b2d0 "                           sw2"      3    1[  ] ==(                Down/ Polling)==>             [  ] "" ( )
0x0002c90300a1b2d0 "                           sw2"      3   19[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  0x0002c90300a1b2c0      2   19[  ] "MF0;sw1" ( )
"""  # noqa: E501


@pytest.mark.parametrize(
    "text", [PORTS, LINKS, LINES], ids=["ibnetdiscover -p", "iblinkinfo", "iblinkinfo -l"]
)
def test_lists_of_links(text):
    subnet = parse_fabric(text)
    assert [(switch.name, switch.guid, switch.lid) for switch in subnet.switches] == [
        ("MF0;sw1", 0x2C90300A1B2C0, 2), ("sw2", 0x2C90300A1B2D0, 3),
    ]  # fmt: skip
    assert [(host.name, host.lid, host.switch_port) for host in subnet.hosts] == [("node01 HCA-1", 5, 1)]
    assert [(cable.a_port, cable.b_port) for cable in subnet.cables] == [(19, 19)]
    with pytest.raises(SpecError, match=r"line 1: .*is not a link"):
        parse_fabric("SW 2 1 0xz 4x\n" + text)


def test_host_lists(monkeypatch):
    assert expand("r[0-1]n[09-10],x, y") == ["r0n09", "r0n10", "r1n09", "r1n10", "x", "y"]
    assert expand("n[0-10/5,12]") == expand("n[0-10:5,12]") == ["n0", "n5", "n10", "n12"]
    listed = "'node 3 HCA-1', n[0-1]\n\"it's a[1]\",\"x,y\" don't"
    assert expand(listed) == ["node 3 HCA-1", "n0", "n1", "it's a[1]", "x,y", "don't"]
    for bad in ('"a b', 'n1,"a\nb"', '"a"b c', "'a\""):
        with pytest.raises(SpecError, match="ends nowhere in its line"):
            expand(bad)
    for bad in ("n[3-1]", "n[", "n]", "n[a]", "n[0-9999999999]", "n[0-3/0]"):
        with pytest.raises(SpecError):
            expand(bad)
    monkeypatch.setattr("flitloom.fabric.hostlist._MOST", 8)
    assert len(expand("n[0-3,5-8]")) == 8
    for many in ("n[0-8]", "n[0-3,4-8]", "n[0-2][0-2]", "n[0-3],m[0-4]"):
        with pytest.raises(SpecError, match="names more than 8 nodes"):
            expand(many)


def test_show_prints_the_fixed_keys(tmp_path, capsys):
    nodes, cables = failed((4, 4, 4), 3, 1, 5)
    # Two cables between far-away switches exchange an end.
    one = cables[0]
    other = next(
        cable for cable in cables
        if min(sum(min(abs(p - q), 4 - abs(p - q)) for p, q in zip(x, y, strict=True))
               for x in (one[0], one[2]) for y in (cable[0], cable[2])) > 1
    )  # fmt: skip
    cables = [cable for cable in cables if cable not in (one, other)]
    cables += [(*one[:2], *other[2:]), (*other[:2], *one[2:])]
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(nodes, cables, seed=5))
    code, out, err = command(capsys, "fabric", "show", file, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["kind"] == "torus"
    assert facts["sizes"] == [4, 4, 4]
    assert (facts["switches"], facts["hosts"]) == (63, 63)
    assert (facts["missing_switches"], facts["missing_cables"], facts["misfits"]) == (1, 3, 2)
    assert facts["description"] == "4x4x4 torus less one switch and three cables; two cables swapped"
    names = {facts["swapped"][0].split("/")[0]}
    assert names <= {"sw" + "-".join(map(str, end)) for cable in (one, other) for end in (cable[0], cable[2])}
    code, out, _ = command(capsys, "fabric", "show", file, "--picture", tmp_path / "fabric.png")
    assert code == 0
    assert (tmp_path / "fabric.png").read_bytes().startswith(b"\x89PNG")
    assert out.startswith(
        "4x4x4 torus less one switch and three cables; two cables swapped\n63 switches, 63 hosts"
    )


@pytest.mark.parametrize("mode", ["portable", "sl2vl"])
@pytest.mark.parametrize(
    ("sizes", "cables", "switches"), [((6, 6, 4), 0, 0), ((6, 5), 1, 1), ((4, 4, 4), 4, 1)]
)
def test_written_tables_pass_the_check_from_the_files_alone(tmp_path, capsys, mode, sizes, cables, switches):
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    file.write_text(discovered(*failed(sizes, cables, switches, 3), seed=3, hosts=2))
    code, text, _ = command(capsys, "route", "--fabric", file, "-o", out, "--mode", mode, "--json")
    facts = json.loads(text)
    assert code == 0
    report = json.loads((out / "report.json").read_text())
    # The file says of which network it is.
    assert report.pop("topology")["graph"] == str(file)
    assert facts == report
    # torus-2QoS routes two and three dimensions.
    configured = {"torus-2QoS.conf"} if len(sizes) in (2, 3) else set()
    policy = {"qos-policy.conf"} if mode == "portable" and facts["service_levels"] > 1 else set()
    policy |= {"partitions.conf"} if facts["multicast_sl"] else set()
    assert {path.name for path in out.iterdir()} == configured | policy | {
        "opensm-lfts.dump", "path-sl.txt", "slvl.txt", "sl2vl.dump", "report.json", "README.txt",
        "fabric.topo",
    }  # fmt: skip
    tables = ["--lft", out / "opensm-lfts.dump", "--path-sl", out / "path-sl.txt"]
    for lanes in ("slvl.txt", "sl2vl.dump"):
        code, text, err = command(capsys, "check", "--fabric", file, *tables, "--slvl", out / lanes, "--json")
        verdict = json.loads(text)
        assert (code, err) == (0, "")
        assert (verdict["deadlock"], verdict["cycle"], verdict["unreachable"]) == (False, [], 0)
        assert verdict["max_load"] == facts["max_load"] >= facts["bound"]
        assert verdict["lanes"] == facts["lanes"]
    assert facts["max_load"] <= 1.02 * facts["bound"] + 2
    # The tables carry the LIDs and GUIDs of the subnet, switches included.
    subnet = read_fabric(file)
    dump = (out / "opensm-lfts.dump").read_text()
    assert dump.count("Unicast lids") == len(subnet.switches)
    for node in (*subnet.switches, *subnet.hosts):
        assert dump.count(f"\n0x{node.lid:04x} ") == len(subnet.switches)


def test_one_lane_without_bubbles_is_the_rule_for_tables_without_lanes(tmp_path, capsys):
    """Tables that need two lanes are certified with their service levels only."""
    file, out = tmp_path / "ring.topo", tmp_path / "out"
    nodes, cables = torus_cables((8,))
    file.write_text(discovered(nodes, cables))
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    tables = ["check", "--fabric", file, "--lft", out / "opensm-lfts.dump"]
    code, text, _ = command(capsys, *tables, "--json")
    verdict = json.loads(text)
    assert code == 1
    assert verdict["deadlock"] is True
    assert verdict["rules_in_words"] == "one lane, every packet on service level 0"
    assert "as minhop has them" in verdict["remarks"][0]
    assert len(verdict["cycle"]) == 8
    # The cycle runs around the ring, cable by cable.
    ends = [[end.split("/")[0] for end in hop.split(", ")[0].split(" -> ")] for hop in verdict["cycle"]]
    assert all(ends[n][1] == ends[(n + 1) % 8][0] for n in range(8))
    assert command(capsys, *tables, "--path-sl", out / "path-sl.txt")[0] == 0
    assert command(capsys, *tables, "--path-sl", out / "path-sl.txt", "--lanes", 1)[0] == 1


def test_unreachable_pairs_are_counted(tmp_path):
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*torus_cables((4, 4))))
    tables = route_subnet(read_fabric(file))
    tables.write(tmp_path)
    dump = tmp_path / "opensm-lfts.dump"
    subnet = tables.subnet
    host = subnet.hosts[5]
    row = [line for line in dump.read_text().splitlines() if line.startswith(f"0x{host.lid:04x} ")]
    other = next(line for line in row if f" {host.switch_port:03d} " not in line)
    # One switch away from the root forgets the host; those behind it lose it too.
    dump.write_text(dump.read_text().replace(other + "\n", "", 1))
    report = check_subnet(subnet, dump, path_levels=tmp_path / "path-sl.txt")
    assert report.unreachable >= 1
    assert not report.passed
    assert report.unreachable_pairs[0].endswith(f"to {host.name}")


def test_bad_input_of_the_verbs(tmp_path, capsys):
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*torus_cables((3, 3))))
    broken = tmp_path / "broken.dump"
    broken.write_text("Unicast lids [0x0-0x3] of switch Lid 1 guid 0x1 ('x'):\n0x0001 001\n")
    for arguments, message in [
        (("fabric", "show", tmp_path / "none"), "No such file"),
        (("fabric", "show", file, "--sizes", "5x5"), "--sizes: the fabric is not a torus"),
        (("route", "--fabric", file, "--torus", "3x3"), "--torus does not go with --fabric"),
        (("route", "--fabric", file, "--lanes", "16"), "--lanes: 16"),
        (("route", "--fabric", file, "--mode", "magic"), "--mode: 'magic'"),
        (("route", "--fabric", file, "--sizes", "5x5"), "--sizes: the fabric is not a torus"),
        (("check", "--fabric", file), "--lft"),
        (
            ("check", "--fabric", file, "--lft", broken),
            "line 1: switch 0x0000000000000001 is not in the fabric",
        ),
        (("check",), "--fabric"),
    ]:
        code, _, err = command(capsys, *arguments)
        assert code == 2, arguments
        assert message in err


def test_a_repair_changes_few_entries_and_diff_names_them(tmp_path, capsys):
    file, first, second = tmp_path / "cluster.topo", tmp_path / "first", tmp_path / "second"
    file.write_text(discovered(*torus_cables((6, 6, 4)), seed=2))
    assert command(capsys, "route", "--fabric", file, "-o", first)[0] == 0
    old, new = first / "opensm-lfts.dump", second / "opensm-lfts.dump"
    options = ["--fabric", file, "--fail", "link:(0,0,0)+x", "--json"]
    code, text, _ = command(capsys, "route", *options, "--from", old, "-o", second)
    facts = json.loads(text)
    assert code == 0
    assert facts["max_load"] <= 1.02 * facts["bound"] + 1
    assert 0 < facts["changed_entries"] <= 0.02 * facts["entries"]
    code, text, _ = command(capsys, "route", "diff", old, new, "--fabric", file, "--json")
    changes = json.loads(text)
    assert code == 0
    assert facts["changed_entries"] == changes["changed_entries"]
    assert changes["changed_entries"] == sum(row["entries"] for row in changes["switches"])
    # Service levels stay, and any mixture of both tables passes the check.
    assert (facts["update_safe"], facts["mode"]) == (True, "portable")
    subnet = fail_parts(read_fabric(file), ["link:(0,0,0)+x"])
    lids, owners = destinations(subnet)
    tables = [channels(subnet, read_forwarding(subnet, dump, False)[0], lids, owners) for dump in (old, new)]
    levels, _, _ = read_path_levels(subnet, second / "path-sl.txt", lids)
    names = [switch.name for switch in subnet.switches]
    ahead = np.zeros(tables[0].shape, dtype=bool)
    # Where entries change in stages there is no list of them; the tests of stages judge these.
    staged = facts["update_rounds"] is None
    assert staged == ("stages" in facts["update"])
    for entry in itertools.chain.from_iterable(facts["update_rounds"] or ()):
        name, _, lid = entry.rpartition(" to lid ")
        ahead[lids.tolist().index(int(lid)), names.index(name)] = True
    draw = np.random.default_rng(1)
    for part in () if staged else (0.1, 0.5, 0.9):
        some = draw.random(ahead.shape) < part
        for new_ones in (ahead & some, ahead | some):
            mixed = np.where(new_ones, tables[1], tables[0])
            both = ForwardingTables(subnet, owners, mixed, levels, None, 8, "mixed")
            assert not judge(both).deadlock
    # A switch that is gone leaves its entries behind.
    code, text, _ = command(
        capsys, "route", "--fabric", file, "--fail", "node:(1,1,1)", "--from", old, "--json"
    )
    assert code == 0
    assert json.loads(text)["unreachable"] == 0
    # The check of the broken fabric refuses the old tables and passes the new.
    broken = ["check", "--fabric", file, "--fail", "link:(0,0,0)+x", "--path-sl"]
    assert command(capsys, *broken, first / "path-sl.txt", "--lft", old)[0] == 1
    assert (
        command(capsys, *broken, second / "path-sl.txt", "--lft", new, "--slvl", second / "slvl.txt")[0] == 0
    )


def test_parts_fail_by_name_port_and_coordinates():
    nodes, cables = torus_cables((4, 3))
    subnet = parse_fabric(discovered(nodes, cables))
    found = recognise(subnet)
    first, second = subnet.switches[0].name, subnet.switches[found.coordinates.index((1, 0))].name
    for part, lost in [
        (f"node:{first}", (1, 4)), (f"node:0x{subnet.switches[0].guid:016x}", (1, 4)), ("node:(0,0)", (1, 4)),
        (f"cable:{first}/1", (0, 1)), (f"link:{first}-{second}", (0, 1)),
        ("link:(0,0)+y", (0, 1)), ("link:(0,0)-x", (0, 1)),
    ]:  # fmt: skip
        left = fail_parts(subnet, [part])
        assert (12 - len(left.switches), 24 - len(left.cables)) == lost, part
        assert len(left.hosts) == len(left.switches)
    for part in (
        "node:nobody",
        "node:(9,9)",
        "cable:nobody/1",
        f"cable:{first}/30",
        "link:(0,0)+z",
        "wire:1",
    ):
        with pytest.raises(SpecError, match="--fail"):
            fail_parts(subnet, [part])


def test_links_of_twisted_tori_fail_by_their_directions():
    subnet = examples.twisted_torus((4, 4, 8))
    found = recognise(subnet)
    assert found.kind == "twisted"
    # Every way of leaving a place fails a cable of its own, the same one from its other end.
    named = {}
    for place in found.coordinates:
        for direction in ("+x", "-x", "+y", "-y", "+z", "-z"):
            part = f"link:({','.join(map(str, place))}){direction}"
            left = fail_parts(subnet, [part])
            (gone,) = set(subnet.cables) - set(left.cables)
            named.setdefault(gone, []).append(direction)
    assert len(named) == len(subnet.cables)
    assert all(
        {sign + axis for sign in "+-"} == set(names) for names in named.values() for axis in names[0][1]
    )


def test_hosts_of_a_job_have_names_with_blanks(tmp_path, capsys):
    file, listed = tmp_path / "ring.topo", tmp_path / "hosts.txt"
    nodes, cables = torus_cables((4,))
    text = discovered(nodes, cables)
    for number, name in enumerate(sorted({host.name for host in parse_fabric(text).hosts})):
        text = text.replace(f'"{name}"', f'"rack 1 node {number}"')
    file.write_text(text)
    listed.write_text('"rack 1 node 0", "rack 1 node 2"')
    code, text, _ = command(capsys, "route", "--fabric", file, "--nodes", listed, "--json")
    assert (code, json.loads(text)["job_hosts"]) == (0, 2)
    listed.write_text("node")
    code, _, err = command(capsys, "route", "--fabric", file, "--nodes", listed)
    assert code == 2
    assert 'stands in quotes: "rack 1 node ' in err


def test_tables_for_the_hosts_of_a_job_go_over_all_switches(tmp_path, capsys):
    file, listed = tmp_path / "ring.csv", tmp_path / "hosts.txt"
    file.write_text("".join(f"s{n},s{(n + 1) % 6}\nn{n},s{n}\n" for n in range(6)))
    listed.write_text("n[0,3]")
    code, text, err = command(capsys, "route", "--fabric", file, "--nodes", listed, "--json")
    facts = json.loads(text)
    assert (code, facts["job_hosts"], facts["max_load"], facts["unreachable"]) == (0, 2, 1, 0)
    assert "4 hosts are not in" in err
    # Told or not, ways go over the switches of others; nobody else's packets count.
    asked = ["route", "--fabric", file, "--nodes", listed]
    assert command(capsys, *asked, "--through", "-o", tmp_path / "out")[0] == 0
    made = ["--lft", tmp_path / "out/opensm-lfts.dump", "--path-sl", tmp_path / "out/path-sl.txt", "--json"]
    code, text, err = command(capsys, "check", "--fabric", file, "--nodes", listed, *made)
    judged = json.loads(text)
    assert (code, judged["max_load"], judged["bound"], judged["unreachable"]) == (0, 1, 1, 0)
    assert "4 hosts are not in" in err
    code, text, _ = command(capsys, "check", "--fabric", file, *made)
    assert (code, json.loads(text)["unreachable"]) == (0, 0)
    assert command(capsys, "route", "--fabric", file, "--through")[0] == 2
    assert command(capsys, "check", "--torus", "4x4", "--nodes", listed, "--lft", listed)[0] == 2
    listed.write_text("n[0-9]")
    assert command(capsys, "route", "--fabric", file, "--nodes", listed)[0] == 2
    assert command(capsys, "route", "--torus", "4x4x8", "--twist", "--nodes", listed)[0] == 2


def test_levels_are_the_same_there_and_back(tmp_path, capsys):
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*failed((5, 4), 1, 0, 3), seed=3, hosts=2))
    assert command(capsys, "route", "--fabric", file, "-o", tmp_path / "out", "--reversible")[0] == 0
    subnet = read_fabric(file)
    lids = {host.guid: host.lid for host in subnet.hosts}
    levels = {}
    for line in (tmp_path / "out" / "path-sl.txt").read_text().splitlines():
        guid, lid, level = line.split()
        levels[lids[int(guid, 16)], int(lid)] = level
    assert len(levels) == len(lids) * (len(lids) - 1)
    assert len(set(levels.values())) > 1
    assert all(level == levels[there, here] for (here, there), level in levels.items())


def test_a_twisted_torus_is_routed_below_the_bound_of_the_plain_one(capsys):
    code, text, _ = command(capsys, "route", "--torus", "4x4x8", "--twist", "--json")
    facts = json.loads(text)
    assert (code, facts["fabric"], facts["deadlock"]) == (0, "4x4x8 twisted torus", False)
    # No tables go below 73.3, and none of the plain torus below 128.
    assert 74 <= facts["max_load"] < 100
    assert command(capsys, "route", "--torus", "4x4x6", "--twist")[0] == 2
    assert command(capsys, "route", "--mesh", "4x4x8", "--twist")[0] == 2


def test_tables_of_a_twisted_torus_are_checked_on_it(tmp_path, capsys):
    out = tmp_path / "out"
    assert command(capsys, "route", "--torus", "4x4x8", "--twist", "-o", str(out))[0] == 0
    files = ["--lft", str(out / "opensm-lfts.dump"), "--path-sl", str(out / "path-sl.txt")]
    code, text, _ = command(capsys, "check", "--torus", "4x4x8", "--twist", *files, "--json")
    facts = json.loads(text)
    assert (code, facts["unreachable"]) == (0, 0)
    # The same pairs, followed over steps that a twisted torus has by its definition.
    assert facts["max_load"] == twisted_load(out / "opensm-lfts.dump", (4, 4, 8))
    # On the plain torus of that size the same ports lead elsewhere.
    (tmp_path / "plain.topo").write_text(discovered(*torus_cables((4, 4, 8))))
    plain = ["check", "--fabric", str(tmp_path / "plain.topo"), *files]
    assert command(capsys, *plain)[0] != 0
    assert command(capsys, "check", "--twist", *files)[0] == 2


def twisted_load(dump, sizes):
    """The most pairs on a step of a twisted torus, walking a dump whose switches are named by place."""
    short = min(sizes)
    nodes = list(itertools.product(*map(range, sizes)))
    name = {"S" + "-".join(map(str, node)): node for node in nodes}

    def step(node, d):
        other = list(node)
        other[d] += 1
        if other[d] == sizes[d]:
            other[d] = 0
            if sizes[d] == short:
                other = [
                    (x + long // 2) % long if long > short else x
                    for x, long in zip(other, sizes, strict=True)
                ]
        return tuple(other)

    # Ports are numbered in the order of the cables, hosts come last.
    ports, count = {}, Counter()
    for node in nodes:
        for d in range(len(sizes)):
            other = step(node, d)
            for here, there in ((node, other), (other, node)):
                count[here] += 1
                ports[here, count[here]] = there
    tables, rows = {}, None
    for line in dump.read_text().splitlines():
        if head := re.match(r"Unicast lids .*\('(.*)'\)", line):
            rows = tables.setdefault(name[head[1]], {})
        elif entry := re.match(r"0x\S+ (\d+) : \(Channel Adapter.*'(.*)-host0'\)", line):
            rows[name[entry[2]]] = int(entry[1])
    loads = Counter()
    for source, target in itertools.permutations(nodes, 2):
        at = source
        while at != target:
            port = tables[at][target]
            loads[at, port] += 1
            at = ports[at, port]
    return max(loads.values())


def test_torus_2qos_is_told_seeds_and_datelines():
    subnet = examples.torus((4, 5), 0, 1)  # a switch is missing
    found = recognise(subnet)
    lines = [line.split() for line in (torus_2qos(found) or "").splitlines() if line]
    sizes = dict(zip(found.sizes, "xy", strict=True))
    assert lines[1] == ["torus", *(f"{size}t" for size in found.sizes), "1"]
    place = {f"0x{switch.guid:016x}": found.coordinates[n] for n, switch in enumerate(subnet.switches)}
    seeds, seed = [], []
    for line in [*lines[2:], ["next_seed"]]:
        if line[0] == "next_seed":
            seeds.append(seed)
            seed = []
        else:
            seed.append(line)
    seen = []
    for seed in seeds:
        links = [line for line in seed if line[0].endswith("_link")]
        # A ring of four needs both neighbours.
        assert {line[0] for line in links} == {"xp_link", "yp_link", f"{sizes[4]}m_link"}
        moved = {line[0][0]: int(line[1]) for line in seed if line[0].endswith("_dateline")}
        for name, here, there in links:
            d, step = "xy".index(name[0]), 1 if name[1] == "p" else -1
            expected = list(place[here])
            expected[d] = (expected[d] + step) % found.sizes[d]
            assert place[there] == tuple(expected)
        assert [moved.get(name, 0) for name in "xy"] == [-at for at in place[links[0][1]]]
        seen += [links[0][1], *(line[2] for line in links)]
    assert len(seeds) >= 2
    assert len(seen) == len(set(seen))
    assert torus_2qos(recognise(examples.random_regular(12, 3))) is None
    assert torus_2qos(recognise(examples.torus((3, 3, 3, 3)))) is None


def test_the_most_critical_part_comes_first(tmp_path, capsys):
    """Two rings joined by one switch: without it they are apart."""
    file = tmp_path / "rings.csv"
    pairs = [(n, (n + 1) % 5) for n in range(5)] + [(n + 5, (n + 1) % 5 + 5) for n in range(5)]
    file.write_text("".join(f"s{a},s{b}\n" for a, b in pairs) + "s0,middle\nmiddle,s5\n")
    code, text, _ = command(capsys, "route", "--fabric", file, "--critical", "--json")
    rows = json.loads(text)
    assert code == 0
    # Six hosts on one side of such a cable and five on the other.
    assert rows[0]["cut_off"] == 60
    assert {row["part"] for row in rows if row["cut_off"] >= 50} >= {"node:middle"}
    assert len(rows) == 11 + 12


def test_identifiers_are_made_up_aloud_and_the_same_by_route_and_check(tmp_path, capsys):
    cables, out = tmp_path / "cables.csv", tmp_path / "out"
    cables.write_text("".join(f"s{n},s{(n + 1) % 4}\n" for n in range(4)))
    tables = route_subnet(read_fabric(cables))
    assert any("made-up" in remark for remark in tables.report.remarks)
    assert sorted(np.unique(tables.lids)) == [5, 6, 7, 8]
    tables.write(out)
    lanes = ["--path-sl", out / "path-sl.txt", "--slvl", out / "slvl.txt"]
    code, _, err = command(capsys, "check", "--fabric", cables, "--lft", out / "opensm-lfts.dump", *lanes)
    assert code == 0
    assert "made-up" in err


TREE = """\
- topology: {name}
  cluster_default: {default}
  tree:
    switches:
    - switch: top
      children: s[0-1]
    - switch: s0
      nodes: {name}[0-3]
    - switch: s1
      nodes: {name}[4-7]
"""
BLOCKS = """\
- topology: racks
  cluster_default: true
  block:
    block_sizes:
    - 4
    blocks:
    - block: b0
      nodes: n[0-3]
- topology: wire
  flat: true
"""


def test_of_several_topologies_of_slurm_the_tree_is_read():
    alone = parse_fabric(TREE.format(name="n", default="false") + BLOCKS)
    assert (len(alone.switches), len(alone.hosts)) == (3, 8)
    assert alone.remarks == ("of the topologies of the file, n is read",)
    both = TREE.format(name="a", default="false") + BLOCKS.replace("true", "false", 1)
    assert parse_fabric(both + TREE.format(name="b", default="true")).hosts[0].name == "b0"
    with pytest.raises(SpecError, match="has the trees a, c; mark one with cluster_default: true"):
        parse_fabric(both + TREE.format(name="c", default="no"))
    blocks = parse_fabric(BLOCKS)
    assert (len(blocks.switches), len(blocks.hosts)) == (1, 4)
    assert blocks.remarks[0].startswith("blocks say nothing about cables")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(list('[]"(){}0x9 #=-\n,\tS'))), max_size=6),
)
def test_whatever_a_file_holds_reading_ends_well_or_in_one_message(which, changes):
    texts = [
        DISCOVERED,
        'Switch 8 "a"\n[1] "b"[1]\n[2] "c"[2]\n\nSwitch 8 "b"\n[1] "a"[1]\n\nSwitch 8 "c"\n',
        "{ SW Ports:24 NodeGUID:01 PortGUID:01 {a b} LID:0001 PN:01 } "
        "{ SW Ports:24 NodeGUID:02 PortGUID:02 {c} LID:0002 PN:0A } PHY=4x\n",
        "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\nSwitchName=top Switches=s[0-1]\n",
        "a,1,b,1\nb,2,c,1\nc,2,a,2\n",
    ]
    text = list(texts[which])
    for place, letter in changes:
        text[place % len(text)] = letter
    with contextlib.suppress(SpecError):
        subnet = parse_fabric("".join(text))
        recognise(subnet)
        assert all(cable.a != cable.b for cable in subnet.cables)
        assert all(0 <= host.switch < len(subnet.switches) for host in subnet.hosts)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 300_000,
        " " * 300_000,
        "{ SW Ports:1 NodeGUID:1 PortGUID:1" + " {" * 100_000 + "\n",
        "- switch: a" + " " * 100_000 + "b\n",
        "SwitchName=s0 " + "a" * 200_000 + "\n",
        'Switch 8 "S-1"\n[1] "' + "(" * 100_000 + "\n",
        "<graphml>" + "<a>" * 300_000,
        "SwitchName=s0 Nodes=" + "n[0-9]" * 7 + "\n",
    ],
    ids=["lines", "blanks", "list", "yaml", "slurm", "netlist", "graphml", "nodes"],
)
def test_no_text_takes_time_by_its_square(text):
    # Each of these took minutes or hours.
    with contextlib.suppress(SpecError):
        parse_fabric(text)


def test_prices_find_the_cut_that_halves_miss(tmp_path):
    # Behind the last express cables of an 8x8 mesh lie three columns: 24 x 40 pairs cross 8 cables.
    subnet = examples.express_mesh(8, 4)
    tables = route_subnet(subnet)
    assert (tables.bound["value"], tables.report.max_load) == (120, 120)
    assert (tables.bound["pairs"], tables.bound["channels"]) == (24 * 40, 8)
    side = {tables.subnet.switches[switch].name for switch in tables.bound["side"]}
    behind = {f"S{x}-{y}" for x in (5, 6, 7) for y in range(8)}
    aside = {f"S{x}-{y}" for y in (5, 6, 7) for x in range(8)}
    names = {switch.name for switch in tables.subnet.switches}
    assert side in (behind, aside, names - behind, names - aside)
    assert check_subnet(tables.subnet, tables.write(tmp_path / "out") / "opensm-lfts.dump").bound == 120


def test_a_check_takes_the_lids_that_route_made_up_from_the_dump(tmp_path, capsys):
    """By GUID, and by name where the fabric file has no GUIDs of hosts that the dump knows."""
    file, out = tmp_path / "cluster.net", tmp_path / "out"
    file.write_text(re.sub(r" lid \d+( lmc 0)?", "", discovered(*failed((4, 4), 0, 0, 1))))
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    readme = (out / "README.txt").read_text()
    assert readme.startswith("Not to be loaded: the fabric file names no LIDs or GUIDs")
    assert "opensm -R" not in readme
    dump = out / "opensm-lfts.dump"
    lanes = ["--path-sl", out / "path-sl.txt"]
    code, _, err = command(capsys, "check", "--fabric", file, "--lft", dump, *lanes)
    assert (code, "LIDs of 16 hosts" in err) == (0, True)
    # Another order of LIDs, as a subnet manager gives them: names and GUIDs tell which is which.
    moved = re.sub(r"0x([0-9a-f]{4}) ", lambda row: f"0x{int(row[1], 16) + 100:04x} ", dump.read_text())
    dump.write_text(moved)
    assert command(capsys, "check", "--fabric", file, "--lft", dump, "--lanes", 1)[0] in (0, 1)
    dump.write_text(re.sub("portguid 0x[0-9a-f]+", "portguid 0x0", moved))
    code, text, _ = command(capsys, "check", "--fabric", file, "--lft", dump, "--lanes", 1, "--json")
    assert json.loads(text)["unreachable"] == 0
    dump.write_text(re.sub("'.*'", "'somebody'", dump.read_text()))
    code, _, err = command(capsys, "check", "--fabric", file, "--lft", dump)
    assert (code, "has no LID" in err) == (2, True)


@pytest.mark.parametrize("sizes", [(1,), (4, 4)])
def test_pairs_of_hosts_on_one_switch_are_checked(sizes, tmp_path, capsys):
    """Missing and wrong entries at the switch of the destination count for its other hosts, too."""
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*failed(sizes, 0, 0, 1), hosts=3))
    tables = route_subnet(read_fabric(file))
    out = tables.write(tmp_path / "out")
    dump = out / "opensm-lfts.dump"
    lines = ["--fabric", file, "--lft", dump, "--path-sl", out / "path-sl.txt", "--json"]
    code, text, _ = command(capsys, "check", *lines)
    assert (code, json.loads(text)["unreachable"]) == (0, 0)
    host = tables.subnet.hosts[0]
    head, *blocks = re.split(r"(?=Unicast lids)", dump.read_text())
    own = next(n for n, block in enumerate(blocks) if f"0x{tables.subnet.switches[0].guid:016x} (" in block)
    row = re.search(rf"0x{host.lid:04x} (\d+) : .*\n", blocks[own])
    others = len(tables.subnet.hosts) - 1
    for wrong in ("", row[0].replace(f" {row[1]} ", " 250 ")):
        changed = [*blocks[:own], blocks[own].replace(row[0], wrong), *blocks[own + 1 :]]
        dump.write_text(head + "".join(changed))
        code, text, _ = command(capsys, "check", *lines)
        report = json.loads(text)
        assert (code, report["unreachable"]) == (1, others), wrong
        assert report["unreachable_pairs"][0] == f"{tables.subnet.switches[0].name} to {host.name}"


def test_a_policy_gives_every_pair_its_service_level(tmp_path):
    """Read as OpenSM reads it: the first rule whose groups hold both ports, else level 0."""
    tables = route_subnet(parse_fabric(discovered(*failed((6, 5), 1, 0, 1))))
    out = tables.write(tmp_path / "out")
    text = (out / "qos-policy.conf").read_text()
    groups = {
        name: {int(word, 16) for word in re.findall(r"0x[0-9a-f]+", body)}
        for name, body in re.findall(r"port-group\n\s+name: (\S+)\n(.*?)end-port-group\n", text, re.DOTALL)
    }
    rules = re.findall(r"source: (\S+)\n\s+destination: (\S+)\n\s+qos-level-name: SL(\d+)", text)
    assert rules
    hosts = {host.lid: host for host in tables.subnet.hosts}
    by_guid = {host.guid: host for host in tables.subnet.hosts}
    for line in (out / "path-sl.txt").read_text().splitlines():
        guid, lid, level = line.split()
        ends = by_guid[int(guid, 16)].port_guid, hosts[int(lid)].port_guid
        said = [rule[2] for rule in rules if ends[0] in groups[rule[0]] and ends[1] in groups[rule[1]]]
        assert (said or ["0"])[0] == level
    readme = (out / "README.txt").read_text()
    assert "-Q -Y qos-policy.conf" in readme
    assert "flitloom check --fabric now.topo --lft /var/log/opensm-lfts.dump" in readme


@pytest.mark.parametrize("mode", ["portable", "sl2vl"])
def test_moved_levels_are_the_pairs_whose_lines_differ(mode, tmp_path, capsys):
    file, first, second = tmp_path / "cluster.topo", tmp_path / "first", tmp_path / "second"
    file.write_text(discovered(*failed((6, 5), 1, 0, 2), seed=2, hosts=2))
    assert command(capsys, "route", "--fabric", file, "-o", first, "--mode", mode)[0] == 0
    words = ["--fabric", file, "--fail", "node:(1,1)", "--from", first, "--mode", mode, "--json"]
    code, text, _ = command(capsys, "route", *words, "-o", second)
    lines = [set((folder / "path-sl.txt").read_text().splitlines()) for folder in (first, second)]
    pairs = [{line.rpartition(" ")[0] for line in some} for some in (lines[0] - lines[1], lines[1])]
    facts = json.loads(text)
    assert (code, facts["moved_levels"]) == (0, len(pairs[0] & pairs[1]))
    dumps = [folder / "opensm-lfts.dump" for folder in (first, second)]
    code, text, _ = command(
        capsys, "route", "diff", *dumps, "--fabric", file, "--fail", "node:(1,1)", "--json"
    )
    assert json.loads(text)["changed_entries"] == facts["changed_entries"]


def test_replaced_parts_keep_the_routes_of_those_before(tmp_path, capsys):
    """A switch with another GUID and a host with another GUID and LID are known by their names."""
    file, out = tmp_path / "cluster.topo", tmp_path / "out"
    text = discovered(*failed((5, 4), 1, 0, 2), seed=2)
    file.write_text(text)
    assert command(capsys, "route", "--fabric", file, "-o", out)[0] == 0
    before = read_fabric(file)
    switch, host = before.switches[3], before.hosts[7]
    renamed = text.replace(f"{switch.guid:x}", f"{switch.guid + 2**60:x}"[:16])
    renamed = renamed.replace(f"{switch.guid:016x}", f"{switch.guid + 2**60:016x}")
    swapped = text.replace(f"{host.guid:x}", "7c90000000abc0").replace(
        f"{host.port_guid:x}", "7c90000000abc1"
    )
    swapped = swapped.replace(f"{host.guid:016x}", f"{0x7C90000000ABC0:016x}")
    swapped = re.sub(rf"lid {host.lid}\b", "lid 40001", swapped)
    old = route_subnet(before)
    for changed in (renamed, swapped):
        file.write_text(changed)
        after = read_fabric(file)
        assert (len(after.switches), len(after.hosts)) == (len(before.switches), len(before.hosts))
        assert after != before
        code, said, _ = command(capsys, "route", "--fabric", file, "--from", out, "--json")
        facts = json.loads(said)
        assert (code, facts["unreachable"], facts["max_load"]) == (0, 0, old.report.max_load)
        assert facts["moved_levels"] == 0
        # Those of the new switch, or those for the new host.
        assert facts["changed_entries"] <= 2 * len(before.switches)


@pytest.mark.parametrize(
    "network",
    [fl.Torus(4, 8, twist=True), fl.Torus(2, 2, 4, twist=True), fl.Product("full3 x ring4")],
    ids=str,
)
def test_failed_parts_of_a_network_are_those_at_their_coordinates(network):
    """The first cable of a fabric names its first switches, which is not the order of the nodes."""
    whole = {switch.name for switch in fl.tables.fabric(network).switches}
    for node in range(network.nodes):
        # By hand, the first dimension fastest.
        at = [node // math.prod(network.sizes[:d]) % size for d, size in enumerate(network.sizes)]
        there = network.model_copy(update={"failed_nodes": (node,)})
        left = {switch.name for switch in fl.tables.fabric(there).switches}
        assert whole - left == {"S" + "-".join(map(str, at))}


def test_hosts_at_switches_are_a_fabric():
    placed = Fabric(network="dragonfly(3,1,2)")
    assert fl.tables.fabric(placed) == fl.tables.fabric("dragonfly(3,1,2)")
