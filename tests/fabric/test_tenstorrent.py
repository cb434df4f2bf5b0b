"""Descriptors of Tenstorrent pods, held against graphs that networkx makes."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import networkx as nx
import pytest

from flitloom.commands import run
from flitloom.errors import SpecError
from flitloom.fabric import parse_fabric, recognise

MESH = (
    'mesh_descriptors {{ name: "{name}" arch: BLACKHOLE device_topology {{ dims: [{dims}] {types} }} '
    "channels {{ count: {count} }} {more} }}\n"
)


def mesh(*sizes, name="M", rings=None, count=1, more=""):
    types = "" if rings is None else f"dim_types: [{', '.join('RING' if ring else 'LINE' for ring in rings)}]"
    return MESH.format(name=name, dims=", ".join(map(str, sizes)), types=types, count=count, more=more)


def member(number, name="M", device=None):
    named = "" if device is None else f" device_id: {device}"
    return f'mesh {{ mesh_descriptor: "{name}" mesh_id: {number}{named} }}'


TOP = f"top_level_instance {{ {member(0)} }}\n"


def links(subnet):
    """How many cables join two switches, by their names."""
    names = [switch.name for switch in subnet.switches]
    return Counter(frozenset((names[cable.a], names[cable.b])) for cable in subnet.cables)


@pytest.mark.parametrize(
    ("sizes", "rings"),
    [
        ((2, 4), None),
        ((8, 4), (True, False)),
        ((4, 4), (True, True)),
        ((3, 4, 5), (False, True, True)),
        ((7,), (True,)),
    ],
)
def test_meshes_are_grids_with_rings(sizes, rings):
    subnet = parse_fabric(mesh(*sizes, rings=rings, count=3) + TOP, "pod.textproto")
    grid = nx.grid_graph(sizes[::-1], periodic=list(rings or [False] * len(sizes))[::-1])
    # networkx has the reversed sizes, so its places are those of the file, the last coordinate fastest.
    number = {place: index for index, place in enumerate(sorted(grid))}
    expected = Counter(frozenset(f"M(0):D{number[place]}" for place in edge) for edge in grid.edges)
    assert links(subnet) == Counter(dict.fromkeys(expected, 3))


def test_cables_of_meshes_are_counted_before_they_are_made(monkeypatch):
    monkeypatch.setattr("flitloom.fabric.assembly.Assembly.join", lambda *_: pytest.fail("a cable was made"))
    with pytest.raises(SpecError, match="2048256 cables; a network has at most"):
        parse_fabric(mesh(64, 64, count=254) + TOP, "pod.textproto")


def graph(name, *parts):
    return f'graph_descriptors {{ name: "{name}" type: "POD" {" ".join(parts)} }}\n'


def instances(*members):
    return " ".join(f"instances {{ {member} }}" for member in members)


def connection(a, b, count):
    return f"connections {{ nodes {{ {a} }} nodes {{ {b} }} channels {{ count: {count} }} }}"


def pod(number, name="G", inside=""):
    return f'graph {{ graph_descriptor: "{name}" graph_id: {number} {inside} }}'


def test_rings_of_meshes_are_tori():
    ring = graph("G", instances(*map(member, range(5))), "graph_topology: RING channels { count: 12 }")
    text = mesh(3, 4, rings=(True, True)) + ring + f"top_level_instance {{ {pod(0)} }}"
    subnet = parse_fabric(text, "pod.textproto")
    assert sorted(recognise(subnet).sizes) == [3, 4, 5]
    assert any("5 connections between meshes name no devices" in remark for remark in subnet.remarks)


@pytest.mark.parametrize(
    ("rings", "inside"), [(None, ("line4", "line8")), ((True, True), ("ring4", "ring8"))]
)
def test_rings_of_meshes_with_few_connections_are_named(rings, inside):
    ring = graph("G", instances(*map(member, range(4))), "graph_topology: RING channels { count: 8 }")
    text = mesh(8, 4, rings=rings, count=2) + ring + f"top_level_instance {{ {pod(0)} }}"
    found = recognise(parse_fabric(text, "pod.textproto"))
    assert (found.kind, tuple(sorted(found.nested.inner)), found.nested.outer) == ("tori", inside, ("ring4",))
    assert len(found.nested.places) == 8
    assert found.nested.name == ("" if rings is None else "tori(8x4;4;8)")


def test_connections_join_the_devices_that_they_name():
    text = (
        mesh(1, 3)
        + graph("G", instances(member(0), member(1)), connection(member(0, device=1), member(1, device=2), 2))
        + graph(
            "H",
            instances(pod(0), pod(1)),
            connection(pod(0, inside=member(1, device=1)), pod(1, inside=member(0, device=0)), 1),
        )
        + f"top_level_instance {{ {pod(0, 'H')} }}"
    )
    found = links(parse_fabric(text, "pod.textproto"))
    expected = Counter({frozenset(("H(0):G(0):M(1):D1", "H(0):G(1):M(0):D0")): 1})
    for name in ("H(0):G(0)", "H(0):G(1)"):
        expected[frozenset((f"{name}:M(0):D1", f"{name}:M(1):D2"))] = 2
        for number, device in product((0, 1), (0, 1)):
            expected[frozenset(f"{name}:M({number}):D{end}" for end in (device, device + 1))] = 1
    assert found == expected


def cluster(network, flow):
    """A cluster descriptor of a graph, whose chips use their channels in turn."""
    used = Counter()
    rows = []
    for a, b in network.edges:
        rows.append([(chip, used[chip]) for chip in (a, b)])
        used.update((a, b))
    if flow:
        ends = [[f"{{chip: {chip}, chan: {chan}}}" for chip, chan in row] for row in rows]
        body = ",\n".join(f"  [{a}, {b}]" for a, b in ends)
        arch = ", ".join(f"{chip}: Wormhole" for chip in network)
        return f"arch: {{{arch}}}\nethernet_connections: [\n{body}\n]\n"
    arch = "".join(f"  {chip}: blackhole\n" for chip in network)
    ends = [[f"    - chip: {chip}\n      chan: {chan}\n" for chip, chan in row] for row in rows]
    body = "".join(f"  -\n{a}{b}" for a, b in ends)
    return f"arch:\n{arch}chips:\n  {{}}\nethernet_connections:\n{body}boards:\n  -\n    - board_id: 7\n"


@pytest.mark.parametrize("flow", [False, True])
def test_cluster_descriptors_are_their_cables(flow, tmp_path, capsys):
    network = nx.convert_node_labels_to_integers(nx.grid_graph((4, 5), periodic=True))
    subnet = parse_fabric(cluster(network, flow), "cluster.yaml")
    assert links(subnet) == Counter(frozenset((f"chip{a}", f"chip{b}")) for a, b in network.edges)
    assert sorted(recognise(subnet).sizes) == [4, 5]
    file = tmp_path / "cluster.yaml"
    file.write_text(cluster(network, flow))
    assert run(["collective", "all-gather", "--graph", str(file), "--json"]) == 0
    # Four cables bring four of the 19 chunks that a chip lacks in a step.
    assert json.loads(capsys.readouterr().out)["steps"] == 5


def test_physical_systems_have_the_links_of_all_hosts():
    ring = nx.cycle_graph(6)
    chip = {node: 2**63 + 11 * node for node in ring}

    def channel(name, node, other):
        # A channel 0 is not written.
        number = sorted(ring[node]).index(other)
        return f"{name}_chan: {number}" if number else ""

    def edge(node, other):
        ends = f"{channel('src', node, other)} {channel('dst', other, node)}"
        return (
            f"asic_connections {{ dst_asic_id: {chip[other]} eth_connections {{ {ends} is_local: true }} }}"
        )

    def asic(node):
        edges = " ".join(edge(node, other) for other in ring[node])
        return f"asic_topologies {{ asic_id: {chip[node]} topology {{ {edges} }} }}"

    hosts = "".join(
        f'asic_connectivity_graph {{ host_name: "h{host}" {asic(2 * host)} {asic(2 * host + 1)} }}\n'
        for host in range(3)
    )
    told = "".join(
        f"asic_descriptors {{ asic_id: {chip[node]} asic_descriptor {{ tray_id: 1 "
        f'asic_location: {node % 2} host_name: "h{node // 2}" }} }}\n'
        for node in ring
    )
    subnet = parse_fabric(f"system_graph {{\n{hosts}}}\n{told}", "system.textproto")
    name = {node: f"h{node // 2}/1/{node % 2}" for node in ring}
    assert links(subnet) == Counter(frozenset((name[a], name[b])) for a, b in ring.edges)


LINK = "[{chip: 0, chan: 1}, {chip: 1, chan: 1}]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (mesh(2, 4, count=0) + TOP, "channels: count is 0; it must be 1 to 254"),
        (mesh(2, 0) + TOP, "dims are [2, 0]; they must be positive whole numbers"),
        (mesh(2, 4), "top_level_instance: 0 given; there is exactly one"),
        (mesh(2, 4, name="N") + TOP, "'M' is described nowhere"),
        (mesh(2, 4, more="express_links { dim_idx: 0 }") + TOP, "express_links is not supported"),
        (
            mesh(2, 4, more="express_connections { src: 0 dst: 8 }") + TOP,
            "device 8 does not exist; devices are 0 to 7",
        ),
        (mesh(2, 4, rings=(True, False, True)) + TOP, "they must be LINE or RING, one per dimension"),
        (mesh(99999, 99999) + TOP, "devices"),
        ("mesh_descriptors { name: ", "line 1: the text ends within a message"),
        ("mesh_descriptors {\n name }", "line 2: name has no value; write name: VALUE or name { ... }"),
        ("mesh_descriptors " + "{a " * 1000, "more than 64 messages within each other"),
        (
            mesh(2, 4) + graph("G") + f"top_level_instance {{ {pod(0)} }}",
            "graph_descriptors G(0): has no instances",
        ),
        ("ChipSpec: {arch: wormhole_b0}\nMesh: []\n", "is a mesh graph descriptor of version 1"),
        ("ethernet_connections: [[{chip: 0, chan: 1}]]", "ethernet_connections[0]: a link has two ends"),
        (
            "ethernet_connections: [[{chip: 0, chan: 1}, {chip: x, chan: 1}]]",
            "it must be a whole number from 0",
        ),
        ("ethernet_connections: [[{chip: 0, chan: 1}, {chip: 1, chan: 254}]]", "channels are 0 to 253"),
        (
            "ethernet_connections: [" + LINK + ", [{chip: 0, chan: 1}, {chip: 2, chan: 1}]]",
            "leads to",
        ),
        ("ethernet_connections: [[", ": no valid YAML"),
        ("ethernet_connections: " + "[" * 10000, "more than 32 lists within each other"),
        ("ethernet_connections: 7", "it must be a list"),
    ],
)
def test_damaged_descriptors_end_in_one_message(text, said):
    with pytest.raises(SpecError) as caught:
        parse_fabric(text, "pod")
    assert said in str(caught.value)
    assert str(caught.value).startswith("pod")
