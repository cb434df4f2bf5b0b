"""Whether source queues grow without bound, from how busy they are.

The utilisation of a source queue is the load offered to it over the rate at which it sends while it has
something to send. Below 1 it is the share of time in which the queue is busy, so the queue is empty now and
then; above 1 it grows for good. All other queues of a network are bounded, so a load has a steady state
exactly if no source queue grows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flitloom._core import LISTS, source_queue_verdict
from flitloom.ground.fixed import explained

if TYPE_CHECKING:
    import xarray as xr

#: What is counted in slots: busy cycles, packets sent and generated, and flits for a node.
COUNTED = ("busy_by_source", "sent_by_source", "generated_by_source", "generated_for")
STEADY, GROWING, UNDECIDED = LISTS["verdicts"]


@explained
@dataclass(frozen=True)
class Utilisation:
    """How busy the source queues of a run were, and what that means.

    Attributes
    ----------
    verdict : str
        "growing": the utilisation of some queue is above 1. "steady": that of every queue is below 1.
        "undecided": the run is too short to tell.
    value : float
        Utilisation of the busiest queue, as far as noise allows to say which one it is.
    log : float
        Its natural logarithm.
    error : float
        Standard error of the logarithm.
    worst : int
        Number of the busiest queue.
    """

    verdict: str
    value: float
    log: float
    error: float
    worst: int


def utilisation(series: xr.Dataset, rate: float | None = None) -> Utilisation:
    """Judge a run from an empty network at constant load by how busy its source queues were.

    The first quarter of the run is left out, the rest is two halves. The queues that are busiest in one half
    are measured in the other, alone and in groups, so that the largest of many noisy values misleads nobody.
    The probability of a wrong verdict of either kind that is aimed at is 0.002; utilisations from 1 to 1.05
    may be called steady by chance, larger ones not.

    Parameters
    ----------
    series : Dataset
        What `Simulation.windows` counted: ``busy_by_source``, ``sent_by_source``, ``generated_by_source``,
        ``generated_for``.
    rate : float, optional
        Load of every node that sends in flits per node and cycle, where it is known and nodes have one source
        queue; else packets are counted, which has more noise.

    Examples
    --------
    >>> import flitloom as fl
    >>> load = fl.Load("rand", rate=0.2, cycles=10_000)
    >>> sim = fl.Simulation(fl.Network(fl.Torus(8, 8)), load, windows=100)
    >>> sim.run(until=10_000)
    >>> found = utilisation(sim.windows(), rate=0.2)
    >>> found.verdict, 0.2 < found.value < 0.5
    ('steady', True)
    """
    cycles = int(series.window.values[-1] + series.attrs["window_cycles"])
    slot, length = int(series.attrs["slot_cycles"]), float(series.attrs["packet_length"])
    known = None if "queue" in series.dims else rate
    return of_counted({name: series[name].values for name in COUNTED}, cycles, slot, length, known)


def of_counted(
    counted: Mapping[str, NDArray[np.uint64]], cycles: int, slot: int, length: float, rate: float | None
) -> Utilisation:
    """The same from what was counted in slots, which are the first axis of every array.

    Parameters
    ----------
    counted : mapping of arrays
        The arrays of `COUNTED`.
    cycles : int
        Cycles that are judged.
    slot : int
        Cycles of a slot.
    length : float
        Flits of a packet.
    rate : float, optional
        See `utilisation`.

    Examples
    --------
    >>> counted = dict.fromkeys(COUNTED, np.full((64, 1), 5, dtype=np.uint64))
    >>> of_counted(counted, cycles=640, slot=10, length=1.0, rate=0.5).verdict
    'steady'
    """
    whole = cycles // slot
    busy, sent, made, received = (
        np.ascontiguousarray(counted[name][:whole], dtype=np.uint64).ravel() for name in COUNTED
    )
    verdict, log, error, worst = source_queue_verdict(whole, slot, length, busy, sent, made, received, rate)
    return Utilisation(verdict, math.exp(log), log, error, worst)
