"""``flitloom place``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom.commands import options

if TYPE_CHECKING:
    from flitloom.placing import Placement, Traffic
    from flitloom.routing import Tables


#: Words that may follow the verb, and their modules.
BELOW = {"stream": "job_streams"}

#: Options that do not go with --jobs.
NOT_OF_JOBS = (
    *("graph", "shape", "axes", "traffic", "stencil", "neighbours", "closed", "nodes", "per_node"),
    *("minimise", "routing", "twist", "hosts", "out", "chart"),
)
#: Options that say what is placed, or how well, otherwise than --shape.
NOT_OF_SHAPES = (
    *("twist", "axes", "traffic", "stencil", "neighbours", "closed", "nodes", "per_node", "minimise"),
    *("routing", "flit_bytes", "seed", "chart", "jobs", "fit"),
)


def command(
    context: typer.Context,
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    wrap: options.Wrap = None,
    twist: options.Twist = False,
    graph: Annotated[
        Path | None,
        typer.Option(
            "--graph",
            "--fabric",
            help="With --shape: any graph of switches (ibnetdiscover, GraphML, CSV), recognised as a torus.",
        ),
    ] = None,
    fail: options.Fail = None,
    shape: Annotated[
        str | None,
        typer.Option(
            help="A grid of ranks that must fit cable by cable, e.g. 8x4; --wrap then says which of its "
            "dimensions close (default: all).",
            metavar="SIZES",
        ),
    ] = None,
    axes: Annotated[
        str | None,
        typer.Option(
            help="Logical mesh of ranks, first axis fastest, e.g. expert=8:a2a:1,data=4:ring:8. "
            "a2a, ring, line and pairs have bytes per ordered pair; all-to-all, all-reduce, all-gather, "
            "reduce-scatter and pipeline bytes per rank.",
            metavar="NAME=SIZE:KIND:WEIGHT,...",
        ),
    ] = None,
    traffic: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file (a matrix of bytes, or rows under source,destination,bytes), a message graph "
            "(.goal, .bin, or .et of Chakra), or a plan of a collective operation (.json)."
        ),
    ] = None,
    stencil: Annotated[
        str | None,
        typer.Option(help="Grid of ranks that exchange with their neighbours, e.g. 16x16.", metavar="SIZES"),
    ] = None,
    jobs: Annotated[
        Path | None,
        typer.Option(
            help="TOML file of jobs that share the network, tables [[job]]: name, shape (a box of nodes) or "
            "nodes, and axes, stencil or traffic.",
        ),
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            help="With --jobs: the first free box, or the one with most contact. [default: first]",
            metavar="first|contact",
        ),
    ] = None,
    neighbours: Annotated[
        int | None, typer.Option(help="With --stencil: the cell and its neighbours, 5 or 9 in the plane.")
    ] = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="With --stencil: the grid closes to a torus.")
    ] = False,
    nodes: Annotated[
        str | None,
        typer.Option(help="Nodes that ranks may have, e.g. 0-15,20. [default: all]", metavar="NODES"),
    ] = None,
    per_node: Annotated[int, typer.Option("--per-node", help="Ranks that a node can have.")] = 1,
    minimise: Annotated[
        str,
        typer.Option(
            help="channel (the fullest one), hops (bytes times hops) or time (the best three simulated).",
            metavar="WHAT",
        ),
    ] = "channel",
    routing: Annotated[
        str | None,
        typer.Option(
            help="Which routes count: do (dimension order), balanced (tables of flitloom route) or tables of "
            "this network (.json). [default: do, with failed parts balanced]",
            metavar="NAME|FILE",
        ),
    ] = None,
    flit_bytes: Annotated[
        int | None, typer.Option("--flit-bytes", help="With --minimise time: bytes of a flit. [default: 16]")
    ] = None,
    effort: Annotated[
        int | None,
        typer.Option(
            help="Millions of channel loads the search may change; with --shape thousands of its steps. "
            "[default: 150, above 512 ranks in proportion to them, up to 1500; 30]"
        ),
    ] = None,
    seed: options.Seed = None,
    hosts: Annotated[
        Path | None, typer.Option(help="File with a host name per node, one per line, for -o.")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the placement; the ending says how: .json, .csv, .rankfile, .hosts, .mpich, "
            ".jax.json, .vcoord. May be repeated.",
        ),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            "--picture", help="Draw loads before and after, and the node of every rank (.png, .pdf, .svg)."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Put ranks on nodes so that the fullest channel carries least, and say what no placement can beat.

    Loads are bytes on a channel (one direction of a link), all traffic at the same time, under
    dimension-order routing or tables. Row-major is rank 0 on the first node, rank 1 on the second, and so
    on. `flitloom check` verifies what -o p.json writes; `flitloom simulate` and `flitloom route` take it as
    --placement.

    \b
    For example:
      flitloom place --torus 4x4x8 --axes expert=8:a2a:1,data=4:ring:8,pipeline=4:line:1 -o p.json
      flitloom place --torus 8x8 --stencil 8x8 --neighbours 9 --minimise time
      flitloom place --torus 4x4x4 --fail node:5 --fail link:0-1 --stencil 7x9
      flitloom place --torus 4x4 --traffic matrix.csv -o run.hosts --hosts hosts.txt
      flitloom place --torus 4x4x4 --fail link:0-1 --shape 8x8 --wrap yes,no
      flitloom place --torus 8x8x8 --jobs jobs.toml
      flitloom place stream --torus 16x16x16
    """
    from flitloom import interrupts
    from flitloom.commands import screen
    from flitloom.commands.schedule import _parse_nodes
    from flitloom.errors import SpecError
    from flitloom.extras import check_picture
    from flitloom.outputs import check_output
    from flitloom.placing import place
    from flitloom.placing.formats import ending_of
    from flitloom.placing.running import FLIT_BYTES
    from flitloom.placing.ways import ROUTINGS
    from flitloom.spec import Topology

    for file in out or []:
        ending_of(file)
        check_output(file, (), "--out")
    if shape is not None:
        from flitloom.commands.shapes import fit_shape

        options.refuse(context, NOT_OF_SHAPES, "does not go with --shape")
        fit_shape(shape, wrap, (torus, mesh, graph), fail or [], effort, out or [], hosts, json)
        return
    if jobs is not None:
        from flitloom.commands.job_streams import seat_jobs

        options.refuse(context, NOT_OF_JOBS, "does not go with --jobs")
        fields = options.topology_fields(torus, mesh, wrap, fail, False)
        seat_jobs(jobs, fields, fit or "first", 1 if seed is None else seed, effort, flit_bytes, json)
        return
    options.refuse(context, ["graph"], "goes with --shape")
    options.refuse(context, ["fit"], "goes with --jobs")
    fields = options.topology_fields(torus, mesh, wrap, fail, twist)
    if "sizes" not in fields:
        raise SpecError.at("topology", "is missing", "give --torus 4x4x8 or --mesh 8x8")
    topology = Topology(**fields)
    if chart is not None:
        check_picture(chart, "--picture")
    names = None if hosts is None else read_hosts(hosts, topology.nodes)
    chosen = None if nodes is None else _parse_nodes(nodes, topology.nodes)
    asked = _traffic(axes, traffic, stencil, neighbours, closed)
    if flit_bytes is not None and minimise != "time":
        raise SpecError.at("--flit-bytes", "belongs to --minimise time")
    routes: str | Tables | None = routing
    if routing is not None and routing not in ROUTINGS:
        from flitloom.routing import read_tables

        routes = read_tables(Path(routing), topology)
    with screen.progress("search for a placement") as progress, interrupts.keeping():
        found = place(
            topology,
            asked,
            minimise=minimise,
            nodes=chosen,
            per_node=per_node,
            seed=1 if seed is None else seed,
            effort=effort,
            routing=routes,
            flit_bytes=FLIT_BYTES if flit_bytes is None else flit_bytes,
            progress=progress,
        )
    for file in out or []:
        found.save(file, names)
    if chart is not None:
        from flitloom.plots.placing import draw_placement

        draw_placement(found, chart)
    if json:
        screen.print_json(found.facts())
    else:
        _print(found)
    if found.interrupted:
        screen.say("note: stopped by Ctrl-C; this is the best placement so far")
        raise typer.Exit(interrupts.INTERRUPTED)


