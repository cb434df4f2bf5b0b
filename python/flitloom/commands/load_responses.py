"""``flitloom load ramp``, ``step``, ``impulse`` and ``burst``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import load_options as shared
from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, grouped


class Ramp(Group):
    """How the load rises, before the packets."""

    rates: Annotated[
        str | None,
        typer.Option(
            help="First and last load in flits/node/cycle. [default: from 0 to a fifth beyond the bound]",
            metavar="FIRST:LAST",
        ),
    ] = None
    cycles: Annotated[int, typer.Option(min=1, help="Cycles in which the load rises.")] = 2_750_000
    warm_up: Annotated[
        int, typer.Option(min=0, help="Cycles at the first load before it rises, e.g. 5000.")
    ] = 0
    hold: Annotated[int, typer.Option(min=0, help="Cycles at the last load, e.g. 5000.")] = 0


class Averages(Group):
    """How it is averaged."""

    window: shared.Window = 100
    averaging: Annotated[int, typer.Option(min=1, help="Windows per average.")] = 200
    fitted: Annotated[int, typer.Option("--windows", min=2, help="Windows per fit of the slope rule.")] = 401


class Step(Group):
    """The load and its change."""

    rate: shared.Rate = "0.5"
    cycles: Annotated[int, typer.Option(min=1, help="Cycles of the run.")] = 10_000
    then: Annotated[
        str | None,
        typer.Option(
            help="Another pattern that follows the first, e.g. shfl.",
            metavar="NAME",
            callback=options.remarked,
        ),
    ] = None
    at: Annotated[int | None, typer.Option(min=1, help="Cycle of the change. [default: half of the run]")] = (
        None
    )


class Disturbance(Group):
    """The steady load, the impulse and its packets."""

    rate: shared.Rate = "0.1"
    impulse_pattern: Annotated[
        str,
        typer.Option("--impulse", help="Pattern of the impulse.", metavar="NAME", callback=options.remarked),
    ] = "rand"
    packets: Annotated[str, typer.Option(help="Packets per node, or several: 1,2,5.")] = "5"
    at: Annotated[int, typer.Option(min=0, help="Cycle of the impulse.")] = 10_000
    cycles: Annotated[int, typer.Option(min=1, help="Cycles of the run.")] = 30_000
    length: shared.Length = None
    process: Annotated[str, options.shown("process", default=False)] = "gap"
    hotspot_fraction: options.HotspotFraction = None


class Burst(Group):
    """The packets that are sent at once."""

    packets: Annotated[int, options.shown("packets", default=False, min=1)] = 10
    length: Annotated[int, options.shown("length", default=False, min=1)] = 8
    hotspot_fraction: options.HotspotFraction = None
    hotspot_target: options.HotspotTarget = None


class Rows(Group):
    """How bursts are run, and what is made of them."""

    threads: shared.Threads = None
    json: options.Json = False
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write rows to this file (.csv).")] = None


class Background(shared.Compared):
    """The networks and patterns that are compared; the pattern is that of the steady load."""

    pattern: Annotated[
        str | None,
        typer.Option(
            help="Pattern of the background, or several. [default: rand]", callback=options.remarked
        ),
    ] = "rand"


@grouped
def ramp(
    *,
    compared: shared.Compared,
    rising: Ramp,
    packets: shared.Packets,
    router: shared.Router,
    averages: Averages,
    outputs: shared.Outputs,
) -> None:
    """Let the load rise slowly, and find where the network no longer follows: its critical load.

    Prints the load at the centre of the first averaging window below 95 %. The default takes as
    long as the ramp of state-propagation-throttling-2015; shorter ones are less precise.

    \b
    For example:
      flitloom load ramp --torus 8x8 --pattern bcmp --rates 0:0.8 --cycles 100000 --picture ramp.png
      flitloom load ramp --torus 8x8 --pattern rand,bcmp --rates 0.2:0.6 --cycles 50000 --warm-up 5000
    """
    perform("load_ramp", (compared, packets, router), rising, averages, outputs)


@grouped
def step(
    *,
    compared: shared.Compared,
    change: Step,
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
    perform("load_step", (compared, packets, router), change, window, outputs)


@grouped
def impulse(
    *,
    compared: Background,
    disturbance: Disturbance,
    router: shared.Router,
    window: shared.Window = 10,
    outputs: shared.Outputs,
) -> None:
    """Disturb a steady load: every node sends some packets at once, and the network recovers or does not.

    \b
    For example:
      flitloom load impulse --torus 8x8 --rate 0.2 --impulse trns --packets 2,10 --at 4000 --cycles 10000
    """
    perform("load_impulse", compared, disturbance, router, window, outputs)


@grouped
def burst(*, compared: shared.Compared, sent: Burst, router: shared.Router, rows: Rows) -> None:
    """Send packets of all nodes at once into an empty network: the duration, and the ages of packets.

    \b
    For example:
      flitloom load burst --torus 8x8 --pattern bcmp,shfl --packets 10
    """
    perform("load_burst", compared, sent, router, rows)
