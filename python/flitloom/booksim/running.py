"""A run of BookSim2's router."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from flitloom import _core
from flitloom.booksim.options import NETWORK_FILE, Options
from flitloom.errors import SpecError
from flitloom.ground import limits
from flitloom.ground.fixed import explained
from flitloom.ground.ranks import Ranks
from flitloom.ground.reading import read_text

Values = list[tuple[str, str]]
Begun = TypeVar("Begun")

#: How a run can end.
STABLE, UNSTABLE = "stable", "unstable"
#: What ends BookSim2 in the middle: the option behind it, what happens, and what would be right.
_BREACHES = {
    "shared place": (
        "output_speedup",
        "two flits take the last shared place of a queue",
        "give 1, or buffer_policy = private",
    ),
    "place per owner": (
        "buffer_policy",
        "more channels of a port have an owner than it has places for",
        "give a larger buf_size, or another policy",
    ),
    "channel twice": (
        "classes",
        "two classes of a node take the same channel",
        "give every class a separate run, or a lower injection_rate",
    ),
    "deadlock": (
        "routing_function",
        "packets wait for each other, no flit has arrived for 100,000 cycles",
        "give more channels, or another routing function",
    ),
}


@explained
@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    outcome : str
        ``stable``, or ``unstable``: no mean latency below the limit was reached.
    cycles : int
        Cycles simulated.
    classes : tuple of dict
        Per measured class what was counted over the measured time (of an unstable run: in its last sample):
        packets measured, mean packet, network and flit latency in cycles, hops, flits accepted per node and
        cycle.
    events : tuple of dict
        What happened, in order, from which BookSim2's own output is printed.
    packets : dict
        Columns by packet in the order of arrival, if they were recorded: packet, class, source, destination,
        created, injected, head, tail (cycles), hops (routers), size (flits).
    parts : int
        Parts that the network was divided into; 1 where options go by the order of all routers.
    """

    outcome: str
    cycles: int
    classes: tuple[dict[str, float], ...]
    events: tuple[dict[str, Any], ...]
    packets: Mapping[str, Any]
    parts: int = 1


def run(
    options: Options,
    *,
    packets: bool = False,
    network: str | None = None,
    seen: Callable[[dict[str, Any], int], None] | None = None,
    threads: int = 1,
    _on_ranks: bool = False,
) -> Outcome:
    """Run a file of BookSim2 with its router.

    Parameters
    ----------
    options : Options
        What the file says.
    packets : bool
        Whether packets are recorded.
    network : str, optional
        What stands in the file of the network, in place of ``network_file``.
    seen : callable, optional
        Told every event, and the cycle that comes next.
    threads : int
        Threads, each with a part of the routers; the outcome does not depend on it.

    Raises
    ------
    SpecError
        If an option has a value that is not known here, or with which BookSim2 itself ends.

    Examples
    --------
    >>> options = Options.of({"topology": "mesh", "k": "4", "routing_function": "dor", "seed": "3"})
    >>> outcome = run(options)
    >>> outcome.outcome, outcome.cycles, round(outcome.classes[0]["packet_latency"], 3)
    ('stable', 6055, 19.574)
    """
    ranks = Ranks() if _on_ranks else None
    simulation = begun(options, lambda values: _core.Pipelined(values, packets, threads, ranks), network)
    events = []
    while (event := simulation.advance()) is not None:
        if event["kind"] == "broken":
            raise refused(event["breach"], event["now"])
        events.append(event)
        if seen is not None:
            seen(event, simulation.now)
    outcome = STABLE if events[-1]["kind"] == "end" else UNSTABLE
    counted = [event for event in events if "classes" in event]
    ends = [event for event in counted if event["kind"] == "end"]
    runs = [
        [_summary(facts, event["cycles"]) for facts in event["classes"]]
        for event in (ends if outcome == STABLE else counted[-1:])
    ]
    classes = tuple(_mean(of_class) for of_class in zip(*runs, strict=True))
    kept = simulation.packets() if packets else {}
    return Outcome(outcome, simulation.now, classes, tuple(events), kept, simulation.parts)


def _mean(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    """The means over several runs of a class, and the sum of its packets."""
    if len(runs) == 1:
        return runs[0]
    mean = {name: sum(run[name] for run in runs) / len(runs) for name in runs[0]}
    return {**mean, "class": runs[0]["class"], "packets": sum(run["packets"] for run in runs)}


def check(options: Options) -> None:
    """Refuse what cannot be run, without running it.

    >>> check(Options.of({"topology": "mesh", "routing_function": "dor", "num_vcs": "0"}))
    Traceback (most recent call last):
    flitloom.errors.SpecError: num_vcs: 0 is not within 1 to 64
    """
    begun(options, _pipelined)


def network_text(file: str) -> str:
    """What a file that lists routers, nodes and links says."""
    return read_text(file, limits.SPEC_BYTES)


def begun(options: Options, begin: Callable[[Values], Begun], network: str | None = None) -> Begun:
    """A run at its beginning, given what begins it with the values of all options."""
    values = dict(options.values)
    if network is not None:
        values[NETWORK_FILE] = network
    elif NETWORK_FILE in values:
        values[NETWORK_FILE] = network_text(values[NETWORK_FILE])
    try:
        return begin(list(values.items()))
    except ValueError as error:
        option, text = error.args
        raise SpecError.at(option, text) from None


def _pipelined(values: Values) -> _core.Pipelined:
    return _core.Pipelined(values, False, 1, None)


def refused(breach: str, cycle: int) -> SpecError:
    """What to raise where BookSim2 ends in the middle of a run, or another rank has failed."""
    if breach == "lost":
        return SpecError("another rank has failed")
    option, what, right = _BREACHES[breach]
    end = "never ends" if breach == "deadlock" else "ends"
    return SpecError.at(option, f"{what} in cycle {cycle}; BookSim2 {end}", right)


def demand(options: Options) -> tuple[float, float | None]:
    """What a unit of ``injection_rate`` means.

    Returns
    -------
    float, float or None
        Flits that a node sends, and the ``injection_rate`` at which the busiest link would never rest:
        the mean load of every link, over all that patterns and routing functions may draw. It is None
        where ways depend on the load, or where there are too many.

    Examples
    --------
    >>> options = {"topology": "mesh", "k": "8", "routing_function": "dor", "packet_size": "5"}
    >>> demand(Options.of(options))
    (5.0, 0.1)
    """
    flits, busiest = begun(options, _pipelined).demand()
    return flits, round(1 / busiest, 9) if busiest else None


def _summary(facts: Mapping[str, Any], cycles: int) -> dict[str, float]:
    def mean(name: str) -> float:
        count, total = facts[name][:2]
        return total / count if count else math.nan

    delivered, nodes = facts["delivered_flits"][0], facts["delivered_flits"][-1]
    return {
        "class": facts["class"],
        "packets": facts["packet"][0],
        "packet_latency": mean("packet"),
        "network_latency": mean("network"),
        "flit_latency": mean("flit"),
        "hops": mean("hops"),
        "accepted": delivered / cycles / nodes,
    }
