"""Options that the verbs of ``flitloom load`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flitloom.commands import options
from flitloom.commands.options import Group

Spec = Annotated[
    Path | None, typer.Argument(help="An experiment in TOML that options override; its rate is not used.")
]
Overrules = Annotated[
    list[str] | None,
    typer.Argument(help="Options that override a file of BookSim2, e.g. num_vcs=4.", metavar="NAME=VALUE"),
]
Torus = Annotated[str | None, options.shown("torus", several=True)]
Mesh = Annotated[str | None, options.shown("mesh", several=True)]
Graph = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        "--fabric",
        help="Switches with hosts from a file (ibnetdiscover, GraphML, CSV), pipelined routers.",
    ),
]
Pattern = Annotated[str | None, options.shown("pattern", several=True)]
Length = Annotated[str | None, options.shown("length", several=True)]
Window = Annotated[int, typer.Option(min=1, help="Cycles of a window.")]
WarmUp = Annotated[
    int | None, typer.Option(min=0, help="Cycles before the measured stretch. [default: as long as needed]")
]
Refine = Annotated[
    float,
    typer.Option(
        help="Where a case saturates between two loads, measure between them until they differ by this "
        "share; 0: only the loads given.",
        metavar="SHARE",
    ),
]
Within = Annotated[
    float, typer.Option(help="Precision of the saturation, as a share of it.", metavar="SHARE")
]
Level = Annotated[
    float | None,
    typer.Option(
        help="Find the critical load by the level rule instead: the largest load of which this share is "
        "accepted, e.g. 0.95, as papers and other programs define saturation.",
        metavar="SHARE",
    ),
]
FullStart = Annotated[
    bool,
    typer.Option(
        "--full-start",
        help="Begin steady loads, or the one just below a saturation, with 100 packets per node as well, "
        "and see whether they go.",
    ),
]
RoutingTables = Annotated[
    str | None,
    typer.Option(
        "--tables",
        help="Routes of all packets (.json, made by flitloom route), on the network that the file names; or "
        "several: before.json,after.json.",
        metavar="FILES",
    ),
]
Measure = Annotated[int, typer.Option(min=1, help="Cycles measured.")]
Limit = Annotated[
    int, typer.Option(min=1, help="Most cycles until the verdict, of a warm-up, and of the wait for packets.")
]
Rows = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write rows (.csv) or all windows (.nc) to this file.")
]
Plot = Annotated[Path | None, typer.Option("--picture", help="Draw to this file (.png, .pdf, .svg).")]

Rates = Annotated[str, typer.Option(help="Offered loads in flits/node/cycle: a list, or first:last:step.")]
Rate = Annotated[str, typer.Option(help="Offered load in flits/node/cycle, or several: 0.1,0.2.")]
Series = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write what happened in all windows to this file (.nc).")
]

Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="Save to this file, e.g. ramp.flit, every minute and at Ctrl-C; continue from it if it exists."
    ),
]

Store = Annotated[
    Path | None,
    typer.Option(
        help="SQLite file of finished simulations: those that it has are not run again, e.g. after Ctrl-C."
    ),
]

Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Threads in all. Simulations run side by side; if they are fewer than threads, each divides its "
        "network. Results do not depend on it. [default: all cores, undivided networks]",
    ),
]


class Compared(Group):
    """The networks and patterns that are compared."""

    spec: Spec = None
    torus: Torus = None
    mesh: Mesh = None
    wrap: options.Wrap = None
    twist: options.Twist = False
    network: options.Switches = None
    graph: Graph = None
    hosts: options.HostList = None
    no_hosts: options.NoHosts = False
    fail: options.Fail = None
    tables: RoutingTables = None
    pattern: Pattern = None

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        options.take_hosts(self)


class Packets(
    Group,
    only=("length", "process", "outstanding", "hotspot_fraction", "hotspot_target"),
    several=True,
    changes={"process": {"note": "gap with --preset s07"}},
):
    """What packets are like, when they start and where they go."""


class Router(
    Group,
    only=(
        *("routing", "ties", "throttle", "model", "preset", "channels", "buffer", "latency", "flow_control"),
        *("settings", "seed"),
    ),
    several=True,
    changes={
        "buffer": {"usual": "16 flits, or a packet"},
        "ties": {"usual": "balanced"},
    },
):
    """What the routers are like, and what else a spec says."""


class Measured(Group):
    """How steady states are measured."""

    window: Window = 100
    warm_up: WarmUp = None
    measure: Measure = 10_000
    limit: Limit = 400_000
    threads: Threads = None

    def settings(self, workers: int | None, threads: int) -> dict[str, Any]:
        """What `flitloom.load` takes of them."""
        return {**vars(self), "workers": workers, "threads": threads}


class Outputs(Group):
    """How responses are run, and what is made of them."""

    threads: Threads = None
    checkpoint: Checkpoint = None
    json: options.Json = False
    out: Series = None
    plot: Plot = None
