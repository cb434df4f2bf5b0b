"""``flitloom collective``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom._core import LISTS
from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, grouped
from flitloom.errors import SpecError

if TYPE_CHECKING:
    from flitloom.spec.machine import Machine

app = typer.Typer(
    no_args_is_help=True,
    help="Plan collective operations that keep every link busy, and prove how good they are.\n\n"
    "Example: flitloom collective all-gather --torus 8x8x8 -o plan.json",
)


class Where(Group):
    """The network."""

    torus: options.Torus = None
    mesh: options.Mesh = None
    network: options.Network = None
    graph: options.GraphFile = None
    wrap: options.Wrap = None
    twist: options.Twist = False
    fail: options.Fail = None
    hosts: options.HostNames = None
    no_hosts: options.NoHosts = False

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        options.take_hosts(self, names=True)

    def fields(self, advice: str) -> dict[str, Any]:
        """Fields of the network; `advice` says how to name one.

        Raises
        ------
        SpecError
            None is named.
        """
        fields = options.topology_fields(
            self.torus,
            self.mesh,
            self.wrap,
            self.fail,
            self.twist,
            self.network,
            graph=self.graph,
            hosts=self.hosts,
        )
        if not {"sizes", "network", "cables"} & fields.keys():
            raise SpecError.at("topology", "is missing", advice)
        return fields


class Planned(Group):
    """What is planned, and what is made of it."""

    width: Annotated[
        str | None, typer.Option(help="Parallel links per dimension, e.g. 2,1,1.", metavar="N,N,...")
    ] = None
    chunks: Annotated[
        int,
        typer.Option(help="Chunks per node; per pair for all-to-all; in all for broadcast and reduce."),
    ] = 1
    root: Annotated[
        str | None,
        typer.Option(
            help="Root of broadcast, reduce, scatter, gather, by number or name. [default: the first that "
            "takes part]",
            metavar="NODE",
        ),
    ] = None
    nodes: Annotated[
        str | None,
        typer.Option(
            help="Nodes that take part, e.g. 0-15,20 or n[00-15], or a file. [default: all]", metavar="LIST"
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            help="The same in several groups at once, each over its own links: axis:0 (all lines along a "
            "dimension), axis:0,1, or a file with a list of nodes a line.",
            metavar="GROUPS",
        ),
    ] = None
    matrix: Annotated[
        Path | None, typer.Option(help="all-to-all-v: CSV file, chunks from every node (row) to every node.")
    ] = None
    latency: Annotated[
        int, typer.Option(help="Steps on a link besides the one in which it is busy, e.g. 1.")
    ] = 0
    seed: options.Seed = None
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the plan to this file (.json).")] = (
        None
    )
    chart: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw how many links are busy in every step (.png, .pdf, .svg)."),
    ] = None
    json: options.Json = False


class InRounds(Group):
    """What is made of the algorithms that are compared, and for what."""

    algorithm: Annotated[
        str | None,
        typer.Option(
            help="Make what advise compares, in rounds: a name of its list, or best.", metavar="NAME"
        ),
    ] = None
    size: Annotated[str | None, typer.Option(help="With --algorithm: the vector, e.g. 1MiB.")] = None
    machine: options.MachineFile = None
    alpha: Annotated[
        str | None, typer.Option(help="With --algorithm: time of a round besides its bytes. [default: 1us]")
    ] = None
    bandwidth: Annotated[
        str | None,
        typer.Option(help="With --algorithm: of a link, e.g. 50GB/s or 400Gb/s. [default: 50GB/s]"),
    ] = None
    message_cost: Annotated[
        str | None, typer.Option(help="With --algorithm: as of advise, e.g. 50ns.", metavar="TIME")
    ] = None


def costs(asked: InRounds | Weighed) -> Machine:
    """What rounds, bytes and messages cost: as the machine says, unless options say otherwise."""
    from flitloom.ground.units import read_bandwidth, read_seconds
    from flitloom.spec.machine import Machine

    machine = Machine() if asked.machine is None else Machine.read(asked.machine)
    given: dict[str, float] = {}
    if asked.alpha is not None:
        given["round"] = read_seconds(asked.alpha, "--alpha")
    if asked.bandwidth is not None:
        given["bandwidth"] = read_bandwidth(asked.bandwidth, "--bandwidth")
    if asked.message_cost is not None:
        given["message"] = read_seconds(asked.message_cost, "--message-cost", none=True)
    return machine.model_copy(update=given)


class Weighed(Group):
    """What is compared, and what is made of it."""

    operation: Annotated[
        str,
        typer.Option(
            help="all-reduce, all-gather, reduce-scatter, all-to-all, broadcast or reduce.",
        ),
    ] = "all-reduce"
    root: Annotated[
        str | None,
        typer.Option(
            help="Root of broadcast or reduce, by number or name. [default: the first that takes part]",
            metavar="NODE",
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            help="In several groups at once: axis:0, axis:0,1 or a file, as of plans.", metavar="GROUPS"
        ),
    ] = None
    size: Annotated[
        str, typer.Option(help="Smallest and largest vector, e.g. 1KiB:1GiB or 1MB:1GB.", metavar="LOW:HIGH")
    ] = "1KiB:1GiB"
    machine: options.MachineFile = None
    alpha: Annotated[str | None, typer.Option(help="Time of a round besides its bytes. [default: 1us]")] = (
        None
    )
    bandwidth: Annotated[
        str | None,
        typer.Option(help="Of a link in one direction, e.g. 50GB/s or 400Gb/s. [default: 50GB/s]"),
    ] = None
    message_cost: Annotated[
        str | None,
        typer.Option(
            help="Time of every message of a node over a link beyond the first one of a round, e.g. 50ns or "
            "0ns. Without it a node sends at most as many messages as it has links.",
            metavar="TIME",
        ),
    ] = None
    chart: Annotated[
        Path | None, typer.Option("--picture", help="Draw time over bound by size (.png, .pdf, .svg).")
    ] = None
    json: options.Json = False


class Damaged(Group):
    """Which networks are planned for, and how."""

    torus: options.Torus = None
    mesh: options.Mesh = None
    network: options.GridNetwork = None
    count: Annotated[int, typer.Option(help="Random networks.", min=1)] = 100
    failures: Annotated[
        str, typer.Option(help="Failed cables in each, fewest and most.", metavar="LOW:HIGH")
    ] = "1:6"
    operation: Annotated[
        list[str] | None,
        typer.Option(help="all-gather, all-reduce or all-to-all; repeat for several. [default: all]"),
    ] = None
    seed: options.Seed = None
    store: Annotated[
        Path | None,
        typer.Option(
            help="SQLite file of finished plans, e.g. study.sqlite; the same command continues with it."
        ),
    ] = None
    workers: options.Workers = None
    json: options.Json = False


@grouped
def plan(context: typer.Context, *, where: Where, planned: Planned, in_rounds: InRounds) -> None:
    """Plan the operation in as few steps as possible, and prove it.

    In a step every link transfers at most one chunk; nodes use all their links at once, keep all chunks that
    they received, copy them or add them up.

    \b
    For example:
      flitloom collective all-gather --torus 8x8x8 -o plan.json
      flitloom collective all-to-all --torus 4x4x8 --twist
      flitloom collective all-gather --torus 8x8 --fail link:0-1 --fail node:12
      flitloom collective broadcast --mesh 6x6 --root 14 --chunks 64
      flitloom collective all-to-all --network "full8 x full8 x full4 x full4"
      flitloom collective all-gather --network "dragonfly(6,3)"
      flitloom collective all-reduce --torus 4x4 --groups axis:0
      flitloom collective all-reduce --torus 4x4x8 --twist --algorithm best --size 1MiB -o plan.json
    """
    if in_rounds == InRounds():
        perform("collective_plan", str(context.info_name), where, planned)
    else:
        perform("collective_rounds", str(context.info_name), where, planned, in_rounds)


for _name in (*LISTS["collectives"], "all-to-all-v"):
    app.command(_name)(plan)


@app.command()
@grouped
def advise(*, where: Where, weighed: Weighed) -> None:
    """Compare collective algorithms on a network: per message size the bound and the best one.

    Every algorithm is replayed on the working links; a round costs alpha and the time of the busiest
    link.

    \b
    For example:
      flitloom collective advise --torus 8x8x8 --size 1KiB:1GiB --alpha 1us --bandwidth 50GB/s
      flitloom collective advise --torus 8x8 --fail link:0-1 --operation all-gather
      flitloom collective advise --torus 8x8 --groups axis:0 --size 1MiB
      flitloom collective advise --mesh 6x6 --operation broadcast --root 14
      flitloom collective advise --network "dragonfly(6,3)" --bandwidth 400Gb/s
    """
    perform("collective_advise", where, weighed)


@app.command()
@grouped
def degraded(*, damaged: Damaged) -> None:
    """Measure what failures cost: operations on many networks with random failed cables.

    Ctrl-C prints what the plans so far say.

    \b
    For example:
      flitloom collective degraded --torus 8x8
      flitloom collective degraded --torus 8x8x8 --store cubes.sqlite
      flitloom collective degraded --mesh 6x6 --failures 1:2 --operation all-gather
    """
    perform("collective_degraded", damaged)
