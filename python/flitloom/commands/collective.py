"""``flitloom collective``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom import interrupts, limits
from flitloom._core import LISTS
from flitloom.commands import options, screen
from flitloom.errors import SpecError
from flitloom.extras import check_picture
from flitloom.outputs import check_output
from flitloom.reading import read_text
from flitloom.workers import Workers

if TYPE_CHECKING:
    from flitloom.collectives import CollectivePlan
    from flitloom.spec import Topology

Twist = Annotated[bool, typer.Option("--twist", help="Twisted torus, of sizes like 4x4x8 or 4x8x8.")]

app = typer.Typer(
    no_args_is_help=True,
    help="Plan collective operations that keep every link busy, and prove how good they are.\n\n"
    "Example: flitloom collective all-gather --torus 8x8x8 -o plan.json",
)


def plan(
    context: typer.Context,
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    network: options.Network = None,
    graph: options.GraphFile = None,
    wrap: options.Wrap = None,
    twist: Twist = False,
    fail: options.Fail = None,
    width: Annotated[
        str | None, typer.Option(help="Parallel links per dimension, e.g. 2,1,1.", metavar="N,N,...")
    ] = None,
    chunks: Annotated[
        int,
        typer.Option(help="Chunks per node; per pair for all-to-all; in all for broadcast and reduce."),
    ] = 1,
    root: Annotated[
        int | None, typer.Option(help="Root of broadcast, reduce, scatter, gather. [default: 0]")
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(help="Nodes that take part, e.g. 0-15,20. [default: all]", metavar="NODES")
    ] = None,
    matrix: Annotated[
        Path | None, typer.Option(help="all-to-all-v: CSV file, chunks from every node (row) to every node.")
    ] = None,
    latency: Annotated[
        int, typer.Option(help="Steps on a link besides the one in which it is busy, e.g. 1.")
    ] = 0,
    seed: options.Seed = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the plan to this file (.json).")
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw how many links are busy in every step (.png, .pdf, .svg)."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Plan the operation in as few steps as possible, and prove it.

    In a step every link carries at most one chunk; nodes use all their links at once, keep all chunks that
    they received, copy them or add them up.

    \b
    For example:
      flitloom collective all-gather --torus 8x8x8 -o plan.json
      flitloom collective all-to-all --torus 4x4x8 --twist
      flitloom collective all-gather --torus 8x8 --fail link:0-1 --fail node:12
      flitloom collective broadcast --mesh 6x6 --root 14 --chunks 64
      flitloom collective all-to-all --network "full8 x full8 x full4 x full4"
      flitloom collective all-gather --network "dragonfly(6,3)"
    """
    from flitloom.collectives import collective
    from flitloom.commands.schedule import _parse_nodes
    from flitloom.spec.product import network_of

    if out is not None:
        check_output(out, (".json",), "--out")
    if chart is not None:
        check_picture(chart, "--picture")
    fields = options.topology_fields(torus, mesh, wrap, fail, network=network, graph=graph)
    if not {"sizes", "network", "cables"} & fields.keys():
        raise SpecError.at(
            "topology",
            "is missing",
            "give --torus 8x8x8, --mesh 6x6, --network 'full8 x ring16' or --graph cluster.topo",
        )
    topology = network_of(fields)
    if graph is not None:
        screen.say(f"note: the nodes are the {topology.nodes} switches of {graph.name}, for any hosts")
    found = collective(
        topology,
        str(context.info_name),
        chunks=chunks,
        twist=twist,
        root=root,
        latency=latency,
        width=None if width is None else options.whole_numbers(width, "--width"),
        nodes=None if nodes is None else _parse_nodes(nodes, topology.nodes),
        matrix=None if matrix is None else _read_matrix(matrix),
        seed=1 if seed is None else seed,
    )
    if out is not None:
        found.save(out)
    if chart is not None:
        from flitloom.plots.collective import draw_busy

        draw_busy(found, chart)
    busy = found.busy()
    facts: dict[str, Any] = {
        "operation": found.operation,
        "network": str(found.ground),
        "steps": found.steps,
        "bound": found.bound,
        "optimal": found.optimal,
        "bound_proof": found.proof_text,
        "seconds": round(found.seconds, 6),
        "chunks": chunks,
        "rows": sum(len(rows) for rows in (found.adds, found.sends, found.paths, found.sums, found.moves)),
        "busy": round(float(busy.mean()), 4) if len(busy) else 0.0,
    }
    if found.proof["kind"] == "cut":
        facts["cut"] = found.proof
    if json:
        screen.print_json(facts)
        return
    verdict = "proven optimal" if found.optimal else _gap(found.steps, found.bound)
    screen.print_fields(
        {
            "network": facts["network"],
            "steps": f"{found.steps}, {verdict}",
            "bound": found.proof_text,
            "links busy": f"{100 * facts['busy']:.1f} % of all link steps",
            "found in": f"{1000 * found.seconds:.1f} ms",
        }
    )


