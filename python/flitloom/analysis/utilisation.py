"""Whether every source gets rid of what it generates, from how busy source queues are.

The utilisation of a source queue is the load offered to it over the rate at which it sends while it has
something to send. Below 1 it is the share of time in which the queue is busy, so the queue is empty now and
then; above 1 it grows for good. All other queues of a network are bounded, so a load has a steady state
exactly if no source queue grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flitloom.fixed import explained

if TYPE_CHECKING:
    import xarray as xr

#: Probability of a wrong verdict of either kind that is aimed at.
ALPHA = 0.002
#: Utilisations from 1 to 1 more than this may be called steady by chance, but not larger ones.
DELTA = 0.05
#: Batches of a half, at most; slots are not divided.
BATCHES = 16
#: The utilisation of a source is drawn towards the mean of all by at most so many of its own errors.
DRAWN = 1.5

#: Utilisation of a queue that gets no packet.
IDLE = 1e-6

STEADY, GROWING, UNDECIDED = "steady", "growing", "undecided"

Array = NDArray[np.float64]


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
    whole = int(series.window.values[-1] + series.attrs["window_cycles"]) // series.attrs["slot_cycles"]
    counted = series.isel(slot=slice(0, whole))
    busy, sent, made = (
        np.asarray(counted[f"{name}_by_source"].values, dtype=np.float64).reshape(whole, -1)
        for name in ("busy", "sent", "generated")
    )
    cycles = whole * float(series.attrs["slot_cycles"])
    length = float(series.attrs["packet_length"])
    used = made.sum(axis=0) > 0
    if not used.any() or whole < 8:
        return Utilisation(UNDECIDED, 0.0, -math.inf, math.inf, 0)
    arrivals = made[:, used] / float(series.attrs["slot_cycles"])
    noise = 1 / made.sum(axis=0)[used]
    if rate is not None and "queue" not in series.dims:
        arrivals, noise = np.full_like(noise, rate / length), np.zeros_like(noise)
    found = judge(busy[:, used], sent[:, used], arrivals, noise=noise, length=length)
    if found.verdict == STEADY and _overwhelmed(counted, cycles, length):
        found = Utilisation(UNDECIDED, found.value, found.log, found.error, found.worst)
    return Utilisation(
        found.verdict, found.value, found.log, found.error, int(np.flatnonzero(used)[found.worst])
    )


def _overwhelmed(series: xr.Dataset, cycles: float, length: float) -> bool:
    """Whether some destination may be sent more than it can receive: that takes long to reach the sources."""
    rates = np.asarray(series.generated_for.values, dtype=np.float64).sum(axis=0) / cycles
    limit = 1 + DELTA - upper(ALPHA / len(rates)) * np.sqrt(rates * max(length, 1.0) / cycles)
    return bool((rates >= limit).any())


def upper(probability: float) -> float:
    """The quantile of the normal distribution that is exceeded with a probability.

    >>> round(upper(0.025), 2)
    1.96
    """
    return NormalDist().inv_cdf(1 - probability)


def judge(
    busy: Array, sent: Array, arrivals: Array, *, noise: Array | None = None, length: float = 1.0
) -> Utilisation:
    """Judge source queues by busy cycles and packets sent, by slot and queue, and arrivals per cycle.

    Parameters
    ----------
    busy, sent : array
        Busy cycles, and packets whose header left, by slot and queue.
    arrivals : array
        Packets per cycle that each queue gets; where they are counted, by slot and queue.
    noise : array, optional
        Relative variance of the arrivals, where they are counted.
    length : float
        Cycles that a packet takes at least.

    Examples
    --------
    A queue that serves a packet in 10 cycles, and one that needs 11, with a packet in 10.4 cycles:

    >>> sent = np.array([[96, 91]] * 32)
    >>> busy = np.array([[960, 1001]] * 32)
    >>> found = judge(busy, sent, np.array([1 / 10.4, 1 / 10.4]))
    >>> found.verdict, found.worst, round(found.value, 3)
    ('growing', 1, 1.058)
    """
    noise = np.zeros(busy.shape[1]) if noise is None else noise
    halves = _Halves.of(busy, sent, arrivals, noise, length)
    logs, errors, worst = _drawn(halves)
    value, log, error = float(np.exp(logs[worst])), float(logs[worst]), float(errors[worst])
    if _grows(halves):
        verdict = GROWING
    elif _is_steady(halves, logs, errors):
        verdict = STEADY
    else:
        verdict = UNDECIDED
    return Utilisation(verdict, value, log, error, worst)


@dataclass(frozen=True)
class _Halves:
    """Two halves of a run: utilisations by half and queue, residuals of batches by half, batch and queue."""

    rho: Array
    residuals: Array
    #: Noise per packet, relative to the utilisation and pooled; and packets by half and queue.
    per_packet: float
    packets: Array
    #: Both halves together, by queue and by batch and queue.
    whole: Array
    whole_residuals: Array
    #: Relative variance of arrivals that are counted.
    noise: Array

    @classmethod
    def of(cls, busy: Array, sent: Array, arrivals: Array, noise: Array, length: float) -> _Halves:
        half = len(busy) * 3 // 4 // 2
        slots = -(-half // BATCHES)
        batches = half // slots
        shape = (2, batches, slots, busy.shape[1])
        busy, sent = (values[len(values) - 2 * batches * slots :] for values in (busy, sent))
        busy, sent = (values.reshape(shape).sum(axis=2) for values in (busy, sent))
        packets = np.maximum(sent.sum(axis=1), 1)
        # Counted in each half for itself: one half must not choose by the noise of the other.
        by_half = arrivals
        if arrivals.ndim > 1:
            by_half = arrivals[-2 * batches * slots :].reshape(2, batches * slots, -1).mean(axis=1)
            arrivals = by_half.mean(axis=0)
        rho, residuals = _utilisations(busy, sent, by_half, length, axis=1)
        flat = [values.reshape(2 * batches, -1) for values in (busy, sent)]
        whole, whole_residuals = _utilisations(flat[0], flat[1], arrivals, length, axis=0)
        busiest = np.argsort(whole)[-max(1, -(-len(whole) // 4)) :]
        squares = (residuals**2).sum(axis=1) * packets / rho**2
        return cls(rho, residuals, float(squares[:, busiest].mean()), packets, whole, whole_residuals, noise)


def _utilisations(busy: Array, sent: Array, arrivals: Array, length: float, axis: int) -> tuple[Array, Array]:
    """Arrivals times busy cycles per packet, and the residual of every batch."""
    batches = busy.shape[axis]
    packets = np.maximum(sent.sum(axis=axis), 1)
    service = np.maximum(busy.sum(axis=axis) / packets, length)
    residuals = busy - np.expand_dims(service, axis) * sent
    scale = np.expand_dims(arrivals / packets, axis) * math.sqrt(batches / max(1, batches - 1))
    return np.maximum(arrivals * service, IDLE), residuals * scale


def _grows(halves: _Halves) -> bool:
    """Whether the busiest queues of one half, alone or in groups, are above 1 in the other."""
    count = halves.rho.shape[1]
    sizes = [1 << power for power in range(count.bit_length()) if 1 << power < count] + [count]
    threshold = upper(ALPHA / (1 + math.log2(count)))
    ranked = np.argsort(-halves.rho, axis=1, kind="stable")
    for size in sizes:
        marks = [_excess(halves, measured, ranked[1 - measured][:size]) for measured in (1, 0)]
        if min(marks) > 0 and sum(marks) / math.sqrt(2) > threshold:
            return True
    return False


def _excess(halves: _Halves, half: int, group: NDArray[np.intp]) -> float:
    """By how many of its errors the mean utilisation of a group is above 1 in a half."""
    rho = halves.rho[half, group].mean()
    together = (halves.residuals[half][:, group].mean(axis=1) ** 2).sum()
    alone = (halves.per_packet / halves.packets[half, group] + 2 * halves.noise[group]).mean() / len(group)
    error = math.sqrt(max(together, alone))
    return float((rho - 1) / error) if error > 0 else math.copysign(math.inf, rho - 1) if rho != 1 else 0.0


def _drawn(halves: _Halves) -> tuple[Array, Array, int]:
    """Logarithms of the utilisations, their errors, and the number of the largest.

    They are drawn towards the mean of all as far as noise makes them differ.
    """
    raw, count = np.log(halves.whole), halves.rho.shape[1]
    own = halves.per_packet / halves.packets.sum(axis=0) + halves.noise
    alone = np.sqrt(own)
    between = 0.0
    if count > 1:
        logs = np.log(halves.rho)
        covariance = float(((logs[0] - logs[0].mean()) * (logs[1] - logs[1].mean())).sum() / (count - 1))
        between = max(0.0, covariance, float(raw.var(ddof=1) - own.mean()))
    total = between + own
    share = np.divide(between, total, out=np.ones_like(total), where=total > 0) if count > 1 else np.ones(1)
    drawn = share * raw + (1 - share) * raw.mean()
    together = (halves.whole_residuals.mean(axis=1) ** 2).sum() / halves.whole.mean() ** 2
    errors = np.sqrt(share * own + (1 - share) ** 2 * max(float(together), float(own.mean()) / count))
    far = np.abs(raw - drawn) > DRAWN * alone
    drawn = np.where(far, raw - np.copysign(DRAWN, raw - drawn) * alone, drawn)
    errors = np.where(far, alone, errors)
    return drawn, errors, int(drawn.argmax())


def _is_steady(halves: _Halves, logs: Array, errors: Array) -> bool:
    """Whether no queue can be above 1 by more than is allowed or is likely above 1, and none is filling."""
    count = len(logs)
    if not (logs < math.log1p(DELTA) - upper(ALPHA / count) * errors).all() or not (logs < -2 * errors).all():
        return False
    # An empty network that fills slowly.
    busiest = np.argsort(-halves.whole, kind="stable")[: max(1, count // 8)]
    before, after = halves.rho[:, busiest].mean(axis=1)
    noise: Any = (halves.residuals[:, :, busiest].mean(axis=2) ** 2).sum()
    return bool(after + 2 * max(0.0, after - before - math.sqrt(noise)) < 1 + DELTA)
