"""Products with failed parts on pipelined routers: nodes keep their numbers and coordinates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.networks.fabric import Fabric
from flitloom.placing.placement import network_of, read_placement

PIPELINED = fl.Router(model="pipelined")


def packets(network: fl.Network, traffic: fl.Collective) -> set[tuple[int, int]]:
    """Who sends to whom in a run."""
    result = fl.simulate(network, traffic.among_working(network, 1), packets=True)
    return set(
        zip(result.packets.source.values.tolist(), result.packets.destination.values.tolist(), strict=True)
    )


@pytest.mark.parametrize("pattern", ["next", "torn", "brev", "trns"])
@pytest.mark.parametrize("failed", [[1], [0, 15], [3, 6, 9]])
def test_products_send_what_the_torus_sends(pattern: str, failed: list[int]) -> None:
    traffic = fl.Collective(pattern)
    torus = packets(fl.Network(fl.Torus(4, 4, failed_nodes=failed), PIPELINED), traffic)
    assert torus
    assert not {node for pair in torus for node in pair} & set(failed)
    for name in ("full4 x full4", "full4*2 x ring4", "ring4 x ring4"):
        assert packets(fl.Network(fl.Product(name, failed_nodes=failed), PIPELINED), traffic) == torus


def test_both_routers_number_nodes_alike() -> None:
    product = fl.Product("full4 x ring3", failed_nodes=["(1,0)"], failed_links=["(0,0)-(0,1)"])
    networks = [fl.Network(product), fl.Network(product, PIPELINED)]
    assert [network.nodes for network in networks] == [12, 12]
    assert [network.topology.failed_nodes for network in networks] == [(1,), (1,)]
    sent = [packets(network, fl.Collective("next")) for network in networks]
    assert sent[0] == sent[1]
    assert len(sent[0]) == 10
    names = {networks[1].name_of_link(link) for link in range(len(networks[1].working_links()))}
    assert not any("S1-0/" in name or ("S0-0/" in name and "S0-1/" in name) for name in names)


@pytest.mark.parametrize(
    ("network", "parts", "lost"),
    [
        ("full4 x ring3", ["node:1"], 1),
        ("full4 x ring3", ["node:(1,0)"], 1),
        ("full4 x ring3", ["node:S1-0"], 1),
        ("full4 x ring3", ["node:S1-0-host0"], 1),
        ("ring2 x ring4 x ring8", ["node:(1,2,0)"], 5),
        ("circulant(8;1,3) x ring4", ["node:(1,2)"], 17),
    ],
)
def test_a_failed_part_is_the_one_at_these_coordinates(network: str, parts: list[str], lost: int) -> None:
    fabric = Fabric(network=network, failed=tuple(parts))
    assert fabric.failed_nodes == (lost,)
    whole = Fabric(network=network)
    assert fabric.node_names == whole.node_names
    assert fabric.dimensions == whole.dimensions
    tables = fabric.forwarding()
    ends = fabric.subnet.cable_ends()
    channels = np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2)
    for row, owner in enumerate(tables.owners):
        target = fabric.subnet.hosts[owner].switch
        for start in range(fabric.nodes):
            at, hops = fabric.subnet.hosts[start].switch, 0
            while at != target and hops < fabric.nodes and tables.following[row, at] < len(channels):
                tail, at = channels[tables.following[row, at]]
                assert tail != at
                hops += 1
            assert start == lost or (at == target) == (owner != lost)


def test_links_of_coordinates_fail() -> None:
    for parts in (["link:(1,2,0)+y"], ["link:(1,2,0)-(1,3,0)"]):
        fabric = Fabric(network="ring2 x ring4 x ring8", failed=tuple(parts))
        whole = Fabric(network="ring2 x ring4 x ring8")
        ends = [
            {tuple(sorted((one.subnet.switches[a].name, one.subnet.switches[b].name))) for a, b in pairs}
            for one, pairs in ((one, one.subnet.cable_ends().tolist()) for one in (whole, fabric))
        ]
        assert ends[0] - ends[1] == {("S1-2-0", "S1-3-0")}
        assert fabric.failed_nodes == ()


def test_traffic_of_failed_nodes_is_refused_by_their_names() -> None:
    network = fl.Network(fl.Product("full4 x ring3", failed_nodes=[1]), PIPELINED)
    with pytest.raises(fl.UnreachableError, match="'S1-0-host0' has failed: give traffic that leaves it out"):
        fl.simulate(network, fl.Collective("next"))


def test_a_load_goes_among_the_nodes_that_work(capsys: pytest.CaptureFixture[str]) -> None:
    network = fl.Network(fl.Product("full4*2 x ring3", failed_nodes=[1]), PIPELINED)
    result = fl.simulate(network, fl.Load("rand", rate=0.1, cycles=2000, length=2), packets=True)
    used = {*result.packets.source.values.tolist(), *result.packets.destination.values.tolist()}
    assert used == set(range(12)) - {1}
    command = ["simulate", "--network", "full4*2 x ring3", "--fail", "node:1", "--pattern", "next"]
    assert run([*command, "--model", "pipelined"]) == 0
    said = capsys.readouterr()
    assert "next among the 11 nodes that work; packets to failed nodes are left out: 1" in said.out + said.err
    assert "full4*2 x ring3 with 11 hosts, without node:1" in said.out


@pytest.mark.parametrize("fail", [[], ["--fail", "node:1"]])
def test_placements_on_parallel_links_are_read_by_every_verb(
    fail: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = str(tmp_path / "p.json"), str(tmp_path / "p.html")
    axes = f"a={11 if fail else 12}:ring:8"
    assert (
        run(["place", "--network", "full4*2 x ring3", *fail, "--axes", axes, "--effort", "1", "-o", file])
        == 0
    )
    for verb in (["check", file], ["recheck", file], ["view", file, "-o", page], ["simulate", file]):
        capsys.readouterr()
        assert run(verb) == 0, capsys.readouterr().err
    document = read_placement(file)
    x, y = np.array(document["coordinates"]).T
    assert (x + 4 * y).tolist() == document["placement"]
    assert network_of(document).failed_nodes == tuple(int(part[-1]) for part in fail[1:])


def test_placements_of_other_numbers_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    command = ["place", "--network", "full4*2 x ring3", "--fail", "node:1", "--axes", "a=11:ring:8"]
    assert run([*command, "--effort", "1", "-o", str(file)]) == 0
    document = json.loads(file.read_text())
    wiring = document["wiring"]
    # As files have it whose hosts were numbered without the failed one.
    wiring["hosts"] = list(range(11))
    del wiring["failed"], wiring["switches"][1]
    wiring["cables"] = [[end - (end > 1) for end in ends] for ends in wiring["cables"]]
    document["placement"] = [node - (node > 1) for node in document["placement"]]
    file.write_text(json.dumps(document))
    for verb in (["view", str(file), "-o", str(tmp_path / "p.html")], ["simulate", str(file)]):
        capsys.readouterr()
        assert run(verb) == 2
        assert "whose hosts have other numbers" in capsys.readouterr().err
    assert run(["check", str(file)]) != 0
