"""Simulate traffic on a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.result import Result
from flitloom.spec import Collective, Experiment, Load, Packets, TrafficMatrix
from flitloom.spec.base import show
from flitloom.spec.legs import read_route
from flitloom.spec.traffic import Patterned

if TYPE_CHECKING:
    from flitloom.scheduling.plan import Plan

#: Cells a link-time record may have (one byte each).
LINK_TIME_CELLS = 1 << 31


def simulate(
    network: Network,
    traffic: Collective | Load | Packets | TrafficMatrix | Plan,
    *,
    seed: int = 1,
    stop_at: int | None = None,
    cycle_limit: int | None = None,
    links: bool = True,
    packets: bool = False,
    link_time: bool = False,
) -> Result:
    """Simulate traffic, cycle by cycle, until everything is delivered.

    Parameters
    ----------
    network : Network
        The network.
    traffic : Collective, Load, Packets, TrafficMatrix or Plan
        Who sends what; a plan also says which way.
    seed : int
        Seed of everything random; the same seed gives the same result on any machine.
    stop_at : int, optional
        Look at the totals at the start of this cycle, whatever is still under way.
    cycle_limit : int, optional
        Fail if not everything is delivered before this cycle.
    links, packets, link_time : bool
        What to record: the occupation of every link, the times of every packet, what every link did
        in every cycle. A record that is off costs nothing.

    Returns
    -------
    Result
        Totals and records, with the spec, the seed, the version and the commit that made them.

    Raises
    ------
    SpecError
        The traffic does not fit the network.
    UnreachableError
        A packet needs a failed node or link.
    DeadlockError
        No flit can ever move again.
    CycleLimitError
        The limit was reached first.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(16, 16))
    >>> res = fl.simulate(net, fl.Collective("trns", payload=7))
    >>> res.duration                      # cup-stacking-2022, Table 2
    74
    >>> res.links.flits.sel(direction="+x").shape
    (16, 16)
    """
    if not isinstance(traffic, Collective | Load | Packets | TrafficMatrix):
        # Plans are of a room above this one.
        from flitloom.scheduling.plan import Plan

        if isinstance(traffic, Plan):
            network = traffic.arbitrated(network)
            traffic = traffic.as_packets(network)
    if not isinstance(traffic, Collective | Load | Packets | TrafficMatrix):
        raise SpecError(f"traffic: {show(traffic)} is no traffic; give fl.Collective(...) or fl.Load(...)")
    spec = Experiment(
        topology=network.topology,
        router=network.router,
        traffic=traffic,
        seed=seed,
        stop_at=stop_at,
        cycle_limit=cycle_limit,
    )
    workload = make_workload(network, traffic, seed)
    bound = _core.lower_bound(network._core, workload)
    if link_time:
        horizon = min(
            stop_at or 2**63, traffic.cycles if isinstance(traffic, Load) else bound[0] if bound else 0
        )
        cells = horizon * network.nodes * 2 * len(network.topology.sizes)
        if cells > LINK_TIME_CELLS:
            raise SpecError(
                f"link_time: a record of at least {cells} cells; at most {LINK_TIME_CELLS} are kept, "
                "so take a smaller network or stop earlier (stop_at)"
            )
    raw = _core.simulate(network._core, workload, stop_at, cycle_limit, links, packets, link_time)
    return Result(network, spec, raw, bound)


def run_experiment(
    experiment: Experiment, *, links: bool = True, packets: bool = False, link_time: bool = False
) -> Result:
    """Simulate what an experiment describes; see `simulate`."""
    return simulate(
        Network(experiment.topology, experiment.router),
        experiment.traffic,
        seed=experiment.seed,
        stop_at=experiment.stop_at,
        cycle_limit=experiment.cycle_limit,
        links=links,
        packets=packets,
        link_time=link_time,
    )


def lower_bound(network: Network, traffic: Collective | Packets | TrafficMatrix, *, seed: int = 1) -> int:
    """A duration that no arbitration and no timing within the routers can beat on the same routes.

    For every link, injection and ejection port: the flits that must pass it one per cycle, the shortest
    way before the first and behind the last of them; the largest of these sums.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.lower_bound(fl.Network(fl.Torus(16, 16)), fl.Collective("torn"))
    67
    """
    bound = _core.lower_bound(network._core, make_workload(network, traffic, seed))
    if bound is None:
        raise SpecError(
            "traffic.kind: a load has no lower bound on its duration; give a collective or packets"
        )
    return bound[0]


def make_destinations(network: Network, traffic: Patterned, seed: int) -> _core.Destinations:
    """Where the packets of patterned traffic go."""
    if traffic.destinations is not None:
        return _core.Destinations.given(network._core, traffic.destinations)
    assert traffic.pattern is not None
    fraction = 0.1 if traffic.hotspot_fraction is None else traffic.hotspot_fraction
    return _core.Destinations.of_pattern(
        network._core, traffic.pattern, fraction, traffic.hotspot_target, seed
    )


def make_workload(
    network: Network, traffic: Collective | Load | Packets | TrafficMatrix, seed: int
) -> _core.Workload:
    """The core's form of traffic, checked against the network."""
    core = network._core
    match traffic:
        case Collective():
            return _core.Workload.collective(
                core,
                make_destinations(network, traffic, seed),
                traffic.payload,
                traffic.slices,
                traffic.interval,
                traffic.delays,
                traffic.packets,
            )
        case Load():
            to = make_destinations(network, traffic, seed)
            return _core.Workload.load(to, traffic.rate, traffic.length, traffic.cycles, seed)
        case Packets() if traffic.routes:
            table = np.array(traffic.table, dtype=np.int64)
            routes = []
            for number, route in enumerate(traffic.routes):
                try:
                    routes.append(read_route(route))
                except SpecError as error:
                    raise SpecError(f"traffic.routes[{number}]: {error}") from None
            return _core.plan_workload(core, table, routes, bytes(traffic.channels), "traffic")
        case Packets():
            return _core.Workload.packets(core, np.array(traffic.table, dtype=np.int64))
        case _:
            if len(traffic.matrix) != network.nodes:
                raise SpecError(
                    f"traffic.matrix: {len(traffic.matrix)} rows; one per node ({network.nodes}) is needed"
                )
            return _core.Workload.packets(core, traffic.packet_table())
