"""The search for tables, with its destinations in the order that a seed draws."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.fabric.recognition import Recognition
from flitloom.tables.by_destination.demand import Demand

#: Entries the search may try at effort 1.
TRIES = 12_000_000
#: The same for large fabrics, per entry.
_TRIES_PER_ENTRY = 20


def searched(
    recognition: Recognition,
    roots: list[int],
    owners: NDArray[np.int64],
    old: NDArray[np.uint32] | None,
    demand: Demand | None,
    *,
    mode: str | None,
    lanes: int,
    effort: int,
    slack: float,
    reversible: bool,
    seed: int,
    method: str | None = None,
) -> dict[str, Any]:
    """Balanced tables as `_core.forward` makes them; rows come back in the order of `roots`."""
    subnet = recognition.subnet
    # Further LIDs of a host come behind the first of every one, but for repairs, which keep what they can.
    first: dict[int, int] = {}
    base: list[int] = []
    further: list[int] = []
    for row, owner in enumerate(owners.tolist()):
        (further if owner in first and old is None else base).append(row)
        first.setdefault(owner, row)
    if seed != 1:
        draw = random.Random(seed)
        draw.shuffle(base)
        draw.shuffle(further)
    place = {row: n for n, row in enumerate(base)}
    made: dict[str, Any] = _core.forward(
        subnet.hosts_per_switch(),
        subnet.cable_ends(),
        recognition.grid(),
        [roots[row] for row in base],
        None if old is None else np.ascontiguousarray(old[base]),
        None if demand is None else demand.rows(base).core(),
        [place[first[int(owners[row])]] for row in further],
        mode,
        lanes,
        effort * max(TRIES, _TRIES_PER_ENTRY * len(base) * len(subnet.switches)),
        slack,
        reversible,
        method,
    )
    back = np.argsort(np.array(base + further, dtype=np.int64))
    return made | {name: np.ascontiguousarray(made[name][back]) for name in ("next", "levels")}
