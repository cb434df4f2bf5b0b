"""A proof that no placement has less on its busiest channel: all were tried, rank after rank.

Few ranks that exchange with their neighbours leave little room where no channel may have more than a message
or two. Then a search through all placements ends soon. It is that of the program that checks files, and is
made where it may show that the placement that was found is optimal.
"""

from __future__ import annotations

import math
from typing import Any

from flitloom.placing.checking import proven_by
from flitloom.placing.traffic import Traffic
from flitloom.spec.any_network import AnyNetwork

#: Ranks, and pairs that exchange something, up to which placements are tried.
MOST_RANKS, MOST_PAIRS = 128, 1024


def trying_bound(
    topology: AnyNetwork, traffic: Traffic, known: int, reached: int
) -> tuple[int, dict[str, Any]] | None:
    """The proof that nothing is below what a placement has reached, if that is one step above a known bound.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import stencil_traffic
    >>> trying_bound(fl.Torus(4, 4), stencil_traffic([5, 3]), 1, 2)
    (2, {'kind': 'search', 'least': 2})
    """
    plain = not topology.twist and all(topology.wraps) and min(topology.sizes) > 2
    if not plain or traffic.ranks > MOST_RANKS or not 0 < len(traffic.bytes) <= MOST_PAIRS:
        return None
    if reached - known != math.gcd(*traffic.bytes.tolist()) or not _is_both_ways(traffic):
        return None
    certificate = {"kind": "search", "least": reached}
    value = proven_by(certificate, topology, traffic, hops=False, ordered=True)
    return (value, certificate) if value else None


def _is_both_ways(traffic: Traffic) -> bool:
    """Whether every rank that gets something sends something back."""
    pairs = set(zip(traffic.sources.tolist(), traffic.destinations.tolist(), strict=True))
    return pairs == {(b, a) for a, b in pairs}
