"""Bounds of tables by destination: those of switches behind few cables, and proofs as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flitloom.fabric.model import Subnet
from flitloom.ground.numerals import counted


def behind_cables(subnet: Subnet, bound: dict[str, Any]) -> dict[str, Any]:
    """A bound for all pairs of hosts, or that of a switch behind few cables, if that is larger.

    All that goes to a destination takes one of the cables from a switch, and one of those to a switch that is
    joined to one other alone. The busiest one has the pairs of all senders to its share of the
    destinations, rounded up. Switches with one or two neighbours are looked at.

    Parameters
    ----------
    bound : dict
        A bound, as the core has it.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> hosts = "".join(f"a,h{n}\\n" for n in range(12)) + "".join(f"b,d{n}\\n" for n in range(4))
    >>> subnet = parse_fabric("a,b\\na,b\\na,b\\n" + hosts, hosts="h[0-11],d[0-3]")
    >>> proof(behind_cables(subnet, {"value": 16}), subnet)
    'the cables from the switch a, one to a destination: 48 pairs cross 3 channels'
    """
    near: list[list[int]] = [[] for _ in subnet.switches]
    for cable in subnet.cables:
        near[cable.a].append(cable.b)
        near[cable.b].append(cable.a)
    hosts = subnet.hosts_per_switch()
    for switch, joined in enumerate(near):
        if len(joined) < 2 or len(set(joined)) > 2:
            continue
        here, others = hosts[switch], sum(hosts[other] for other in _reached(near, switch)) - hosts[switch]
        for senders, receivers, way in ((others, here, "to"), (here, others, "from")):
            value = senders * -(-receivers // len(joined))
            if value > bound["value"] and (way == "from" or len(set(joined)) == 1):
                side = [n for n in range(len(near)) if (n == switch) == (way == "from")]
                bound = {
                    "value": value,
                    "pairs": here * others,
                    "channels": len(joined),
                    "side": side,
                    "prices": np.array([], dtype=np.uint64),
                    "proof": f"the cables {way} the switch, one to a destination",
                }
    return bound


def _reached(near: list[list[int]], switch: int) -> set[int]:
    """All switches that some way joins to one."""
    seen, new = {switch}, {switch}
    while new:
        new = {other for here in new for other in near[here]} - seen
        seen |= new
    return seen


def proof(bound: Mapping[str, Any], subnet: Subnet) -> str:
    """A bound's proof in one line; a cut around one switch has its name."""
    channels = counted(bound["channels"], "channel")
    words, side = str(bound["proof"]), set(map(int, bound["side"]))
    if not side:
        over = f"/ {bound['channels']}" if "prices" in words else f"hops on {channels}"
        return f"{words}: {bound['pairs']} {over}"
    alone = side if len(side) == 1 else set(range(len(subnet.switches))) - side
    if len(alone) == 1:
        name = f"the switch {subnet.switches[min(alone)].name}"
        # Hung switches are planes of coordinates that nobody sees.
        words = name if words.startswith("the planes") else words.replace("the switch", name)
    return f"{words}: {bound['pairs']} pairs cross {channels}"
