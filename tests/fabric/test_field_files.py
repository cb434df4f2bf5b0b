"""Files as programs and people write them: what they say of a network is what is understood."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.fabric import Subnet, parse_fabric
from flitloom.networks.experiment import build_experiment

TREE = "SwitchName=leaf1 Nodes=n[1-3,7]\nSwitchName=leaf2 Nodes=n[4-6]\nSwitchName=spine Switches=leaf[1-2]\n"


def cables(subnet: Subnet) -> Counter[frozenset[str]]:
    """Cables between switches by the names of these."""
    names = [switch.name for switch in subnet.switches]
    return Counter(frozenset((names[one.a], names[one.b])) for one in subnet.cables)


def hosts(subnet: Subnet) -> dict[str, str]:
    """The switch of every host."""
    return {host.name: subnet.switches[host.switch].name for host in subnet.hosts}


def test_lines_of_slurm_go_on_behind_a_backslash_and_have_quotes() -> None:
    plain = parse_fabric(TREE)
    text = TREE.replace(" Nodes=n[4-6]", " \\\n   Nodes=n[4-6] \\\n  LinkSpeed=10").replace(
        "n[1-3", "n[1\\\n-3"
    )
    assert hosts(parse_fabric(text)) == hosts(plain)
    quoted = TREE.replace("=n[1-3,7]", '="n[1-3,7]"').replace("=spine", '="spine"')
    assert hosts(parse_fabric(quoted)) == hosts(plain)
    assert sorted(hosts(plain)) == [f"n{n}" for n in range(1, 8)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TREE.replace("Nodes", "Node", 1), "line 1: 'node' is not a field of topology.conf; write Nodes"),
        (
            TREE.replace("leaf1 N", "leaf1 Rack=3 N"),
            "line 1: 'rack' is not a field .*; write SwitchName, Switches",
        ),
        (TREE.replace("n[4-6]", "n[4-5], n6"), "line 2: 'n6' is in no field; lists have no blanks"),
        (TREE[:-1] + "\\\n", "line 3: ends with a backslash, and no line follows"),
    ],
)
def test_what_slurm_would_refuse_is_refused(text: str, problem: str) -> None:
    with pytest.raises(fl.SpecError, match=problem):
        parse_fabric(text)


def test_blocks_are_the_same_in_all_files_of_slurm() -> None:
    conf = parse_fabric("BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockSizes=4,8\n")
    shown = parse_fabric(
        "BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4\n"
        "BlockName=b2 BlockIndex=1 Nodes=n[5-8] BlockSize=4\n"
        "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-8] BlockSize=8\n"
    )
    yaml = parse_fabric(
        "- topology: blk\n  cluster_default: true\n  block:\n    block_sizes: [4, 8]\n    blocks:\n"
        "      - block: b1\n        nodes: n[1-4]\n      - block: b2\n        nodes: n[5-8]\n"
    )
    assert (hosts(conf), cables(conf)) == (hosts(shown), cables(shown)) == (hosts(yaml), cables(yaml))
    assert "1 aggregated block left out: these are made of blocks" in shown.remarks
    assert len(hosts(conf)) == 8


@pytest.mark.parametrize("heading", ["a,b", "node1,node2", "u,v", "Parent,Child", "source,target"])
def test_a_heading_is_no_cable(heading: str) -> None:
    subnet = parse_fabric(f'{heading}\n"rack 1, unit 2",sw1\nKöln,sw1\n<b>x</b>,sw2\nsw1,sw2\n')
    assert hosts(subnet) == {"rack 1, unit 2": "sw1", "Köln": "sw1", "<b>x</b>": "sw2"}
    assert cables(subnet) == {frozenset(("sw1", "sw2")): 1}
    assert not any("pieces" in text for text in subnet.remarks)


@pytest.mark.parametrize(
    "text", ["a,b\n", "a,b\nb,c\nc,d\n", "a,b\nc,d\nd,e\n", "node1,node2\nnode3,node4\n"]
)
def test_a_first_cable_is_no_heading(text: str) -> None:
    subnet = parse_fabric(text, hosts=())
    wanted = [row.split(",") for row in text.splitlines()]
    assert cables(subnet) == Counter(map(frozenset, wanted))


def test_edges_of_gephi_are_directed_or_not() -> None:
    rows = [("x1", "y1"), ("y1", "z1"), ("z1", "x1")]

    def text(kind: str) -> str:
        body = "".join(f"{a};{b};{kind};{n};;1.0\n" for n, (a, b) in enumerate(rows))
        return "Source;Target;Type;Id;Label;Weight\n" + body

    assert cables(parse_fabric(text("Undirected"))) == Counter(map(frozenset, rows))
    with pytest.raises(fl.SpecError, match="line 2: leads one way, as do 3 edges in all"):
        parse_fabric(text("Directed"))
    assert all(cable.one_way for cable in parse_fabric(text("Directed"), one_way=True).cables)


def test_neighbours_by_names_of_ports_are_cables_once() -> None:
    rows = [
        ("leaf1", "Eth1/1", "spine1", "Eth1"),
        ("leaf1", "Eth1/2", "spine1", "Eth2"),
        ("leaf2", "Eth1/1", "spine1", "Eth3"),
        ("leaf1", "Eth10", "srv01", "eno1"),
        ("leaf2", "Eth10", "srv02", "eno1"),
    ]
    both = [*rows, *((c, d, a, b) for a, b, c, d in rows)]
    text = "device_a,interface_a,device_z,interface_z\n" + "".join(",".join(row) + "\n" for row in both)
    subnet = parse_fabric(text)
    assert cables(subnet) == {frozenset(("leaf1", "spine1")): 2, frozenset(("leaf2", "spine1")): 1}
    assert hosts(subnet) == {"srv01": "leaf1", "srv02": "leaf2"}
    assert any(text.startswith("port of cables is not used") for text in subnet.remarks)
    with pytest.raises(fl.SpecError, match=r"line 12: port 1 of leaf1 leads to"):
        parse_fabric(text + "leaf1,Eth1/1,spine2,Eth1\n")


def test_a_list_from_both_ends_has_every_cable_once() -> None:
    graph = nx.petersen_graph()
    one = [f"s{a},s{b}" for a, b in graph.edges]
    both = [*one, *(f"s{b},s{a}" for a, b in graph.edges)]
    once, listed = (parse_fabric("\n".join(rows) + "\n") for rows in (one, both))
    assert cables(once) == cables(listed)
    assert len(listed.cables) == graph.number_of_edges()
    assert "every cable is listed from both ends and taken once" in "\n".join(listed.remarks)
    assert len(parse_fabric("a,b\nb,a\n").cables) == 2
    assert len(parse_fabric("".join(f"s{a},s{(a + 1) % 4}\n" * 2 for a in range(4))).cables) == 8


def test_names_of_several_nodes_are_told() -> None:
    graph = nx.MultiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (3, 0)])
    labels = {0: "Cleveland", 1: "New York", 2: "New York", 3: "Atlanta"}
    nx.set_node_attributes(graph, labels, "label")
    subnet = parse_fabric("\n".join(nx.generate_graphml(graph)))
    assert [switch.name for switch in subnet.switches] == ["Cleveland", "1", "2", "Atlanta"]
    assert "1 name of several nodes left out: these have their ids" in subnet.remarks


def test_groups_are_no_nodes_and_other_graphs_are_refused() -> None:
    inner = '<graph id="g0:"><node id="n0"/><node id="n1"/><edge source="n0" target="n1"/></graph>'
    text = f'<node id="g0">{inner}</node><node id="n2"/><edge source="n1" target="n2"/>'
    grouped = parse_fabric(f'<graphml><graph edgedefault="undirected">{text}</graph></graphml>', hosts=())
    assert cables(grouped) == {frozenset(("n0", "n1")): 1, frozenset(("n1", "n2")): 1}
    assert len(grouped.switches) == 3
    assert "1 group of nodes left out: they have no cables" in grouped.remarks
    graph = '<graph><node id="a"/><node id="b"/>{}<edge source="a" target="b"/></graph>'
    hyper = '<hyperedge><endpoint node="a"/><endpoint node="b"/></hyperedge>'
    with pytest.raises(fl.SpecError, match="has hyperedges; a cable has two ends"):
        parse_fabric(f"<graphml>{graph.format(hyper)}</graphml>")
    with pytest.raises(fl.SpecError, match="has 2 graphs; write a file for each"):
        parse_fabric(f"<graphml>{graph.format('') * 2}</graphml>")


def test_platforms_without_one_cluster_are_refused_by_what_they_are() -> None:
    text = '<platform version="4.1"><zone id="z" routing="Full"><host id="h" speed="1Gf"/></zone></platform>'
    with pytest.raises(fl.SpecError, match="a platform with 0 clusters and other zones; one <cluster> alone"):
        parse_fabric(text)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("NV2\t", "NV3\t", "GPU0 has 3 links to GPU1, which has 2 to it"),
        ("NV2", "SYS", "none of its GPUs has an NVLink"),
        ("GPU1\tNV2\t X \tSYS\n", "", "the row of GPU1 is missing: was the file cut off"),
        (" X \tSYS\n", " X\n", "line 3: the row of GPU1 does not fit the heading"),
    ],
)
def test_damaged_matrices_are_refused(old: str, new: str, problem: str) -> None:
    text = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV2\tSYS\t0-7\nGPU1\tNV2\t X \tSYS\n"
    with pytest.raises(fl.SpecError, match=problem):
        parse_fabric(text.replace(old, new, 1 if new.startswith("NV") else -1))


@pytest.fixture
def tree(tmp_path: Path) -> str:
    (tmp_path / "tree.conf").write_text(TREE)
    return str(tmp_path / "tree.conf")


@pytest.mark.parametrize("part", ["node:n4", "link:n4-leaf2", "link:leaf2-n4"])
@pytest.mark.parametrize(
    ("verb", "number"), [("route", "hosts"), ("simulate --pattern next", "packets_injected")]
)
def test_hosts_fail_by_their_names_in_every_verb(
    verb: str, number: str, part: str, tree: str, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = []
    for fail in ([], ["--fail", part]):
        assert run([*verb.split(), "--network", tree, *fail, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        counted.append(answer[number])
    assert counted[0] - counted[1] == 1


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ("node:n9", "no switch or host is called 'n9'; did you mean 'n"),
        ("link:n4-leaf1", "'link:n4-leaf1': there is no such cable"),
    ],
)
def test_what_is_not_there_does_not_fail(
    part: str, problem: str, tree: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("route", "simulate --pattern next", "load bound --pattern rand", "place --axes a=2:ring:8"):
        assert run([*verb.split(), "--network", tree, "--fail", part]) == 2
        assert problem in capsys.readouterr().err


def test_pairs_without_a_way_bound_no_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "two.conf").write_text("SwitchName=s0 Nodes=a[0-1]\nSwitchName=s1 Nodes=b[0-1]\n")
    for verb in ("load bound", "simulate --rate 0.1 --cycles 100"):
        assert run([*verb.split(), "--network", str(tmp_path / "two.conf"), "--pattern", "rand"]) == 2
        assert "the tables do not lead from host 'a" in capsys.readouterr().err


def test_parallel_cables_count_in_every_form_of_a_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ring = "".join(f"s{a},s{(a + 1) % 4}\n" for a in range(4))
    (tmp_path / "double.csv").write_text(ring * 2)
    (tmp_path / "single.csv").write_text(ring)
    answers = []
    for network in ("double.csv", "ring4*2", "single.csv", "ring4"):
        what = str(tmp_path / network) if network.endswith("csv") else network
        assert run(["place", "--network", what, "--axes", "a=4:all-to-all:8", "--effort", "1", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        answers.append((answer["busiest_channel"], answer["bound"]))
    assert answers[0] == answers[1] != answers[2] == answers[3]


def test_packets_go_between_names_of_the_file(
    tree: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [host.name for host in parse_fabric(TREE).hosts]
    rows = [(0, 5), (3, 4), (6, 1)]
    heading = "source,destination,length,start\n"
    tables = {
        "numbers": heading + "".join(f"{a},{b},8,0\n" for a, b in rows),
        "names": heading + "".join(f"{names[a]},{names[b]},8,0\n" for a, b in rows),
    }
    answers = []
    for name, text in tables.items():
        (tmp_path / name).with_suffix(".csv").write_text(text)
        file = str((tmp_path / name).with_suffix(".csv"))
        assert run(["simulate", "--network", tree, "--packet-table", file, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    fields = {"topology": tree, "router": {"model": "pipelined"}}
    table = [[names[a], names[b], 8, 0] for a, b in rows]
    spec = build_experiment(fields | {"traffic": {"kind": "packets", "table": table}})
    assert [row[:2] for row in spec.traffic.table] == rows
    (tmp_path / "wrong.csv").write_text(heading + "n1,n9,8,0\n")
    assert run(["simulate", "--network", tree, "--packet-table", str(tmp_path / "wrong.csv")]) == 2
    said = capsys.readouterr().err
    assert "traffic.table: " in said
    assert "wrong.csv, line 2: destination is not a host of the network" in said
    assert "n9" not in said


def test_numbers_are_names_where_hosts_are_called_by_numbers(tmp_path: Path) -> None:
    ring = "".join(f"{a},{(a + 1) % 12}\n" for a in range(12))
    (tmp_path / "ring.csv").write_text(ring)
    fields = {"topology": f"{tmp_path}/ring.csv hosts 3,7,11", "router": {"model": "pipelined"}}
    (tmp_path / "p.csv").write_text("source,destination,length,start\n7,3,8,0\n")
    spec = build_experiment(fields | {"traffic": {"kind": "packets", "table": str(tmp_path / "p.csv")}})
    assert [spec.topology.node_names[node] for node in spec.traffic.table[0][:2]] == ["7", "3"]
    (tmp_path / "p.csv").write_text("source,destination,length,start\n0,3,8,0\n")
    with pytest.raises(fl.SpecError, match="source is not a host of the network"):
        build_experiment(fields | {"traffic": {"kind": "packets", "table": str(tmp_path / "p.csv")}})


def test_rows_with_and_without_ports_stand_beside_each_other() -> None:
    read = parse_fabric("a,1,b,2\nb,c\nc,3,a,4\n")
    assert len(read.switches) == 3
    assert len(read.cables) == 3
