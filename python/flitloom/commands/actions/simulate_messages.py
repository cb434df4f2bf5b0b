"""What ``flitloom simulate`` does with a message graph."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from flitloom.collectives.over_ports import simulate_graph
from flitloom.commands import options, screen
from flitloom.commands.convert import Asked
from flitloom.commands.inputs import collective
from flitloom.commands.inputs.experiment import simulate_fields
from flitloom.commands.inputs.seating import put_on_nodes
from flitloom.commands.options import Run
from flitloom.commands.options.simulation import Brought, Kept, Simulated
from flitloom.errors import SpecError, show_file
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_output, write_text
from flitloom.ground.units import read_bandwidth
from flitloom.networks.experiment import build_experiment
from flitloom.spec import Router
from flitloom.spec.ground import Ground
from flitloom.spec.machine import Machine
from flitloom.spec.product import network_of
from flitloom.traces.graph import MessageGraph


def run(asked: Simulated) -> None:
    """Simulate the experiment that has a message graph as its traffic."""
    file, fields, sizes = asked.file, asked.fields(), asked.sizes
    assert file is not None
    graph = MessageGraph.read(file)
    seconds = _cycle_seconds(asked)
    machine = asked.machine
    flit_bytes = sizes.flit_bytes
    if machine is not None:
        machine.require_equal_links("message graphs are")
        flit_bytes = _whole_flit(asked, machine)
        machine.set_clock(fields.setdefault("router", {}))
    if _ran_on_ports(asked, graph, fields, 16 if flit_bytes is None else flit_bytes):
        return
    given = {"flit_bytes": flit_bytes, "calc_cycles": _calc_cycles(asked, graph, seconds)}
    traffic: dict[str, Any] = {"kind": "messages", "graph": graph.text}
    traffic |= {name: value for name, value in given.items() if value is not None}
    said = fields.get("traffic", {})
    fields["traffic"] = {**traffic, **said} if isinstance(said, dict) else said
    sitting, placement = None, asked.brought.placement
    if placement is not None:
        sitting = put_on_nodes(placement, fields, asked.brought.tables is not None, None)
    try:
        simulate_fields(asked, fields, Path(), sitting, seconds)
    except SpecError as error:
        if error.field != "traffic.graph":
            raise
        raise SpecError.at(show_file(file), error.problem, error.advice) from None


def _ran_on_ports(asked: Simulated, graph: MessageGraph, fields: dict[str, Any], flit_bytes: int) -> bool:
    """Run the messages on nodes with several ports, if these are meant and the messages can be.

    Raises
    ------
    SpecError
        Options or the machine say how many ports nodes have, and the messages need one.
    """
    machine, given = asked.machine, asked.sizes.ports
    ports = machine.ports if given is None and machine is not None else given
    if ports == 1 or (ports is None and machine is None):
        return False
    try:
        if asked.has_switches or not {"sizes", "network"} & fields.get("topology", {}).keys():
            raise SpecError.at("messages", "between hosts of switches need one port")
        plain = Brought(network=asked.brought.network)
        if asked.records or asked.brought != plain or asked.run != Run() or asked.kept != Kept():
            raise SpecError.at("messages", "with records, limits, tables or placements need one port")
        ground = Ground(network_of(dict(fields["topology"])))
        # What runs on one port after all has the routers that were asked for.
        said = fields.get("router", {})
        if max(ground.width, default=1) > 1 and isinstance(said, dict):
            said = {"model": "pipelined", **said}
        router = options.part(Router, {"router": said})
        made = simulate_graph(graph, ground, router, flit_bytes=flit_bytes, ports=ports)
    except SpecError as error:
        if error.field != "messages":
            raise
        if ports is not None:
            place = "machine.ports" if given is None else "--ports"
            raise SpecError.at(place, f"{ports}, and messages {error.problem}", "write 1") from None
        screen.say(f"note: nodes have one port here, plans one per link: messages {error.problem}")
        return False
    facts = {"operation": f"messages of {counted(graph.ranks, 'rank')}", "network": str(ground)}
    collective.tell_run({**facts, **made.summary()}, machine, asked.printed.json)
    return True


def write_spec(asked: Asked) -> None:
    """Write the spec of an experiment that sends the messages of a file, which it names."""
    source, target = asked.source, asked.target
    check_output(target, (".toml",), "TARGET")
    for option, given in (("--as-collective", asked.as_collective), ("--for", asked.loader is not None)):
        if given:
            raise SpecError.at(option, "does not go with a spec (.toml)", "leave it out")
    topology = options.topology_fields(asked.torus, asked.mesh, None, asked.fail, asked.twist)
    if not topology:
        raise SpecError.at(show_file(source), "does not say what network it is for", "give --torus or --mesh")
    named = os.path.relpath(source, target.parent)
    traffic = {"kind": "messages", "graph": named}
    build_experiment({"topology": topology, "traffic": traffic}, target.parent)
    write_text(target, "\n".join(_table(*part) for part in (("topology", topology), ("traffic", traffic))))


def _table(name: str, fields: dict[str, Any]) -> str:
    """A table of TOML, in which texts, numbers and lists of them are written as in JSON.

    >>> print(_table("topology", {"kind": "torus", "failed_nodes": [3]}), end="")
    [topology]
    kind = "torus"
    failed_nodes = [3]
    """
    rows = (f"{field} = {json.dumps(value, ensure_ascii=False)}\n" for field, value in fields.items())
    return f"[{name}]\n{''.join(rows)}"


def _cycle_seconds(asked: Simulated) -> float | None:
    """How long a cycle is, a flit on a link, if options say so."""
    sizes, machine = asked.sizes, asked.machine
    if machine is not None:
        return machine.cycle
    if sizes.bandwidth is None:
        return None
    flit_bytes = 16 if sizes.flit_bytes is None else sizes.flit_bytes
    return flit_bytes / read_bandwidth(sizes.bandwidth, "--bandwidth")


def _whole_flit(asked: Simulated, machine: Machine) -> int:
    """Bytes of a flit of the machine."""
    for option, given in (("--flit-bytes", asked.sizes.flit_bytes), ("--bandwidth", asked.sizes.bandwidth)):
        if given is not None:
            raise SpecError.at(option, "the machine says it, too", "leave one of them out")
    return machine.flit_bytes


def _calc_cycles(asked: Simulated, graph: MessageGraph, seconds: float | None) -> int | None:
    """How many cycles a unit of computing takes, if options say so.

    Raises
    ------
    SpecError
        They say how long a cycle is, and the unit has no length.
    """
    if seconds is None or asked.sizes.calc_cycles is not None:
        return asked.sizes.calc_cycles
    assert asked.file is not None
    if asked.file.suffix != ".et" and " calc " in graph.text:
        raise SpecError.at(
            "--bandwidth", "GOAL does not say how long a unit of computing is", "give --calc-cycles, too"
        )
    return max(1, round(1e-6 / seconds))
