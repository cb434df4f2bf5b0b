"""Latency over load: one file of BookSim2 at several rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flitloom.booksim.options import Options
from flitloom.booksim.running import UNSTABLE, demand, run
from flitloom.errors import SpecError
from flitloom.load.running import run_all
from flitloom.load.verdicts import check_refine, middle

#: The option that a curve changes.
RATE = "injection_rate"
#: What a row has of a class.
_KEPT = ("packets", "packet_latency", "network_latency", "flit_latency", "hops", "accepted")


def run_curve(
    options: Options,
    rates: Sequence[float],
    *,
    refine: float = 0.0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[dict[str, Any]], bool]:
    """Run a file at several rates, on all cores, and around its saturation.

    Parameters
    ----------
    options : Options
        What the file says.
    rates : sequence of float
        Values of ``injection_rate``, as the file counts it: packets, or flits with
        ``injection_rate_uses_flits``, per node and cycle. All classes have the same.
    refine : float
        Where the file becomes unstable between two rates, run rates between them until they differ by this
        share of the larger one; 0 for none.
    workers : int, optional
        Processes; by default one per core.
    progress : callable, optional
        Told how many of how many runs are finished.

    Returns
    -------
    list of dict, bool
        A row per rate and measured class in the order of the rates, and whether Ctrl-C ended the rest.
        An unstable run has ``saturated``, and no latencies. ``offered`` is the flits that a node sends per
        cycle, ``bound`` the rate that the busiest link allows, if that is known.

    Examples
    --------
    >>> from flitloom.booksim import Options
    >>> from flitloom.booksim.curves import run_curve
    >>> options = Options.of({"topology": "mesh", "k": "4", "routing_function": "dor", "traffic": "bitcomp"})
    >>> rows, _ = run_curve(options, [0.1, 0.9], workers=1)
    >>> [(row["rate"], row["saturated"]) for row in rows]
    [(0.1, False), (0.9, True)]
    """
    if options["sim_type"] == "batch":
        raise SpecError.at("sim_type", "is batch, which has no rate", "give latency or throughput")
    check_refine(refine)
    flits, bound = demand(options)
    rows, interrupted = _measured(options, rates, workers, progress)
    while refine and not interrupted and (rate := middle(rows, refine)) is not None:
        more, interrupted = _measured(options, [rate], workers, progress)
        rows += more
    rows = [{**row, "offered": flits * row["rate"], "bound": bound} for row in rows]
    return sorted(rows, key=lambda row: (row["rate"], row["class"])), interrupted


def _measured(
    options: Options,
    rates: Sequence[float],
    workers: int | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[dict[str, Any]], bool]:
    # The highest rates take longest: they begin.
    tasks = [(options, rate) for rate in sorted(rates, reverse=True)]
    made, interrupted = run_all(_point, tasks, workers=workers, progress=progress)
    return [row for rows in made if rows is not None for row in rows], interrupted


def _point(
    options: Options, rate: float, progress: Callable[[int, int], None] | None = None
) -> list[dict[str, Any]]:
    """The rows of one rate, in a worker process or here."""
    outcome = run(options.at(**{RATE: rate}))
    saturated = outcome.outcome == UNSTABLE
    rows = []
    for facts in outcome.classes:
        kept = {name: None if math.isnan(facts[name]) else facts[name] for name in _KEPT}
        if saturated:
            kept |= dict.fromkeys(name for name in _KEPT if name.endswith("latency"))
        rows.append({"class": int(facts["class"]), "rate": rate, "saturated": saturated, **kept})
    if progress is not None:
        progress(1, 1)
    return rows
