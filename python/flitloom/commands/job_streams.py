"""``flitloom place --jobs`` and ``flitloom place stream``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flitloom.commands import options


def command(
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    wrap: options.Wrap = None,
    fail: options.Fail = None,
    count: Annotated[int, typer.Option("--jobs", help="Jobs of the stream.", metavar="COUNT")] = 2000,
    mix: Annotated[
        str,
        typer.Option(help="boxes (sides 1, 2, 4, ...) or mixed (also lines and any sides).", metavar="MIX"),
    ] = "boxes",
    load: Annotated[
        float, typer.Option(help="Node cycles asked for, over those there are; above 1 some jobs wait.")
    ] = 2.0,
    policy: Annotated[
        str | None,
        typer.Option(
            help="as-asked, rotate, fold, contact, window (64 waiting jobs are tried) or "
            "largest (256, those with the most nodes first). [default: all]",
            metavar="NAME",
        ),
    ] = None,
    seed: options.Seed = None,
    json: options.Json = False,
) -> None:
    """Let jobs come and go on a torus, and say how much of it each policy keeps busy.

    \b
    For example:
      flitloom place stream --torus 16x16x16 --mix mixed
    """
    from flitloom.commands import screen
    from flitloom.placing.streams import POLICIES, draw_stream, run_stream

    topology = _topology(options.topology_fields(torus, mesh, wrap, fail, False))
    stream = draw_stream(topology, count, mix, load, 1 if seed is None else seed)
    reports = []
    with screen.progress("streams of jobs") as progress:
        chosen = list(POLICIES) if policy is None else [policy]
        for done, name in enumerate(chosen):
            progress(done, len(chosen))
            reports.append(run_stream(topology, stream, name).facts())
    if json:
        screen.print_json({"network": str(topology), "mix": mix, "load": load, "cases": reports})
    else:
        screen.print_table(list(reports[0]), [list(report.values()) for report in reports])


def seat_jobs(
    file: Path,
    fields: dict[str, Any],
    fit: str,
    seed: int,
    effort: int | None,
    flit_bytes: int | None,
    json: bool,
) -> None:
    """Give the jobs of a file their nodes, and print what they cost each other; exit code 1 if one waits."""
    from flitloom.commands import screen
    from flitloom.placing.jobs import EFFORT, read_jobs, seat
    from flitloom.placing.running import FLIT_BYTES

    topology = _topology(fields)
    with screen.progress("jobs on their nodes") as progress:
        found = seat(
            topology,
            read_jobs(file, topology),
            fit=fit,
            seed=seed,
            effort=EFFORT if effort is None else effort,
            flit_bytes=FLIT_BYTES if flit_bytes is None else flit_bytes,
            progress=progress,
        )
    if json:
        screen.print_json(found.facts())
    else:
        heading = ["job", "box", "closed", "fullest", "shared channels", "alone", "shared"]
        screen.print_table(
            heading,
            [
                [
                    one.job.name,
                    "x".join(map(str, one.box)) or "given",
                    "yes" if one.closed else "no",
                    one.fullest_channel,
                    one.shared_channels,
                    one.alone,
                    one.shared,
                ]
                for one in found.jobs
            ],
        )
        screen.echo()
        if found.apart:
            screen.echo("no channel carries bytes of two jobs: none slows another one down")
        else:
            screen.echo("jobs meet on channels; alone and shared are cycles of the simulator")
        for name in found.waiting:
            screen.echo(f"job {name} waits: no box for it is free")
    if found.waiting:
        raise typer.Exit(1)


def _topology(fields: dict[str, Any]) -> Any:
    from flitloom.errors import SpecError
    from flitloom.spec import Topology

    if "sizes" not in fields:
        raise SpecError.at("topology", "is missing", "give --torus 16x16x16 or --mesh 8x8")
    return Topology(**fields)
