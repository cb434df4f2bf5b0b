"""The core's form of traffic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.numerals import counted
from flitloom.packed import Routes
from flitloom.spec import Collective, Experiment, Load, Messages, Packets
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.base import require_whole
from flitloom.spec.legs import read_route
from flitloom.spec.traffic import Kind, Patterned

#: How links are drawn that carry messages: their operations have 254 numbers in a record of links over time.
BUSY_WITH_MESSAGES = "busy, a colour per message, one from operation 254 on"
#: A lower bound in cycles, and what it rests on: in words, as nodes, or as a link.
Bound = tuple[int, str, list[int], int | None]


def make_destinations(network: Network, traffic: Patterned, seed: int) -> _core.Destinations:
    """Where the packets of patterned traffic go."""
    if isinstance(traffic, Load) and traffic.weights is not None:
        return _core.Destinations.weighted(network.numbering(), traffic.weights, seed)
    if isinstance(traffic, Load) and traffic.classes:
        classes = [(part.weight, make_destinations(network, part, seed)) for part in traffic.classes]
        return _core.Destinations.classes(classes, seed)
    if traffic.destinations is not None:
        return _core.Destinations.given(network.numbering(), traffic.destinations)
    assert traffic.pattern is not None
    fraction = 0.1 if traffic.hotspot_fraction is None else traffic.hotspot_fraction
    return _core.Destinations.of_pattern(
        network.numbering(), traffic.pattern, fraction, traffic.hotspot_target, seed
    )


def silent_nodes(network: Network, load: Load, seed: int) -> tuple[int, ...]:
    """The nodes that send nothing of a load: failed ones, and those whose pattern goes to a failed one.

    Patterns are all that the load has: of its classes, of its changes and of its impulse.

    Examples
    --------
    >>> import flitloom as fl
    >>> network = fl.Network(fl.Torus(4, failed_nodes=[1]))
    >>> silent_nodes(network, fl.Load("next", rate=0.1, cycles=9), 1)
    (0, 1)
    >>> silent_nodes(network, fl.Load("rand", rate=0.1, cycles=9), 1)
    (1,)
    """
    failed = set(network.topology.failed_nodes)
    silent = set(failed)
    for part in _parts(load) if failed else ():
        if part.pattern not in (None, *DRAWN):
            to = make_destinations(network, part, seed)
            silent |= {node for node in range(network.nodes) if to.of(node, 0) in failed}
    return tuple(sorted(silent))


def _parts(load: Load) -> list[Patterned]:
    """Everything of a load that says where packets go, but its weights."""
    own = [] if load.weights is not None or load.classes else [load]
    return [*own, *(load.classes or ()), *load.changes, *([] if load.impulse is None else [load.impulse])]


def _require_working(network: Network, part: Patterned) -> None:
    """Refuse given destinations that have failed; whose node has failed itself does not count.

    Raises
    ------
    SpecError
        A node that works is to send to one that has failed.
    """
    failed = set(network.topology.failed_nodes)
    wrong = [
        (node, end)
        for node, end in enumerate(part.destinations or ())
        if end in failed and node not in failed
    ]
    if wrong:
        (node, end), more = wrong[0], len(wrong) - 1
        others = "" if not more else f", and {more} more {'nodes do' if more > 1 else 'node does'} so"
        raise SpecError.at(
            f"{part.place}.destinations",
            f"node {node} sends to node {end}, which has failed{others}",
            "give destinations that work, or a pattern, whose packets go among the nodes that work",
        )


def _make_load(network: Network, load: Load, seed: int) -> _core.Workload:
    """The core's form of a load, whose packets go among the nodes that work."""
    failed = bool(network.topology.failed_nodes)

    def destinations(part: Patterned) -> _core.Destinations:
        to = make_destinations(network, part, seed)
        return to.among_working(network.numbering()) if failed else to

    for part in _parts(load) if failed else ():
        _require_working(network, part)
    changes = [(change.at, destinations(change)) for change in load.changes]
    impulse = None if load.impulse is None else destinations(load.impulse)
    made = _core.Workload.load(destinations(load), load, changes, impulse, seed)
    return made.without(silent_nodes(network, load, seed)) if failed else made


