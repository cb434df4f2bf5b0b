"""All-to-all over minimal routes with any number of bends."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.network import Network

#: The name of this choice of routes.
STAIRCASE = "staircase"


def schedule_staircases(
    network: Network,
    phases: list[NDArray[np.int64]],
    *,
    exact: bool,
    slicing: bool,
    guard: int,
    seed: int,
    moves: int,
    seconds: float | None,
) -> dict[str, Any]:
    """Search in step with rotating slots, where packets change dimension in any order.

    Parameters
    ----------
    network : Network
        A whole torus.
    phases : list of array
        One phase: a packet for every ordered pair of nodes, all equally long.
    exact : bool
        Whether to search, or to make one pass only.
    slicing : bool
        Whether slices have an interval or times of their own, which is refused.
    guard : int
        Cycles kept free behind packets; must be 0.
    seed, moves, seconds
        As for `schedule`.

    Returns
    -------
    dict
        Like what the core's search returns.

    Raises
    ------
    SpecError
        The traffic or the network is of another kind.
    """
    if guard:
        raise SpecError("guard: staircase routes leave no room for guards; choose other routes")
    if slicing:
        raise SpecError("interval: packets on staircase routes have no slices; choose other routes")
    raw = None
    if len(phases) == 1:
        budget = moves if exact else 1
        raw = _core.schedule_staircases(network._core, phases[0], seed, budget, seconds)
    if raw is None:
        raise SpecError(
            "routes: staircase is for all-to-all among all nodes of a torus without failures, whose sizes "
            "have a common divisor that is a multiple of the packet length or of up to a quarter more"
        )
    return raw
