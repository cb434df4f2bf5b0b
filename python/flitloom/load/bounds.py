"""The highest load that the routing in use allows, and what the routers are like, beside what is measured."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flitloom.analysis.channel_loads import OBLIVIOUS, channel_loads
from flitloom.analysis.demands import Demands, make_demands
from flitloom.analysis.minimal_routes import any_routes_bound, minimal_routes_bound
from flitloom.analysis.switch_loads import switch_loads
from flitloom.errors import SpecError, UnreachableError
from flitloom.ground.numerals import counted
from flitloom.load.given import largest_load
from flitloom.networks.experiment import Experiment
from flitloom.networks.network import Network
from flitloom.spec import Load
from flitloom.tables.by_source.tables import Tables

#: What a bound rests on, by routing; every other routing takes some minimal route.
BASES = {
    "do": "links in dimension order",
    "o1turn": "links under O1TURN",
    "valiant": "links under Valiant's routing",
    "ugal": "links under any routing",
}
MINIMAL = "links under any minimal routing"
#: Rounds of the search for prices beside a row, by the largest number of nodes; `load bound` takes more.
ROUNDS = ((1024, 40), (1 << 30, 8))

#: How the throttle follows what a router is like.
THROTTLED = "; throttle "

_known: dict[str, dict[str, Any]] = {}


def ideal_loads(experiment: Experiment, tables: Tables | None = None) -> dict[str, Any]:
    """The load that the routing of an experiment, or tables, cannot exceed, in flits per node and cycle.

    Returns
    -------
    dict
        ``bound``: what links, receivers and sources allow under the experiment's routing; ``bound_of``: what
        it rests on: loads of links under dimension order, O1TURN or Valiant's routing, any minimal routing
        (sa, cl, ma), any routing at all (ugal), or the most wanted node; ``receive_bound``: what the most
        wanted node can receive, about 1 / (p N^2) for a hotspot of share p. All are ``None`` where they are
        not known: networks that are twisted or have failed parts, and weights that are too fine.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.load.bounds import ideal_loads
    >>> load = fl.Load("torn", rate=0.1, cycles=1)
    >>> ideal_loads(fl.Experiment(topology=fl.Torus(16, 16), traffic=load))
    {'bound': 0.125, 'bound_of': 'links in dimension order', 'receive_bound': 1.0}
    >>> valiant = fl.Router(routing="valiant")
    >>> found = ideal_loads(fl.Experiment(topology=fl.Torus(16, 16), router=valiant, traffic=load))
    >>> round(found["bound"], 3), found["bound_of"]
    (0.222, "links under Valiant's routing")
    """
    load = Load.of(experiment.traffic)
    if experiment.topology.grid is None:
        return _on_switches(experiment, load)
    if tables is not None:
        return _on_tables(experiment, load, tables)
    sent = load.model_dump(mode="json", exclude={"rate", "profile", "cycles", "impulse", "process"})
    router = experiment.router
    topology = experiment.topology.model_dump(mode="json")
    # Routes that options of BookSim2 give are bounded as any.
    routing = router.routing if router.is_own_way else "ugal"
    about = [topology, routing, router.ties, sent, experiment.seed]
    key = json.dumps(about, sort_keys=True)
    if key not in _known:
        try:
            network = Network(experiment.topology, router)
            demands = make_demands(network, load, experiment.seed)
            links, basis = _links(demands, routing, router.ties)
        except SpecError:
            _known[key] = _unknown()
        else:
            _known[key] = _least(demands, links, basis)
    return dict(_known[key])


def _on_tables(experiment: Experiment, load: Load, tables: Tables) -> dict[str, Any]:
    """What the busiest link of tables allows."""
    try:
        demands = make_demands(Network(experiment.topology, experiment.router), load, experiment.seed)
        largest = Fraction(largest_load(tables, demands))
    except SpecError:
        return _unknown()
    return _least(demands, 1 / largest if largest else None, "links on these tables")


def _on_switches(experiment: Experiment, load: Load) -> dict[str, Any]:
    """What the busiest channel of tables by destination allows."""
    about = [part.model_dump(mode="json") for part in (experiment.topology, load)]
    key = json.dumps([*about, experiment.seed])
    try:
        network = Network(experiment.topology, experiment.router)
        demands, followed = make_demands(network, load, experiment.seed), network.followed()
        if followed is None:
            return _unknown()
        if key not in _busiest:
            _busiest[key] = switch_loads(demands, followed.tables).ideal_throughput
    except (SpecError, UnreachableError):
        return _unknown()
    return _least(demands, _busiest[key], "links on these tables")


_busiest: dict[str, Fraction | None] = {}


def _unknown() -> dict[str, Any]:
    return {"bound": None, "bound_of": None, "receive_bound": None}


def _links(demands: Demands, routing: str, ties: str) -> tuple[Fraction | None, str]:
    """What links allow under a routing, and what that rests on."""
    basis = BASES.get(routing, MINIMAL)
    if routing in OBLIVIOUS:
        return channel_loads(demands, routing, ties).ideal_throughput, basis
    if routing == "ugal":
        return any_routes_bound(demands).throughput, basis
    rounds = next(rounds for nodes, rounds in ROUNDS if demands.topology.nodes <= nodes)
    return minimal_routes_bound(demands, rounds).throughput, basis


def _least(demands: Demands, links: Fraction | None, basis: str) -> dict[str, Any]:
    receive = demands.receive_bound
    bounds = {"the most wanted node": receive, "sources": Fraction(1)}
    if links is not None:
        bounds = {basis: links, **bounds}
    least = min(bounds, key=lambda name: bounds[name])
    return {"bound": float(bounds[least]), "bound_of": least, "receive_bound": float(receive)}


def most_generated(experiment: Experiment) -> float:
    """The load that the sources of an experiment reach at most, in flits per node and cycle.

    Examples
    --------
    Sources of the process ``gap`` wait for a cycle at least after a packet:

    >>> import flitloom as fl
    >>> from flitloom.load.bounds import most_generated
    >>> load = fl.Load("rand", rate=0.1, cycles=1, length=4, process="gap")
    >>> most_generated(fl.Experiment(topology=fl.Torus(8, 8), traffic=load))
    0.8
    """
    load = Load.of(experiment.traffic)
    if load.process == "gap":
        return math.floor(1e6 * load.length / (load.length + 1)) / 1e6
    return 1.0


def bound_text(row: Mapping[str, Any]) -> str:
    """The bound of a row in a few words.

    >>> bound_text({"bound": 0.125, "bound_of": "links in dimension order"})
    'bound 0.125 (links in dimension order)'
    """
    if row.get("bound") is None:
        return "no bound is known"
    return f"bound {row['bound']:.4g} ({row['bound_of']})"


def router_text(experiment: Experiment, tables: Tables | None = None) -> str:
    """The routers of an experiment in a few words: routing, ties, flow control, channels and queues.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.load.bounds import router_text
    >>> router_text(fl.Experiment(topology=fl.Torus(8, 8), traffic=fl.Load("rand", rate=0.1, cycles=1)))
    'do, ties wrap, wormhole, 3 channels of 4 flits: half a packet'
    """
    router = experiment.router
    network = Network(experiment.topology, router)
    ties = f", ties {router.ties}" if tables is None and _has_ties(network) else ""
    channels = f"{counted(network.channels, 'channel')} of {counted(router.buffer, 'flit')}"
    if router.model == "pipelined":
        way = "tables by destination" if network.follows_tables else router.routing + ties
        if router.options is not None:
            way = f"{router.options.get('routing_function')} of BookSim2"
        return f"pipelined: {way}, {channels}"
    routing = router.routing if tables is None else f"{tables.method} tables"
    text = ", ".join([routing + ties, router.flow_control, channels])
    length = getattr(experiment.traffic, "length", None)
    if length is not None:
        text += f": {_packets(Fraction(router.buffer, length))}"
    return text if experiment.throttle == "none" else f"{text}{THROTTLED}{experiment.throttle}"


def _has_ties(network: Network) -> bool:
    """Whether two ways round a ring may be equally short, and the router decides."""
    topology = network.topology
    if network.follows_tables or topology.twist:
        return False
    rings = zip(topology.sizes, topology.wraps, topology.steps, strict=True)
    return any(wraps and not steps and size > 2 and size % 2 == 0 for size, wraps, steps in rings)


def _packets(depth: Fraction) -> str:
    """How many packets a queue holds.

    >>> [_packets(Fraction(*depth)) for depth in ((1, 2), (1, 1), (2, 1), (3, 8))]
    ['half a packet', 'one packet', '2 packets', '0.375 packets']
    """
    named = {Fraction(1, 2): "half a packet", Fraction(1): "one packet"}
    return named.get(depth, f"{float(depth):.3g} packets")
