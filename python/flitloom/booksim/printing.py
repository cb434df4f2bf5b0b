"""What BookSim2 prints of a run, line for line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

#: Delays with their names in a sample.
_SAMPLED = (("packet", "Packet latency"), ("network", "Network latency"), ("flit", "Flit latency"))
#: Delays with their names in a run.
DELAYS = (*_SAMPLED, ("fragmentation", "Fragmentation"))
#: Rates with their names.
RATES = (
    ("sent_packets", "Injected packet rate"),
    ("delivered_packets", "Accepted packet rate"),
    ("sent_flits", "Injected flit rate"),
    ("delivered_flits", "Accepted flit rate"),
)
#: Flits that are named.
_NAMED = 10


def lines(events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of a run, from the first sample to the last mean.

    Examples
    --------
    >>> from flitloom.booksim import Options, run
    >>> options = Options.of({"topology": "mesh", "k": "4", "routing_function": "dor", "seed": "3"})
    >>> printed = list(lines(run(options).events))
    >>> printed[1], printed[-1]
    ('Packet latency average = 19.3174', 'Hops average = 3.48148 (1 samples)')
    """
    dot, is_completing = "", False
    ends = []
    for event in events:
        for line in _of(event):
            yield dot + line
            dot = ""
        match event["kind"]:
            case "batch sent":
                is_completing = True
            case "batch arrived":
                is_completing = False
            case "remaining":
                dot = "." * is_completing
            case "end":
                ends.append(event)
    if ends and event is ends[-1]:
        yield from _overall(ends)


def _of(event: Mapping[str, Any]) -> Iterator[str]:
    match event["kind"]:
        case "sample":
            for facts in event["classes"]:
                yield f"Class {facts['class']}:"
                yield from _sample(facts, event["cycles"])
            for facts in event["classes"]:
                yield f"latency change    = {figure(facts['latency_change'])}"
                yield f"throughput change = {figure(facts['rate_change'])}"
        case "exceeded":
            yield (
                f"Average latency for class {event['class']} exceeded {figure(event['limit'])} cycles. "
                "Aborting simulation."
            )
        case "warmed_up":
            yield f"Warmed up ...Time used is {event['now']} cycles"
        case "stuck":
            yield "WARNING: Possible network deadlock."
        case "too_long":
            yield "Too many sample periods needed to converge"
        case "unstable":
            yield "Simulation unstable, ending ..."
        case "waiting":
            yield "Draining all recorded packets ..."
        case "emptying":
            yield "Draining remaining packets ..."
        case "remaining":
            for number, (left, measured) in enumerate(event["left"]):
                yield f"Class {number}:"
                yield f"Remaining flits: {_flits(*left)}"
                yield f"Measured flits: {_flits(*measured)}"
        case "end":
            yield f"Time taken is {event['now']} cycles"
        case "batch begins":
            yield f"Sending batch {event['number']} ({event['size']} packets)..."
        case "batch sent":
            yield f"Batch injected. Time used is {event['cycles']} cycles."
            yield "Waiting for batch to complete..."
        case "batch arrived":
            packet, flit = event["last"] or (-1, -1)
            yield ""
            yield f"Batch received. Time used is {event['cycles']} cycles."
            yield f"Last packet was {packet}, last flit was {flit}."
            yield "1"
        case "batch counted":
            for facts in event["classes"]:
                yield f"Class {facts['class']}:"
                yield from _sample(facts, event["cycles"])
            for name, value in zip(
                ("Minimum", "Average", "Maximum"), spread(event["durations"]), strict=True
            ):
                yield f"{name} batch duration = {figure(value)}"


def _sample(facts: Mapping[str, Any], cycles: int) -> Iterator[str]:
    for name, title in DELAYS:
        average, least, most = _delays(facts[name])
        yield f"{title} average = {average}"
        yield f"\tminimum = {least}"
        yield f"\tmaximum = {most}"
        if name == "network":
            yield f"Slowest packet = {facts['slowest_packet']}"
        if name == "flit":
            yield f"Slowest flit = {facts['slowest_flit']}"
    for name, title in RATES:
        average, least, least_node, most, most_node = _rate(facts[name], cycles)
        sign = "= " if name == "delivered_flits" else " = "
        yield f"{title} average{sign}{average}"
        yield f"\tminimum = {least} (at node {least_node})"
        yield f"\tmaximum = {most} (at node {most_node})"
    yield f"Injected packet length average = {_length(facts, 'sent')}"
    yield f"Accepted packet length average = {_length(facts, 'delivered')}"
    yield f"Total in-flight flits = {facts['in_flight']} ({facts['measured_in_flight']} measured)"


