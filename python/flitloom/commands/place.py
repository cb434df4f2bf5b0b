"""``flitloom place``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, grouped

#: Words that may follow the verb, and their modules.
BELOW = {"stream": "job_streams"}


class Where(Group):
    """The network."""

    torus: options.Torus = None
    mesh: options.Mesh = None
    wrap: options.Wrap = None
    twist: options.Twist = False
    network: Annotated[
        str | None,
        typer.Option(
            help="Product of rings, lines and full meshes, e.g. 'full8 x full8', or a family, e.g. "
            "'dragonfly(4,8,4)', 'fattree(8)' or 'slimfly(5)'.",
            metavar="NETWORK",
        ),
    ] = None
    graph: Annotated[
        Path | None,
        typer.Option(
            "--graph",
            "--fabric",
            help="File of switches, cables and hosts (ibnetdiscover, GraphML, CSV).",
        ),
    ] = None
    hosts: options.HostNames = None
    no_hosts: options.NoHosts = False
    fail: options.Fail = None

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        options.take_hosts(self, names=True)


class Ranks(Group):
    """What is placed, and what it sends."""

    shape: Annotated[
        str | None,
        typer.Option(
            help="A grid of ranks that must fit cable by cable, e.g. 8x4; --wrap then says which of its "
            "dimensions close (default: all).",
            metavar="SIZES",
        ),
    ] = None
    axes: Annotated[
        str | None,
        typer.Option(
            help="Logical mesh of ranks, first axis fastest, e.g. expert=8:a2a:1,data=4:ring:8. "
            "a2a, ring, line and pairs have bytes per ordered pair; all-to-all, all-reduce, all-gather, "
            "reduce-scatter and pipeline bytes per rank.",
            metavar="NAME=SIZE:KIND:WEIGHT,...",
        ),
    ] = None
    traffic: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file (a matrix of bytes, or rows under source,destination,bytes), a message graph "
            "(.goal, .bin, or .et of Chakra), or a plan of a collective operation (.json)."
        ),
    ] = None
    stencil: Annotated[
        str | None,
        typer.Option(help="Grid of ranks that exchange with their neighbours, e.g. 16x16.", metavar="SIZES"),
    ] = None
    jobs: Annotated[
        Path | None,
        typer.Option(
            help="TOML file of jobs that share the network, tables [[job]]: name, shape (a box of nodes), "
            "hosts (of switches, how many) or nodes, and axes, stencil or traffic.",
        ),
    ] = None
    fit: Annotated[
        str | None,
        typer.Option(
            help="With --jobs: the first free box, or the one with most contact. [default: first]",
            metavar="first|contact",
        ),
    ] = None
    neighbours: Annotated[
        int | None, typer.Option(help="With --stencil: the cell and its neighbours, 5 or 9 in the plane.")
    ] = None
    closed: Annotated[bool, typer.Option("--closed", help="With --stencil: the grid closes to a torus.")] = (
        False
    )


class Sought(Group):
    """Which placement is meant, and how it is searched for."""

    nodes: Annotated[
        str | None,
        typer.Option(help="Nodes that ranks may have, e.g. 0-15,20. [default: all]", metavar="NODES"),
    ] = None
    per_node: Annotated[int, typer.Option("--per-node", help="Ranks that a node can have.")] = 1
    minimise: Annotated[
        str,
        typer.Option(
            help="channel (the busiest one), hops (bytes times hops) or time (the best three simulated).",
            metavar="WHAT",
        ),
    ] = "channel"
    phases: Annotated[
        str | None,
        typer.Option(
            help="Axes that send at the same time, joined by +; phases, one after the other, separated by "
            "commas: tensor,data+pipeline. Their busiest channels are added up. [default: one phase]",
            metavar="AXES,...",
        ),
    ] = None
    routing: Annotated[
        str | None,
        typer.Option(
            help="Which routes count: do (dimension order), balanced (tables of flitloom route) or tables of "
            "this network (.json, or a folder by destination). [default: do; balanced with failed parts and "
            "between switches]",
            metavar="NAME|FILE",
        ),
    ] = None
    flit_bytes: Annotated[
        int | None, typer.Option("--flit-bytes", help="With --minimise time: bytes of a flit. [default: 16]")
    ] = None
    machine: options.MachineFile = None
    effort: Annotated[
        int | None,
        typer.Option(
            help="Millions of channel loads the search may change; with --shape thousands of its steps. "
            "[default: 150, for a matrix 300, above 512 ranks in proportion to them, up to 1500; 30]"
        ),
    ] = None
    seed: options.Seed = None


class Reported(Group):
    """What is made of it."""

    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the placement; the ending says how: .json, .csv, .rankfile, .hosts, .mpich, "
            ".jax.json, .vcoord. May be repeated.",
        ),
    ] = None
    chart: Annotated[
        Path | None,
        typer.Option(
            "--picture", help="Draw loads before and after, and the node of every rank (.png, .pdf, .svg)."
        ),
    ] = None
    json: options.Json = False


@dataclass(frozen=True)
class Asked:
    """All that the command line says."""

    where: Where
    ranks: Ranks
    sought: Sought
    reported: Reported


@grouped
def command(
    context: typer.Context, *, where: Where, ranks: Ranks, sought: Sought, reported: Reported
) -> None:
    """Put ranks on nodes to minimise the load of the busiest link, with a lower bound for any placement.

    Loads are bytes on a channel (one direction of a link), all traffic at the same time or in --phases, under
    dimension-order routing or tables. Row-major is rank 0 on the first node, rank 1 on the second, and so
    on. `flitloom check` verifies what -o p.json writes; `flitloom simulate` and `flitloom route` take it as
    --placement.

    \b
    For example:
      flitloom place --torus 4x4x8 --axes expert=8:a2a:1,data=4:ring:8,pipeline=4:line:1 -o p.json
      flitloom place --torus 4x4x4 --axes tensor=8:a2a:1,data=8:ring:8 --phases tensor,data
      flitloom place --torus 8x8 --stencil 8x8 --neighbours 9 --minimise time
      flitloom place --torus 4x4 --axes tensor=4:a2a:1MiB,data=4:ring:4MiB --machine machine.toml
      flitloom place --torus 4x4x4 --fail node:5 --fail link:0-1 --stencil 7x9
      flitloom place --network "full4 x full4" --axes expert=4:a2a:1,data=4:ring:8
      flitloom place --network "dragonfly(4,2,2)" --axes data=8:all-reduce:8,pipeline=9:line:1
      flitloom place --torus 4x4 --traffic matrix.csv -o run.hosts --hosts hosts.txt
      flitloom place --torus 4x4x4 --fail link:0-1 --shape 8x8 --wrap yes,no
      flitloom place --network "full4 x full4" --shape 8x2
      flitloom place --torus 8x8x8 --jobs jobs.toml
      flitloom place stream --torus 16x16x16
    """
    perform("place", context, Asked(where, ranks, sought, reported))
