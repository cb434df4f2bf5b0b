"""The critical load by the level rule: the largest load of which a network accepts a given share.

Papers and other programs define saturation by it. It is above the load that every source sustains: one source
that starves is a small share of all flits.
"""

from __future__ import annotations

from typing import Any

from flitloom.analysis.limit import LONGER
from flitloom.load.cases import at_load
from flitloom.load.search import LEAST, Search
from flitloom.load.steady import begin_run

#: Cycles after which what is accepted of an end is no noise, at least.
CHECKED = 10_000


def level_saturation(search: Search, level: float) -> dict[str, Any]:
    """Bisect between no load and the bound of a search by the share that is accepted; a part of its row.

    Both ends are run again and measured for longer, and move outward until these runs say the same. See
    `run_saturation`.
    """
    low, high = 0.0, search.cap
    if search.bound is None or search.bound >= search.reach:
        low = high if _accepts(search, high, level) else 0.0
    while not search.runs or (high - low > search.within * high and high > LEAST):
        middle = round((low + high) / 2, 6)
        if _accepts(search, middle, level):
            low = middle
        else:
            high = middle
    # Of a short measurement an end may be noise.
    cycles = max(LONGER * search.settings["measure"], CHECKED)
    while low and not _accepts(search, low, level, cycles):
        low = _below(low, search.within)
    while 0 < low < high < search.cap and _accepts(search, high, level, cycles):
        high = min(search.cap, round(high * (1 + search.within), 6))
    outcome = "below" if not low else "measured" if low < high else "not reached"
    return {
        "saturation": round((low + high) / 2, 6) if outcome == "measured" else None,
        "half_width": round((high - low) / 2, 6) if outcome == "measured" else None,
        "below": low or None,
        "above": high if low < high else None,
        "outcome": outcome,
        "points": search.runs,
        "run_cycles": search.longest,
    }


def _below(load: float, within: float) -> float:
    """The next load to try; none below the least."""
    return round(load * (1 - within), 6) if load > LEAST else 0.0


def _accepts(search: Search, load: float, level: float, cycles: int | None = None) -> bool:
    """Whether the network settles at a load, accepts a share of it, and delivers what is measured.

    Measured for `cycles`, by default those that are asked for.
    """
    settings, limit = search.settings, search.settings["limit"]
    experiment = search.at(load) if cycles else at_load(search.experiment, load)
    run = begin_run(experiment, settings["window"], threads=settings["threads"], tables=search.tables)
    begin, settled = settings["warm_up"], True
    if begin is None:
        settled = run.warm_up(limit, settles=True, level=level)
        begin = run.now
    run.measure(begin, cycles or settings["measure"])
    search.told()
    search.longest = max(search.longest, run.now)
    measured = run.series.sel(window=slice(run.begin, run.end - 1))
    return bool(
        settled
        and measured.ejected_flits.sum() >= level * measured.generated_flits.sum()
        and run.drain(limit)
    )
