"""Pictures of networks under load."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from flitloom.analysis import mean_age, moving_average, throughput
from flitloom.analysis.series import per_node_and_cycle
from flitloom.load.verdicts import verdict
from flitloom.plots.canvas import panels, title_of_all
from flitloom.plots.style import COLOURS, FAINT, MARKERS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from flitloom.load import Response


def plot_load_curves(
    curves: Mapping[str, Sequence[Mapping[str, Any]]],
    path: str | Path | None = None,
    title: str = "",
    *,
    judge: str = "",
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw latency and accepted load over offered load, a curve per name.

    Curves of latency end at the last steady load; a band shows between which loads the network saturates.
    Their axis ends at some ten times the least latency. The accepted load continues beyond saturation, with a
    band of its 95 % interval. A dotted line is the bound of the routing.

    Parameters
    ----------
    curves : mapping of str to rows
        Points as `flitloom.load.curve_rows` makes them.
    path : path, optional
        The picture (.png, .pdf, .svg).
    title : str
        Its title.
    judge : str
        The program whose verdict the bands show, if it is another one.
    ax : two Axes, optional
        Where to draw instead.

    Returns
    -------
    list of Axes
        What was drawn in: latency, and accepted load.
    """
    with panels(path, ax, 10, 4.2, columns=2) as drawn:
        latency, accepted = drawn
        most = max((row["rate"] for rows in curves.values() for row in rows), default=0.0)
        for number, (name, rows) in enumerate(curves.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "label": name}
            ordered = sorted(
                (row for row in rows if row["accepted"] is not None), key=lambda row: row["rate"]
            )
            _draw_latency(latency, ordered, style)
            _draw_accepted(accepted, ordered, style)
        bands = _mark_saturation(
            drawn, curves, f"{judge}: becomes unstable between" if judge else "saturates between"
        )
        offered = accepted.plot(
            [0, most], [0, most], color=FAINT, linewidth=0.8, linestyle="--", label=OFFERED
        )
        firsts = {name: rows[0] for name, rows in curves.items() if rows}
        limits = _draw_bounds(accepted, firsts, most)
        _draw_bounds(latency, firsts, most, upright=True)
        latency.set_ylim(0, _top(curves.values()))
        latency.set_xlim(0, most * 1.05)
        latency.set_ylabel("mean latency from generation (cycles)")
        accepted.set_ylabel("accepted load (flits/node/cycle)")
        accepted.set_ylim(bottom=0)
        for axes in (latency, accepted):
            axes.set_xlabel("offered load (flits/node/cycle)")
            axes.grid()
        if latency.get_legend_handles_labels()[1]:
            latency.legend(loc="best", **PAPER)
        sure = Patch(color=FAINT, alpha=SHADE, linewidth=0, label="95 % interval")
        measured = any(row.get("accepted_confidence") for rows in curves.values() for row in rows)
        # Nothing is accepted that was not offered, so that this corner is free.
        accepted.legend(
            handles=[*offered, *limits, *bands, *([sure] if measured else [])], loc="upper left", **PAPER
        )
        title_of_all(title, drawn, path)
    return drawn


#: What a legend calls the line on which all is accepted that is offered, and how dark bands are.
OFFERED, SHADE = "accepted = offered", 0.2
#: What it calls the load from which a rising load outruns the network.
CRITICAL = "critical load (95 % level)"
#: Lines and bands pass behind a legend and leave it legible.
PAPER: Any = {
    "frameon": True,
    "facecolor": "white",
    "framealpha": 0.7,
    "edgecolor": "none",
    "fontsize": "x-small",
    "labelspacing": 0.3,
}
#: Letters of a line of a legend at most, and bands that are named.
WIDTH, NAMED = 36, 3
#: Latencies are drawn up to so many times the least one.
TIMES = 10


def _top(curves: Iterable[Sequence[Mapping[str, Any]]]) -> float:
    """Where the axis of latencies ends."""
    ages = [row["latency"] for rows in curves for row in rows if row["latency"] is not None]
    return min(1.1 * max(ages), TIMES * min(ages)) if ages else 1.0


def _draw_latency(axes: Axes, rows: Sequence[Mapping[str, Any]], style: Mapping[str, Any]) -> None:
    """Latencies of the steady loads."""
    steady = [row for row in rows if row["latency"] is not None]
    bars = [row["confidence"] or 0.0 for row in steady]
    axes.errorbar(
        [row["rate"] for row in steady], [row["latency"] for row in steady], bars, capsize=2, **style
    )


def _mark_saturation(
    drawn: Sequence[Axes], curves: Mapping[str, Sequence[Mapping[str, Any]]], called: str
) -> list[Patch]:
    """Bands between the largest steady load and the smallest growing one: entries of a legend."""
    found: dict[tuple[float, float], list[str]] = {}
    for name, rows in curves.items():
        # Rows of others may say by the latency alone what is saturated.
        told = verdict([{**row, "saturated": row.get("saturated", row["latency"] is None)} for row in rows])
        if told["above"] is not None:
            found.setdefault((told["below"] or 0.0, told["above"]), []).append(name)
    entries: list[Patch] = []
    for (below, above), names in sorted(found.items()):
        colour = COLOURS[list(curves).index(names[0]) % len(COLOURS)] if len(names) == 1 else FAINT
        whose = "" if len(names) == len(curves) else f": {_listed(names)}"
        text = f"{called}\n{textwrap.fill(f'{below:.4g} and {above:.4g}{whose}', WIDTH)}"
        label = text if len(found) <= NAMED else "saturation: last steady to first growing load"
        _, band = (axes.axvspan(below, above, color=colour, alpha=SHADE, linewidth=0) for axes in drawn)
        band.set_label(label)
        entries.append(band)
    return entries if len(found) <= NAMED else entries[:1]