def _overall(ends: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is printed of all runs: the mean over them of what each one gives."""
    yield "====== Overall Traffic Statistics ======"
    of_runs = f" ({len(ends)} samples)"

    def mean(values: Iterable[float]) -> str:
        return figure(sum(values) / len(ends)) + of_runs

    for place, first in enumerate(ends[0]["classes"]):
        classes = [end["classes"][place] for end in ends]
        yield f"====== Traffic class {first['class']} ======"
        for name, title in DELAYS:
            average, least, most = zip(*(delay_values(facts[name]) for facts in classes), strict=True)
            yield f"{title} average = {mean(average)}"
            yield f"\tminimum = {mean(least)}"
            yield f"\tmaximum = {mean(most)}"
        sums = {}
        for name, title in RATES:
            rates = [
                rate_values(facts[name], end["cycles"]) for facts, end in zip(classes, ends, strict=True)
            ]
            average, least, most = zip(*rates, strict=True)
            sums[name] = sum(average)
            yield f"{title} average = {mean(average)}"
            yield f"\tminimum = {mean(least)}"
            yield f"\tmaximum = {mean(most)}"
        for what, title in (("sent", "Injected"), ("delivered", "Accepted")):
            length = quotient(sums[f"{what}_flits"], sums[f"{what}_packets"])
            yield f"{title} packet size average = {figure(length)}{of_runs}"
        yield f"Hops average = {mean(delay_values(facts['hops'])[0] for facts in classes)}"
    if ends[0]["durations"]:
        # All three lines have the same name in BookSim2.
        for values in zip(*(spread(end["durations"]) for end in ends), strict=True):
            yield f"Overall min batch duration = {mean(values)}"


def spread(durations: Sequence[int]) -> tuple[float, float, float]:
    """The least, the mean and the largest."""
    return min(durations), sum(durations) / len(durations), max(durations)


#: What 0 by 0 gives on processors of x86.
_NEGATIVE_NAN = math.copysign(math.nan, -1.0)


def figure(value: float) -> str:
    """Six digits, as C++ prints them."""
    if math.isnan(value):
        return "-nan" if math.copysign(1.0, value) < 0 else "nan"
    return f"{value:.6g}"


def quotient(total: float, count: float) -> float:
    """A mean; 0 by 0 has the sign that processors give it."""
    if count == 0:
        return math.inf if total else _NEGATIVE_NAN
    return total / count


def delay_values(delays: Sequence[int]) -> tuple[float, float, float]:
    """Mean, least and largest."""
    count, total, least, most = delays
    if count == 0:
        return _NEGATIVE_NAN, math.nan, _NEGATIVE_NAN
    return total / count, least, most


def _delays(delays: Sequence[int]) -> tuple[str, str, str]:
    average, least, most = map(figure, delay_values(delays))
    return average, least, most


def rate_values(rate: Sequence[int], cycles: int) -> tuple[float, float, float]:
    """Mean, least and largest over the nodes, per cycle."""
    total, least, _, most, _, nodes = rate
    average = total / cycles / nodes if cycles else math.nan
    return average, quotient(least, cycles), quotient(most, cycles)


def _rate(rate: Sequence[int], cycles: int) -> tuple[str, str, int, str, int]:
    average, least, most = map(figure, rate_values(rate, cycles))
    return average, least, rate[2], most, rate[4]


def _length(facts: Mapping[str, Any], what: str) -> str:
    return figure(quotient(facts[f"{what}_flits"][0], facts[f"{what}_packets"][0]))


def _flits(named: Sequence[int], count: int) -> str:
    shown = "".join(f"{flit} " for flit in named)
    return f"{shown}{'[...] ' if count > _NAMED else ''}({count} flits)"
