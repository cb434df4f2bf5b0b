"""Curves of rows of a table: means of groups, with bands from the least to the largest value."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from flitloom.errors import SpecError, show
from flitloom.plots.canvas import panel
from flitloom.plots.style import colour, marker
from flitloom.spec.units import unit_of

#: Columns without a dot that say what was run, besides its seed.
SETTINGS = {
    *("tables", "network", "torus", "mesh", "pattern", "routing", "throttle", "buffer", "channels"),
    *("flow_control", "length", "rate", "arbitration", "genes"),
}


def plot_curves(
    rows: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    by: Sequence[str] = (),
    *,
    title: str = "",
    ax: Axes | None = None,
    path: str | Path | None = None,
) -> Axes:
    """Draw one column over another, a curve per value of the columns `by`.

    Rows of several seeds with the same x of one curve count as one point: their mean, with a band from the
    least to the largest. Rows without a value are left out. Latencies of a saturated network
    (rows whose column ``saturated`` says so) grow with the length of the run: instead of such a point a curve
    has an arrow upwards.

    Parameters
    ----------
    rows : sequence of mappings
        The table.
    x, y : str
        Columns of numbers; the last words of a name do where no other column ends so (``latency`` for
        ``latency``).
    by : sequence of str
        Columns that tell curves apart, under their names.
    title : str
        Title of the picture.
    ax : Axes, optional
        Where to draw; by default in a new picture.
    path : path, optional
        The picture (.png, .pdf, .svg), where no axes are given.

    Returns
    -------
    Axes
        What was drawn in.

    Raises
    ------
    SpecError
        A column is missing or holds no numbers, rows of one point differ in more than their seed, or both
        axes and a file are given.
    """
    x, y, *by = _columns(rows, x, y, *by)
    curves = group(rows, x, y, by)
    _require_seeds_alone(rows, x, y, by)
    beyond: dict[tuple[str, ...], set[float]] = defaultdict(set)
    for row in rows:
        if _is_latency(y) and str(row.get("saturated")).lower() == "true":
            beyond[tuple(str(row[name]) for name in by)].add(_number(row[x], x))
    with panel(path, ax, 7, 4.5) as axes:
        axes.set_xlabel(_with_unit(x, rows[0]))
        axes.set_ylabel(_with_unit(y, rows[0]))
        return _draw(curves, beyond, by, title, axes)


def _is_latency(name: str) -> bool:
    """Whether a column holds times that grow for good beyond saturation.

    >>> _is_latency("latency"), _is_latency("router.latency"), _is_latency("throughput")
    (True, False, False)
    """
    return "latency" in name and "." not in name


def group(
    rows: Sequence[Mapping[str, Any]], x: str, y: str, by: Sequence[str]
) -> dict[tuple[str, ...], dict[float, list[float]]]:
    """Values of y by curve and x."""
    x, y, *by = _columns(rows, x, y, *by)
    curves: dict[tuple[str, ...], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row[y] in (None, ""):
            continue
        curves[tuple(str(row[name]) for name in by)][_number(row[x], x)].append(_number(row[y], y))
    if not curves:
        raise SpecError.at("plot", f"no row has a value of {y}")
    return curves


def _require_seeds_alone(rows: Sequence[Mapping[str, Any]], x: str, y: str, by: Sequence[str]) -> None:
    """Refuse rows of one point that differ in a setting: their mean is that of different things."""
    settings = [name for name in rows[0] if (name in SETTINGS or "." in name) and name not in (x, y, *by)]
    points: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in rows:
        if row[y] in (None, ""):
            continue
        values = tuple(str(row.get(name)) for name in settings)
        first = points.setdefault(tuple(str(row[name]) for name in (x, *by)), values)
        for name, one, other in zip(settings, first, values, strict=True):
            if one != other:
                raise SpecError.at(
                    "plot",
                    f"rows with {x} {row[x]} differ in {name} ({one[:40]}, {other[:40]})",
                    f"give --by {name}, which makes a curve per value, or rows with one value of it",
                )


def _columns(rows: Sequence[Mapping[str, Any]], *names: str) -> list[str]:
    known = list(rows[0]) if rows else []
    return [_column(name, known) for name in names]


def _column(name: str, known: Sequence[str]) -> str:
    if name in known:
        return name
    alike = [each for each in known if str(each).endswith((f".{name}", f"_{name}"))]
    if len(alike) == 1:
        return alike[0]
    problem = f"there is {'more than one' if alike else 'no'} column {show(name)}"
    raise SpecError.at("plot", problem, f"there are {', '.join(map(str, alike or known))[:300]}")


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise SpecError.at("plot", f"{name} holds {str(value)[:40]!r}, which is not a number")
    return number


def _draw(
    curves: Mapping[tuple[str, ...], Mapping[float, Sequence[float]]],
    beyond: Mapping[tuple[str, ...], set[float]],
    by: Sequence[str],
    title: str,
    ax: Axes,
) -> Axes:
    for number, names in enumerate(dict.fromkeys((*curves, *beyond))):
        points = curves.get(names, {})
        saturated = beyond.get(names, set())
        places = sorted(place for place in points if place not in saturated)
        means = [sum(points[place]) / len(points[place]) for place in places]
        label = ", ".join(f"{name} {value}" for name, value in zip(by, names, strict=True))
        ax.plot(places, means, color=colour(number), marker=marker(number), markersize=4, label=label)
        if any(len(points[place]) > 1 for place in places):
            low, high = ([edge(points[place]) for place in places] for edge in (min, max))
            ax.fill_between(places, low, high, color=colour(number), alpha=0.2, linewidth=0)
        above = sorted(saturated)
        if above:
            # From the last steady point, or from the foot, to the first load that is too much.
            foot = (places[-1], means[-1]) if places else (min(above), 0.0)
            ax.annotate(
                "", (min(above), 1.0), foot, xycoords=("data", "axes fraction"), textcoords="data",
                arrowprops={"arrowstyle": "->", "color": colour(number), "linestyle": ":"},
            )  # fmt: skip
            ax.update_datalim([(place, foot[1]) for place in above])
            ax.autoscale_view()
    several = any(len(values) > 1 for points in curves.values() for values in points.values())
    kinds = ["band: least to largest of the seeds"] if several else []
    kinds += ["arrow: saturated"] if any(beyond.values()) else []
    if kinds:
        ax.annotate(
            "\n".join(kinds), (0.99, 0.01), xycoords="axes fraction", fontsize="x-small",
            horizontalalignment="right", verticalalignment="bottom",
        )  # fmt: skip
    steady = [
        max(values)
        for names, points in curves.items()
        for place, values in points.items()
        if place not in beyond.get(names, ())
    ]
    # Arrows have to be seen to climb.
    ax.set_ylim(0, 1.4 * max(steady) if any(beyond.values()) and max(steady, default=0) > 0 else None)
    ax.grid()
    if title:
        ax.set_title(title)
    if by:
        ax.legend()
    return ax


def _with_unit(name: str, row: Mapping[str, Any]) -> str:
    words, unit = name.rpartition(".")[2].replace("_", " "), unit_of(name, row)
    return f"{words} ({unit})" if unit else words
