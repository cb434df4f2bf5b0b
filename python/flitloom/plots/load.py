"""Pictures of networks under load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom.analysis import mean_age, moving_average, throughput
from flitloom.analysis.series import per_node_and_cycle
from flitloom.plots.canvas import figure
from flitloom.plots.style import COLOURS, FAINT, MARKERS

if TYPE_CHECKING:
    import xarray as xr

    from flitloom.load import Response


def plot_load_curves(
    curves: Mapping[str, Sequence[Mapping[str, Any]]], path: str | Path, title: str = ""
) -> None:
    """Draw latency and accepted load over offered load, a curve per name.

    Points of a saturated network have no latency: their curves end with an arrow upwards.

    Parameters
    ----------
    curves : mapping of str to rows
        Points as `flitloom.load.curve_rows` makes them.
    path : path
        The picture (.png, .pdf, .svg).
    title : str
        Its title.
    """
    with figure(path, 10, 4.2) as drawing:
        latency, accepted = drawing.subplots(1, 2)
        top = 0.0
        most = 0.0
        for number, (name, rows) in enumerate(curves.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            ordered = sorted(rows, key=lambda row: row["rate"])
            steady = [row for row in ordered if row["latency"] is not None]
            rates = [row["rate"] for row in steady]
            ages = [row["latency"] for row in steady]
            bars = [row["confidence"] or 0.0 for row in steady]
            style = {"color": colour, "marker": marker, "markersize": 4, "label": name}
            latency.errorbar(rates, ages, bars, capsize=2, **style)
            if steady and len(steady) < len(ordered):
                latency.annotate(
                    "",
                    (rates[-1], 1.02),
                    (rates[-1], ages[-1]),
                    xycoords=("data", "axes fraction"),
                    textcoords="data",
                    arrowprops={"arrowstyle": "->", "color": colour, "linestyle": ":"},
                )
            top = max([top, *ages])
            accepted.plot([row["rate"] for row in ordered], [row["accepted"] for row in ordered], **style)
            most = max([most, *(row["rate"] for row in ordered)])
        accepted.plot([0, most], [0, most], color=FAINT, linewidth=0.8, linestyle="--")
        latency.set_ylim(0, top * 1.1 or 1)
        latency.set_xlim(0, most * 1.05)
        latency.set_ylabel("mean latency from generation (cycles)")
        accepted.set_ylabel("accepted load (flits/node/cycle)")
        accepted.set_ylim(bottom=0)
        for axes in (latency, accepted):
            axes.set_xlabel("offered load (flits/node/cycle)")
            axes.grid()
        if len(curves) > 1 or "" not in curves:
            accepted.legend()
        if title:
            drawing.suptitle(title)


def plot_series(
    series: Mapping[str, xr.Dataset], path: str | Path, averaging: int = 10, title: str = ""
) -> None:
    """Draw what happened over time: accepted load, mean age and packets in flight, a curve per name."""
    with figure(path, 8, 8) as drawing:
        panels = drawing.subplots(3, 1, sharex=True)
        for number, (name, one) in enumerate(series.items()):
            style = {"color": COLOURS[number % len(COLOURS)], "label": name, "linewidth": 1.2}
            width = min(averaging, one.sizes["window"])
            for axes, curve in zip(panels, _over_time(one, width), strict=True):
                axes.plot(*curve, **style)
        for axes, text in zip(panels, TEXTS, strict=True):
            axes.set_ylabel(text)
            axes.set_ylim(bottom=0)
            axes.grid()
        panels[-1].set_xlabel("cycle")
        panels[0].legend()
        if title:
            drawing.suptitle(title)


#: What `plot_series` draws.
TEXTS = ("accepted load\n(flits/node/cycle)", "mean network age\n(cycles)", "packets in flight")


def _over_time(series: xr.Dataset, averaging: int) -> list[tuple[Any, Any]]:
    received = throughput(series, averaging)
    ages = mean_age(series, averaging)
    return [
        (received.window, received),
        (ages.window, ages),
        (series.window, series.in_flight),
    ]


def plot_responses(kind: str, responses: Mapping[str, Response], path: str | Path, title: str = "") -> None:
    """Draw ramps over the offered load, steps and impulses over time, a curve per name."""
    if kind != "ramp":
        plot_series({name: found.series for name, found in responses.items()}, path, 5, title)
        return
    with figure(path, 10, 4.2) as drawing:
        accepted, latency = drawing.subplots(1, 2)
        most = 0.0
        for number, (name, found) in enumerate(responses.items()):
            colour = COLOURS[number % len(COLOURS)]
            width = found.row["averaging"]
            received, ages = throughput(found.series, width), mean_age(found.series, width)
            # Over the mean load of the same windows, not that of the last one.
            load = moving_average(per_node_and_cycle(found.series, "offered_flits"), width)
            accepted.plot(load, received, color=colour, linewidth=1.2, label=name)
            latency.plot(load[-len(ages) :], ages, color=colour, linewidth=1.2, label=name)
            if found.row["critical_load"] is not None:
                accepted.axvline(found.row["critical_load"], color=colour, linewidth=0.8, linestyle=":")
            most = max(most, float(load.max()))
        top = accepted.get_ylim()[1]
        accepted.plot([0, most], [0, most], color=FAINT, linewidth=0.8, linestyle="--")
        accepted.set_ylim(0, top)
        accepted.set_ylabel("accepted load (flits/node/cycle)")
        latency.set_ylabel("mean network age (cycles)")
        latency.set_ylim(bottom=0)
        for axes in (accepted, latency):
            axes.set_xlabel("offered load (flits/node/cycle)")
            axes.grid()
        accepted.legend()
        if title:
            drawing.suptitle(title)
