"""Units of quantities, as their one description says them: for axes of pictures and attributes of arrays."""

from __future__ import annotations

import re
from collections.abc import Collection

from flitloom.spec.answer_words import WORDS
from flitloom.spec.words import OPTIONS

#: Columns of files of BookSim2.
_OTHERS = {"offered": "flits/node/cycle", "packet_latency": "cycles", "flit_latency": "cycles"}
#: Units, and what a description says that means them; the first that fits.
_SAID = {
    "flits/node/cycle": r"flits/node/cycle|per node and cycle",
    "cycles": r"\bin cycles\b|(^|: |mean )cycles\b",
    "s": r"^seconds\b",
    "flits": r"\bin flits\b|(^|: )flits\b",
    "bytes/s": r"^bytes per second\b",
    "bytes": r"^bytes\b",
    "packets": r"(^|: |most |fewest )packets\b",
}


def unit_of(name: str, beside: Collection[str] = ()) -> str:
    """The unit of a quantity; empty where it has none.

    Parameters
    ----------
    name : str
        A name of answers, e.g. latency, or a field of an experiment, e.g. router.buffer.
    beside : collection of str
        Other names of the same rows: a bound is one of loads or of durations, and the rate of a file of
        BookSim2, beside what is offered, may count packets.

    Examples
    --------
    >>> unit_of("latency"), unit_of("router.buffer"), unit_of("traffic.rate"), unit_of("seed")
    ('cycles', 'flits', 'flits/node/cycle', '')
    >>> unit_of("bound", ["rate", "bound_of"]), unit_of("bound", ["duration"])
    ('flits/node/cycle', 'cycles')
    """
    part, _, field = name.rpartition(".")
    if name == "bound":
        of_load = "bound_of" in beside
        return "flits/node/cycle" if of_load else "cycles" if "duration" in beside else ""
    if name == "rate" and "offered" in beside:
        return ""
    if field in WORDS and not part:
        text = WORDS[field][1]
    elif field in OPTIONS:
        text = OPTIONS[field].help
    else:
        return _OTHERS.get(field, "")
    return next((unit for unit, said in _SAID.items() if re.search(said, text, re.IGNORECASE)), "")
