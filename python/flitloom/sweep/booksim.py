"""A file of BookSim2 over a grid of any of its options, as jobs that are done once."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flitloom.booksim.options import NETWORK_FILE, Options
from flitloom.booksim.running import UNSTABLE, check, run
from flitloom.booksim.specs import number
from flitloom.errors import SpecError, show
from flitloom.ground import limits, provenance
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_text
from flitloom.jobs.job import Job
from flitloom.jobs.store import Store
from flitloom.sweep.values import MOST_POINTS

#: What a row says of a class of a run, besides the id, the values of the grid, the seed and the class.
ROWS = (
    "outcome",
    "packets",
    "packet_latency",
    "network_latency",
    "flit_latency",
    "hops",
    "accepted",
    "cycles",
    "seconds",
)
#: What is stored of a run: raised when it changes.
_COLUMNS = 1
#: How a run ends that BookSim2 itself does not survive, or that never ends there.
ENDED = "ended"


def booksim_points(
    options: Options, grid: Mapping[str, Sequence[int | float | str | bool]], seeds: int = 1
) -> list[Job]:
    """A run per combination of values and seed, every combination with its first seed first.

    Parameters
    ----------
    options : Options
        What the file says.
    grid : mapping of str to sequence
        Values by the name of an option, as ``num_vcs``.
    seeds : int
        Runs per combination, with the seed of the file and those after it.

    Raises
    ------
    SpecError
        An option or a value is not right in some combination; nothing has been run then.

    Examples
    --------
    >>> options = Options.of({"topology": "mesh", "k": "4", "routing_function": "dor"})
    >>> [job.spec["options"]["num_vcs"] for job in booksim_points(options, {"num_vcs": [2, 4]}, seeds=2)]
    ['2', '4', '2', '4']
    """
    count = math.prod(map(len, grid.values())) * seeds
    if seeds < 1 or not 1 <= count <= MOST_POINTS:
        hint = f"1 to {MOST_POINTS} are supported"
        raise SpecError.at("grid", counted(count, "run"), hint)
    made = []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        changed = Options.of({**options.values, **{name: _written(value) for name, value in chosen.items()}})
        check(changed)
        made.append((chosen, changed))
    return [_job(chosen, changed, step) for step in range(seeds) for chosen, changed in made]


def _written(value: float | str | bool) -> str:
    """A value of a grid as BookSim2 writes it."""
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else number(value)


def _job(chosen: Mapping[str, Any], options: Options, step: int) -> Job:
    try:
        seed = int(options["seed"]) + step
    except ValueError:
        raise SpecError.at("seed", f"{show(options['seed'])} is not a whole number") from None
    values = {**options.values, "seed": str(seed)}
    # A network is known by what stands in its file, not by where that lies.
    file = values.pop(NETWORK_FILE, None)
    network = None if file is None else read_text(file, limits.SPEC_BYTES)
    spec = {"options": values, "network": network, "values": dict(chosen), "seed": seed}
    return Job("booksim", {**spec, "columns": _COLUMNS, "version": provenance.version()})


def run_point(spec: dict[str, Any]) -> dict[str, Any]:
    """One run; what comes of it is a function of the spec alone, except for the seconds."""
    begin = time.perf_counter()
    try:
        outcome = run(Options(spec["options"]), network=spec["network"])
    except SpecError as error:
        made: dict[str, Any] = {
            "outcome": ENDED,
            "cause": str(error),
            "cycles": None,
            "classes": [{"class": 0}],
        }
    else:
        # Beyond saturation a latency is that of the moment at which the run was given up.
        hidden = "latency" if outcome.outcome == UNSTABLE else None
        classes = [
            {
                name: None if math.isnan(value) or (hidden and name.endswith(hidden)) else value
                for name, value in facts.items()
            }
            for facts in outcome.classes
        ]
        made = {"outcome": outcome.outcome, "cycles": outcome.cycles, "classes": classes}
    return {**made, "seconds": time.perf_counter() - begin}


def booksim_rows(points: Sequence[Job], store: Store) -> Iterator[dict[str, Any]]:
    """One row per finished run and measured class, in the order of the points."""
    finished = store.finished()
    for point in points:
        if point.id not in finished:
            continue
        found = store.result(point.id)
        for facts in found["classes"]:
            totals = {**found, **facts}
            yield {
                "id": point.id[:16],
                **point.spec["values"],
                "seed": point.spec["seed"],
                "class": int(facts["class"]),
                **{name: totals.get(name) for name in ROWS},
            }


def booksim_causes(points: Sequence[Job], store: Store) -> dict[str, tuple[int, str, str]]:
    """Why runs ended early: how many did, the id of the first, and its cause."""
    finished = store.finished()
    ended = [(point, store.result(point.id)) for point in points if point.id in finished]
    causes = [(point.id[:16], found["cause"]) for point, found in ended if "cause" in found]
    return {ENDED: (len(causes), *causes[0])} if causes else {}
