"""``flitloom collective``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flitloom.commands import options

app = typer.Typer(
    no_args_is_help=True,
    help="Plan collective operations in which every link works, and prove how good they are.\n\n"
    "Example: flitloom collective all-gather --torus 8x8x8 -o plan.json",
)


def plan(
    context: typer.Context,
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    wrap: options.Wrap = None,
    twist: Annotated[
        bool, typer.Option("--twist", help="Twisted torus, of sizes like 4x4x8 or 4x8x8.")
    ] = False,
    fail: options.Fail = None,
    width: Annotated[
        str | None, typer.Option(help="Parallel links per dimension, as 2,1,1.", metavar="N,N,...")
    ] = None,
    chunks: Annotated[
        int,
        typer.Option(help="Chunks per node; per pair for all-to-all; in all for broadcast and reduce."),
    ] = 1,
    root: Annotated[
        int | None, typer.Option(help="Root of broadcast, reduce, scatter, gather. [default: 0]")
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(help="Nodes that take part, as 0-15,20; all without.", metavar="NODES")
    ] = None,
    matrix: Annotated[
        Path | None, typer.Option(help="all-to-all-v: CSV file, chunks from every node (row) to every node.")
    ] = None,
    latency: Annotated[int, typer.Option(help="Steps on a link besides the one in which it is busy.")] = 0,
    seed: options.Seed = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the plan to this file (.json).")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw how many links are busy in every step (.png, .pdf, .svg).")
    ] = None,
    json: options.Json = False,
) -> None:
    """Plan the operation in as few steps as can be, and prove it.

    In a step every link carries at most one chunk; nodes use all their links at once, keep what they ever
    held, copy it or add it up.

    \b
    For example:
      flitloom collective all-gather --torus 8x8x8 -o plan.json
      flitloom collective all-to-all --torus 4x4x8 --twist
      flitloom collective all-gather --torus 8x8 --fail link:0-1 --fail node:12
      flitloom collective broadcast --mesh 6x6 --root 14 --chunks 64
    """
    from flitloom.collectives import collective
    from flitloom.commands import screen
    from flitloom.commands.schedule import _parse_nodes
    from flitloom.errors import SpecError
    from flitloom.outputs import check_output
    from flitloom.spec import Topology

    if out is not None:
        check_output(out, (".json",), "--out")
    if chart is not None:
        check_output(chart, (".png", ".pdf", ".svg"), "--chart")
    fields = options.topology_fields(torus, mesh, wrap, fail)
    if "sizes" not in fields:
        raise SpecError("topology: is missing; give --torus 8x8x8 or --mesh 6x6")
    topology = Topology(**fields)
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
        "network": f"{topology}{', twisted' if twist else ''}",
        "steps": found.steps,
        "bound": found.bound,
        "optimal": found.optimal,
        "proof": found.proof_text,
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


for _name in (
    "all-gather",
    "reduce-scatter",
    "all-reduce",
    "broadcast",
    "reduce",
    "scatter",
    "gather",
    "all-to-all",
    "all-to-all-v",
):
    app.command(_name)(plan)


def _gap(steps: int, bound: int) -> str:
    return f"at most {100 * (steps / max(bound, 1) - 1):.1f} % above the optimum"


def _read_matrix(file: Path) -> list[list[int]]:
    """Whole numbers of a CSV file, a row a line."""
    from flitloom import limits
    from flitloom.errors import SpecError
    from flitloom.reading import read_text

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
    from flitloom.errors import SpecError
    from flitloom.spec import Topology

    found = read_collective(file)
    if topology:
        given, mine = Topology(**topology), found.ground.topology
        if (given.sizes, given.wraps) != (mine.sizes, mine.wraps):
            raise SpecError(f"plan.topology: the plan is for a {mine}, not for a {given}")
    print_report(check_collective(found), as_json)


def print_report(report: dict[str, Any], as_json: bool) -> None:
    """Print what a check found; exit code 1 if anything is wrong."""
    from flitloom.commands import screen

    if as_json:
        screen.print_json(report)
    else:
        rows = {name: report[name] for name in report if name not in ("problems", "valid")}
        screen.print_fields(rows)
        for line in report["problems"]:
            screen.echo(f"  {line}")
        screen.echo("valid" if report["valid"] else "NOT VALID")
    if not report["valid"]:
        raise typer.Exit(1)
