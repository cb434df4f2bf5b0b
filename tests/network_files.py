"""Small networks in the files of every program that says what a network is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import networkx as nx

import flitloom as fl

FACTS = (
    *("kind", "name", "port", "speed", "latency", "direction", "weight"),
    *("several cables", "two ports", "aggregation", "pieces"),
)


@dataclass(frozen=True)
class Net:
    """A network as Python knows it: hosts with the switches they are at, and cables between switches."""

    hosts: dict[str, list[str]]
    cables: list[tuple[str, str]]

    @property
    def links(self) -> list[tuple[str, str]]:
        return [(host, at) for host, switches in self.hosts.items() for at in switches] + self.cables

    @property
    def switches(self) -> list[str]:
        return sorted({name for pair in self.links for name in pair} - self.hosts.keys())

    def graph(self, called: Callable[[str], str] = str) -> fl.Graph:
        names = [*self.hosts, *self.switches]
        place = {name: node for node, name in enumerate(names)}
        cables = [(place[a], place[b]) for a, b in self.links]
        return fl.Graph(
            cables, nodes=len(names), names=list(map(called, names)), hosts=tuple(range(len(self.hosts)))
        )


PLAIN = Net({"n0": ["s0"], "n1": ["s0"], "n2": ["s1"], "n3": ["s1"]}, [("s0", "s1")])
TWICE = Net(PLAIN.hosts, [("s0", "s1"), ("s0", "s1")])
DUAL = Net({"n0": ["s0", "s1"], "n1": ["s0"], "n2": ["s1"], "n3": ["s1"]}, [("s2", "s0"), ("s2", "s1")])
APART = Net({**PLAIN.hosts, "n4": ["s2"], "n5": ["s2"]}, [("s0", "s1")])
#: Facts of the graph itself, which a file of any graph may have.
GRAPHS = {"kind": PLAIN, "name": PLAIN, "several cables": TWICE, "two ports": DUAL, "pieces": APART}


def plugged(net: Net) -> Iterator[tuple[str, int, str, int]]:
    """Every cable with the ports at its ends."""
    used: Counter[str] = Counter()
    for a, b in net.links:
        used[a] += 1
        used[b] += 1
        yield a, used[a], b, used[b]


def netlist(net: Net) -> str:
    rows: dict[str, str] = dict.fromkeys([*net.hosts, *net.switches], "")
    for a, port, b, other in plugged(net):
        rows[a] += f'[{port}] "{b}"[{other}]\n'
        rows[b] += f'[{other}] "{a}"[{port}]\n'
    return "\n".join(
        f'{"Ca 2" if name in net.hosts else "Switch 8"} "{name}" # "{name}"\n{text}'
        for name, text in rows.items()
    )


def numbers(net: Net) -> dict[str, int]:
    return {name: number for number, name in enumerate([*net.hosts, *net.switches], 1)}


def subnet_list(net: Net) -> str:
    known = numbers(net)

    def end(name: str, port: int) -> str:
        kind = "CA" if name in net.hosts else "SW"
        guid = f"NodeGUID:{known[name]:016x} PortGUID:{known[name] + 64:016x}"
        lid = known[name] + 64 * port * (name in net.hosts)
        of_port = f"LID:{lid:04X} PN:{port:02X}"
        return f"{{ {kind} Ports:08 SystemGUID:{known[name]:016x} {guid} {{{name}}} {of_port} }}"

    return "".join(f"{end(a, n)} {end(b, m)} PHY=4x LOG=ACT SPD=5\n" for a, n, b, m in plugged(net))


def link_list(net: Net) -> str:
    known = numbers(net)

    def end(name: str, port: int) -> str:
        if name in net.hosts:
            return f"CA {known[name] + 64 * port} {port} 0x{64 * known[name] + port:016x}"
        return f"SW {known[name]} {port} 0x{known[name]:016x}"

    return "".join(f"{end(a, n)} 4x SDR - {end(b, m)} ( '{a}' - '{b}' )\n" for a, n, b, m in plugged(net))


def graphml(net: Net) -> str:
    graph = nx.MultiGraph()
    for name in [*net.hosts, *net.switches]:
        graph.add_node(name, type="host" if name in net.hosts else "switch")
    graph.add_edges_from(net.links)
    return "\n".join(nx.generate_graphml(graph))


def table(net: Net) -> str:
    rows = (f"{a},{'host' if a in net.hosts else 'switch'},{b},switch\n" for a, b in net.links)
    return "a,a_type,b,b_type\n" + "".join(rows)


def ns3(net: Net) -> str:
    names = [*net.hosts, *net.switches]
    switches = " ".join(str(names.index(name)) for name in net.switches)
    rows = (f"{names.index(a)} {names.index(b)} 1Gbps 0 0\n" for a, b in net.links)
    return f"{len(names)} {len(net.switches)} {len(net.links)}\n{switches}\n" + "".join(rows)


def tree(net: Net) -> Iterator[tuple[str, str, str]]:
    """Every switch with its hosts and the switches below it, as Slurm lists them."""
    for name in net.switches:
        hosts = [host for host, switches in net.hosts.items() if name in switches]
        yield name, ",".join(hosts), ",".join(b for a, b in net.cables if a == name)


def slurm(net: Net) -> str:
    return "".join(
        f"SwitchName={name}{hosts and f' Nodes={hosts}'}{below and f' Switches={below}'}\n"
        for name, hosts, below in tree(net)
    )


def slurm_yaml(net: Net) -> str:
    rows = "".join(
        f"      - switch: {name}\n        nodes: {hosts}\n        children: {below}\n"
        for name, hosts, below in tree(net)
    )
    return f"- topology: t\n  tree:\n    switches:\n{rows}"


def anynet(net: Net) -> str:
    rows = [f"router {a[1:]} router {b[1:]}" for a, b in net.cables]
    rows += [f"router {at[1:]} node {host[1:]}" for host, switches in net.hosts.items() for at in switches]
    return "\n".join(rows) + "\n"


def number_in(net: Net) -> Callable[[str], str]:
    names = [*net.hosts, *net.switches]
    return lambda name: str(names.index(name))


@dataclass(frozen=True)
class Format:
    """What a reader reads: how a graph is written, facts with remarks or refusals, and what it cannot say."""

    reader: str
    write: Callable[[Net], str] | None = None
    #: Facts of graphs that it cannot say, and what other facts it cannot say.
    lacks: tuple[str, ...] = ()
    called: Callable[[Net], Callable[[str], str]] = lambda _: str
    remarked: dict[str, tuple[str, str]] = field(default_factory=dict)
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: A file, and the network that it is.
    used: dict[str, tuple[str, Net]] = field(default_factory=dict)
    #: A file, and the ports of its one cable between switches.
    ports: tuple[str, tuple[int, int]] | None = None

    def told(self) -> list[str]:
        graphs = [] if self.write is None else [fact for fact in GRAPHS if fact not in self.lacks]
        ports = [] if self.ports is None else ["port"]
        return sorted([*graphs, *ports, *self.remarked, *self.refused, *self.used, *self.lacks])


AGGREGATION = "Mellanox Technologies Aggregation Node"
AN = Net({**PLAIN.hosts, AGGREGATION: ["s0"]}, PLAIN.cables)
LEFT = "1 aggregation node left out"
EDGES = '<node id="a"/><node id="b"/><node id="c"/><edge {} source="a" target="b">{}</edge>'
XML = f'<graphml><key id="k" attr.name="{{}}"/><graph edgedefault="undirected">{EDGES}'
XML += '<edge source="b" target="c"/></graph></graphml>'
MESH = (
    'mesh_descriptors { name: "M" arch: WORMHOLE_B0 device_topology { dims: [ %s ] dim_types: [ LINE ] } '
    "channels { count: %d } host_topology { dims: [ 1 ] } }\n"
)
PAIR = "".join(f'instances {{ mesh {{ mesh_descriptor: "M" mesh_id: {n} }} }} ' for n in range(2))
SYSTEM = (
    "system_graph {\n asic_connectivity_graph { asic_topologies { asic_id: 1 topology { asic_connections { "
    "dst_asic_id: 2 %s } } } asic_topologies { asic_id: 2 } %s } }\n"
)
LINK = "eth_connections { src_chan: %d dst_chan: %d is_local: true }"
NVLINK = '<system version="1"><cpu numaid="0">{}</cpu></system>'
GPU = '<pci busid="{0}" class="0x030200"><gpu dev="{1}">{2}</gpu></pci>'
TO = '<nvlink target="{}" count="{}" tclass="{}"/>'


def chips(*links: tuple[int, int, int, int]) -> str:
    """A cluster descriptor of Tenstorrent."""
    known = sorted({chip for a, _, b, _ in links for chip in (a, b)})
    text = "".join(f"   {chip}: Wormhole,\n" for chip in known)
    rows = ",\n".join(
        f"   [ {{ chip: {a}, chan: {n} }}, {{ chip: {b}, chan: {m} }} ]" for a, n, b, m in links
    )
    return f"arch: {{\n{text}}}\nethernet_connections: [\n{rows}\n]\n"


def matrix(*links: tuple[int, int, int]) -> str:
    """What ``nvidia-smi topo -m`` prints: two GPUs and their NVLinks, which both have."""
    count = {frozenset(ends): f"NV{links}" for *ends, links in links}
    gpus = range(max(end for *ends, _ in links for end in ends) + 1)
    rows = "".join(
        f"GPU{a}\t"
        + "".join(f"{' X ' if a == b else count.get(frozenset((a, b)), 'SYS')}\t" for b in gpus)
        + "SYS\t0-7\t0\n"
        for a in gpus
    )
    return "\t" + "".join(f"GPU{n}\t" for n in gpus) + f"NIC0\tCPU Affinity\tNUMA Affinity\n{rows}"


def own(*names: str) -> dict[str, list[str]]:
    """A host at every switch, as readers give them where there are none."""
    return {f"{name} alone": [name] for name in names}


ALL = ("speed", "latency", "direction", "weight")
FORMATS = (
    Format(
        "netlist.parse",
        netlist,
        ("latency", "direction", "weight"),
        remarked={
            "speed": (
                'Switch 8 "A"\n[1] "B"[1] # "b" lid 1 4xNDR\n[2] "C"[1] # "c" lid 2 1xSDR\n\n'
                'Switch 8 "B"\n[1] "A"[1] # "a" lid 3 4xNDR\n\nSwitch 8 "C"\n',
                "speed of cables is not used, all cables count alike: 4xNDR (1), 1xSDR (1)",
            ),
            "aggregation": (netlist(AN), LEFT),
        },
        ports=('Switch 8 "A"\n[5] "B"[7]\n\nSwitch 8 "B"\n', (5, 7)),
    ),
    Format(
        "subnet_list.parse",
        subnet_list,
        ("latency", "direction", "weight"),
        remarked={
            "speed": (subnet_list(TWICE).replace("SPD=5", "SPD=10", 1), "speed of cables is not used"),
            "aggregation": (subnet_list(AN), LEFT),
        },
        ports=(subnet_list(Net(PLAIN.hosts, [("s0", "s1")])), (3, 3)),
    ),
    Format(
        "link_lists.parse",
        link_list,
        ("latency", "direction", "weight"),
        remarked={
            "speed": (link_list(TWICE).replace("SDR", "NDR", 1), "4x SDR (5), 4x NDR (1)"),
            "aggregation": (link_list(AN), LEFT),
        },
        ports=(link_list(PLAIN), (3, 3)),
    ),
    Format(
        "graphs.parse_graphml",
        graphml,
        remarked={
            "port": (XML.format("", 'sourceport="p1" targetport="p2"', ""), "port of cables is not used"),
            **{
                fact: (XML.format(fact, "", '<data key="k">5</data>'), f"{fact} of cables is not used")
                for fact in ("speed", "latency", "weight")
            },
            "aggregation": (
                graphml(PLAIN).replace("<data", "<data", 1).replace(">host<", ">aggregation<", 1),
                LEFT,
            ),
        },
        refused={"direction": (XML.format("", 'directed="true"', ""), "edge a - b: leads one way")},
    ),
    Format(
        "cables.parse_cables",
        table,
        remarked={
            "speed": ("a,b,speed\nx,y,1\ny,z,2\n", "speed of cables is not used, all cables count alike"),
            "latency": ("a,b,latency\nx,y,1\ny,z,2\n", "latency of cables is not used"),
            "direction": (
                "source,target,direction\nx,y,forward\ny,z,both\n",
                "direction of cables is not used",
            ),
            "weight": ("a,b,weight\nx,y,1\ny,z,2\n", "weight of cables is not used"),
            "aggregation": ("a,a_type,b,b_type\nn0,host,s,switch\nn1,host,s,switch\nx,an,s,switch\n", LEFT),
        },
        ports=("a,5,b,7\n", (5, 7)),
    ),
    Format(
        "ns3.parse",
        ns3,
        ("port", "direction", "weight", "aggregation"),
        called=number_in,
        remarked={
            "speed": (ns3(PLAIN).replace("1Gbps", "2Gbps", 1), "speed of cables is not used"),
            "latency": (ns3(PLAIN).replace("Gbps 0 ", "Gbps 1us ", 1), "delay of cables is not used"),
        },
    ),
    Format(
        "slurm.parse_slurm",
        slurm,
        ("several cables", "port", "latency", "direction", "weight", "aggregation"),
        remarked={
            "speed": (slurm(PLAIN).replace("Nodes", "LinkSpeed=7 Nodes", 1), "LinkSpeed of cables is not")
        },
    ),
    Format(
        "slurm.parse_slurm_yaml",
        slurm_yaml,
        ("several cables", "port", "aggregation", *ALL),
    ),
    Format(
        "graphs.parse_anynet",
        anynet,
        # A second cable between the same two is the first one, as in BookSim2.
        ("several cables", "port", "speed", "direction", "weight", "aggregation"),
        called=lambda _: lambda name: name.replace("s", "router").replace("n", "node"),
        remarked={
            "latency": (
                anynet(PLAIN).replace("router 0 router 1", "router 0 router 1 5"),
                "latency of cables is",
            )
        },
    ),
    Format(
        "tenstorrent.parse_cluster",
        None,
        ("kind", "two ports", "aggregation", *ALL),
        remarked={"pieces": (chips((0, 0, 1, 0), (2, 0, 3, 0)), "2 pieces that no cable")},
        used={
            "name": (chips((4, 0, 7, 0)), Net(own("chip4", "chip7"), [("chip4", "chip7")])),
            "several cables": (
                chips((0, 0, 1, 0), (0, 1, 1, 1)),
                Net(own("chip0", "chip1"), [("chip0", "chip1")] * 2),
            ),
        },
        ports=(chips((0, 4, 1, 6)), (5, 7)),
    ),
    Format(
        "tenstorrent.parse_system",
        None,
        ("kind", "two ports", "aggregation", *ALL),
        remarked={
            "pieces": (SYSTEM % (LINK % (0, 0), "asic_topologies { asic_id: 3 }"), "2 pieces that no cable")
        },
        used={
            "name": (SYSTEM % (LINK % (0, 0), ""), Net(own("asic 1", "asic 2"), [("asic 1", "asic 2")])),
            "several cables": (
                SYSTEM % (LINK % (0, 0) + LINK % (1, 1), ""),
                Net(own("asic 1", "asic 2"), [("asic 1", "asic 2")] * 2),
            ),
        },
        ports=(SYSTEM % (LINK % (4, 6), ""), (5, 7)),
    ),
    Format(
        "tenstorrent.parse_mesh_graph",
        None,
        ("kind", "port", "two ports", "aggregation", "speed", "latency", "weight"),
        remarked={
            "pieces": (
                MESH % (2, 1)
                + f'graph_descriptors {{ name: "G" {PAIR} }}\n'
                + 'top_level_instance { graph { graph_descriptor: "G" graph_id: 0 } }\n',
                "2 pieces that no cable",
            )
        },
        refused={
            "direction": (
                MESH % (2, 1)
                + f'graph_descriptors {{ name: "G" {PAIR} connections {{ directional: true }} }}\n'
                + 'top_level_instance { graph { graph_descriptor: "G" graph_id: 0 } }\n',
                "a connection is directional",
            )
        },
        used={
            fact: (
                MESH % (2, count) + 'top_level_instance { mesh { mesh_descriptor: "M" mesh_id: 0 } }\n',
                Net(own("M(0):D0", "M(0):D1"), [("M(0):D0", "M(0):D1")] * count),
            )
            for fact, count in (("name", 1), ("several cables", 2))
        },
    ),
    Format(
        "nccl.parse",
        None,
        ("port", "aggregation", *ALL),
        remarked={
            "pieces": (
                NVLINK.format(
                    "".join(GPU.format(n, n, TO.format(f"sw{n // 2}", 1, "0x068000")) for n in range(4))
                ),
                "2 pieces that no cable",
            )
        },
        used={
            fact: (
                NVLINK.format(
                    "".join(
                        GPU.format(n, n, "".join(TO.format(one, count, "0x068000") for one in at))
                        for n in range(2)
                    )
                ),
                Net({f"gpu{n}": [f"nvswitch {one}" for one in at] * count for n in range(2)}, []),
            )
            for fact, at, count in (
                ("kind", ["x"], 1),
                ("name", ["x"], 1),
                ("several cables", ["x"], 2),
                ("two ports", ["x", "y"], 1),
            )
        },
    ),
    Format(
        "nvidia_smi.parse",
        None,
        ("port", "two ports", "aggregation", *ALL),
        remarked={"pieces": (matrix((0, 1, 1), (2, 3, 1)), "2 pieces that no cable")},
        used={
            "kind": (
                matrix(*((a, b, 12) for a in range(4) for b in range(a))),
                Net({f"gpu{n}": ["nvswitch"] for n in range(4)}, []),
            ),
            "name": (matrix((0, 1, 1)), Net(own("gpu0", "gpu1"), [("gpu0", "gpu1")])),
            "several cables": (matrix((0, 1, 2)), Net(own("gpu0", "gpu1"), [("gpu0", "gpu1")] * 2)),
        },
    ),
    Format(
        "recipes.parse_simgrid",
        None,
        ("port", "direction", "weight", "aggregation", "pieces", "two ports"),
        remarked={
            "latency": (
                '<platform><cluster id="c" topology="TORUS" topo_parameters="4" radical="0-3" lat="5us"/>'
                "</platform>",
                "lat of cables is not used",
            )
        },
        used={
            fact: (
                '<platform><cluster id="c" prefix="n" topology="FAT_TREE" radical="0-3" bw="1GBps" '
                f'topo_parameters="2;2,2;1,1;1,{count}"/></platform>',
                Net(
                    {f"n{n}": [f"level1-{n // 2}"] for n in range(4)},
                    [(f"level1-{n}", "level2-0") for n in range(2)] * count,
                ),
            )
            for fact, count in (("kind", 1), ("name", 1), ("several cables", 2), ("speed", 1))
        },
    ),
    Format(
        "recipes.parse_astra",
        None,
        ("name", "port", "direction", "weight", "aggregation", "pieces", "several cables"),
        remarked={
            fact: (
                f"topology: [ Ring, Ring ]\nnpus_count: [ 4, 4 ]\n{told}: [ 50, 60 ]\n",
                f"{told} of cables",
            )
            for fact, told in (("speed", "bandwidth"), ("latency", "latency"))
        },
        used={
            "kind": (
                "topology: [ Switch ]\nnpus_count: [ 3 ]\n",
                Net({f"npu{n}": ["switch0-0"] for n in range(3)}, []),
            ),
            "two ports": (
                "topology: [ Switch, Switch ]\nnpus_count: [ 2, 2 ]\n",
                Net({f"npu{n}": [f"switch0-{n // 2 * 2}", f"switch1-{n % 2}"] for n in range(4)}, []),
            ),
        },
    ),
    Format(
        "recipes.parse_htsim",
        None,
        ("name", "port", "direction", "weight", "aggregation", "pieces", "two ports"),
        remarked={
            fact: (
                "Nodes 4\nTiers 2\nTier 0\nRadix_Down 2\nRadix_Up 1\nTier 1\nRadix_Down 2\n"
                f"Downlink_{told} 100\n",
                f"Downlink_{told} of cables is not used",
            )
            for fact, told in (("latency", "Latency_ns"),)
        }
        | {
            "speed": (
                "Nodes 4\nTiers 2\nTier 0\nRadix_Down 2\nRadix_Up 1\nDownlink_speed_Gbps 100\nTier 1\n"
                "Radix_Down 2\nDownlink_speed_Gbps 200\n",
                "Downlink_speed_Gbps of cables is not used",
            )
        },
        used={
            fact: (
                f"Nodes 4\nTiers 2\nTier 0\nRadix_Down 2\nRadix_Up {count}\nTier 1\nRadix_Down {2 * count}\n",
                Net(
                    {f"host{n}": [f"tier0-{n // 2}"] for n in range(4)},
                    [(f"tier0-{n}", "tier1-0") for n in range(2)] * count,
                ),
            )
            for fact, count in (("kind", 1), ("several cables", 2))
        },
    ),
)