def _traffic(
    axes: str | None, file: Path | None, stencil: str | None, neighbours: int | None, closed: bool
) -> Traffic:
    from flitloom.errors import SpecError
    from flitloom.placing import axes_traffic, parse_axes, read_traffic, stencil_traffic

    given = [name for name, value in (("--axes", axes), ("--traffic", file), ("--stencil", stencil)) if value]
    if len(given) != 1:
        problem = "is missing" if not given else f"is given by {' and '.join(given)}"
        raise SpecError.at("traffic", problem, "give one of --axes, --traffic and --stencil")
    if stencil is None and (neighbours is not None or closed):
        raise SpecError("--neighbours and --closed belong to --stencil")
    if axes is not None:
        return axes_traffic(parse_axes(axes))
    if file is not None:
        return read_traffic(file)
    sizes = options.sizes_of_fabric(stencil, "--stencil")
    if sizes is None:
        raise SpecError.at("--stencil", "write the sizes of the grid, e.g. 16x16")
    return stencil_traffic(sizes, neighbours, closed)


def read_hosts(file: Path, nodes: int) -> list[str]:
    """The host of every node."""
    from flitloom.errors import SpecError, show_file
    from flitloom.limits import NODES_BYTES
    from flitloom.reading import read_text

    names = read_text(file, NODES_BYTES).split()
    if len(names) != nodes:
        raise SpecError(f"{show_file(file)}: has {len(names)} host names; the network has {nodes} nodes")
    return names


