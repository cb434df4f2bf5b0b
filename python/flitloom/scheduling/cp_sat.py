"""CP-SAT on the starts that no proof removes: finishes a schedule, or refutes target durations."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from flitloom import _core
from flitloom.ground.workers import Workers, run_file

#: More possible starts, over all routes, than this are left to the search.
MAX_STARTS = 300_000
#: Seconds that the solver gets for the first targets, before any gets more.
FIRST_SHARE = 2.0
WORKER = Path(__file__).with_name("cp_sat_worker.py")


#: A job: its length in cycles and, per route, its resources with offsets and its starts.
Job = tuple[int, list[tuple[list[tuple[int, int]], list[int]]]]
#: A route and a start cycle per job, proof that there are none (False), or no answer in time.
Answer = list[tuple[int, int]] | bool | None


def decide(solver: Workers, jobs: list[Job] | None, seconds: float) -> Answer:
    """Whether the jobs can be done without conflicts at their starts; no jobs mean a refutation."""
    if jobs is None:
        return False
    answer: Answer = solver.submit(run_file, str(WORKER), "decide", jobs, seconds).result()
    return answer


def finish(problem: _core.ScheduleProblem, raw: dict[str, Any], seconds: float) -> None:
    """Close the gap of a search's result in place, as far as the time allows.

    For a target duration, the starts that no schedule so short has are removed first, so an answer on what
    is left is an answer for all. Targets far below the optimum are refuted soon, and those far above it are
    met soon: the bound rises from below and the duration falls from above, in turn where the solver gives
    up, with growing shares of the time.
    """
    try:
        with Workers(1) as solver:
            _close(solver, problem, raw, seconds)
    except KeyboardInterrupt:
        # What was found so far is kept.
        raw["stopped"] = raw["interrupted"] = True


def _close(solver: Workers, problem: _core.ScheduleProblem, raw: dict[str, Any], seconds: float) -> None:
    end = time.monotonic() + seconds
    share = FIRST_SHARE
    from_below = True
    while raw["bound"] < raw["duration"]:
        left = end - time.monotonic()
        if left <= 0:
            raw["stopped"] = True
            return
        target = raw["bound"] if from_below else raw["duration"] - 1
        if raw["bound"] + 1 < raw["duration"]:
            left = min(share, left)
        jobs = problem.candidates(target)
        if sum(len(starts) for _, choices in jobs or () for _, starts in choices) > MAX_STARTS:
            return
        answer = decide(solver, jobs, left)
        if answer is None:
            if not from_below:
                share *= 2
            from_below = not from_below
            continue
        raw["cp_sat"] = True
        if isinstance(answer, list):
            raw.update(problem.packets(answer))
        else:
            raw["bound"], raw["cp_sat_bound"] = target + 1, True
