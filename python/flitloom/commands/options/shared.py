"""Options that several verbs take alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands.options.made import shown
from flitloom.ground import settings


def _usual_threads(given: int | None) -> int | None:
    return settings.get("threads") if given is None else given


def _common_pool(given: int | None) -> int | None:
    """Let the extension's common pool, which starts when it is first used, have this many threads."""
    threads = _usual_threads(given)
    if threads is not None:
        os.environ["RAYON_NUM_THREADS"] = str(threads)
    return threads


Torus = Annotated[str | None, shown("torus")]
Mesh = Annotated[str | None, shown("mesh")]
Wrap = Annotated[str | None, shown("wrap")]
Twist = Annotated[bool, shown("twist")]
Fail = Annotated[list[str] | None, shown("fail")]
Network = Annotated[
    str | None,
    typer.Option(
        help="Product of rings, lines, full meshes and circulants, e.g. 'full8 x full8 x ring4*6' (*6: "
        "parallel links) or 'circulant(16;1,4) x ring4'; "
        "a family: 'dragonfly(6,3)', 'slimfly(5)', 'fattree(8)', 'circulant(32;1,7)', 'random(64,5)'; "
        "8x8x8, 'mesh 8x8' or 'twisted 4x4x8'; a file of cables, or a plan, placement, tables or experiment.",
        metavar="NETWORK",
    ),
]
GridNetwork = Annotated[
    str | None,
    typer.Option(
        "--network",
        help="8x8x8, 'mesh 8x8', 'twisted 4x4x8' or a product, e.g. 'full8 x ring4'; or a plan, placement, "
        "tables or experiment, whose network is taken.",
        metavar="NETWORK",
    ),
]
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        "--fabric",
        help="File of switches and cables: ibnetdiscover, GraphML, anynet, CSV.",
        metavar="FILE",
    ),
]
MachineFile = Annotated[
    Path | None,
    typer.Option(
        "--machine",
        help="File (.toml) with what bytes, rounds and messages cost; other options overrule it.",
        metavar="FILE",
    ),
]
HostList = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        help="Which nodes of a file of cables are hosts, n[0-3],gw or a file; all others are relays. "
        "[default: as the file says, or guessed]",
        metavar="LIST",
    ),
]
HostNames = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        help="Which nodes of a file of cables are hosts, n[0-3],gw or a file; all others are relays. Of a "
        "torus, mesh or product: a file with the name of every node, in their order, for lists and failed "
        "parts.",
        metavar="LIST",
    ),
]
NoHosts = Annotated[
    bool,
    typer.Option("--no-hosts", help="No node of a file of cables is a host alone: every one has its own."),
]
Switches = Annotated[
    str | None,
    typer.Option(
        "--network",
        help='Switches with hosts by name, e.g. "dragonfly(4,2,2)" or "full8 x full8", pipelined routers; '
        '8x8x8, "mesh 8x8" or "twisted 4x4x8"; or a file that names its network.',
        metavar="NAME",
    ),
]
Pattern = Annotated[str | None, shown("pattern")]
Destinations = Annotated[Path | None, shown("destinations")]
Delays = Annotated[Path | None, shown("delays")]
HotspotFraction = Annotated[float | None, shown("hotspot_fraction")]
HotspotTarget = Annotated[int | None, shown("hotspot_target")]
PacketsPerNode = Annotated[int | None, shown("packets")]
Preset = Annotated[str | None, shown("preset")]
Changes = Annotated[list[str] | None, shown("settings")]
Seed = Annotated[int | None, shown("seed")]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Threads to use; results do not depend on it. [default: all cores]", callback=_usual_threads
    ),
]
CommonThreads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        max=4096,
        help="Threads for the parts that run in parallel; results do not depend on it. [default: all cores]",
        callback=_common_pool,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, max=4096, help="Processes. [default: all cores]", callback=_usual_threads
    ),
]
Html = Annotated[
    Path | None, typer.Option("--html", help="Show it as a page that moves, in this file (.html).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
