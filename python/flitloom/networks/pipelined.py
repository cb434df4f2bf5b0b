"""Runs of the pipelined router on flitloom's own networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, UnreachableError, show
from flitloom.networks.followed import Followed
from flitloom.networks.network import Network
from flitloom.spec import Router
from flitloom.spec.pipeline import OBLIVIOUS, router_fields
from flitloom.tables.by_destination.tables import ForwardingTables

#: What does not go with pipelined routers, and how to do without.
_WITHOUT = {"tables": "source routes"}


def is_pipelined(network: Network) -> bool:
    """Whether a network has pipelined routers."""
    return network.router.model == "pipelined"


def run(
    network: Network,
    workload: _core.Workload,
    records: Mapping[str, Any],
    beside: Mapping[str, object],
    cycle_limit: int | None = None,
) -> dict[str, Any]:
    """The result of a workload that is run without a look at it; see `begin`."""
    simulation = begin(network, workload, 1, records, beside)
    simulation.run(None, cycle_limit, None)
    return simulation.totals(None, bool(records))


def begin(
    network: Network,
    workload: _core.Workload,
    seed: int,
    records: Mapping[str, Any],
    beside: Mapping[str, object],
) -> _core.Simulation:
    """A run at its beginning.

    Parameters
    ----------
    network : Network
        The network.
    workload : Workload
        Who sends what.
    seed : int
        The seed of everything random.
    records : mapping
        What is recorded.
    beside : mapping
        What else was asked for, by its name.

    Raises
    ------
    SpecError
        Something does not go with pipelined routers.
    """
    for name, what in _WITHOUT.items():
        if records.get(name) or beside.get(name) is not None:
            raise SpecError.at(name, f"{what} are not known with pipelined routers", "leave it out")
    if beside.get("throttle", "none") != "none":
        raise SpecError.at("throttle", "is for routers of one cycle", "leave it out")
    topology, router = network.topology, network.router
    if topology.grid is not None:
        check_grid(network)
    elif records.get("link_time"):
        raise SpecError.at("link_time", "link-time records are of tori and meshes", "leave it out")
    followed = network.followed()
    given = None if followed is None else followed_fields(followed)
    replies = None if router.reply_length is None else (router.reply_length, router.reply_places)
    return begun(
        network,
        workload,
        given,
        namer(network),
        {
            "seed": seed,
            "windows": records.get("windows"),
            "link_time": bool(records.get("link_time")),
            "packets": bool(records.get("packets")),
            "film": bool(records.get("film")),
            "replies": replies,
            "threads": beside.get("threads", 1),
            "ranks": beside.get("ranks"),
        },
    )


def timing(router: Router) -> dict[str, int]:
    """Cycles of a header that nothing hinders: over a link, through a router, and until it leaves the first.

    >>> import flitloom as fl
    >>> timing(fl.Router(model="pipelined", speculative=True))
    {'latency': 2, 'router': 2, 'entry': 4}
    """
    told = router_fields(router)
    stages = told["routing_delay"] + told["crossbar_delay"] + 1 - int(told["speculative"])
    return {"latency": router.latency + 1, "router": stages, "entry": 2 + stages}


def begun(
    network: Network,
    workload: _core.Workload,
    tables: dict[str, Any] | None,
    names: Callable[[str, int, int], str],
    settings: Mapping[str, Any],
) -> _core.Simulation:
    """The core's run of a workload, over tables if there are any."""
    try:
        return begun_on((network.core, network.routers), network.router, workload, tables, names, settings)
    except UnreachableError as error:
        if network.topology.grid is not None:
            raise
        topology = network.topology
        raise _unreachable(topology.node_names, error.pairs, topology.failed_nodes) from None


def _unreachable(
    names: Sequence[str], pairs: list[tuple[int, int]], failed: Sequence[int] = ()
) -> UnreachableError:
    """Tables do not lead from one host to another, of which one may have failed."""
    source, destination = (show(names[host]) for host in pairs[0])
    text = f"the tables do not lead from host {source} to host {destination}"
    lost = next((names[host] for host in pairs[0] if host in failed), None)
    advice = "give tables that do, or traffic between other hosts"
    if lost is not None:
        advice = f"{show(lost)} has failed: give traffic that leaves it out"
    return UnreachableError(f"{text}; {advice}", pairs)


