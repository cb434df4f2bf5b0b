"""Latency over load, and where it ends: one file of BookSim2 at several rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flitloom.analysis.utilisation import Utilisation
from flitloom.booksim.options import Options
from flitloom.booksim.running import UNSTABLE, demand, run
from flitloom.errors import SpecError
from flitloom.load.booksim_judging import Judged
from flitloom.load.running import run_all
from flitloom.load.verdicts import check_refine, check_within, middle, verdict

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
        An unstable run has ``saturated``, and no latencies. ``verdict`` is that of `flitloom.load` ("steady",
        "growing", "undecided") on the source queues of the class in a run of constant load, with the
        ``utilisation`` of the busiest one and its ``worst_node``; ``None`` with reads and writes. ``offered``
        is the flits that a node sends per cycle, ``bound`` the rate that the busiest link allows, if that is
        known.

    Examples
    --------
    >>> from flitloom.booksim import Options
    >>> from flitloom.load.booksim_curves import run_curve
    >>> options = Options.of({"topology": "mesh", "k": "4", "routing_function": "dor", "traffic": "bitcomp"})
    >>> rows, _ = run_curve(options, [0.1, 0.9], workers=1)
    >>> [(row["rate"], row["saturated"]) for row in rows]
    [(0.1, False), (0.9, True)]
    """
    _check_rate(options)
    check_refine(refine)
    flits, bound = demand(options)
    rows, interrupted = _measured(options, rates, workers, progress, judges=True)
    interrupted = interrupted or _refine(options, rows, refine, progress, judges=True)
    rows = [{**row, "offered": flits * row["rate"], "bound": bound} for row in rows]
    return sorted(rows, key=lambda row: (row["rate"], row["class"])), interrupted


def run_saturation(
    options: Options,
    *,
    within: float = 0.01,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, Any] | None, bool]:
    """Where a file becomes unstable, by BookSim2's own verdict.

    The rates of a bracket are run, up to a flit per node and cycle, and then the one amid it again and again.

    Parameters
    ----------
    options : Options
        What the file says; its ``injection_rate`` is not used.
    within : float
        Half the interval at which the search ends, as a share of the saturation.
    workers, progress
        As in `run_curve`.

    Returns
    -------
    dict or None, bool
        ``saturation`` with its ``half_width`` and ends ``below`` and ``above``, in flits per node and cycle;
        ``rate``, the ``injection_rate`` of the saturation; ``outcome`` ("measured", "not reached":
        stable up to a flit per node and cycle, "below": unstable at all rates that were run); at the largest
        stable rate the ``accepted`` flits per node and cycle and the ``latency`` of packets, of all classes;
        ``bound``, the load that the busiest link allows, if that is known; number of ``points``. And whether
        Ctrl-C ended the rest; there is no row then.

    Examples
    --------
    >>> from flitloom.booksim import Options
    >>> from flitloom.load.booksim_curves import run_saturation
    >>> options = Options.of({"topology": "mesh", "k": "4", "routing_function": "dor"})
    >>> row, _ = run_saturation(options, within=0.1, workers=1)
    >>> row["outcome"], row["below"] < row["saturation"] < row["above"]
    ('measured', True)
    """
    _check_rate(options)
    check_within(within)
    flits, bound = demand(options)
    most = 1 / flits
    top = most if bound is None else min(most, 1.25 * bound)
    rows, interrupted = _measured(options, sorted({top / 2, top, most}), workers, progress)
    for _ in range(_HALVINGS):
        lowest = min((row["rate"] for row in rows), default=0.0)
        if interrupted or not any(row["saturated"] for row in rows if row["rate"] == lowest):
            break
        more, interrupted = _measured(options, [lowest / 2], workers, progress)
        rows += more
    interrupted = interrupted or _refine(options, rows, 2 * within, progress)
    return (None if interrupted else _saturation(rows, flits, bound)), interrupted


#: Rates that a search goes down to are the largest one halved so often.
_HALVINGS = 12


def _saturation(rows: Sequence[dict[str, Any]], flits: float, bound: float | None) -> dict[str, Any]:
    """The row of a search, from those of its rates."""
    found = verdict(rows)
    below, above = found["below"], found["above"]
    last = [row for row in rows if row["rate"] == below]
    packets = sum(row["packets"] for row in last)
    latency = sum(row["packets"] * row["packet_latency"] for row in last) / packets if packets else None
    is_between = found["outcome"] == "between"
    rate = (below + above) / 2 if is_between else None
    return {
        "saturation": None if rate is None else flits * rate,
        "half_width": flits * (above - below) / 2 if is_between else None,
        "below": below and flits * below,
        "above": above and flits * above,
        "rate": rate,
        "outcome": "measured" if is_between else found["outcome"],
        "accepted": sum(row["accepted"] for row in last) if last else None,
        "latency": latency,
        "bound": bound and flits * bound,
        "points": len({row["rate"] for row in rows}),
    }


def _check_rate(options: Options) -> None:
    """Refuse what has no rate."""
    if options["sim_type"] == "batch":
        raise SpecError.at("sim_type", "is batch, which has no rate", "give latency or throughput")


def _refine(
    options: Options,
    rows: list[dict[str, Any]],
    refine: float,
    progress: Callable[[int, int], None] | None,
    *,
    judges: bool = False,
) -> bool:
    """Run rates between the last stable one and the first unstable one; true if Ctrl-C ended it."""
    interrupted = False
    while refine and not interrupted and (rate := middle(rows, refine)) is not None:
        more, interrupted = _measured(options, [rate], 1, progress, judges=judges)
        rows += more
    return interrupted


def _measured(
    options: Options,
    rates: Sequence[float],
    workers: int | None,
    progress: Callable[[int, int], None] | None,
    *,
    judges: bool = False,
) -> tuple[list[dict[str, Any]], bool]:
    """Rows of all rates; `judges`: with the verdicts on source queues, which take a run of their own."""
    # The highest rates take longest: they begin.
    tasks = [(options, rate, judges) for rate in sorted(rates, reverse=True)]
    made, interrupted = run_all(_point, tasks, workers=workers, progress=progress)
    return [row for rows in made if rows is not None for row in rows], interrupted


def _point(
    options: Options, rate: float, judges: bool, progress: Callable[[int, int], None] | None = None
) -> list[dict[str, Any]]:
    """The rows of one rate, in a worker process or here."""
    at_rate = options.at(**{RATE: rate})
    outcome, judged = run(at_rate), Judged(at_rate).judged() if judges else None
    saturated = outcome.outcome == UNSTABLE
    rows = []
    for facts in outcome.classes:
        kept = {name: None if math.isnan(facts[name]) else facts[name] for name in _KEPT}
        if saturated:
            kept |= dict.fromkeys(name for name in _KEPT if name.endswith("latency"))
        number = int(facts["class"])
        row = {"class": number, "rate": rate, "saturated": saturated, **kept}
        rows.append(row if judged is None else row | _of_queues(judged[number]))
    if progress is not None:
        progress(1, 1)
    return rows


def _of_queues(found: Utilisation | None) -> dict[str, Any]:
    """What a row says of the source queues of its class."""
    return {
        "verdict": found and found.verdict,
        "utilisation": found and found.value,
        "worst_node": found and found.worst,
    }
