"""How long a placement's traffic takes on a machine."""

from __future__ import annotations

from flitloom.placing.placement import Placement
from flitloom.spec.machine import Machine


def microseconds(found: Placement, machine: Machine) -> dict[str, float]:
    """A round per phase, and the bytes of its busiest channel or of a node's ports, whichever take longer.

    Parameters
    ----------
    found : Placement
        The placement.
    machine : Machine
        What rounds and bytes cost, and how many ports nodes have.

    Returns
    -------
    dict
        Microseconds as ``placed`` and ``row_major``; the ``bound`` of any placement if the busiest channel
        was minimised; ``simulated`` if time was.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import axes_traffic, parse_axes, place
    >>> traffic = axes_traffic(parse_axes("tensor=4:a2a:1000,data=4:ring:4000"))
    >>> microseconds(place(fl.Torus(4, 4), traffic, effort=1), Machine())
    {'placed': 1.08, 'row_major': 1.08, 'bound': 1.08}
    """
    machine.require_equal_links("placements are")
    bandwidth = machine.bandwidth
    phases = found.phases or (found,)

    def taken(loads: list[int], per_node: int = 1) -> float:
        ports = [0.0] * len(loads)
        # Whatever their places, nodes with one rank send and receive as much.
        if machine.ports is not None and per_node == 1:
            ports = [phase.busiest_port / machine.ports for phase in phases]
        bytes_ = sum(map(max, loads, ports))
        return round(1e6 * (len(loads) * machine.round + bytes_ / bandwidth), 4)

    plain = [phase.row_major for phase in found.phases] or [found.row_major["busiest_channel"]]
    times = {
        "placed": taken([phase.busiest_channel for phase in phases]),
        "row_major": taken(plain, found.per_node),
    }
    if found.minimised == "channel":
        bounds = taken([phase.bound for phase in phases], found.per_node)
        joint = 1e6 * (len(phases) * machine.round + found.bound / bandwidth)
        times["bound"] = round(max(bounds, joint), 4)
    if found.duration is not None:
        times["simulated"] = machine.microseconds(found.duration)
    return times
