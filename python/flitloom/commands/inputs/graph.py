"""A graph of switches, or a twisted torus, with tables by destination."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from flitloom.commands import screen
from flitloom.commands.actions.matrices import read_matrix
from flitloom.commands.actions.subnets import twisted
from flitloom.commands.inputs.input import Input, Use, names_of
from flitloom.commands.options.simulation import Simulated
from flitloom.errors import SpecError
from flitloom.fabric import recognise
from flitloom.fabric.networks import fabric
from flitloom.ground.numerals import counted
from flitloom.run import tables_in_motion as motion
from flitloom.tables.by_destination.making import route_subnet
from flitloom.tables.by_destination.tables import read_tables

#: What makes an experiment of a graph.
TRAFFIC = {
    "pattern", "destinations", "rate", "packet_table", "payload", "packets", "settings", "model", "placement",
}  # fmt: skip


def asked(given: Mapping[str, Any]) -> bool:
    """Whether a graph is named without traffic, or a twisted torus with a folder or a dump of tables."""
    tables: Path | None = given.get("tables")
    named = bool({"graph", "network"} & set(given))
    if named or tables is None:
        return named and not TRAFFIC & set(given)
    return "twist" in given and (tables.is_dir() or tables.suffix == ".dump")


def simulate(asked: Simulated) -> None:
    """Send an all-to-all, or the packets of a matrix, over the tables of a graph."""
    grid, router = asked.grid, asked.router
    graph: Path | str | None = asked.brought.graph
    graph = asked.brought.network if graph is None else graph
    if (graph is None) == (grid.torus is None) or grid.twist != (grid.torus is not None):
        raise SpecError("name a network with --graph FILE, --network NAME, or with --torus 4x4x8 --twist")
    flits = 8 if asked.traffic.length is None else asked.traffic.length
    if flits < 1:
        raise SpecError.at("--length", f"{flits} is out of range", "it must be at least 1")
    parts = grid.fail or []
    subnet = twisted(grid.torus or "", parts) if graph is None else fabric(graph, fail=parts)
    hosts, matrix = len(subnet.hosts), asked.traffic.matrix
    if matrix is None:
        packets = motion.all_to_all(hosts, flits)
    else:
        packets = motion.by_matrix(read_matrix(matrix, hosts), flits)
    routers: dict[str, Any] = {
        "buffer": 8 if router.buffer is None else router.buffer,
        "latency": 1 if router.latency is None else router.latency,
        "channels": router.channels,
        "cycle_limit": asked.run.cycle_limit,
    }
    with screen.progress("tables and packets"):
        given = asked.brought.tables
        tables = (
            route_subnet(subnet, safe_for=()).forwarding() if given is None else read_tables(subnet, given)
        )
        report = motion.send_packets(tables, packets, **routers)
    _print({"fabric": recognise(subnet).describe(), **report.facts()}, report, hosts, asked.printed.json)
    if report.outcome == "deadlock":
        screen.say(f"danger: {len(report.waits)} channels and lanes wait for each other")
        raise typer.Exit(1)


def _print(facts: dict[str, Any], report: motion.MotionReport, hosts: int, json: bool) -> None:
    """Print what came of the packets."""
    with screen.report():
        if json:
            screen.print_json(facts)
            return
        screen.echo(f"{facts['fabric']}, {counted(hosts, 'host')}, {counted(report.packets, 'packet')}")
        screen.echo(
            f"outcome      {report.outcome} after {counted(report.cycles, 'cycle')}; at least "
            f"{report.bound} are needed"
        )
        screen.echo(f"delivered    {report.delivered}; {report.unreachable} without a route")
        screen.echo(
            f"latency      mean {report.mean_latency:.1f}, max {counted(report.max_latency, 'cycle')}"
        )
        screen.echo(f"busiest      {counted(facts['max_flits'], 'flit')} on a channel")
        for place in report.waits:
            screen.echo(f"waits        {place}")


INPUT = Input(
    title="--graph or with tables by destination",
    given="name one with --graph",
    asked=asked,
    uses={
        "simulate": Use(
            simulate,
            names_of(
                "graph", "network", "hosts", "no_hosts", "torus", "twist", "fail", "matrix", "length",
                "buffer", "latency", "channels", "cycle_limit", "tables", "json",
            ),
        ),
    },
)  # fmt: skip
