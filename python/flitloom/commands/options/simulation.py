"""Options of ``simulate`` that are not fields of an experiment: other inputs, late nodes, sizes, outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom.commands.options.groups import Grid, Router, Run, Traffic
from flitloom.commands.options.made import Group
from flitloom.commands.options.network import has_switches, switches_fields, take_hosts, topology_fields
from flitloom.commands.options.parts import merge
from flitloom.commands.options.refusing import check_files
from flitloom.commands.options.shared import HostList, Html, Json, MachineFile, NoHosts, Switches
from flitloom.errors import SpecError, show
from flitloom.ground.extras import check_picture
from flitloom.ground.outputs import check_output

if TYPE_CHECKING:
    from flitloom.spec.machine import Machine


class Brought(Group):
    """Files that bring a network, routes or traffic."""

    graph: Annotated[
        Path | None,
        typer.Option(
            "--graph",
            "--fabric",
            help="Any graph of switches (ibnetdiscover, GraphML, CSV): --pattern, --rate or else all-to-all.",
        ),
    ] = None
    network: Switches = None
    hosts: HostList = None
    no_hosts: NoHosts = False
    tables: Annotated[
        Path | None,
        typer.Option(help="Routes of all packets: tables (.json) made by flitloom route for this network."),
    ] = None
    placement: Annotated[
        Path | None,
        typer.Option(
            help="Ranks on their nodes: a placement made by flitloom place (.json). It includes the network "
            "and, without other traffic, the messages."
        ),
    ] = None
    resume: Annotated[
        Path | None,
        typer.Option(help="Continue the simulation in this file, e.g. long.flit, instead of a spec."),
    ] = None
    plan: Annotated[
        Path | None, typer.Option(help="A plan made by flitloom schedule (.json), instead of a spec.")
    ] = None

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        take_hosts(self)


class Late(Group):
    """Late nodes of a plan."""

    jitter: Annotated[
        int | None, typer.Option(help="With --plan: every node is late by 0 to this many cycles.")
    ] = None
    trials: Annotated[int, typer.Option(help="With --jitter: simulations, each with its own delays.")] = 100
    separate: Annotated[
        bool,
        typer.Option("--separate", help="With --jitter: virtual channels against deadlocks of late nodes."),
    ] = False
    lead: Annotated[
        int,
        typer.Option(help="With --jitter: cycles by which nodes aim before their planned starts, e.g. 2."),
    ] = 0


class Sizes(Group):
    """What chunks, messages and computing of files are in flits and cycles."""

    chunk_flits: Annotated[
        int | None,
        typer.Option("--flits", help="Plan of a collective operation: flits of a chunk. [default: 16]"),
    ] = None
    ports: Annotated[
        int | None,
        typer.Option(help="Ports of a node. [default: one per link; of a message graph one]"),
    ] = None
    flit_bytes: Annotated[
        int | None, typer.Option(help="Message graph, placement: bytes of a flit. [default: 16]")
    ] = None
    bandwidth: Annotated[
        str | None,
        typer.Option(
            help="Message graph: bandwidth of a link in one direction, e.g. 50GB/s or 400Gb/s. It sets "
            "the length of a cycle, and the cycles per microsecond of computing."
        ),
    ] = None
    machine: MachineFile = None
    calc_cycles: Annotated[
        int | None,
        typer.Option(help="Message graph: cycles of a unit of computing, Chakra's microsecond. [default: 1]"),
    ] = None


class Printed(Group):
    """How the result is printed."""

    json: Json = False
    as_booksim: Annotated[
        bool, typer.Option("--booksim", help="File of BookSim2: print the lines that BookSim2 prints.")
    ] = False


class Kept(Group):
    """How a long run is kept, and on how many threads it runs."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Save the simulation to this file, e.g. long.flit, at intervals (--every) and at Ctrl-C."
        ),
    ] = None
    every: Annotated[str, typer.Option(help="Time between two checkpoints, e.g. 60s or 10m.")] = "60s"
    threads: Annotated[
        int, typer.Option(help="Threads, each with a part of the network; the result does not depend on it.")
    ] = 1


