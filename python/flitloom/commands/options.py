"""Options that several verbs take, and the spec they make."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from flitloom import _core, settings
from flitloom.errors import SpecError, show
from flitloom.limits import DIGITS

if TYPE_CHECKING:
    from flitloom.spec.base import SpecModel

Part = TypeVar("Part", bound="SpecModel")


def _usual_threads(given: int | None) -> int | None:
    return settings.get("threads") if given is None else given


def _common_pool(given: int | None) -> int | None:
    """Let the extension's common pool, which starts when it is first used, have so many threads."""
    threads = _usual_threads(given)
    if threads is not None:
        os.environ["RAYON_NUM_THREADS"] = str(threads)
    return threads


def one_of(name: str, last: str = "or") -> str:
    """The names of a list of the core, as help shows them.

    >>> one_of("flow_controls"), one_of("routes", "and")
    ('wormhole, cut-through or bubble', 'dor, balanced-ties, any-order and minimal')
    """
    *names, end = _core.LISTS[name]
    return f"{', '.join(names)} {last} {end}"


Torus = Annotated[str | None, typer.Option(help="Sizes of a torus, e.g. 16x16 or 4x2x2x2.", metavar="SIZES")]
Mesh = Annotated[str | None, typer.Option(help="Sizes of a mesh, e.g. 8x8.", metavar="SIZES")]
Network = Annotated[
    str | None,
    typer.Option(
        help="Product of rings, lines and full meshes, e.g. 'full8 x full8 x ring4*6' (*6: parallel links), "
        "or a family: 'dragonfly(6,3)', 'slimfly(5)', 'fattree(8)', 'circulant(32;1,7)', 'random(64,5)'.",
        metavar="NETWORK",
    ),
]
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--graph", help="File of switches and cables: ibnetdiscover, GraphML, anynet, CSV.", metavar="FILE"
    ),
]
Wrap = Annotated[
    str | None, typer.Option(help="Per dimension, whether it wraps, as yes,no.", metavar="YES,NO,...")
]
Twist = Annotated[
    bool, typer.Option("--twist", help="With --torus: a twisted one, of sizes like 4x4x8 or 4x8x8.")
]
Fail = Annotated[
    list[str] | None,
    typer.Option(help="A failed part: node:3 or link:0-1. May be repeated.", metavar="PART"),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="Router of a paper, t15, s07 or cup-stacking; other options overrule its fields.", metavar="NAME"
    ),
]
Channels = Annotated[
    int | None, typer.Option(help="Virtual channels per link, 1 to 8. [default: what the routing needs]")
]
Buffer = Annotated[int | None, typer.Option(help="Depth of every input queue, in flits. [default: 4]")]
Latency = Annotated[int | None, typer.Option(help="Cycles from router to router. [default: 1]")]
FlowControl = Annotated[
    str | None, typer.Option(help=f"{one_of('flow_controls')}. [default: wormhole]", metavar="NAME")
]
Routing = Annotated[
    str | None,
    typer.Option(
        help=f"Which way: {one_of('routings')}. [default: do]",
        metavar="NAME",
    ),
]
Pattern = Annotated[str | None, typer.Option(help=f"{one_of('patterns')}.", metavar="NAME")]
Arbitration = Annotated[
    str | None,
    typer.Option(help=f"Channel selection: {one_of('schemes')}. [default: C00]", metavar="SCHEME"),
]
Process = Annotated[str | None, typer.Option(help=f"{one_of('processes')}.", metavar="NAME")]
Destinations = Annotated[
    Path | None, typer.Option(help="CSV file with a destination per node, instead of a pattern.")
]
HotspotFraction = Annotated[
    float | None, typer.Option(help="Pattern hots: share of packets to the target, e.g. 0.1.")
]
HotspotTarget = Annotated[int | None, typer.Option(help="Pattern hots: the target, a node number, e.g. 36.")]
Delays = Annotated[Path | None, typer.Option(help="CSV file with an injection delay per node, in cycles.")]
PacketsPerNode = Annotated[int | None, typer.Option("--packets", help="Packets per node. [default: 1]")]
Throttle = Annotated[
    str | None,
    typer.Option(
        help=f"Injection throttle: {one_of('throttles')}, as spth:margin=8. [default: none]",
        metavar="RULE",
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a field of the spec, as router.buffer=8. May be repeated.",
        metavar="FIELD=VALUE",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of everything random. [default: 1]")]
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
        help="Threads of what is done in parallel; results do not depend on it. [default: all cores]",
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


def typed(context: typer.Context) -> dict[str, str]:
    """The options on the command line: names of parameters, and how they are written."""
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.opts[-1].startswith("-")
        and getattr(context.get_parameter_source(parameter.name), "name", "") == "COMMANDLINE"
    }


def refuse(context: typer.Context, names: Sequence[str], reason: str) -> None:
    """Refuse options that would be ignored: "--length belongs to --matrix".

    Raises
    ------
    SpecError
        One of the parameters stands on the command line.
    """
    there = typed(context)
    for name in names:
        if name in there:
            raise SpecError(f"{there[name]} {reason}")


def topology_fields(
    torus: str | None,
    mesh: str | None,
    wrap: str | None,
    fail: Sequence[str] | None,
    twist: bool = False,
    network: str | None = None,
    graph: Path | None = None,
) -> dict[str, Any]:
    """The fields of a topology, a product or a graph that options give."""
    if torus is not None and mesh is not None:
        raise SpecError.at("topology", "give either --torus or --mesh")
    fields: dict[str, Any] = {}
    if network is not None:
        if torus is not None or mesh is not None:
            raise SpecError.at("network", "give either --network, --torus or --mesh")
        if wrap is not None:
            raise SpecError.at("--wrap", "a product says itself what wraps", "write ring8 or line8")
        fields["network"] = network
    if graph is not None:
        if torus is not None or mesh is not None or network is not None or wrap is not None:
            raise SpecError.at(
                "--graph", "names the whole network", "leave --torus, --mesh, --network, --wrap out"
            )
        from flitloom.fabric import read_fabric
        from flitloom.fabric.networks import graph_of

        read = graph_of(read_fabric(graph), graph.name)
        fields = {name: getattr(read, name) for name in ("cables", "nodes", "name", "names")}
    if torus is not None or mesh is not None:
        fields = {"kind": "torus" if mesh is None else "mesh", "sizes": torus if mesh is None else mesh}
    if wrap is not None:
        answers = {"yes": True, "no": False}
        if not set(wrap.split(",")) <= set(answers):
            raise SpecError.at(
                "topology.wrap", f"{wrap!r} is not understood", "write yes,no,... per dimension"
            )
        fields["wrap"] = [answers[word] for word in wrap.split(",")]
    if twist:
        fields["twist"] = True
    for part in fail or []:
        kind, _, name = part.partition(":")
        if kind == "node" and name.isascii() and name.isdigit() and len(name) <= DIGITS:
            fields.setdefault("failed_nodes", []).append(int(name))
        elif kind == "node" and name.startswith("("):
            fields.setdefault("failed_nodes", []).append(name)
        elif kind == "link":
            fields.setdefault("failed_links", []).append(name)
        else:
            raise SpecError(
                f"--fail {part[:60]}: name a part as node:3, node:(1,2), link:0-1 or link:(0,1)+x"
            )
    return fields


def sizes_of_fabric(text: str | None, place: str = "--sizes") -> tuple[int, ...] | None:
    """What ``--sizes`` says of a fabric, or another option of a grid, e.g. 4x4x8.

    >>> sizes_of_fabric("4x4x8"), sizes_of_fabric(None)
    ((4, 4, 8), None)
    """
    from flitloom.spec.topology import sizes_at

    return None if text is None else sizes_at(text, place)


def whole_numbers(text: str, place: str) -> list[int]:
    """Whole numbers separated by commas."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts):
        raise SpecError(f"{place} {text[:60]}: write whole numbers like 0,4,8")
    return [int(part) for part in parts]


def given(**fields: Any) -> dict[str, Any]:
    """The fields that were given, files as absolute paths."""
    return {
        name: value.absolute() if isinstance(value, Path) else value
        for name, value in fields.items()
        if value is not None
    }


def part(kind: type[Part], fields: dict[str, Any], default: dict[str, Any] | None = None) -> Part:
    """A part of a spec, which ``--set`` may have made anything."""
    value = fields.get(kind.place, default or {})
    if not isinstance(value, dict):
        raise SpecError(f"{kind.place}: {show(value)} is no table of fields")
    return kind(**value)


def merge(fields: dict[str, Any], changes: dict[str, Any]) -> None:
    """Let options overrule the fields of a spec file."""
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(fields.get(name, {}), dict):
            merge(fields.setdefault(name, {}), value)
        else:
            fields[name] = value
