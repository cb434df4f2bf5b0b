"""``flitloom bench start``: how long it takes until flitloom begins to work."""

from __future__ import annotations

import resource
import subprocess
import sys

from flitloom.benchmarks import Context, Row

#: What is started, and the seconds of CPU time it may take.
STARTS = {
    "import flitloom": (("-c", "import flitloom"), 0.15),
    "flitloom --help": (("-m", "flitloom", "--help"), 0.2),
    "flitloom simulate --torus 8x8 --pattern shfl --json": (
        ("-m", "flitloom", "simulate", "--torus", "8x8", "--pattern", "shfl", "--json"),
        None,
    ),
}


def run(context: Context) -> list[Row]:
    """Time fresh interpreters, the fastest of several."""
    rows: list[Row] = []
    for number, (name, (arguments, goal)) in enumerate(STARTS.items()):
        fastest, spent, starts = float("inf"), 0.0, 0
        while starts < 3 or spent < context.seconds:
            begin = _spent()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
            seconds = _spent() - begin
            fastest, spent, starts = min(fastest, seconds), spent + seconds, starts + 1
        rows.append({"start": name, "seconds": round(fastest, 3), "goal_seconds": goal, "starts": starts})
        context.progress(number + 1, len(STARTS))
    return rows


def _spent() -> float:
    """CPU time of all processes that were started and have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