def ends_among_working(network: Network, traffic: Collective, seed: int) -> list[tuple[int, int]]:
    """Source and destination of the packets of a collective whose two ends work, node by node.

    Random ones are drawn until they go to a node that works.

    Raises
    ------
    SpecError
        No packet has two ends that work, or a given destination has failed.

    Examples
    --------
    >>> import flitloom as fl
    >>> ends_among_working(fl.Network(fl.Torus(4, failed_nodes=[1])), fl.Collective("next"), 1)
    [(2, 3), (3, 0)]
    """
    failed = set(network.topology.failed_nodes)
    to = make_destinations(network, traffic, seed)
    _require_working(network, traffic)
    random = traffic.pattern in DRAWN and traffic.hotspot_fraction != 1
    ends = []
    for source in (node for node in range(network.nodes) if node not in failed):
        drawn = 0
        for _ in range(traffic.packets):
            destination = to.of(source, drawn)
            while random and destination in failed and drawn < MOST_DRAWS:
                drawn += 1
                destination = to.of(source, drawn)
            drawn += 1
            if destination not in failed:
                ends.append((source, destination))
    if not ends:
        raise SpecError.at("traffic.pattern", "sends no packet between two nodes that work")
    return ends


def among_text(topology: AnyNetwork, name: str, omitted: int = 0) -> str:
    """That something is sent among the nodes that work, where some have failed.

    >>> import flitloom as fl
    >>> among_text(fl.Torus(4, failed_nodes=[1]), "next", 1)
    'next among the 3 nodes that work; packets to failed nodes are left out: 1'
    """
    text = f"{name} among the {topology.nodes - len(topology.failed_nodes)} nodes that work"
    return f"{text}; packets to failed nodes are left out: {omitted}" if omitted else text


def among_working(network: Network, traffic: Collective, seed: int) -> Packets:
    """The packets of a collective whose two ends work; random ones are drawn until they go to such a node.

    Raises
    ------
    SpecError
        No packet has two ends that work, or a given destination has failed.

    Examples
    --------
    >>> import flitloom as fl
    >>> network = fl.Network(fl.Torus(4, failed_nodes=[1]))
    >>> among_working(network, fl.Collective("next"), 1).table
    ((2, 3, 8, 0, 0), (3, 0, 8, 0, 0))
    """
    rows: list[tuple[int, int, int, int, int]] = []
    sent: dict[int, int] = {}
    for source, destination in ends_among_working(network, traffic, seed):
        packet = sent[source] = sent.get(source, -1) + 1
        start = traffic.delays[source] if traffic.delays else 0
        rows += [
            (source, destination, traffic.slice_length, start + number * traffic.interval, part)
            for part, number in enumerate(range(packet * traffic.slices, (packet + 1) * traffic.slices))
        ]
    return Packets(rows)


def senders(experiment: Experiment) -> str:
    """Who sends the packets of a load on a network with failed nodes, as text; empty where all nodes do.

    Examples
    --------
    >>> import flitloom as fl
    >>> load = fl.Load("next", rate=0.1, cycles=9)
    >>> senders(fl.Experiment(topology=fl.Torus(4, failed_nodes=[1]), traffic=load))
    'packets go among the 3 nodes that work; 1 of them sends nothing, since its destination has failed'
    """
    load, failed = experiment.traffic, len(experiment.topology.failed_nodes)
    if not failed or not isinstance(load, Load):
        return ""
    network = Network(experiment.topology, experiment.router)
    text = f"packets go among the {network.nodes - failed} nodes that work"
    match len(silent_nodes(network, load, experiment.seed)) - failed:
        case 0:
            return text
        case 1:
            return f"{text}; 1 of them sends nothing, since its destination has failed"
        case left:
            return f"{text}; {left} of them send nothing, since their destinations have failed"


def left_working(experiment: Experiment) -> Experiment:
    """An experiment with a collective sent among the nodes that work, if some have failed."""
    traffic, topology = experiment.traffic, experiment.topology
    if not topology.failed_nodes or not isinstance(traffic, Collective):
        return experiment
    left = among_working(Network(topology, experiment.router), traffic, experiment.seed)
    return experiment.model_copy(update={"traffic": left})


#: Patterns whose destinations are drawn packet by packet.
DRAWN = ("rand", "hots")
#: Draws of destinations for one node.
MOST_DRAWS = 1 << 20


