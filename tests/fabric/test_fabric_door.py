"""What a file says of a network is used, remarked or refused; formats make no difference."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path

import networkx as nx
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.fabric import Subnet, parse_fabric, read_fabric
from flitloom.fabric.assembly import Assembly

#: Hosts below switches, and cables between switches: two hosts each at three switches in a line.
HOSTS = {f"n{n}": f"sw{n // 2}" for n in range(6)}
CABLES = [("sw0", "sw1"), ("sw1", "sw2")]


def graphml(typed: bool) -> str:
    """The network as GraphML."""
    graph = nx.Graph([*HOSTS.items(), *CABLES])
    if typed:
        nx.set_node_attributes(graph, {n: "host" if n in HOSTS else "switch" for n in graph}, "type")
    return "\n".join(nx.generate_graphml(graph))


def discovered() -> str:
    """The network as ibnetdiscover prints it."""
    rows: dict[str, list[str]] = {}
    for a, b in [*HOSTS.items(), *CABLES]:
        ports = [len(rows.setdefault(name, [])) + 1 for name in (a, b)]
        rows[a].append(f'[{ports[0]}]\t"{b}"[{ports[1]}]\n')
        rows[b].append(f'[{ports[1]}]\t"{a}"[{ports[0]}]\n')
    return "\n".join(
        f'{"Switch 36" if name.startswith("sw") else "Ca 1"} "{name}"\t# "{name}"\n' + "".join(lines)
        for name, lines in rows.items()
    )


#: The same network in the formats that can say it.
FORMATS = {
    "csv": "".join(f"{a},{b}\n" for a, b in [*HOSTS.items(), *CABLES]),
    "csv with types": "a,a_type,b,b_type\n"
    + "".join(f"{a},host,{b},switch\n" for a, b in HOSTS.items())
    + "".join(f"{a},switch,{b},switch\n" for a, b in CABLES),
    "graphml": graphml(False),
    "graphml with types": graphml(True),
    "ibnetdiscover": discovered(),
    "anynet": "".join(f"router {n} node {2 * n} node {2 * n + 1}\n" for n in range(3))
    + "router 0 router 1\nrouter 1 router 2\n",
    "slurm": "SwitchName=sw0 Nodes=n[0-1] Switches=sw1\nSwitchName=sw1 Nodes=n[2-3] Switches=sw2\n"
    "SwitchName=sw2 Nodes=n[4-5]\n",
    "ns3": "9 3 8\n6 7 8\n"
    + "".join(f"{n} {6 + n // 2} 1Gbps 1us 0\n" for n in range(6))
    + "6 7 1Gbps 1us 0\n7 8 1Gbps 1us 0\n",
}


def shape(subnet: Subnet) -> tuple[list[int], list[tuple[int, int]]]:
    """Hosts per switch and the cables between switches."""
    return subnet.hosts_per_switch(), sorted((cable.a, cable.b) for cable in subnet.cables)


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_network_in_every_format(name: str) -> None:
    assert shape(parse_fabric(FORMATS[name])) == ([2, 2, 2], [(0, 1), (1, 2)])


def test_verbs_answer_alike_whatever_the_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers: dict[str, Counter[str]] = {"route": Counter(), "place": Counter(), "simulate": Counter()}
    for number, text in enumerate(FORMATS.values()):
        file = tmp_path / f"{number}.net"
        file.write_text(text)
        for verb, words in (
            ("route", ["route", "--fabric", file, "--json"]),
            ("place", ["place", "--graph", file, "--stencil", "2x3", "--effort", "1", "--json"]),
            ("simulate", ["simulate", "--graph", file, "--json"]),
        ):
            assert run([str(word) for word in words]) == 0
            told = json.loads(capsys.readouterr().out)
            kept = ("max_load", "bound", "lanes", "busiest_channel", "hop_bytes", "cycles", "packets")
            answers[verb][str([told[name] for name in kept if name in told])] += 1
    # Pairs over the middle: 2 hosts on one side, 4 on the other.
    assert [len(rows) for rows in answers.values()] == [1, 1, 1]
    assert next(iter(answers["route"])).startswith("[8, 8")


FACTS = {
    "speeds differ": ("a,b,200Gbps\nb,c,400Gbps\nc,a,200Gbps\n", "200Gbps (2), 400Gbps (1)"),
    "a column of speeds": ("a,b,bandwidth\nx,y,1\ny,z,2\nz,x,1\n", "bandwidth of cables is not used"),
    "latencies": ("router 0 node 0 router 1 5\nrouter 1 node 1\n", "latency of cables is not used"),
    "InfiniBand speeds": (
        'Switch 8 "A"\n[1] "B"[1] # "b" lid 1 4xNDR\n[2] "C"[1] # "c" lid 2 1xSDR\n\nSwitch 8 "B"\n'
        '\nSwitch 8 "C"\n',
        "4xNDR (1), 1xSDR (1)",
    ),
    "pieces": ("a,b\nc,d\nd,e\ne,c\n", "2 pieces that no cable between switches joins: c, d, e; a, b"),
    "planes": (
        "".join(f"gpu{n},sw{plane}\n" for n in range(3) for plane in range(2)),
        "2 planes, in which every host has a port, that no cable between switches joins: sw0; sw1",
    ),
    "several ports": (
        "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[0-3]\nSwitchName=t Switches=a,b\n",
        "4 hosts with several ports, e.g. 'n0' with 2",
    ),
    "aggregation nodes": (
        'Switch 8 "S-1"\n[1] "H-2"[1]\n[2] "H-3"[1]\n\nCa 1 "H-2" # "n0 mlx5_0"\n[1] "S-1"[1]\n\n'
        'Ca 1 "H-3" # "Mellanox Technologies Aggregation Node"\n[1] "S-1"[2]\n',
        "1 aggregation node left out",
    ),
    "guessed hosts": ("gpu0,sw\ngpu1,sw\n", "gpu0, gpu1 are taken for hosts by their names"),
    "blocks": (
        "BlockName=a Nodes=n[0-3]\nBlockName=b Nodes=n[4-7]\nBlockSizes=4\n",
        "blocks say nothing about cables",
    ),
    "a host without a cable": ("3 0 1\n0 1 1Gbps 0 0\n", "1 host without a cable left out"),
    "a strange type": (graphml(True).replace("host", "blue"), "nodes of type 'blue' are taken for switches"),
}


@pytest.mark.parametrize("name", FACTS)
def test_what_is_not_used_is_remarked(name: str) -> None:
    text, remark = FACTS[name]
    assert remark in "\n".join(parse_fabric(text).remarks)


WRONG = {
    "a cable to itself": ("a,b\nb,b\n", "line 2: a cable joins 'b' to itself"),
    "two nodes of one name": (
        "SwitchName=s Nodes=n[0-1]\nSwitchName=s Nodes=n[2-3]\n",
        "line 2: switch s is described a second time",
    ),
    "two nodes of one identifier": (
        '<graphml><graph><node id="a"/><node id="a"/><edge source="a" target="b"/></graph></graphml>',
        "node a: a is described a second time",
    ),
    "a node that is nowhere": (
        '<graphml><graph><node id="a"/><edge source="a" target="b"/></graph></graphml>',
        "'b' is described nowhere",
    ),
    "a ring of one way": (
        '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/><node id="c"/>'
        '<edge source="a" target="b"/>'
        '<edge source="b" target="c"/><edge source="c" target="a"/></graph></graphml>',
        "edge a - b: leads one way, as do 3 edges in all",
    ),
    "a host that is a switch": (
        "a,a_type,b,b_type\nx,host,y,switch\ny,host,z,switch\n",
        "line 3: y is a host here and a switch before",
    ),
    "a type that is none": ("a,a_type,b\nx,blue,y\n", "line 2: 'blue' is not a type"),
    "links cut off": (
        "4 1 3\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n",
        "says 3 links, and there are 2: was the file cut off",
    ),
    "a line cut off": ("4 1 3\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1u", "line 4: a link is"),
    "no such node": ("4 1 1\n3\n0 9 1Gbps 1us 0\n", "line 3: '9' is not a node; nodes are 0 to 3"),
    "dimensions": (
        "topology: [ Ring, Ring ]\nnpus_count: [ 4 ]\n",
        "topology has 2 dimensions, npus_count 1",
    ),
    "a strange dimension": ("topology: [ Blob ]\nnpus_count: [ 4 ]\n", "'Blob' is unknown; write Ring"),
    "too many": ("topology: [ Ring ]\nnpus_count: [ 99999999 ]\n", "a network has 2 to"),
    "a radix": (
        "Nodes 30\nTiers 2\nTier 0\nRadix_Down 4\nTier 1\nRadix_Down 4\n",
        "Tier 0: 30 nodes are not divided by Radix_Down 4",
    ),
    "an NVLink to nowhere": (
        '<system><pci busid="1"><gpu dev="0"><nvlink target="2" count="1"/></gpu></pci></system>',
        "'2' is described nowhere",
    ),
    "a torus of SimGrid": (
        '<platform><cluster id="c" topology="TORUS" topo_parameters="3,3" radical="0-7"/></platform>',
        "topo_parameters do not fit the 8 hosts",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, message = WRONG[name]
    with pytest.raises(fl.SpecError) as caught:
        parse_fabric(text)
    assert message in str(caught.value)
    (tmp_path / "net").write_text(text)
    known = [] if name == "a ring of one way" else [["collective", "all-gather", "--graph"]]
    for words in (
        ["route", "--fabric"],
        *known,
        ["place", "--stencil", "2x2", "--graph"],
    ):
        assert run([*words, str(tmp_path / "net")]) == 2
        said = capsys.readouterr()
        assert (said.out, message in said.err, said.err.count("\n")) == ("", True, 1)


def test_switches_of_a_star_and_of_a_box_pass_on(tmp_path: Path) -> None:
    star, box = tmp_path / "star.csv", tmp_path / "box.csv"
    star.write_text("".join(f"gpu{n},nvswitch\n" for n in range(8)))
    box.write_text("".join(f"gpu{g},nvsw{s}\n" for g, s in product(range(8), range(4))))
    for file in (star, box):
        plan = tmp_path / "plan.json"
        assert run(["collective", "all-gather", "--graph", str(file), "-o", str(plan)]) == 0
        found = json.loads(plan.read_text())
        assert found["nodes"] == list(range(8))
        # 7 chunks enter a GPU over one link, or over four, of which none leads to another GPU.
        assert found["steps"] in ((7, 8) if file == star else (2, 3))
        assert run(["check", str(plan)]) == 0


def test_a_chain_keeps_its_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (
        ("l.csv", "a,b\nb,c\nc,d\n"),
        ("l.graphml", "\n".join(nx.generate_graphml(nx.path_graph(4)))),
    ):
        (tmp_path / name).write_text(text)
        assert (
            run(["collective", "all-gather", "--graph", str(tmp_path / name), "-o", str(tmp_path / "p.json")])
            == 0
        )
        assert json.loads((tmp_path / "p.json").read_text())["steps"] == 3
        assert "4 switches with a host each" in capsys.readouterr().err


def test_hosts_of_slurm_stand_at_their_lowest_switches() -> None:
    printed = (
        "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=leaf[0-1]\n"
        "SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-3]\n"
        "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[4-7]\n"
    )
    assert [host.name for host in parse_fabric(printed).hosts] == [f"n{n}" for n in range(8)]


#: A file, and the graph of hosts and switches that networkx makes of the same sizes.
RECIPES = {
    "rings": ("topology: [ Ring ]\nnpus_count: [ 8 ]\n", nx.cycle_graph(8)),
    "a torus": ("topology: [ Ring, Ring ]\nnpus_count: [ 4, 5 ]\n", nx.grid_graph((4, 5), periodic=True)),
    "full": ("topology: [ FullyConnected ]\nnpus_count: [ 6 ]\n", nx.complete_graph(6)),
    "a torus of SimGrid": (
        '<platform><zone><cluster id="c" topology="TORUS" topo_parameters="3,4" radical="0-11"/>'
        "</zone></platform>",
        nx.grid_graph((3, 4), periodic=True),
    ),
    "HPCC": ("4 0 4\n\n" + "".join(f"{n} {(n + 1) % 4} 1Gbps 1us 0\n" for n in range(4)), nx.cycle_graph(4)),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_make_the_networks_of_their_names(name: str) -> None:
    text, wanted = RECIPES[name]
    made = parse_fabric(text)
    found = nx.Graph([(cable.a, cable.b) for cable in made.cables])
    assert nx.is_isomorphic(found, wanted)
    assert len(made.cables) == wanted.number_of_edges()
    assert made.hosts_per_switch() == [1] * len(made.switches)


@pytest.mark.parametrize(
    ("text", "levels", "cables"),
    [
        # 128 hosts at 8 leaves with 4 ports up, and 4 spines with 8 ports down.
        ("Nodes 128\nTiers 2\nTier 0\nRadix_Down 16\nRadix_Up 4\nTier 1\nRadix_Down 8\n", [8, 4], 32),
        ("Nodes 128\nTiers 2\nTier 0\nRadix_Down 16\nOversubscribed 4\nTier 1\nRadix_Down 8\n", [8, 4], 32),
        (
            "Nodes 32\nTiers 3\nPodsize 8\nTier 0\nRadix_Down 4\nRadix_Up 4\nTier 1\nRadix_Down 2\n"
            "Radix_Up 2\n"
            "Tier 2\nRadix_Down 4\n",
            [8, 16, 8],
            64,
        ),
        (
            '<platform><cluster id="c" topology="FAT_TREE" prefix="h" radical="0-15" '
            'topo_parameters="2;4,4;1,2;1,2"/></platform>',
            [4, 2],
            16,
        ),
    ],
)
def test_fat_trees_have_their_levels(text: str, levels: list[int], cables: int) -> None:
    made = parse_fabric(text)
    found = fl.fabric.recognise(made)
    assert (found.kind, list(found.sizes), len(made.cables)) == ("fat tree", levels, cables)


def test_a_dragonfly_of_simgrid() -> None:
    text = (
        '<platform><cluster topology="DRAGONFLY" topo_parameters="3,4;4,3;5,1;2" radical="0-119"/></platform>'
    )
    made = parse_fabric(text)
    # Per group 4 chassis of 5 routers: 4 * 10 green links, 5 * 6 black ones of 3 cables; 3 blue ones of 4.
    assert (len(made.switches), len(made.hosts), len(made.cables)) == (60, 120, 3 * (40 + 90) + 12)
    assert len(made.pieces()) == 1


#: Small files that describe more than is read: each is refused before any of it is made.
TOO_MUCH = {
    "slurm": "".join(f"SwitchName=t{n} Switches=s[0-9999]\n" for n in range(300)),
    "slurm yaml": "- topology: t\n  tree:\n    switches:\n"
    + "".join(f"      - switch: t{n}\n        children: s[0-9999]\n" for n in range(300)),
    "names of slurm": "".join(f"SwitchName=t{n} Nodes=n[0-999999]\n" for n in range(6)),
    "astra": "topology: [ FullyConnected, Ring ]\nnpus_count: [ 1500, 4 ]\n",
    "dragonfly": '<platform><cluster topology="DRAGONFLY" topo_parameters="1,1;2,600;2000,1;1" '
    'radical="0-3999"/></platform>',
    "fat tree of simgrid": '<platform><cluster topology="FAT_TREE" topo_parameters="1;1000;600;2" '
    'radical="0-999"/></platform>',
    "torus of simgrid": '<platform><cluster topology="TORUS" topo_parameters="64,64,128" '
    'radical="0-524287"/></platform>',
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_small_files_describe_is_counted_before_it_is_made(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Assembly, "join", lambda *_: pytest.fail("a cable was made"))
    with pytest.raises(fl.SpecError, match=r"\d cables; a network has at most|nodes are named \d+ times"):
        parse_fabric(TOO_MUCH[name])


def test_a_box_of_nccl() -> None:
    gpus = "".join(
        f'<pci busid="{n}"><gpu dev="{n}"><nvlink target="s" count="2" tclass="0x068000"/></gpu></pci>'
        for n in range(4)
    )
    made = parse_fabric(f'<system version="1"><cpu>{gpus}</cpu></system>')
    assert (len(made.switches), len(made.hosts), len(made.ports_of_hosts())) == (1, 8, 4)


def test_remarks_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.csv"
    file.write_text("h0,sw\nh1,sw\n")
    for words in (
        ["fabric", "show", file],
        ["place", "--graph", file, "--stencil", "2"],
        ["simulate", "--graph", file],
    ):
        assert run([str(word) for word in words]) == 0
        err = capsys.readouterr().err
        assert err.count("is taken for 1 switch and 2 hosts") == 1
        assert err.count("h0, h1 are taken for hosts") == 1


def test_names_are_kept_as_they_are(tmp_path: Path) -> None:
    names = ['kn"oten 1', "<b>", "Knoten-ä", "x, y"]
    file = tmp_path / "names.csv"
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    file.write_text("".join(f"{a},{b}\n" for a, b in zip(quoted, [*quoted[1:], quoted[0]], strict=True)))
    assert {switch.name for switch in read_fabric(file).switches} == set(names)
    assert run(["collective", "broadcast", "--graph", str(file), "--root", "Knoten-ä"]) == 0
    assert run(["view", "--fabric", str(file), "-o", str(tmp_path / "p.html")]) == 0
    assert "<b>," not in (tmp_path / "p.html").read_text()