for _name in (*LISTS["collectives"], "all-to-all-v"):
    app.command(_name)(plan)


@app.command()
def advise(
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    network: options.Network = None,
    graph: options.GraphFile = None,
    wrap: options.Wrap = None,
    twist: Twist = False,
    fail: options.Fail = None,
    operation: Annotated[
        str, typer.Option(help="all-reduce, all-gather, reduce-scatter or all-to-all.")
    ] = "all-reduce",
    size: Annotated[
        str, typer.Option(help="Smallest and largest vector, e.g. 1KiB:1GiB or 1MB:1GB.", metavar="LOW:HIGH")
    ] = "1KiB:1GiB",
    alpha: Annotated[str, typer.Option(help="Time of a round besides its bytes.")] = "1us",
    bandwidth: Annotated[
        str, typer.Option(help="Of a link in one direction, e.g. 50GB/s or 400Gb/s.")
    ] = "50GB/s",
    chart: Annotated[
        Path | None, typer.Option("--picture", help="Draw time over bound by size (.png, .pdf, .svg).")
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare collective algorithms on a network: per message size the bound and the best one.

    Every algorithm is replayed on the working links; a round costs alpha and the time of the fullest
    link.

    \b
    For example:
      flitloom collective advise --torus 8x8x8 --size 1KiB:1GiB --alpha 1us --bandwidth 50GB/s
      flitloom collective advise --torus 8x8 --fail link:0-1 --operation all-gather
      flitloom collective advise --network "dragonfly(6,3)" --bandwidth 400Gb/s
    """
    from flitloom.collectives.advice import (
        compare,
        in_words,
        powers,
        read_bandwidth,
        read_seconds,
        read_size,
        show_size,
        weigh,
    )
    from flitloom.spec.product import network_of

    if chart is not None:
        check_picture(chart, "--picture")
    fields = options.topology_fields(torus, mesh, wrap, fail, network=network, graph=graph)
    if not {"sizes", "network", "cables"} & fields.keys():
        raise SpecError.at("topology", "is missing", "give --torus 8x8x8, --mesh 6x6, --network or --graph")
    topology = network_of(fields)
    low, _, high = size.partition(":")
    sizes = powers(read_size(low, "--size"), read_size(high or low, "--size"))
    times = read_seconds(alpha, "--alpha"), read_bandwidth(bandwidth, "--bandwidth")
    advice = weigh(topology, sizes, *times, operation=operation, twist=twist)
    if chart is not None:
        from flitloom.plots.collective import draw_advice

        draw_advice(advice, f"{operation}, {topology}{', twisted' if twist else ''}", chart)
    compared = compare(topology, twist)
    if json:
        rows = [
            {
                "bytes": bytes_,
                "bound": advice.bounds[row],
                "best": advice.algorithms[advice.best(row)].name,
                **dict(zip(("algbw", "busbw"), advice.bandwidths(row), strict=True)),
                "seconds": dict(
                    zip((one.name for one in advice.algorithms), advice.seconds[row], strict=True)
                ),
            }
            for row, bytes_ in enumerate(advice.sizes)
        ]
        known = [
            {"name": one.name, "rounds": one.rounds, "factor": one.factor, "source": one.source}
            for one in advice.algorithms
        ]
        crossovers = [{"bytes": bytes_, "best": name} for bytes_, name in advice.crossovers()]
        screen.print_json(
            {
                "operation": advice.operation,
                "network": str(topology),
                "members": advice.members,
                "rounds": advice.rounds,
                "algorithms": known,
                "cases": rows,
                "crossovers": crossovers,
                "compared": compared,
            }
        )
        return
    screen.print_table(
        ["algorithm", "rounds", "bytes on a link", "source"],
        [[one.name, one.rounds, round(one.factor, 4), one.source] for one in advice.algorithms],
    )
    screen.echo()
    table = []
    for row, bytes_ in enumerate(advice.sizes):
        best = advice.best(row)
        taken, bound = advice.seconds[row][best], advice.bounds[row]
        table.append(
            [
                show_size(bytes_),
                advice.algorithms[best].name,
                round(1e6 * taken, 2),
                round(1e6 * bound, 2),
                round(100 * bound / taken, 1),
                *(round(rate / 1e9, 1) for rate in advice.bandwidths(row)),
            ]
        )
    screen.print_table(["size", "best", "us", "bound us", "% of bound", "algbw GB/s", "busbw GB/s"], table)
    screen.echo(f"bound: {advice.rounds} rounds at least, and the bytes that some link must carry")
    if compared:
        screen.echo()
        screen.print_table(
            ["operation", "steps", "bound", "without", "ratio"],
            [[row[name] for name in ("operation", "steps", "bound", "without", "ratio")] for row in compared],
        )
        screen.echo()
        for change in compared:
            screen.echo(in_words(change))


@app.command()
def degraded(
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    count: Annotated[int, typer.Option(help="Random networks.", min=1)] = 100,
    failures: Annotated[
        str, typer.Option(help="Failed cables in each, fewest and most.", metavar="LOW:HIGH")
    ] = "1:6",
    operation: Annotated[
        list[str] | None,
        typer.Option(help="all-gather, all-reduce or all-to-all; repeat for several. [default: all]"),
    ] = None,
    seed: options.Seed = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="SQLite file of finished plans, e.g. study.sqlite; the same command continues with it."
        ),
    ] = None,
    workers: options.Workers = None,
    json: options.Json = False,
) -> None:
    """Measure what failures cost: operations on many networks with random failed cables.

    Ctrl-C prints what the plans so far say.

    \b
    For example:
      flitloom collective degraded --torus 8x8
      flitloom collective degraded --torus 8x8x8 --store cubes.sqlite
      flitloom collective degraded --mesh 6x6 --failures 1:2 --operation all-gather
    """
    from flitloom.collectives.degraded import OPERATIONS, damaged, degraded_rows, plan_jobs
    from flitloom.collectives.degraded import degraded as study
    from flitloom.jobs import Store
    from flitloom.spec import Topology

    fields = options.topology_fields(torus, mesh, None, None)
    if "sizes" not in fields:
        raise SpecError.at("topology", "is missing", "give --torus 8x8 or --mesh 6x6")
    low, _, high = failures.partition(":")
    if not all(text.isascii() and text.isdigit() and len(text) < 6 for text in (low, high or low)):
        raise SpecError(f"--failures {failures}: write one number, or two as 1:6")
    topology, chosen = Topology(**fields), operation or OPERATIONS
    limits, seed = (int(low), int(high or low)), 1 if seed is None else seed
    results = Store(":memory:" if store is None else check_output(store, place="--store").absolute())
    pool = Workers(workers)
    stopped = ""
    try:
        with interrupts.keeping(), screen.progress("plans") as progress:
            rows = study(
                topology,
                count=count,
                failures=limits,
                operations=chosen,
                seed=seed,
                store=results,
                executor=pool,
                progress=progress,
            )
    except KeyboardInterrupt:
        interrupts.kept()
        jobs = plan_jobs(topology, damaged(topology, count, limits, seed), chosen)
        kept = len(results.finished() & {job.id for job in jobs})
        stopped = f"{kept} of {len(jobs)} plans are finished"
        interrupts.tell(f"interrupted: {stopped}")
        rows = degraded_rows(jobs, results)
    finally:
        pool.stop()
        results.close()
    if json:
        screen.print_json({"cases": rows, **({"stopped": stopped} if stopped else {})})
    elif rows:
        screen.print_table(list(rows[0]), [list(row.values()) for row in rows])
    if stopped:
        raise typer.Exit(interrupts.INTERRUPTED)


def _gap(steps: int, bound: int) -> str:
    return f"at most {100 * (steps / max(bound, 1) - 1):.1f} % above the optimum"


def _read_matrix(file: Path) -> list[list[int]]:
    """Whole numbers of a CSV file, a row a line."""
    lines = read_text(file, limits.MATRIX_BYTES).split()
    rows = [
        options.whole_numbers(line, f"--matrix {file}: line {number}:")
        for number, line in enumerate(lines, 1)
    ]
    if len({len(row) for row in rows}) != 1:
        raise SpecError(f"--matrix {file}: all lines need equally many numbers")
    return rows


def check_collective_file(file: Path, topology: dict[str, Any], as_json: bool) -> None:
    """Check a plan of a collective operation; exit code 1 if it is not what it claims."""
    from flitloom.collectives import check_collective, read_collective
    from flitloom.spec import Topology

    found = read_collective(file, checked=False)
    if topology:
        check_network(found, Topology(**topology))
    print_report(check_collective(found), as_json)


def check_network(plan: CollectivePlan, given: Topology) -> None:
    """Refuse a plan for another network than the one that options name."""
    mine = plan.ground.routers
    if not mine.is_as(given):
        raise SpecError.at("plan.topology", f"the plan is for a {mine}, not for a {given}")


def check_foreign_file(file: Path, topology: dict[str, Any], twist: bool, as_json: bool) -> None:
    """Check a plan in somebody else's format, with a network also its links; exit code 1 if it is wrong."""
    from flitloom import formats
    from flitloom.collectives.ground import Ground
    from flitloom.spec import Topology

    ground = Ground(Topology(**topology), twist) if topology else None
    print_report(formats.check(file, ground), as_json)


def print_report(report: dict[str, Any], as_json: bool) -> None:
    """Print what a check found; exit code 1 if anything is wrong."""
    from flitloom.claims import Claims

    with screen.report():
        if as_json:
            screen.print_json(report)
        else:
            rows = {
                name: report[name] for name in report if name not in ("problems", "passed", "not_verified")
            }
            left = Claims(not_verified=report.get("not_verified", {}))
            screen.print_fields({**rows, **dict(left.lines())})
            for line in report["problems"]:
                screen.echo(f"  {line}")
            screen.echo("valid" if report["passed"] else "NOT VALID")
    if not report["passed"]:
        raise typer.Exit(1)