def _print(found: Placement) -> None:
    from flitloom.commands import screen

    plain = found.row_major
    rows: list[list[Any]] = [
        ["fullest channel", plain["fullest_channel"], found.fullest_channel],
        ["hop-bytes", plain["hop_bytes"], found.hop_bytes],
    ]
    bounds: list[Any] = [found.bound, found.hop_bytes_bound]
    if found.minimised != "channel":
        bounds = [None, found.hop_bytes_bound]
    screen.print_table(
        ["bytes", "row-major", "placed", "no less than"],
        [[*row, bound] for row, bound in zip(rows, bounds, strict=True)],
    )
    screen.echo()
    gap = 100 * (found.reached - found.bound) / found.bound if found.bound else math.inf
    verdict = "proven optimal" if found.optimal else f"at most {gap:.1f} % above the bound"
    screen.print_fields(
        {
            "network": str(found.topology),
            "ranks": str(found.traffic.ranks),
            "verdict": f"{verdict} ({in_words(found.bound_proof)})",
            "fullest port": f"{found.fullest_port} bytes sent or received by one node",
            **({"simulated": _simulated(found)} if found.runs else {}),
            "found in": f"{found.seconds:.2f} s" + _advice(found),
        }
    )


def _advice(found: Placement) -> str:
    if not found.more_may_help:
        return ""
    return f"; it still became better near the end, so more effort may help (--effort {4 * found.effort})"


def _simulated(found: Placement) -> str:
    others = sorted(run["duration"] for run in found.runs)[1:]
    told = f"{found.duration} cycles, no less than {found.bound}"
    return told + (f" (the others {', '.join(map(str, others))})" if others else "")


def in_words(proof: dict[str, Any]) -> str:
    """What a certificate says, in a clause."""
    kind = proof["kind"]
    if kind == "uniform":
        return "all ranks send as much to all others, so every placement is as full"
    if kind == "message":
        return f"rank {proof['source']} sends so much to rank {proof['destination']} on one way"
    if kind == "degree":
        verb = "sends" if proof["sends"] else "receives"
        return f"rank {proof['rank']} {verb} it over {proof['channels']} channels"
    if kind == "port":
        verb = "sends" if proof["sends"] else "receives"
        return f"rank {proof['rank']} {verb} its flits through one port"
    if kind == "cut":
        letter = "xyzuvw"[proof["dimension"]]
        return (
            f"{proof['channels']} channels leave {proof['nodes']} nodes on one side of a cut across {letter}"
        )
    if kind == "cosine":
        return "matrices of cosines are positive semidefinite"
    if kind == "sorted":
        return "largest messages at least distances"
    return "there is no traffic"
