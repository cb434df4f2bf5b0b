"""What BookSim2 prints of a run with ``print_csv_results = 1``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flitloom.booksim.options import Options
from flitloom.booksim.printing import DELAYS, RATES, delay_values, figure, quotient, rate_values, spread

_KINDS = ("read_request", "write_request", "read_reply", "write_reply")


def results(events: Sequence[Mapping[str, Any]], options: Options) -> Iterator[str]:
    """One line per class with means over all runs; none of a run that is unstable.

    BookSim2 prints the values of class 0 in the lines of all classes.

    Examples
    --------
    >>> from flitloom.booksim import run
    >>> values = {"topology": "mesh", "k": "4", "routing_function": "dor", "seed": "3"}
    >>> options = Options.of(values | {"print_csv_results": "1"})
    >>> next(results(run(options).events, options))[:34]
    'results:0,uniform,0,0.1,7,19.5737,'
    """
    ends = [event for event in events if event["kind"] == "end"]
    if not ends or events[-1] is not ends[-1]:
        return
    columns = [*_settings(options), *map(figure, _means(ends))]
    for number in range(int(options["classes"])):
        yield f"results:{number},{','.join(columns)}"


def _first(text: str) -> str:
    """What a list says of class 0."""
    depth, inside = 0, text.removeprefix("{")
    if inside == text:
        return text
    for at, letter in enumerate(inside):
        if depth == 0 and letter in ",}":
            return inside[:at].strip()
        depth += (letter in "{(") - (letter in "})")
    return inside.strip()


def _numbers(text: str) -> list[float]:
    return [float(part) for part in re.split(r"[{},\s]+", text) if part]


def _settings(options: Options) -> tuple[str, str, str]:
    """Pattern, whether there are reads and writes, and the rate in packets."""
    messages, rate = _first(options["use_read_write"]), float(_first(options["injection_rate"]))
    if options["injection_rate_uses_flits"] != "0":
        if messages != "0":
            # The half of the sum is cut off.
            rate /= sum(int(float(_first(options[f"{kind}_size"]))) for kind in _KINDS) // 2
        else:
            sizes = _numbers(_first(options["packet_size"]))
            weights = _numbers(_first(options["packet_size_rate"]))
            weights += weights[-1:] * (len(sizes) - len(weights))
            pairs = list(zip(sizes, weights, strict=False))
            rate /= sum(size * weight for size, weight in pairs) / sum(weight for _, weight in pairs)
    return _first(options["traffic"]), messages, figure(rate)


def _means(ends: Sequence[Mapping[str, Any]]) -> Iterator[float]:
    """Of class 0: spreads of delays and rates, lengths, hops, then the spread of durations of batches."""
    runs = [(facts, end["cycles"]) for end in ends for facts in end["classes"] if facts["class"] == 0]

    def mean(of_runs: Sequence[tuple[float, float, float]]) -> Iterator[float]:
        for place in (1, 0, 2):
            yield sum(values[place] for values in of_runs) / len(ends)

    for name, _ in DELAYS:
        yield from mean([delay_values(facts[name]) for facts, _ in runs])
    sums = {}
    for name, _ in RATES:
        rates = [rate_values(facts[name], cycles) for facts, cycles in runs]
        sums[name] = sum(average for average, _, _ in rates)
        yield from mean(rates)
    for what in ("sent", "delivered"):
        yield quotient(sums[f"{what}_flits"], sums[f"{what}_packets"])
    yield sum(delay_values(facts["hops"])[0] for facts, _ in runs) / len(ends)
    if ends[0]["durations"]:
        spreads = [spread(end["durations"]) for end in ends]
        yield from (sum(values) / len(ends) for values in zip(*spreads, strict=True))
