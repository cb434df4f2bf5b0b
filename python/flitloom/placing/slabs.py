"""A lower bound of the busiest channel from the slabs of the first or the last dimension.

Under dimension order, what a rank sends to nodes with another x begins on the two channels of its node along
x, one for each direction. So a placement whose busiest channel has few bytes divides the ranks among the
slabs of x, as many to each as it has nodes, and no rank sends more than that many bytes in one direction. The
same holds of the last dimension and of what a rank receives. Of grids whose cells also exchange over corners,
a search soon shows that there is no such division: where two slabs meet, some rank has three partners on the
same side. The search is that of the program that checks files.
"""

from __future__ import annotations

import math
from typing import Any

from flitloom.placing.checking import proven_by
from flitloom.placing.traffic import Traffic
from flitloom.spec.any_network import AnyNetwork

#: Into how many parts a known bound is divided for the steps of a better one, where bytes are many.
PARTS = 64
#: Ranks, and pairs that exchange something, up to which divisions are looked for.
MOST_RANKS, MOST_PAIRS = 1024, 100_000

Bounded = tuple[int, dict[str, Any]]


def slabs_bound(topology: AnyNetwork, traffic: Traffic, known: int) -> Bounded | None:
    """The best of these bounds above one that is `known`, with its certificate.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import stencil_traffic
    >>> slabs_bound(fl.Torus(4, 4, 4), stencil_traffic([8, 8], 9), 2)
    (3, {'kind': 'slabs', 'sends': True, 'least': 3})
    """
    if topology.twist or any(topology.full):
        return None
    if traffic.ranks > MOST_RANKS or not 0 < len(traffic.bytes) <= MOST_PAIRS:
        return None
    step = math.gcd(*traffic.bytes.tolist())
    unit = max(step, known // PARTS // step * step)
    best: Bounded | None = None
    for sends in (True, False):
        apart, failed = unit, math.inf
        while apart > 0:
            least = known + apart
            certificate = {"kind": "slabs", "sends": sends, "least": least}
            if proven_by(certificate, topology, traffic, hops=False, ordered=True):
                best, known, apart = (least, certificate), least, 2 * apart
            else:
                failed = least
            if failed < math.inf:
                apart = int(failed - known) // (2 * unit) * unit
    return best
