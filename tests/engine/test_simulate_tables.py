"""Collectives, matrices and loads over routing tables."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom.errors import SpecError, UnreachableError

BUBBLES = fl.Router(flow_control="bubble", buffer=16, channels=1)


def tables_of(topology: fl.Topology, method: str = "balanced") -> fl.Tables:
    return fl.tables.make(topology, method=method)


@pytest.mark.parametrize("failed", [[], [5]])
def test_links_carry_the_loads_of_the_tables(failed: list[int], tmp_path: Path) -> None:
    topology = fl.Torus(6, 4, failed_nodes=failed)
    tables = tables_of(topology)
    net = fl.Network(topology, BUBBLES)
    working = [node for node in range(24) if node not in failed]
    packets = fl.Packets([(a, b, 3, 0) for a in working for b in working if a != b])
    tables.to_json(tmp_path / "tables.json")
    for given in (tables, fl.tables.read(tmp_path / "tables.json")):
        result = fl.simulate(net, packets, tables=given)
        assert result.packets_delivered == len(working) * (len(working) - 1)
        flits = result.links.flits.to_numpy().reshape(-1)
        assert flits.tolist() == (3 * tables.loads).tolist()
        assert result.to_dict()["tables"]["method"] == given.method


def test_a_load_draws_its_routes_from_the_tables() -> None:
    net = fl.Network(fl.Torus(6, 6), BUBBLES)
    tables = tables_of(net.topology)
    load = fl.Load("rand", rate=0.2, length=4, cycles=400)
    result = fl.simulate(net, load, tables=tables, packets=True)
    assert result.packets_delivered == result.packets_injected > 500
    table = result.packets
    hops = [
        len(tables.path(source, destination)) - 1
        for source, destination in zip(table.source.values, table.destination.values, strict=True)
    ]
    assert table.hops.values.tolist() == hops
    plain = fl.simulate(net, load)
    assert plain.fingerprint != result.fingerprint


def test_records_taken_later_follow_the_tables() -> None:
    net = fl.Network(fl.Torus(5, 5), BUBBLES)
    tables = tables_of(net.topology)
    late = fl.simulate(net, fl.Collective("torn"), tables=tables, links=False)
    assert late.links.flits.equals(fl.simulate(net, fl.Collective("torn"), tables=tables).links.flits)


def test_a_saved_simulation_needs_its_tables(tmp_path: Path) -> None:
    net = fl.Network(fl.Torus(6, 6), BUBBLES)
    tables = tables_of(net.topology)
    whole = fl.Simulation(net, fl.Load("rand", rate=0.2, length=4, cycles=300), tables=tables)
    whole.step(100)
    copied = copy.copy(whole)
    whole.save(tmp_path / "x.flit")
    with pytest.raises(SpecError, match="tables: it was begun over tables"):
        fl.Simulation.load(tmp_path / "x.flit")
    again = fl.Simulation.load(tmp_path / "x.flit", tables=tables)
    for simulation in (whole, copied, again):
        simulation.run()
    assert whole.totals.fingerprint == copied.totals.fingerprint == again.totals.fingerprint


def test_tables_of_another_network_are_refused() -> None:
    tables = tables_of(fl.Torus(6, 4))
    with pytest.raises(SpecError, match=r"tables: they are for .*, the network is "):
        fl.simulate(fl.Network(fl.Torus(4, 6), BUBBLES), fl.Collective("torn"), tables=tables)
    failed = fl.Network(fl.Torus(6, 4, failed_nodes=[2]), BUBBLES)
    with pytest.raises(SpecError, match="the network is 6x4 torus with 1 failed part"):
        fl.simulate(failed, fl.Collective("torn"), tables=tables)
    with pytest.raises((SpecError, UnreachableError), match="node 2"):
        fl.simulate(failed, fl.Packets([(0, 2, 4, 0)]), tables=tables_of(failed.topology))


def test_the_command_line_takes_tables(tmp_path: Path) -> None:
    file = tmp_path / "tables.json"

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "flitloom", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    run("route", "--torus", "8x4", "-o", str(file))
    network = ["--torus", "8x4", "--flow-control", "bubble", "--buffer", "16", "--channels", "1"]
    ours = json.loads(run("simulate", *network, "--pattern", "torn", "--tables", str(file), "--json"))
    net = fl.Network(fl.Torus(8, 4), BUBBLES)
    expected = fl.simulate(net, fl.Collective("torn"), tables=fl.tables.read(file))
    assert ours["fingerprint"] == expected.fingerprint
    assert ours["tables"] == {"method": "balanced", "seed": 1}
    assert np.sum([row["flits"] for row in ours["links"]]) == expected.flit_hops


@pytest.mark.parametrize(
    ("rules", "router", "said"),
    [
        (
            "angara",
            [],
            "deadlock-free with bubble flow control; with wormhole flow control packets may get stuck",
        ),
        ("angara", ["--flow-control", "cut-through", "--buffer", "16"], "with cut-through flow control"),
        ("angara", ["--flow-control", "bubble", "--buffer", "16"], None),
        ("dateline", ["--flow-control", "bubble", "--buffer", "16"], "3 virtual channels and no bubbles"),
        ("dateline", [], None),
    ],
)
def test_who_takes_tables_to_other_routers_is_told(
    rules: str, router: list[str], said: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As docs/simulate.md says: they run, and a note says what they may meet."""
    from flitloom.commands import run

    tables = tmp_path / "tables.json"
    assert run(["route", "--torus", "4x4", "--rules", rules, "-o", str(tables)]) == 0
    capsys.readouterr()
    assert run(["simulate", "--torus", "4x4", "--pattern", "brev", "--tables", str(tables), *router]) == 0
    told = capsys.readouterr().err
    assert said in told if said else "note: tables of rules" not in told
