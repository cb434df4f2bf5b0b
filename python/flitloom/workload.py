"""The core's form of traffic."""

from __future__ import annotations

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.packed import Routes
from flitloom.spec import Collective, Load, Packets, TrafficMatrix
from flitloom.spec.legs import read_route
from flitloom.spec.traffic import Patterned

#: A lower bound in cycles, and what it rests on: in words, as nodes, or as a link.
Bound = tuple[int, str, list[int], int | None]


def make_destinations(network: Network, traffic: Patterned, seed: int) -> _core.Destinations:
    """Where the packets of patterned traffic go."""
    if isinstance(traffic, Load) and traffic.weights is not None:
        return _core.Destinations.weighted(network._core, traffic.weights, seed)
    if isinstance(traffic, Load) and traffic.classes:
        classes = [(part.weight, make_destinations(network, part, seed)) for part in traffic.classes]
        return _core.Destinations.classes(classes, seed)
    if traffic.destinations is not None:
        return _core.Destinations.given(network._core, traffic.destinations)
    assert traffic.pattern is not None
    fraction = 0.1 if traffic.hotspot_fraction is None else traffic.hotspot_fraction
    return _core.Destinations.of_pattern(
        network._core, traffic.pattern, fraction, traffic.hotspot_target, seed
    )


def among_working(network: Network, traffic: Collective, seed: int) -> Packets:
    """The packets of a collective whose two ends work; random ones are drawn until they go to such a node.

    Raises
    ------
    SpecError
        No packet has two ends that work.

    Examples
    --------
    >>> import flitloom as fl
    >>> network = fl.Network(fl.Torus(4, failed_nodes=[1]))
    >>> among_working(network, fl.Collective("next"), 1).table
    ((2, 3, 8, 0, 0), (3, 0, 8, 0, 0))
    """
    failed = set(network.topology.failed_nodes)
    to = make_destinations(network, traffic, seed)
    random = traffic.pattern in ("rand", "hots") and traffic.hotspot_fraction != 1
    rows = []
    for source in (node for node in range(network.nodes) if node not in failed):
        drawn = 0
        ends = []
        for _ in range(traffic.packets):
            destination = to.of(source, drawn)
            while random and destination in failed and drawn < MOST_DRAWS:
                drawn += 1
                destination = to.of(source, drawn)
            drawn += 1
            if destination not in failed:
                ends.append(destination)
        start = traffic.delays[source] if traffic.delays else 0
        rows += [
            (source, destination, traffic.slice_length, start + number * traffic.interval, part)
            for packet, destination in enumerate(ends)
            for part, number in enumerate(range(packet * traffic.slices, (packet + 1) * traffic.slices))
        ]
    if not rows:
        raise SpecError.at("traffic.pattern", "sends no packet between two nodes that work")
    return Packets(rows)


#: Draws of destinations for one node.
MOST_DRAWS = 1 << 20


def make_workload(
    network: Network, traffic: Collective | Load | Packets | TrafficMatrix, seed: int
) -> _core.Workload:
    """The core's form of traffic, checked against the network."""
    core = network._core
    match traffic:
        case Collective():
            return _core.Workload.collective(core, make_destinations(network, traffic, seed), traffic)
        case Load():
            to = make_destinations(network, traffic, seed)
            changes = [(change.at, make_destinations(network, change, seed)) for change in traffic.changes]
            impulse = None if traffic.impulse is None else make_destinations(network, traffic.impulse, seed)
            return _core.Workload.load(to, traffic, changes, impulse, seed)
        case Packets() if traffic.routes:
            table = np.array(traffic.table, dtype=np.int64)
            routes = []
            for number, route in enumerate(traffic.routes):
                try:
                    routes.append(read_route(route))
                except SpecError as error:
                    raise SpecError(f"traffic.routes[{number}]: {error}") from None
            return _core.plan_workload(core, table, Routes.of(routes), bytes(traffic.channels), "traffic")
        case Packets():
            return _core.Workload.packets(core, np.array(traffic.table, dtype=np.int64))
        case _:
            if len(traffic.matrix) != network.nodes:
                raise SpecError.at(
                    "traffic.matrix",
                    f"{len(traffic.matrix)} rows",
                    f"one per node ({network.nodes}) is needed",
                )
            return _core.Workload.packets(core, traffic.packet_table())


def describe(network: Network, traffic: Collective | Load | Packets | TrafficMatrix) -> str:
    """Pattern, shape and payload of what is simulated."""
    match traffic:
        case Collective():
            slices = f" in {traffic.slices} slices" if traffic.slices > 1 else ""
            words = f"{traffic.payload} payload flits{slices}"
        case Load():
            words = f"{traffic.mean_rate:g} flits per node and cycle in packets of {traffic.length}"
        case Packets():
            return f"{len(traffic.table)} packets on {network.topology}"
        case _:
            return f"traffic matrix on {network.topology}"
    if isinstance(traffic, Load) and traffic.changes:
        words += f", going elsewhere from cycle {min(change.at for change in traffic.changes)} on"
    return f"{traffic.pattern or 'given destinations'} on {network.topology}, {words}"
