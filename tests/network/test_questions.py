"""Every network answers what callers ask; nobody asks of what kind it is."""

from __future__ import annotations

from typing import Any

import pytest

import flitloom as fl
from flitloom.networks.experiment import build_experiment
from flitloom.networks.fabric import Fabric
from flitloom.spec.any_network import AnyNetwork

PIPELINED = fl.Router(model="pipelined")
#: Networks, their nodes, sizes where there are coordinates, switches where nodes are hosts, and links.
KINDS: list[tuple[AnyNetwork, int, tuple[int, ...] | None, int | None, int]] = [
    (fl.Torus(4, 3), 12, (4, 3), None, 48),
    (fl.Mesh(4, 3, failed_nodes=[0]), 12, (4, 3), None, 30),
    (fl.Torus(2, 4, twist=True), 8, (2, 4), None, 32),
    (fl.Product("full4 x ring3"), 12, (4, 3), None, 60),
    (fl.Product("full2*2"), 2, (2,), None, 4),
    (fl.Graph([(0, 1), (1, 2)], nodes=3, names=["a", "b", "c"]), 3, None, None, 4),
    (Fabric(network="dragonfly(3,1,2)"), 24, None, 12, 36),
    (Fabric(network="full4 x ring3"), 12, None, 12, 60),
]


@pytest.mark.parametrize(
    ("network", "nodes", "sizes", "switches", "links"), KINDS, ids=lambda value: str(value)[:30]
)
def test_networks_say_what_they_are(
    network: AnyNetwork, nodes: int, sizes: tuple[int, ...] | None, switches: int | None, links: int
) -> None:
    assert network.nodes == nodes
    assert (None if network.grid is None else network.grid.sizes) == sizes
    # Hosts of a product are numbered by coordinates, too.
    assert network.dimensions == (sizes or ((4, 3) if "full4" in str(network) else (nodes,)))
    assert (None if network.subnet is None else len(network.subnet.switches)) == switches
    assert len(network.node_names) in ((0,) if sizes else (nodes,))
    assert network.is_as(network)
    assert [network.is_as(other) for other, *_ in KINDS].count(True) == 1
    if sizes is None:
        for question in ("sizes", "wraps", "full", "steps"):
            with pytest.raises(fl.SpecError, match="coordinates are for tori and meshes"):
                getattr(network, question)
    # Links are counted apart: by the ground of plans, or by cables between switches.
    subnet = network.subnet
    from flitloom.spec.ground import Ground

    counted = sum(Ground(network).links.values()) if subnet is None else 2 * len(subnet.cables)
    assert counted == links


@pytest.mark.parametrize(
    ("network", "router", "said"),
    [
        (Fabric(network="dragonfly(3,1,2)"), fl.Router(), "topology.network: has switches with hosts"),
        (fl.Product("full4*2"), fl.Router(), r"topology: full4\*2: parallel links are not known"),
        (fl.Graph([(0, 1)], nodes=2), fl.Router(), "is a graph, which routers of one cycle do not know"),
    ],
    ids=str,
)
def test_routers_that_do_not_run_a_network_are_refused(
    network: AnyNetwork, router: fl.Router, said: str
) -> None:
    with pytest.raises(fl.SpecError, match=said):
        fl.Network(network, router)
    with pytest.raises(fl.SpecError, match=said):
        fl.Experiment(topology=network, router=router, traffic=fl.Collective("next"))


def test_a_family_of_nodes_runs_as_its_switches_with_hosts() -> None:
    named = fl.Network("slimfly(5)")
    assert fl.Network(fl.Graph.family("slimfly(5)"), PIPELINED) == named
    assert named.name_of_node(7) == named.topology.node_names[7]
    with pytest.raises(fl.SpecError, match="coordinates are for tori and meshes"):
        named.coordinates(7)


#: What earlier versions wrote of networks that are no torus and no mesh, and what it is.
EARLIER: list[tuple[dict[str, Any], dict[str, Any], AnyNetwork]] = [
    (
        {"kind": "mesh", "sizes": [4, 3], "wrap": None, "twist": False, "network": "full4 x ring3"},
        {},
        fl.Product("full4 x ring3", failed_links=["0-1"]),
    ),
    # In TOML, which has no null.
    (
        {"kind": "mesh", "sizes": [4, 3], "twist": False, "network": "full4 x ring3"},
        {},
        fl.Product("full4 x ring3", failed_links=["0-1"]),
    ),
    (
        {"kind": "mesh", "sizes": [24], "wrap": None, "twist": False, "network": "dragonfly(3,1,2)"}
        | {"graph": None, "tables": None, "failed": [], "content": []},
        {"model": "pipelined"},
        Fabric(network="dragonfly(3,1,2)"),
    ),
]


@pytest.mark.parametrize(("fields", "router", "network"), EARLIER, ids=["product", "toml", "hosts"])
def test_networks_of_earlier_files_are_read(
    fields: dict[str, Any], router: dict[str, Any], network: AnyNetwork
) -> None:
    failed = {"failed_nodes": [], "failed_links": [list(link) for link in network.failed_links]}
    spec = {
        "topology": {**fields, **failed},
        "router": router,
        "traffic": {"kind": "collective", "pattern": "next"},
    }
    read = build_experiment(spec)
    assert read.topology == network
    # Today's files say nothing of a mesh.
    written = read.model_dump(mode="json")["topology"]
    assert "sizes" not in written
    assert build_experiment({**spec, "topology": written}) == read