class Outputs(Group):
    """Files to be written."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all records to this NetCDF file (.nc).")
    ] = None
    chart: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw the link-time chart to this file (.png, .pdf, .svg)."),
    ] = None
    space_time: Annotated[
        Path | None,
        typer.Option(help="Draw the space-time chart of full buffers to this file (.png, .pdf, .svg)."),
    ] = None
    space_time_cycles: Annotated[
        str | None,
        typer.Option(help="First and last cycle of the space-time chart. [default: all]", metavar="FROM:TO"),
    ] = None
    space_time_at: Annotated[
        str | None,
        typer.Option(
            help="Where the lines of the space-time chart pass, e.g. y=0,x=3: row y=0 and column x=3. "
            "[default: at a third]"
        ),
    ] = None
    html: Html = None

    def check(self) -> None:
        """Refuse what cannot be written before anything is done."""
        check_files(self.out, (".nc",), self.chart)
        if self.space_time is not None:
            read_span(self.space_time_cycles)
            read_places(self.space_time_at)
            check_picture(self.space_time, "--space-time")
        for name, value in (("cycles", self.space_time_cycles), ("at", self.space_time_at)):
            if value is not None and self.space_time is None:
                raise SpecError.at(
                    f"--space-time-{name}", "says what --space-time FILE draws", "give that, too"
                )
        check_files(html=self.html)

    @property
    def span(self) -> tuple[int, int | None]:
        """First cycle of the space-time chart and the one behind its last."""
        return read_span(self.space_time_cycles)


def read_span(text: str | None) -> tuple[int, int | None]:
    """First cycle and the one behind the last of ``FROM:TO``; all cycles without.

    >>> read_span("100:250"), read_span(None)
    ((100, 251), (0, None))
    """
    if text is None:
        return 0, None
    parts = text.split(":")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= 15 for part in parts):
        raise SpecError(
            f"--space-time-cycles {show(text)}: write the first and the last cycle, e.g. 1000:1400"
        )
    first, last = map(int, parts)
    if last < first:
        raise SpecError(f"--space-time-cycles {text}: the last cycle is before the first")
    return first, last + 1


def read_places(text: str | None) -> dict[str, int]:
    """Where lines pass, by dimension.

    >>> read_places("y=0,x=3"), read_places(None)
    ({'y': 0, 'x': 3}, {})
    """
    places: dict[str, int] = {}
    for part in text.split(",") if text is not None else ():
        name, _, number = part.strip().partition("=")
        if (
            len(name) != 1
            or not (number.isascii() and number.isdigit() and len(number) <= 9)
            or name in places
        ):
            raise SpecError.at("--space-time-at", f"{show(part)} is not a place", "write e.g. y=0,x=3")
        places[name] = int(number)
    return places


@dataclass(frozen=True)
class Simulated:
    """All that the command line of ``simulate`` says."""

    file: Path | None
    overrules: list[str]
    grid: Grid
    traffic: Traffic
    router: Router
    run: Run
    brought: Brought
    late: Late
    sizes: Sizes
    printed: Printed
    kept: Kept
    outputs: Outputs

    @cached_property
    def machine(self) -> Machine | None:
        """The machine whose clock is meant, if one is given."""
        from flitloom.spec.machine import Machine

        return None if self.sizes.machine is None else Machine.read(self.sizes.machine)

    @property
    def records(self) -> bool:
        """Whether anything is to be written of what happened."""
        outputs = self.outputs
        return any(
            file is not None for file in (outputs.out, outputs.chart, outputs.space_time, outputs.html)
        )

    @property
    def has_switches(self) -> bool:
        """Whether the network is one of switches with hosts."""
        brought = self.brought
        return has_switches(brought.graph, brought.network, brought.tables, self.router.model)

    def check_outputs(self) -> None:
        """Refuse what cannot be written before anything is done."""
        self.outputs.check()
        if self.kept.checkpoint is not None:
            check_output(self.kept.checkpoint, place="--checkpoint")

    def fields(self, fields: dict[str, Any] | None = None, kind: bool = False) -> dict[str, Any]:
        """The fields of an experiment with what options overrule; the kind of traffic, if asked for."""
        fields = {} if fields is None else fields
        traffic = self.traffic.given()
        if kind:
            traffic["kind"] = self.traffic.kind()
        grid, router, brought = self.grid, self.router.given(), self.brought
        if self.has_switches:
            named = {"torus": grid.torus, "mesh": grid.mesh, "wrap": grid.wrap, "twist": grid.twist}
            topology = switches_fields(brought.graph, brought.network, grid.fail, brought.tables, **named)
            router.setdefault("model", "pipelined")
        elif brought.network is not None:
            topology = topology_fields(
                grid.torus, grid.mesh, grid.wrap, grid.fail, grid.twist, brought.network
            )
        else:
            topology = grid.fields()
        changes = {"topology": topology, "router": router, "traffic": traffic}
        merge(fields, {name: part for name, part in changes.items() if part})
        self.run.apply(fields)
        return fields
