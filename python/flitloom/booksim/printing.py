"""What BookSim2 prints of a run, line for line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: Delays with their names in a sample.
_SAMPLED = (("packet", "Packet latency"), ("network", "Network latency"), ("flit", "Flit latency"))
_RATES = (
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
    for event in events:
        yield from _of(event)


def _of(event: Mapping[str, Any]) -> Iterator[str]:
    match event["kind"]:
        case "sample":
            for facts in event["classes"]:
                yield f"Class {facts['class']}:"
                yield from _sample(facts, event["cycles"])
            for facts in event["classes"]:
                yield f"latency change    = {_number(facts['latency_change'])}"
                yield f"throughput change = {_number(facts['rate_change'])}"
        case "exceeded":
            yield (
                f"Average latency for class {event['class']} exceeded {_number(event['limit'])} cycles. "
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
            yield "====== Overall Traffic Statistics ======"
            for facts in event["classes"]:
                yield f"====== Traffic class {facts['class']} ======"
                yield from _overall(facts, event["cycles"])


def _sample(facts: Mapping[str, Any], cycles: int) -> Iterator[str]:
    for name, title in (*_SAMPLED, ("fragmentation", "Fragmentation")):
        average, least, most = _delays(facts[name])
        yield f"{title} average = {average}"
        yield f"\tminimum = {least}"
        yield f"\tmaximum = {most}"
        if name == "network":
            yield f"Slowest packet = {facts['slowest_packet']}"
        if name == "flit":
            yield f"Slowest flit = {facts['slowest_flit']}"
    for name, title in _RATES:
        average, least, least_node, most, most_node = _rate(facts[name], cycles)
        sign = "= " if name == "delivered_flits" else " = "
        yield f"{title} average{sign}{average}"
        yield f"\tminimum = {least} (at node {least_node})"
        yield f"\tmaximum = {most} (at node {most_node})"
    yield f"Injected packet length average = {_length(facts, 'sent')}"
    yield f"Accepted packet length average = {_length(facts, 'delivered')}"
    yield f"Total in-flight flits = {facts['in_flight']} ({facts['measured_in_flight']} measured)"


def _overall(facts: Mapping[str, Any], cycles: int) -> Iterator[str]:
    once = " (1 samples)"
    for name, title in (*_SAMPLED, ("fragmentation", "Fragmentation")):
        average, least, most = _delays(facts[name])
        yield f"{title} average = {average}{once}"
        yield f"\tminimum = {least}{once}"
        yield f"\tmaximum = {most}{once}"
    for name, title in _RATES:
        average, least, _, most, _ = _rate(facts[name], cycles)
        yield f"{title} average = {average}{once}"
        yield f"\tminimum = {least}{once}"
        yield f"\tmaximum = {most}{once}"
    yield f"Injected packet size average = {_length(facts, 'sent')}{once}"
    yield f"Accepted packet size average = {_length(facts, 'delivered')}{once}"
    yield f"Hops average = {_delays(facts['hops'])[0]}{once}"


def _number(value: float) -> str:
    """Six digits, as C++ prints them."""
    return f"{value:.6g}"


def _quotient(total: float, count: float) -> str:
    """A mean; 0 by 0 has the sign that processors give it."""
    if count == 0:
        return "inf" if total else "-nan"
    return _number(total / count)


def _delays(delays: Sequence[int]) -> tuple[str, str, str]:
    count, total, least, most = delays
    if count == 0:
        return "-nan", "nan", "-nan"
    return _number(total / count), _number(least), _number(most)


def _rate(rate: Sequence[int], cycles: int) -> tuple[str, str, int, str, int]:
    total, least, least_node, most, most_node, nodes = rate
    average = total / cycles / nodes if cycles else math.nan
    return _number(average), _number(least / cycles), least_node, _number(most / cycles), most_node


def _length(facts: Mapping[str, Any], what: str) -> str:
    return _quotient(facts[f"{what}_flits"][0], facts[f"{what}_packets"][0])


def _flits(named: Sequence[int], count: int) -> str:
    shown = "".join(f"{flit} " for flit in named)
    return f"{shown}{'[...] ' if count > _NAMED else ''}({count} flits)"