def begun_on(
    place: tuple[_core.Network, _core.Routers | None],
    router: Router,
    workload: _core.Workload,
    tables: dict[str, Any] | None,
    names: Callable[[str, int, int], str],
    settings: Mapping[str, Any],
) -> _core.Simulation:
    """The same on a network of the core, with the routers of its grid where packets follow no tables."""
    parts = (router.message_classes or 1) if router.reply_length is not None else 1
    given = {"latency": router.latency, "parts": parts, "ranks": None, **settings}
    return _core.Simulation.pipelined(*place, workload, router_fields(router), given, tables, names)


def check_grid(network: Network) -> None:
    """Refuse what tori and meshes do not know with pipelined routers."""
    router = network.router
    if router.routing not in OBLIVIOUS:
        raise SpecError.at(
            "router.routing",
            f"{router.routing} is not known with pipelined routers",
            f"there are {', '.join(OBLIVIOUS)}",
        )


def followed_fields(followed: Followed) -> dict[str, Any]:
    """Tables by destination that packets follow, as the core takes them."""
    channels = None if followed.channels is None else followed.channels.reshape(-1).tolist()
    return {**table_fields(followed.tables), "grid": channels}


def table_fields(tables: ForwardingTables) -> dict[str, Any]:
    """Tables by destination as the core takes them."""
    return {
        "network": tables.subnet.core(),
        "following": tables.following,
        "rows": host_rows(tables).tolist(),
        "levels": tables.levels,
        "tables": tables.rows,
        "rising": None if tables.rising is None else tables.rising.tolist(),
        "lanes": tables.lanes,
        "grid": None,
    }


def host_rows(tables: ForwardingTables) -> NDArray[np.int64]:
    """The row of every host in tables, that of its first LID."""
    rows = np.zeros(len(tables.subnet.hosts), dtype=np.int64)
    rows[tables.owners[::-1]] = np.arange(len(tables.owners))[::-1]
    return rows


def far_ends(tables: ForwardingTables) -> NDArray[np.int64]:
    """The switch that every channel leads to."""
    ends = tables.subnet.cable_ends().astype(np.int64)
    return np.stack([ends[:, 1], ends[:, 0]], axis=1).reshape(-1)


def namer(network: Network) -> Callable[[str, int, int], str]:
    """What tells the name of a queue from its kind, its link or node, and its channel."""
    node = network.name_of_node

    def name(kind: str, place: int, channel: int) -> str:
        match kind:
            case "link":
                return f"{network.name_of_link(place)} vc{channel}"
            case "entry":
                return f"from node {node(place)} vc{channel}"
            case "exit":
                return f"to node {node(place)} vc{channel}"
        return f"replies of node {node(place)}"

    return name


def channel_loads(tables: ForwardingTables, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The load of every channel from weights by source and destination host, over tables by destination.

    Raises
    ------
    UnreachableError
        The tables do not lead from one host to another.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> tables = route_subnet(parse_fabric("a,b\\nb,c\\nc,a\\n")).forwarding()
    >>> channel_loads(tables, np.ones((3, 3))).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    subnet = tables.subnet
    towards, rows = far_ends(tables), host_rows(tables)
    loads = np.zeros(len(towards))
    switch = np.array([host.switch for host in subnet.hosts])
    sources, destinations = np.nonzero(weights)
    at, amounts = switch[sources], weights[sources, destinations]
    for _ in range(len(subnet.switches)):
        on = at != switch[destinations]
        at, sources, destinations, amounts = at[on], sources[on], destinations[on], amounts[on]
        if not len(at):
            break
        channels = tables.following[rows[destinations], at]
        if np.any(lost := channels >= len(towards)):
            ends = sources[lost][:1000].tolist(), destinations[lost][:1000].tolist()
            raise _unreachable([host.name for host in subnet.hosts], list(zip(*ends, strict=True)))
        loads += np.bincount(channels, weights=amounts, minlength=len(loads))
        at = towards[channels]
    return loads
