"""``flitloom stack``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flitloom import interrupts
from flitloom.commands import options, screen
from flitloom.errors import SpecError
from flitloom.extras import check_picture
from flitloom.outputs import check_output
from flitloom.workers import usable_cores

if TYPE_CHECKING:
    from flitloom.stacking import Stacking


def command(
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    wrap: options.Wrap = None,
    twist: options.Twist = False,
    fail: options.Fail = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            help="A pattern, or all (the papers' six). May be repeated. [default: all]", metavar="NAME"
        ),
    ] = None,
    destinations: options.Destinations = None,
    payload: Annotated[int, options.shown("payload", default=False)] = 14,
    slices: Annotated[
        list[int] | None, typer.Option(help="Slices per packet. May be repeated. [default: 2]")
    ] = None,
    delays: options.Delays = None,
    packets: options.PacketsPerNode = None,
    intervals: Annotated[
        str | None,
        typer.Option(
            help="First and last interval, in cycles. [default: slice length to the duration of one slice]",
            metavar="FIRST:LAST",
        ),
    ] = None,
    arbitration: Annotated[
        list[str] | None,
        typer.Option(help="A scheme C00 to C09, or all. May be repeated. [default: C00]", metavar="SCHEME"),
    ] = None,
    preset: options.Preset = None,
    channels: options.Channels = None,
    buffer: options.Buffer = None,
    latency: options.Latency = None,
    flow_control: options.FlowControl = None,
    seed: options.Seed = None,
    threads: options.Threads = None,
    json: options.Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the curves to this file (.csv or .nc).")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option("--picture", help="Draw the curves to this file (.png, .pdf, .svg).")
    ] = None,
) -> None:
    """Find the best interval between slices that all nodes send in unison (simple stacking).

    \b
    For example:
      flitloom stack --torus 16x16 --pattern brot --payload 14 --slices 2 --arbitration all
      flitloom stack --torus 16x16 --preset cup-stacking --pattern bcmp --arbitration all
      flitloom stack --torus 16x16 --pattern shfl --payload 32 --slices 2 --slices 4 --picture shfl.png
    """
    from flitloom.network import Network
    from flitloom.simulation import experiment_memory
    from flitloom.spec import PERMUTATIONS, SCHEMES, Collective
    from flitloom.spec.experiment import build_experiment
    from flitloom.stacking import stack

    if out is not None:
        check_output(out, (".csv", ".nc"), "--out")
    if chart is not None:
        check_picture(chart, "--picture")
    topology = options.topology_fields(torus, mesh, wrap, fail, twist)
    if not topology:
        raise SpecError.at("topology", "is missing", "give --torus 16x16 or --mesh 16x16")
    patterns: list[str | None] = [None] if destinations else list(pattern or ["all"])
    if "all" in patterns:
        patterns = list(PERMUTATIONS)
    schemes = list(SCHEMES) if arbitration and "all" in arbitration else arbitration or ["C00"]
    window = _window(intervals)
    jobs = []
    for name in patterns:
        for scheme in schemes:
            for count in slices or [2]:
                router = options.given(
                    preset=preset,
                    channels=channels,
                    buffer=buffer,
                    latency=latency,
                    flow_control=flow_control,
                    arbitration=scheme,
                )
                traffic = options.given(
                    kind="collective",
                    pattern=name,
                    destinations=destinations,
                    payload=payload,
                    slices=count,
                    delays=delays,
                    packets=packets,
                )
                fields = {"topology": topology, "router": router, "traffic": traffic}
                jobs.append(build_experiment({**fields, **options.given(seed=seed)}))
    largest = max(experiment_memory(job, links=False) for job in jobs)
    cores = min(threads or usable_cores(), usable_cores())
    screen.foretell_memory([largest] * cores, cores)
    done: list[Stacking] = []
    try:
        with interrupts.keeping(), screen.progress("sweeps (%)") as show:
            for number, job in enumerate(jobs):
                assert isinstance(job.traffic, Collective)

                def part(finished: int, every: int, number: int = number) -> None:
                    show(100 * number + 100 * finished // every, 100 * len(jobs))

                network = Network(job.topology, job.router)
                sweep = stack(
                    network, job.traffic, intervals=window, seed=job.seed, threads=threads, progress=part
                )
                done.append(sweep)
                part(1, 1)
    except KeyboardInterrupt:
        # What is finished is kept; charts take longer than a user waits.
        if done:
            interrupts.kept()
            _report(done, json, out, None)
        raise
    _report(done, json, out, chart)


def _report(done: list[Stacking], json: bool, out: Path | None, chart: Path | None) -> None:
    from flitloom.stacking import save_curves

    rows = [stacking.row() for stacking in done]
    if out is not None:
        save_curves(done, out)
    if chart is not None:
        from flitloom.plots.stacking import plot_stackings

        plot_stackings(_panels(done), chart)
    if json:
        screen.print_json(rows)
    else:
        screen.print_table(list(rows[0]), [list(row.values()) for row in rows])


def _panels(done: list[Stacking]) -> dict[str, list[tuple[str, Stacking]]]:
    """A panel per pattern, a curve per scheme and number of slices."""
    panels: dict[str, list[tuple[str, Stacking]]] = {}
    for stacking in done:
        row = stacking.row()
        label = f"{row['arbitration']}, {row['slices']} slices of {row['slice_length']} flits"
        panels.setdefault(f"{row['pattern']}, {stacking.network.topology}", []).append((label, stacking))
    return panels


def _window(text: str | None) -> range | None:
    if text is None:
        return None
    first, _, last = text.partition(":")
    if not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in (first, last)):
        raise SpecError(f"--intervals {text[:40]}: write first and last interval, like 8:95")
    if not int(first) <= int(last) < int(first) + 100_000:
        raise SpecError(f"--intervals {text[:40]}: must rise, by less than 100000 cycles")
    return range(int(first), int(last) + 1)
