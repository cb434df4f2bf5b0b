"""CP-SAT on the filtered start cycles: finishes a schedule, or refutes a target duration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import FlitloomError
from flitloom.network import Network

#: More possible starts than this are left to the search.
MAX_STARTS = 300_000
WORKER = Path(__file__).with_name("cp_sat_worker.py")


def decide(
    network: Network,
    messages: NDArray[np.int64],
    routes: str,
    interval: int | None,
    free_slices: bool,
    target: int,
    seconds: float,
) -> list[int] | bool | None:
    """Whether a schedule of at most `target` cycles exists.

    The filter removes only starts that no such schedule has, so an answer on what it leaves is an answer
    for all.

    Returns
    -------
    list of int, False or None
        Start cycles, proof that there are none, or no answer in time.
    """
    jobs = _core.filtered_starts(network._core, messages, routes, interval, free_slices, target)
    if jobs is None:
        return False
    if sum(len(starts) for _, _, starts in jobs) > MAX_STARTS:
        return None
    question = json.dumps({"jobs": jobs, "seconds": seconds})
    done = subprocess.run(
        [sys.executable, str(WORKER)], input=question, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise FlitloomError(f"CP-SAT failed: {done.stderr.strip().splitlines()[-1:]}")
    answer: list[int] | bool | None = json.loads(done.stdout)
    return answer


def finish(
    network: Network,
    messages: NDArray[np.int64],
    routes: str,
    interval: int | None,
    free_slices: bool,
    raw: dict[str, Any],
    seconds: float,
) -> None:
    """Close the gap of a search's result in place, as far as the time allows."""
    if routes not in ("dor", "balanced-ties"):
        return
    while raw["bound"] < raw["duration"]:
        target = raw["bound"]
        try:
            answer = decide(network, messages, routes, interval, free_slices, target, seconds)
        except KeyboardInterrupt:
            # What the search found is kept.
            raw["stopped"] = raw["interrupted"] = True
            return
        if answer is None:
            return
        raw["cp_sat"] = True
        if answer is False:
            raw["bound"] = target + 1
            continue
        assert isinstance(answer, list)
        _put(raw, messages, answer, interval, free_slices)
        raw["duration"] = _core.check_plan(network._core, raw["table"], raw["routes"])


def _put(
    raw: dict[str, Any],
    messages: NDArray[np.int64],
    starts: list[int],
    interval: int | None,
    free_slices: bool,
) -> None:
    """New starts in the table, slice by slice in the order of the messages."""
    rows: list[int] = []
    for number, (_, _, length, slices) in enumerate(messages.tolist()):
        for index in range(slices):
            if free_slices:
                rows.append(starts[len(rows)])
            else:
                rows.append(starts[number] + index * (interval or length))
    raw["table"][:, 3] = rows
