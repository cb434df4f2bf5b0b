"""Streams of jobs that come and go: how much of a torus each policy keeps busy."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.ground.fixed import explained
from flitloom.networks.kinds import described
from flitloom.placing.boxes import boxes_for
from flitloom.placing.jobs import floor_of
from flitloom.spec.any_network import AnyNetwork

#: Mixes of jobs: boxes with sides of powers of two, or also lines, planes and odd sides.
MIXES = ("boxes", "mixed")


@dataclass(frozen=True)
class Policy:
    """How waiting jobs get boxes.

    Attributes
    ----------
    rotate, fold : bool
        Boxes may be turned, and folded.
    contact : bool
        The free box with most sides in contact with taken nodes is taken, not the first one.
    window : int
        Waiting jobs that are tried.
    largest : bool
        The one with the most nodes is tried first, not the one that came first.
    """

    rotate: bool = False
    fold: bool = False
    contact: bool = False
    window: int = 1
    largest: bool = False


#: Policies by name.
POLICIES = {
    "as-asked": Policy(),
    "rotate": Policy(rotate=True),
    "fold": Policy(rotate=True, fold=True),
    "contact": Policy(rotate=True, fold=True, contact=True),
    "window": Policy(rotate=True, fold=True, contact=True, window=64),
    "largest": Policy(rotate=True, fold=True, window=256, largest=True),
}


@explained
@dataclass(frozen=True)
class Demand:
    """A job of a stream: the shape it asks for, when it comes and how long it stays."""

    shape: tuple[int, ...]
    arrival: int
    time: int


@explained
@dataclass(frozen=True)
class StreamReport:
    """What a policy made of a stream.

    Attributes
    ----------
    policy : str
        Its name.
    jobs : int
        Jobs that ran.
    utilisation : float
        Node cycles of jobs over those of all nodes, while jobs waited: from a fifth of the arrivals on to the
        last one.
    mean_wait : float
        Mean time from arrival to start.
    decisions : int
        Searches for a free box.
    microseconds : float
        Wall-clock time per decision.
    starts : tuple of int
        When each job began.
    """

    policy: str
    jobs: int
    utilisation: float
    mean_wait: float
    decisions: int
    microseconds: float
    starts: tuple[int, ...]

    def facts(self) -> dict[str, Any]:
        """What ``flitloom place stream --json`` prints."""
        return {
            "policy": self.policy,
            "jobs": self.jobs,
            "utilisation": round(self.utilisation, 4),
            "mean_wait": round(self.mean_wait, 1),
            "decisions": self.decisions,
            "microseconds": round(self.microseconds, 1),
        }


def draw_stream(
    topology: AnyNetwork | str | Path, jobs: int, mix: str = "boxes", load: float = 2.0, seed: int = 1
) -> list[Demand]:
    """Jobs that ask for `load` times what the network has, so that some always wait.

    ``boxes``: sides 1, 2, 4, ... up to half of a dimension. ``mixed``: one in three of these, one a line
    and one a plane or box of any sides up to three quarters of a dimension.

    Examples
    --------
    >>> import flitloom as fl
    >>> stream = draw_stream(fl.Torus(8, 8), 3)
    >>> [len(one.shape) for one in stream], stream == draw_stream(fl.Torus(8, 8), 3)
    ([2, 2, 2], True)
    """
    if mix not in MIXES:
        raise SpecError.at("mix", f"is one of {', '.join(MIXES)}, not {show(mix)}")
    if not 1 <= jobs <= 10**6:
        raise SpecError.at("jobs", f"{jobs} is out of range", "it must be 1 to 10^6")
    if not 0.01 <= load <= 100:
        raise SpecError.at("load", f"{load:g} is out of range", "it must be 0.01 to 100")
    topology, dice = described(topology), Random(seed)
    found, now = [], 0.0
    for _ in range(jobs):
        shape = _shape(topology, mix, dice)
        length = dice.randint(100, 1000)
        found.append(Demand(shape, int(now), length))
        now += math.prod(shape) * length / (load * topology.nodes)
    return found


def _shape(topology: AnyNetwork, mix: str, dice: Random) -> tuple[int, ...]:
    kind = 0 if mix == "boxes" else dice.randrange(3)
    if kind == 0:
        return tuple(1 << dice.randrange(max(1, (size // 2).bit_length())) for size in topology.sizes)
    if kind == 1:
        return (dice.randint(2, 2 * max(topology.sizes)),)
    return tuple(dice.randint(1, max(1, 3 * size // 4)) for size in topology.sizes)


def run_stream(topology: AnyNetwork | str | Path, stream: Sequence[Demand], policy: str) -> StreamReport:
    """Let a policy give boxes to the jobs of a stream, in their order as far as it allows.

    Raises
    ------
    SpecError
        There is no such policy, or no job fits even on an empty network.

    Examples
    --------
    >>> import flitloom as fl
    >>> jobs = [Demand((4, 3), 0, 10), Demand((4, 2), 0, 5), Demand((4, 1), 1, 3)]
    >>> run_stream(fl.Torus(4, 4), jobs, "as-asked").starts
    (0, 10, 10)
    >>> run_stream(fl.Torus(4, 4), jobs, "window").starts
    (0, 10, 1)
    """
    topology = described(topology)
    topology.require_plain("streams of jobs")
    if policy not in POLICIES:
        raise SpecError.at("policy", f"is one of {', '.join(POLICIES)}, not {show(policy)}")
    rule = POLICIES[policy]
    known: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for one in stream:
        if one.shape not in known:
            known[one.shape] = boxes_for(one.shape, topology, rotate=rule.rotate, fold=rule.fold)
    floor = floor_of(topology)
    begin = time.perf_counter()
    begun, decisions, interrupted = floor.stream(
        [(known[one.shape], one.arrival, one.time) for one in stream], rule.window, rule.contact, rule.largest
    )
    spent = time.perf_counter() - begin
    if interrupted:
        raise KeyboardInterrupt
    pairs = [(one, start[0]) for one, start in zip(stream, begun, strict=True) if start is not None]
    if not pairs:
        raise SpecError.at("stream", f"no job fits on {topology} even alone")
    first, last = pairs[len(pairs) // 5][0].arrival, pairs[-1][0].arrival
    busy = 0
    for one, start in pairs:
        inside = min(start + one.time, last) - max(start, first)
        busy += math.prod(one.shape) * max(0, inside)
    room = (topology.nodes - len(topology.failed_nodes)) * max(1, last - first)
    return StreamReport(
        policy,
        len(pairs),
        busy / room,
        sum(start - one.arrival for one, start in pairs) / len(pairs),
        decisions,
        1e6 * spent / max(1, decisions),
        tuple(start for _, start in pairs),
    )
