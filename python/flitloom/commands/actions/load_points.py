"""Steady states at all loads, for several verbs of ``flitloom load``."""

from __future__ import annotations

from functools import partial

from flitloom._core import LIMITS
from flitloom.commands.actions import load_cases as shared
from flitloom.commands.actions import load_common
from flitloom.commands.load_options import Measured
from flitloom.jobs import Store
from flitloom.load import Case, Steady, run_curve


def run_points(
    cases: list[Case],
    loads: list[float],
    measured: Measured,
    what: str,
    refine: float = 0.0,
    store: Store | None = None,
    full_starts: bool = False,
) -> tuple[list[tuple[Case, Steady]], bool]:
    """All cases at all loads, and whether Ctrl-C ended it before."""
    workers, threads = shared.shared_out(measured.threads, len(cases) * len(loads))
    settings = measured.settings(workers, threads)
    steady = {"kind": "load", "cycles": LIMITS["start"]}
    shared.foretell_memory(((case, {**steady, "rate": load}) for case in cases for load in loads), workers)
    # Nobody knows how often a warm-up will be doubled.
    unit = "cycles or more" if measured.warm_up is None else "cycles"
    with load_common.progress(what, len(cases) * len(loads), unit) as show:
        measure = partial(run_curve, cases, loads, refine=refine, full_starts=full_starts, store=store)
        return measure(**settings, progress=show)
