"""``flitloom load ramp``, ``step``, ``impulse`` and ``burst``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom.commands import load_options as shared
from flitloom.commands import options, screen
from flitloom.commands.options import grouped
from flitloom.errors import SpecError
from flitloom.outputs import write_csv

if TYPE_CHECKING:
    from flitloom.load import Case, Response


@grouped
def ramp(
    *,
    compared: shared.Compared,
    rates: Annotated[
        str | None,
        typer.Option(
            help="First and last load in flits/node/cycle. [default: from 0 to a fifth beyond the bound]",
            metavar="FIRST:LAST",
        ),
    ] = None,
    cycles: Annotated[int, typer.Option(min=1, help="Cycles in which the load rises.")] = 2_750_000,
    warm_up: Annotated[
        int, typer.Option(min=0, help="Cycles at the first load before it rises, e.g. 5000.")
    ] = 0,
    hold: Annotated[int, typer.Option(min=0, help="Cycles at the last load, e.g. 5000.")] = 0,
    packets: shared.Packets,
    router: shared.Router,
    window: shared.Window = 100,
    averaging: Annotated[int, typer.Option(min=1, help="Windows per average.")] = 200,
    fitted: Annotated[int, typer.Option("--windows", min=2, help="Windows per fit of the slope rule.")] = 401,
    outputs: shared.Outputs,
) -> None:
    """Let the load rise slowly, and find where the network no longer follows: its critical load.

    Printed is the load in the middle of the first average that falls short. The default takes as
    long as the ramp of state-propagation-throttling-2015; shorter ones are less precise.

    \b
    For example:
      flitloom load ramp --torus 8x8 --pattern bcmp --rates 0:0.8 --cycles 100000 --picture ramp.png
      flitloom load ramp --torus 8x8 --pattern rand,bcmp --rates 0.2:0.6 --cycles 50000 --warm-up 5000
    """
    from flitloom.load import ramp_end, ramp_profile

    tasks = []
    for case in shared.cases(compared, packets, router):
        first, last = (0.0, None) if rates is None else _ends(rates)
        if last is None:
            last = ramp_end(case.experiment(kind="load", rate=1.0, cycles=1))
        profile, length_of_run = ramp_profile(first, last, cycles, warm_up, hold)
        tasks.append((case, {"profile": profile, "cycles": length_of_run}))
    settings = {"window": window, "averaging": averaging, "fitted": fitted}
    columns = ("critical_load", "resolution", "outcome", "bound", "accepted_at_end")
    _run("ramp", tasks, settings, outputs, columns)


@grouped
def step(
    *,
    compared: shared.Compared,
    rate: shared.Rate = "0.5",
    cycles: Annotated[int, typer.Option(min=1, help="Cycles of the run.")] = 10_000,
    then: Annotated[
        str | None,
        typer.Option(help="Another pattern that follows the first, e.g. shfl.", metavar="NAME"),
    ] = None,
    at: Annotated[
        int | None, typer.Option(min=1, help="Cycle of the change. [default: half of the run]")
    ] = None,
    packets: shared.Packets,
    router: shared.Router,
    window: shared.Window = 10,
    outputs: shared.Outputs,
) -> None:
    """Put a constant load on an empty network: overshoot, and the time until it has settled.

    With --then, the pattern changes while the load stays: the time until the network has settled again.

    \b
    For example:
      flitloom load step --torus 16x16,32x32 --pattern rand --rate 0.5 --cycles 6000 --window 50
      flitloom load step --torus 16x16 --pattern bcmp --then shfl --rate 0.2 --throttle none,pt
    """
    if at is not None and then is None:
        raise SpecError.at("--at", "says when the pattern changes", "add --then")
    cases = shared.cases(compared, packets, router)
    rates = shared.read_rates(rate, "--rate")
    changed = (
        {} if then is None else {"changes": [{"pattern": then, "at": cycles // 2 if at is None else at}]}
    )
    tasks = [(case, {"rate": value, "cycles": cycles, **changed}) for case in cases for value in rates]
    columns = ("rate", "settling_time", "outcome", *(("before", "lowest") if then else ()), "peak", "final")
    _run("step", tasks, {"window": window}, outputs, columns)


@dataclass
class Background(shared.Compared):
    """The networks and patterns that are compared; the pattern is that of the steady load."""

    pattern: Annotated[
        str | None, typer.Option(help="Pattern of the background, or several. [default: rand]")
    ] = "rand"


@grouped
def impulse(
    *,
    compared: Background,
    rate: shared.Rate = "0.1",
    impulse_pattern: Annotated[
        str, typer.Option("--impulse", help="Pattern of the impulse.", metavar="NAME")
    ] = "rand",
    packets: Annotated[str, typer.Option(help="Packets per node, or several: 1,2,5.")] = "5",
    at: Annotated[int, typer.Option(min=0, help="Cycle of the impulse.")] = 10_000,
    cycles: Annotated[int, typer.Option(min=1, help="Cycles of the run.")] = 30_000,
    length: shared.Length = None,
    process: Annotated[str, options.shown("process", default=False)] = "gap",
    hotspot_fraction: options.HotspotFraction = None,
    router: shared.Router,
    window: shared.Window = 10,
    outputs: shared.Outputs,
) -> None:
    """Disturb a steady load: every node sends some packets at once, and the network recovers or does not.

    \b
    For example:
      flitloom load impulse --torus 8x8 --rate 0.2 --impulse trns --packets 2,10 --at 4000 --cycles 10000
    """
    cases = shared.cases(compared, shared.Packets(length, process), router)
    rates = shared.read_rates(rate, "--rate")
    counts = options.whole_numbers(packets, "--packets")
    share = {} if hotspot_fraction is None else {"hotspot_fraction": hotspot_fraction}
    impulses = [{"pattern": impulse_pattern, "at": at, "packets": count, **share} for count in counts]
    tasks = [
        (case, {"rate": value, "cycles": cycles, "impulse": added})
        for case in cases
        for value in rates
        for added in impulses
    ]
    columns = ("rate", "packets", "duration", "outcome", "before", "peak", "delivered_share")
    _run("impulse", tasks, {"window": window}, outputs, columns)


@grouped
def burst(
    *,
    compared: shared.Compared,
    packets: Annotated[int, options.shown("packets", default=False, min=1)] = 10,
    length: Annotated[int, typer.Option(min=1, help="Flits per packet.")] = 8,
    hotspot_fraction: options.HotspotFraction = None,
    hotspot_target: options.HotspotTarget = None,
    router: shared.Router,
    threads: shared.Threads = None,
    json: options.Json = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write rows to this file (.csv).")] = None,
) -> None:
    """Send packets of all nodes at once into an empty network: the duration, and the ages of packets.

    \b
    For example:
      flitloom load burst --torus 8x8 --pattern bcmp,shfl --packets 10
    """
    from flitloom.load import run_bursts

    spread = shared.Packets(hotspot_fraction=hotspot_fraction, hotspot_target=hotspot_target)
    cases = shared.cases(compared, spread, router)
    out, _ = shared.check_outputs(out, None, (".csv",))
    workers, each = shared.shared_out(threads, len(cases))
    sent = {"kind": "collective", "packets": packets, "payload": length - 1}
    shared.foretell_memory(((case, sent) for case in cases), workers)
    with shared.progress("burst", len(cases), "packets") as show:
        rows, interrupted = run_bursts(
            cases, packets, length=length, workers=workers, threads=each, progress=show
        )
    written = shared.marked(rows, interrupted, len(cases))
    if out is not None and rows:
        write_csv(list(written[0]), (row.values() for row in written), out)
    if json:
        screen.print_json(written)
    elif rows:
        screen.print_table(list(rows[0]), [list(row.values()) for row in rows])
    shared.end_interrupted(interrupted, len(rows), len(cases))


def _ends(text: str) -> tuple[float, float]:
    """First and last rate of a ramp."""
    try:
        first, last = map(float, text.split(":"))
    except ValueError:
        raise SpecError(f"--rates {text[:40]}: write the first and the last load, like 0:0.275") from None
    return first, last


def _run(
    kind: str,
    tasks: list[tuple[Case, dict[str, Any]]],
    settings: dict[str, Any],
    outputs: shared.Outputs,
    columns: tuple[str, ...],
) -> None:
    """Run responses, write what is asked for, and print these columns of them."""
    from flitloom.load import run_responses

    out, plot = shared.check_outputs(outputs.out, outputs.plot, (".nc",))
    workers, threads = shared.shared_out(outputs.threads, len(tasks))
    if outputs.checkpoint is not None and len(tasks) > 1:
        raise SpecError.at("--checkpoint", "of one run at a time", f"there are {len(tasks)}")
    settings = {**settings, "checkpoint": outputs.checkpoint, "threads": threads}
    shared.foretell_memory(((case, {"kind": "load", **traffic}) for case, traffic in tasks), workers)
    with shared.progress(kind, len(tasks)) as show:
        made, interrupted = run_responses(kind, tasks, settings, workers=workers, progress=show)
    if out is not None and made:
        shared.write_series(out, made)
    # Nobody who presses Ctrl-C waits for a picture.
    if plot is not None and made and not interrupted:
        from flitloom.plots import load

        title = shared.common(kind.capitalize(), [case for case, _ in made])
        load.plot_responses(kind, _named(made), plot, title)
    rows = [{**case.labels, **found.row} for case, found in made]
    if outputs.json:
        screen.print_json(shared.marked(rows, interrupted, len(tasks)))
    else:
        _print(rows, [*tasks[0][0].labels], () if interrupted else columns)
    shared.end_interrupted(interrupted, len(made), len(tasks))


def _named(made: list[tuple[Case, Response]]) -> dict[str, Response]:
    """Responses by what tells them from the others."""
    rows = [{**case.labels, **found.row} for case, found in made]
    labels = [*made[0][0].labels, "rate", "packets"]
    differing = [name for name in labels if len({row.get(name) for row in rows}) > 1] or labels[:1]
    names = (" ".join(str(row[name]) for name in differing if name in row) for row in rows)
    return dict(zip(names, (found for _, found in made), strict=True))


def _print(rows: list[dict[str, Any]], labels: list[str], columns: tuple[str, ...]) -> None:
    from flitloom.load import bound_text

    if not rows:
        return
    names = [*labels, *columns]
    screen.print_table(names, [[row[name] for name in names] for row in rows])
    for row in rows:
        name = ", ".join(str(row[label]) for label in labels)
        if "router" in row:
            screen.echo(f"{name}: {row['router']}; {bound_text(row)}")
        if row["advice"]:
            screen.echo(f"{name}: {row['advice']}")
