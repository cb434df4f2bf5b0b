"""Saturations of drawn cases, compared with long runs in which backlogs are counted."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from flitloom._core import LISTS
from flitloom.analysis.utilisation import STEADY
from flitloom.errors import DeadlockError, SpecError
from flitloom.load.bounds import most_generated
from flitloom.load.cases import Case
from flitloom.load.full_start import doubted
from flitloom.load.searching import run_saturation
from flitloom.load.steady import Progress, begin_run, run_steady
from flitloom.networks.experiment import Experiment

#: Precision of the saturations.
WITHIN = 0.01
#: Loads that must be sustained where they are called steady, and those that must not be called so, as shares
#: of the saturation.
BELOW, ABOVE = (0.85, 0.95, 0.98), (1.02, 1.05)
#: A long run is so many times as long as the one that was judged.
LONGER = 10
#: What a source may still hold at the end of a long run, as a share of what it generated, and in packets: a
#: queue that is busy 98 % of the time holds some 50 packets.
HELD, FEW = 0.02, 100

#: Networks, and the patterns that fit all of them.
_GRIDS = ("4x4", "8x8", "4x8", "5x7", "6x6", "3x4x5", "4x4x4", "16", "16x4")
_HOSTS = ("dragonfly(4,2,2)", "full4 x full4", "fat-tree(4,2)")
#: Random traffic and dimension order are drawn more often than others.
_PATTERNS = ("rand",) * 6 + tuple(LISTS["patterns"])
_ROUTINGS = ("do",) * 4 + tuple(LISTS["routings"])


@dataclass(frozen=True)
class Held:
    """A drawn case, and what became of its saturation.

    Attributes
    ----------
    number : int
        The number of the case.
    name : str
        What it is.
    outcome : str
        That of its search, or "impossible".
    saturation, half_width, full_start : float or None
        What was found.
    checked : int
        Loads that were compared with a long run, or run beyond the saturation.
    wrong : tuple of str
        Loads that were called steady and are not, as text.
    """

    number: int
    name: str
    outcome: str
    saturation: float | None = None
    half_width: float | None = None
    full_start: float | None = None
    checked: int = 0
    wrong: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)


def draw(number: int, seed: int) -> dict[str, Any]:
    """The fields of an experiment; the same for the same numbers.

    Examples
    --------
    >>> draw(3, 1) == draw(3, 1), draw(3, 1) == draw(4, 1)
    (True, False)
    """
    chance = random.Random(f"{seed} {number}")
    length = chance.choice((1, 2, 4, 5, 8, 8, 16))
    pattern = chance.choice(_PATTERNS)
    traffic: dict[str, Any] = {
        "pattern": pattern,
        "length": length,
        "process": chance.choice(("bernoulli", "gap")),
    }
    if pattern == "hots":
        traffic["hotspot_fraction"] = chance.choice((0.01, 0.05, 0.1))
    model = chance.choice(("one-cycle", "one-cycle", "one-cycle", "pipelined", "hosts"))
    router: dict[str, Any] = {}
    topology: dict[str, Any] = {}
    if model == "hosts":
        topology["network"] = chance.choice(_HOSTS)
        router["model"] = "pipelined"
        traffic["pattern"] = "rand"
        traffic.pop("hotspot_fraction", None)
    else:
        topology |= {"kind": chance.choice(("torus", "torus", "mesh")), "sizes": chance.choice(_GRIDS)}
    fields: dict[str, Any] = {"topology": topology, "router": router, "traffic": traffic, "seed": number + 1}
    if model == "pipelined":
        router |= {
            "model": "pipelined",
            "channels": chance.choice((4, 8)),
            "buffer": chance.choice((4, 8, 16)),
        }
    elif model == "one-cycle":
        router["routing"] = chance.choice(_ROUTINGS)
        if router["routing"] in ("sa", "ma", "cl") or chance.random() < 0.3:
            router |= {"flow_control": "cut-through", "buffer": 2 * max(length, 8)}
        else:
            router["buffer"] = chance.choice((2, 4, 8, 16))
        fields["throttle"] = chance.choice(("none", "none", "none", "none", "pt", "spth"))
    return fields


def hold(number: int, seed: int, progress: Progress | None = None) -> Held:
    """Find the saturation of a drawn case, and hold loads about it against long runs.

    Loads below it, or below that of full starts, that are called steady must be accepted in a run ten times
    as long as the one they were judged by: no source keeps back more than a busy queue holds. Loads beyond it
    must not be called steady, from full source queues either.
    """
    fields = draw(number, seed)
    case = Case({"case": str(number)}, fields)
    try:
        experiment = case.experiment(kind="load", rate=0.1, cycles=1)
    except SpecError as error:
        return Held(number, str(error), "impossible")
    name = f"{experiment.topology}, {fields}"
    try:
        ways: dict[str, Any] = {"within": WITHIN, "measure": 2000, "full_starts": True, "workers": 1}
        [row], _ = run_saturation([case], **ways, progress=progress)
    except SpecError as error:
        return Held(number, str(error), "impossible")
    reach = most_generated(experiment)
    found = row["saturation"] if row["outcome"] != "not reached" else reach
    if found is None:
        return Held(number, name, row["outcome"])
    # From there on a network with two states may follow for long, and collapse later.
    safe = found if row["full_start"] == row["below"] else row["full_start"] or 0.0
    wrong, checked = [], 0
    for share in (*BELOW, *ABOVE):
        load = round(share * (safe if share < 1 else found), 6)
        if not 0 < load < reach:
            continue
        at = case.experiment(kind="load", rate=load, cycles=1)
        checked += 1
        if problem := _held(at, share):
            wrong.append(f"{share:g}: {problem}")
    facts = (found, row["half_width"], row["full_start"])
    return Held(number, name, row["outcome"], *facts, checked, tuple(wrong))


def _held(experiment: Experiment, share: float) -> str | None:
    """What is wrong with the verdict of a load at a share of the saturation."""
    try:
        steady = run_steady(experiment, measure=2000)
        if share > 1:
            steady = doubted(steady, experiment, {"window": 100, "limit": 400_000, "threads": 1}, None)
        if steady.row["verdict"] != STEADY:
            return None
        if share > 1:
            return f"called steady, utilisation {steady.row['utilisation']:.3f}"
        long = begin_run(experiment, 100)
        long.until(LONGER * steady.row["cycles"])
    except DeadlockError:
        return None
    series = long.series
    made, sent = (
        np.asarray(series[f"{what}_by_source"].values, dtype=float)
        .reshape(series.sizes["slot"], -1)
        .sum(axis=0)
        for what in ("generated", "sent")
    )
    kept = made - sent
    allowed = np.maximum(HELD * made, FEW)
    if (kept <= allowed).all():
        return None
    worst = int((kept - allowed).argmax())
    return f"source {worst} keeps {kept[worst]:g} of {made[worst]:g} packets after {long.now} cycles"