def _draw_accepted(axes: Axes, rows: Sequence[Mapping[str, Any]], style: Mapping[str, Any]) -> None:
    """Accepted loads with their intervals."""
    rates, loads = [row["rate"] for row in rows], [row["accepted"] for row in rows]
    half = [row.get("accepted_confidence") or 0.0 for row in rows]
    axes.plot(rates, loads, **style)
    low, high = ([load + sign * width for load, width in zip(loads, half, strict=True)] for sign in (-1, 1))
    axes.fill_between(rates, low, high, color=style["color"], alpha=SHADE, linewidth=0)


def _draw_bounds(
    axes: Axes, rows: Mapping[str, Mapping[str, Any]], most: float, *, upright: bool = False
) -> list[Line2D]:
    """A line at every bound that is not far above the loads that were offered, with its name and whose it is.

    Returns entries of a legend.
    """
    bounds: dict[float, list[int]] = {}
    for number, row in enumerate(rows.values()):
        if row.get("bound") is not None and row["bound"] <= NEAR * most:
            bounds.setdefault(row["bound"], []).append(number)
    names, draw = list(rows), axes.axvline if upright else axes.axhline
    entries = []
    for bound, numbers in bounds.items():
        colour = COLOURS[numbers[0] % len(COLOURS)] if len(numbers) < len(rows) else FAINT
        whose = "" if len(numbers) == len(rows) else f" of {_listed([names[number] for number in numbers])}"
        text = f"bound{whose}" if upright else f"bound{whose}: {rows[names[numbers[0]]]['bound_of']}"
        entries.append(
            draw(bound, color=colour, linewidth=1.0, linestyle=":", label=textwrap.fill(text, WIDTH))
        )
    return entries


def _listed(names: Sequence[str]) -> str:
    """Names in a legend, or how many they are."""
    return ", ".join(names) if len(names) <= 2 else f"{len(names)} curves"


#: Bounds up to so many times the largest load offered are drawn.
NEAR = 1.25


def plot_series(
    series: Mapping[str, xr.Dataset],
    path: str | Path | None = None,
    averaging: int = 10,
    title: str = "",
    *,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw what happened over time: accepted load, mean age and packets in flight, a curve per name.

    Parameters
    ----------
    series : mapping of str to Dataset
        What was measured in windows.
    path : path, optional
        The picture (.png, .pdf, .svg).
    averaging : int
        Windows of a moving average, at most a quarter of all.
    title : str
        Its title.
    ax : three Axes, optional
        Where to draw instead.

    Returns
    -------
    list of Axes
        What was drawn in.
    """
    with panels(path, ax, 8, 8, rows=3, sharex=True) as drawn:
        for number, (name, one) in enumerate(series.items()):
            style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "label": name, "linewidth": 1.2}
            # A short run has few averages, and one would be no line.
            width = max(1, min(averaging, one.sizes["window"] // 4))
            for axes, curve in zip(drawn, _over_time(one, width), strict=True):
                axes.plot(*curve, **style)
        for axes, text in zip(drawn, TEXTS, strict=True):
            axes.set_ylabel(text)
            axes.set_ylim(bottom=0)
            axes.grid()
        drawn[-1].set_xlabel("cycle")
        if len(series) > 1:
            drawn[0].legend()
        title_of_all(title, drawn, path)
    return drawn


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


def plot_responses(
    kind: str,
    responses: Mapping[str, Response],
    path: str | Path | None = None,
    title: str = "",
    *,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw ramps over the offered load, steps and impulses over time, a curve per name.

    Parameters
    ----------
    kind : {"ramp", "step", "impulse"}
        What they respond to.
    responses : mapping of str to Response
        What was measured.
    path : path, optional
        The picture (.png, .pdf, .svg).
    title : str
        Its title.
    ax : two (of ramps) or three Axes, optional
        Where to draw instead.

    Returns
    -------
    list of Axes
        What was drawn in.
    """
    if kind != "ramp":
        return plot_series({name: found.series for name, found in responses.items()}, path, 5, title, ax=ax)
    with panels(path, ax, 10, 4.2, columns=2) as drawn:
        accepted, latency = drawn
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
        kinds = accepted.plot([0, most], [0, most], color=FAINT, linewidth=0.8, linestyle="--", label=OFFERED)
        if any(found.row["critical_load"] is not None for found in responses.values()):
            kinds.append(Line2D([], [], color=FAINT, linewidth=0.8, linestyle=":", label=CRITICAL))
        kinds += _draw_bounds(accepted, {name: found.row for name, found in responses.items()}, most)
        accepted.legend(handles=kinds, loc="upper left", **PAPER)
        accepted.set_ylim(0, 1.06 * top)
        accepted.set_ylabel("accepted load (flits/node/cycle)")
        latency.set_ylabel("mean network age (cycles)")
        latency.set_ylim(bottom=0)
        for axes in (accepted, latency):
            axes.set_xlabel("offered load (flits/node/cycle)")
            axes.grid()
        if len(responses) > 1:
            latency.legend(loc="upper left")
        title_of_all(title, drawn, path)
    return drawn
