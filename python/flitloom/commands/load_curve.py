"""``flitloom load curve``, ``flitloom load saturation`` and ``flitloom load steady``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import inputs, options
from flitloom.commands import load_options as shared
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, grouped


class Points(Group):
    """Loads between those that are given, and what is made of them all."""

    refine: shared.Refine = 0.05
    full_start: shared.FullStart = False
    store: shared.Store = None
    json: options.Json = False
    out: shared.Rows = None
    plot: shared.Plot = None


class Windows(Group):
    """What is made of steady states."""

    full_start: shared.FullStart = False
    json: options.Json = False
    out: shared.Series = None
    plot: shared.Plot = None


class Rows(Group):
    """What is made of saturations."""

    full_start: shared.FullStart = False
    store: shared.Store = None
    json: options.Json = False
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write rows to this file (.csv).")] = None


@dataclass(frozen=True)
class Measured:
    """The cases that are compared, and how they are measured."""

    compared: shared.Compared
    packets: shared.Packets
    router: shared.Router
    how: shared.Measured


@dataclass(frozen=True)
class Asked:
    """All that the command line of ``load curve`` says."""

    overrules: list[str]
    rates: str
    measured: Measured
    points: Points


@dataclass(frozen=True)
class Saturated:
    """All that the command line of ``load saturation`` says."""

    overrules: list[str]
    within: float
    level: float | None
    measured: Measured
    rows: Rows


@grouped
def curve(
    context: typer.Context,
    *,
    compared: shared.Compared,
    overrules: shared.Overrules = None,
    rates: shared.Rates = "0.02:0.4:0.02",
    packets: shared.Packets,
    router: shared.Router,
    measured: shared.Measured,
    points: Points,
) -> None:
    """Measure the load-latency curve: steady states at rising loads, on all cores.

    Per load: the verdict (steady, growing, undecided), warm-up as long as the network needs, a measured
    stretch, and the wait for its packets; accepted load, latency from generation (with a 95 % confidence
    interval) and percentiles, network latency from injection, and how evenly sources are served. Only a
    steady load has a latency.
    Where a case saturates between two loads, those between them are measured too (--refine).
    A file of BookSim2 (.cfg, or its spec) runs as BookSim2 runs it, injection_rate being each of --rates.

    \b
    For example:
      flitloom load curve --torus 8x8 --pattern rand --rates 0.1:0.5:0.1
      flitloom load curve --torus 8x8,16x16 --pattern rand,bcmp --rates 0.05:0.3:0.05 --picture curve.png
      flitloom load curve mesh.cfg num_vcs=4 --rates 0.001:0.01:0.001
    """
    asked = Asked(overrules or [], rates, Measured(compared, packets, router, measured), points)
    inputs.use("load curve", context, compared.spec, asked, overrules)


@grouped
def steady(
    *,
    compared: shared.Compared,
    rate: shared.Rate = "0.1",
    packets: shared.Packets,
    router: shared.Router,
    measured: shared.Measured,
    windows: Windows,
) -> None:
    """Measure one steady state, window by window: accepted load, latency, packets in flight, fairness.

    \b
    For example:
      flitloom load steady --torus 8x8 --pattern bcmp --rate 0.3
      flitloom load steady --torus 8x8 --pattern bcmp --rate 0.3,0.6 --picture steady.png --json
    """
    perform("load_steady", Measured(compared, packets, router, measured), rate, windows)


@grouped
def saturation(
    context: typer.Context,
    *,
    compared: shared.Compared,
    overrules: shared.Overrules = None,
    within: shared.Within = 0.01,
    level: shared.Level = None,
    packets: shared.Packets,
    router: shared.Router,
    measured: shared.Measured,
    rows: Rows,
) -> None:
    """Find the saturation of each case: the largest load at which no source queue grows without bound.

    One row per case: the saturation with its 95 % interval, the busiest source, the latency just below, and
    what the routing allows at most. The last line says what each case gains over the first one, where
    intervals do not overlap.
    A file of BookSim2 (.cfg, or its spec) is judged as BookSim2 judges it: where it becomes unstable.

    \b
    For example:
      flitloom load saturation --torus 8x8 --pattern rand --routing do,ma --within 0.05
      flitloom load saturation --torus 8x8x8 --pattern rand --routing all --throttle all
      flitloom load saturation --tables before.json,after.json --pattern rand
      flitloom load saturation mesh.cfg num_vcs=4
    """
    asked = Saturated(overrules or [], within, level, Measured(compared, packets, router, measured), rows)
    inputs.use("load saturation", context, compared.spec, asked, overrules)
