"""Hosts of switches for jobs that share a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import accumulate
from operator import mul

import numpy as np
from numpy.typing import NDArray

from flitloom.network import Network
from flitloom.placing.hosts import order_of
from flitloom.simulation import Simulation
from flitloom.spec import Packets
from flitloom.spec.switched import Switched

#: Cycles after which a run is looked at; those in which a job ends are run again one by one.
BLOCK = 256


def free_hosts(topology: Switched, wanted: int, taken: Iterable[int]) -> list[int] | None:
    """The hosts of a job that wants so many: of one switch, else of one group, else the first free ones.

    Of several switches or groups with enough free hosts the one with the fewest is taken, so that larger jobs
    find room.

    Returns
    -------
    list of int or None
        The hosts; None where not so many are free.

    Examples
    --------
    >>> dragonfly = Switched(network="dragonfly(4,2,2)")
    >>> free_hosts(dragonfly, 2, [0]), free_hosts(dragonfly, 5, [0, 1])
    ([2, 3], [2, 3, 4, 5, 6])
    """
    gone = set(taken)
    free = [host for host in range(topology.nodes) if host not in gone]
    if wanted > len(free):
        return None
    # The last block is the whole network.
    for block in accumulate(order_of(topology), mul):
        rooms: dict[int, list[int]] = {}
        for host in free:
            rooms.setdefault(host // block, []).append(host)
        enough = [room for room in rooms.values() if len(room) >= wanted]
        if enough:
            return min(enough, key=len)[:wanted]
    return free[:wanted]


def share_switch(topology: Switched, hosts: Iterable[int]) -> bool:
    """Whether hosts are at one switch, so that no message between them takes a cable between switches.

    >>> share_switch(Switched(network="dragonfly(4,2,2)"), [0, 1])
    True
    """
    listed = topology.subnet.hosts
    return len({listed[host].switch for host in hosts}) == 1


def ends_together(network: Network, rows: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, int]:
    """When all packets of every job have arrived, where all jobs run at the same time.

    Pipelined routers count the packets of every source that have arrived, and no two jobs have the same
    source. So a job has ended when those of its sources are all that they send.

    Parameters
    ----------
    network : Network
        Switches with hosts.
    rows : mapping
        Source, destination, length and start of the packets of every job.

    Examples
    --------
    >>> import flitloom as fl
    >>> network = fl.Network(Switched(network="ring4"), fl.Router(model="pipelined"))
    >>> ends_together(network, {"a": [[0, 2, 17, 0]], "b": [[1, 2, 4, 0], [1, 2, 17, 0]]})
    {'a': 39, 'b': 49}
    """
    wanted = np.zeros(network.topology.nodes, dtype=np.int64)
    np.add.at(wanted, [row[0] for each in rows.values() for row in each], 1)
    sources = {name: np.unique([row[0] for row in each]) for name, each in rows.items()}
    packets = Packets([tuple(row) for each in rows.values() for row in each])
    simulation = Simulation(network, packets, links=False, latencies=False, windows=BLOCK)
    ended: dict[str, int] = {}
    while len(ended) < len(rows):
        before = copy(simulation)
        simulation.step(BLOCK)
        arrived = _arrived(simulation)
        while any(name not in ended and _are_all(arrived, wanted, sources[name]) for name in sources):
            before.step()
            now = _arrived(before)
            for name in sources:
                if name not in ended and _are_all(now, wanted, sources[name]):
                    ended[name] = before.now
    simulation.run()
    # The last job ends with the run, whose duration counts until the tail has left the network.
    late = simulation.totals.duration - max(ended.values())
    return {name: ended[name] + late for name in rows}


def _arrived(simulation: Simulation) -> NDArray[np.int64]:
    """How many packets of every source have arrived."""
    counts: NDArray[np.int64] = simulation.windows()["delivered_by_source"].values.astype(np.int64)
    return counts


def _are_all(arrived: NDArray[np.int64], wanted: NDArray[np.int64], sources: NDArray[np.int64]) -> bool:
    return bool((arrived[sources] == wanted[sources]).all())
