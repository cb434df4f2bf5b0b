"""What a format can say of a network is used, remarked or refused: a file per fact and reader."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.fabric import Subnet, parse_fabric
from flitloom.fabric.networks import graph_of
from flitloom.fabric.reading import READERS
from network_files import (
    EDGES,
    FACTS,
    FORMATS,
    GPU,
    GRAPHS,
    NVLINK,
    PLAIN,
    TO,
    Net,
    chips,
    link_list,
    netlist,
    subnet_list,
)

BY_READER = {one.reader: one for one in FORMATS}


def named(graph: fl.Graph) -> tuple[Counter[frozenset[str]], set[str]]:
    """The cables by the names of their ends, and the hosts."""
    cables = Counter(frozenset((graph.names[a], graph.names[b])) for a, b in graph.cables)
    return cables, {graph.names[host] for host in graph.hosts}


def holds(subnet: Subnet, wanted: fl.Graph) -> None:
    """The same names, hosts and cables, and the same load, as the network from Python."""
    given = Net({}, [])
    ports = subnet.ports_of_hosts()
    hosts = {}
    for each in ports:
        name, at = (
            subnet.hosts[each[0]].name,
            [subnet.switches[subnet.hosts[port].switch].name for port in each],
        )
        # The only host of a switch has its name.
        hosts[name + " alone" * (name in at)] = at
    given = Net(hosts, [(subnet.switches[one.a].name, subnet.switches[one.b].name) for one in subnet.cables])
    assert named(given.graph()) == named(wanted)
    loads = [fl.tables.make(one).report.max_load for one in (subnet, wanted)]
    assert loads[0] == loads[1]


def test_every_reader_says_of_every_fact_what_it_does() -> None:
    readers = [f"{read.__module__.rpartition('.')[2]}.{read.__name__}" for _, read in READERS]
    assert sorted(readers) == sorted(BY_READER)
    for one in FORMATS:
        assert one.told() == sorted(FACTS), one.reader


def read_by(reader: str, text: str) -> Subnet:
    """What a text is, read by this reader."""
    first = next(read for is_one, read in READERS if is_one(text))
    assert f"{first.__module__.rpartition('.')[2]}.{first.__name__}" == reader
    return parse_fabric(text)


@pytest.mark.parametrize(
    ("reader", "fact"),
    [(one.reader, fact) for one in FORMATS if one.write for fact in GRAPHS if fact not in one.lacks],
)
def test_graphs_are_those_from_python(reader: str, fact: str) -> None:
    form, net = BY_READER[reader], GRAPHS[fact]
    assert form.write is not None
    subnet = read_by(reader, form.write(net))
    holds(subnet, net.graph(form.called(net)))
    said = "\n".join(subnet.remarks)
    assert ("2 pieces that no cable between switches joins" in said) == (fact == "pieces")
    assert ("1 host with several ports" in said) == (fact == "two ports")
    assert "is not used" not in said


@pytest.mark.parametrize(("reader", "fact"), [(one.reader, fact) for one in FORMATS for fact in one.used])
def test_what_is_used_is_as_from_python(reader: str, fact: str) -> None:
    text, net = BY_READER[reader].used[fact]
    holds(read_by(reader, text), net.graph())


@pytest.mark.parametrize(("reader", "fact"), [(one.reader, fact) for one in FORMATS for fact in one.remarked])
def test_what_is_not_used_is_told(
    reader: str, fact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, remark = BY_READER[reader].remarked[fact]
    assert remark in "\n".join(read_by(reader, text).remarks)
    (tmp_path / "net").write_text(text)
    assert run(["fabric", "show", str(tmp_path / "net")]) == 0
    assert capsys.readouterr().err.count(remark) == 1


@pytest.mark.parametrize(("reader", "fact"), [(one.reader, fact) for one in FORMATS for fact in one.refused])
def test_what_is_not_known_is_refused(reader: str, fact: str) -> None:
    text, problem = BY_READER[reader].refused[fact]
    with pytest.raises(fl.SpecError) as caught:
        read_by(reader, text)
    assert problem in str(caught.value)


@pytest.mark.parametrize("reader", [one.reader for one in FORMATS if one.ports])
def test_ports_are_those_of_the_file(reader: str) -> None:
    form = BY_READER[reader]
    assert form.ports is not None
    text, ports = form.ports
    cable = read_by(reader, text).cables[0]
    assert (cable.a_port, cable.b_port) == ports


@pytest.mark.parametrize(
    "text",
    [
        netlist(PLAIN).replace('Ca 2 "n0"', 'Rt 2 "n0"'),
        subnet_list(PLAIN).replace("{ CA ", "{ RT ", 1),
        link_list(PLAIN).replace("CA ", "RT ", 1),
    ],
)
def test_routers_between_subnets_are_told(text: str) -> None:
    assert "1 router between subnets taken for hosts, e.g. 'n0'" in parse_fabric(text).remarks


@pytest.mark.parametrize(
    ("arrows", "one_way"),
    [
        (("none", "none"), []),
        (("standard", "standard"), []),
        (("none", "standard"), [(0, 1)]),
        (("standard", "none"), [(1, 0)]),
    ],
)
def test_arrows_of_yed_are_directions(arrows: tuple[str, str], one_way: list[tuple[int, int]]) -> None:
    drawn = f'<data key="d"><Line><Arrows source="{arrows[0]}" target="{arrows[1]}"/></Line></data>'
    text = (
        '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>'
        f'<edge source="a" target="b">{drawn}</edge></graph></graphml>'
    )
    graph = graph_of(parse_fabric(text, one_way=True))
    assert list(graph.one_way_links) == one_way
    assert list(graph.cables) == ([] if one_way else [(0, 1)])


@pytest.mark.parametrize(
    "text",
    [
        "topology:\n  - Ring\n  - Switch\nnpus_count:\n- 4\n- 2\nlatency: [1, 2]\n",
        "topology: [\n  Ring, # first\n  Switch ]\nnpus_count: # nodes\n\n- 4\n\n- 2\nlatency:\n - 1\n - 2\n",
    ],
)
def test_lists_of_astra_are_those_of_yaml(text: str) -> None:
    plain = parse_fabric("topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nlatency: [ 1, 2 ]\n")
    found = parse_fabric(text)
    assert (found.cables, found.hosts, found.remarks) == (plain.cables, plain.hosts, plain.remarks)


def test_nodes_of_yed_have_the_names_that_it_shows() -> None:
    node = '<node id="n{0}"><data key="d"><NodeLabel>{1}</NodeLabel></data></node>'
    nodes = "".join(node.format(n, name) for n, name in enumerate(("Kyoto", "Nara", "Nara")))
    edges = '<edge source="n0" target="n1"/><edge source="n1" target="n2"/>'
    graph = graph_of(parse_fabric(f"<graphml><graph>{nodes}{edges}</graph></graphml>"))
    assert sorted(graph.names) == ["Kyoto", "n1", "n2"]


def test_links_of_one_way_and_contradictions_are_refused_or_told() -> None:
    both = EDGES.format("", "") + '<edge source="b" target="a"/><edge source="b" target="c"/>'
    text = f'<graphml><graph edgedefault="directed">{both}<edge source="c" target="b"/></graph></graphml>'
    assert len(graph_of(parse_fabric(text)).cables) == 2
    gpus = GPU.format("a", 0, TO.format("b", 2, "0x030200")) + GPU.format(
        "b", 1, TO.format("a", 1, "0x030200")
    )
    with pytest.raises(fl.SpecError, match="gpu b: nvlink: 1 links to a, which names 2 of them"):
        parse_fabric(NVLINK.format(gpus))
    tree = "Nodes 4\nTiers 2\nTier 0\nRadix_Down 2\nRadix_Up 2\nBundle 2\nTier 1\nRadix_Down 4\n"
    assert "Bundle of cables is not used, all cables count alike: 2 (1)" in parse_fabric(tree).remarks
    loop = "1 cables join a switch to itself; they are left out"
    assert loop in parse_fabric(chips((0, 0, 1, 0), (0, 2, 0, 3))).remarks