def _make_messages(network: Network, traffic: Messages) -> _core.Workload:
    """The core's form of a message graph, whose ranks have nodes that there are."""
    ranks, nodes = traffic.ranks, traffic.nodes
    if nodes is None and ranks > network.nodes:
        raise SpecError.at(
            "traffic.graph", f"{counted(ranks, 'rank')}, the network has {counted(network.nodes, 'node')}"
        )
    for rank, node in enumerate(nodes or ()):
        require_whole(f"traffic.nodes[{rank}]", node, 0, network.nodes - 1)
    return _core.goal_workload(
        traffic.graph,
        traffic.flit_bytes,
        traffic.calc_cycles,
        traffic.packet_payload,
        range(ranks) if nodes is None else nodes,
    )


def make_workload(network: Network, traffic: Kind, seed: int) -> _core.Workload:
    """The core's form of traffic, checked against the network."""
    core = network.numbering()
    match traffic:
        case Collective():
            return _core.Workload.collective(core, make_destinations(network, traffic, seed), traffic)
        case Load():
            return _make_load(network, traffic, seed)
        case Packets() if traffic.routes:
            table = np.array(traffic.table, dtype=np.int64)
            routes = []
            for number, route in enumerate(traffic.routes):
                try:
                    routes.append(read_route(route))
                except SpecError as error:
                    raise SpecError(f"traffic.routes[{number}]: {error}") from None
            packed = Routes.of(routes)
            _require_own_routes(network, table, packed)
            if network.router.model == "pipelined":
                # These number the channels of their lanes themselves.
                return _core.Workload.packets(core, table)
            return _core.plan_workload(core, table, packed, bytes(traffic.channels), "traffic")
        case Packets():
            return _core.Workload.packets(core, np.array(traffic.table, dtype=np.int64))
        case Messages():
            return _make_messages(network, traffic)
        case _:
            if len(traffic.matrix) != network.nodes:
                raise SpecError.at(
                    "traffic.matrix",
                    counted(len(traffic.matrix), "row"),
                    f"one per node ({network.nodes}) is needed",
                )
            return _core.Workload.packets(core, traffic.packet_table())


def route_bound(network: Network, workload: _core.Workload) -> Bound | None:
    """A duration that a workload cannot beat on its routes, which are those of a grid, and what it rests on.

    ``None`` for loads and message graphs, and where packets go by tables by destination. Links and ports
    transfer a flit per cycle with any routers, and pipelined ones take longer for a hop.
    """
    if network.follows_tables:
        return None
    return _core.lower_bound(network.grid("bounds are of"), workload)


def _require_own_routes(network: Network, table: NDArray[np.int64], routes: Routes) -> None:
    """Refuse given routes that pipelined routers would not take: packets contain no route there.

    Raises
    ------
    SpecError
        The routers are pipelined and a route is not theirs.
    """
    if network.router.model != "pipelined":
        return
    if network.follows_tables:
        problem = f"are given, and packets on {network.topology} go by tables by destination"
        raise SpecError.at("traffic.routes", problem, "leave them out")
    if network.router.routing != "do":
        problem = f"are given, and pipelined routers choose theirs by {network.router.routing}"
        raise SpecError.at("traffic.routes", problem, "leave them out")
    other = _core.other_route(network.grid("routes are of"), table, routes, "dor")
    if other is not None:
        raise SpecError.at(
            f"traffic.routes[{other}]",
            "is not in dimension order, and pipelined routers take no other",
            "leave the routes out, or give router.model = one-cycle",
        )


def describe(network: Network, traffic: Kind) -> str:
    """Pattern, shape and payload of what is simulated."""
    match traffic:
        case Collective():
            slices = f" in {counted(traffic.slices, 'slice')}" if traffic.slices > 1 else ""
            words = f"{traffic.payload} payload flits{slices}"
        case Load():
            words = f"{traffic.mean_rate:g} flits per node and cycle in packets of {traffic.length}"
        case Packets():
            return f"{counted(len(traffic.table), 'packet')} on {network.topology}"
        case Messages():
            return f"messages of {counted(traffic.ranks, 'rank')} on {network.topology}"
        case _:
            return f"traffic matrix on {network.topology}"
    if isinstance(traffic, Load) and traffic.changes:
        words += f", going elsewhere from cycle {min(change.at for change in traffic.changes)} on"
    return f"{traffic.pattern or 'given destinations'} on {network.topology}, {words}"
