"""Which pairs of hosts count in loads and bounds: those of a job, or as many as a matrix says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom.errors import SpecError
from flitloom.fabric.model import Subnet
from flitloom.tables.traffic import traffic_matrix

#: Weights of a matrix may add up to so much per pair of switches.
MOST_WEIGHT = 2**20


@dataclass(frozen=True)
class Demand:
    """Pairs that count.

    Attributes
    ----------
    pairs : array
        How many, by destination and switch of the source.
    hosts : list of int, or None
        Hosts by switch, if the pairs among these count, each once.
    """

    pairs: NDArray[np.uint32]
    hosts: list[int] | None

    def core(self) -> tuple[NDArray[np.uint32], list[int] | None]:
        """The same as the core takes it."""
        return self.pairs, self.hosts

    def rows(self, chosen: Sequence[int]) -> Demand:
        """The same for some of the destinations."""
        return Demand(np.ascontiguousarray(self.pairs[list(chosen)]), self.hosts)


def unit_of(demand: Demand | None) -> str:
    """What loads and bounds count.

    Examples
    --------
    >>> unit_of(None)
    'host pairs'
    """
    return "of the weights" if demand is not None and demand.hosts is None else "host pairs"


def demand_of(
    subnet: Subnet,
    lids: NDArray[np.int64],
    owners: NDArray[np.int64],
    job: Sequence[int] | None = None,
    traffic: ArrayLike | None = None,
) -> Demand | None:
    """Pairs that count; None if every host and destination is as good as another.

    Of a host with several LIDs the base LID counts, so that every pair of hosts counts once.

    Parameters
    ----------
    lids, owners : array
        LID of every destination and the host it belongs to.
    job : sequence of int, optional
        The hosts that count.
    traffic : array, optional
        Weights of pairs of hosts instead, by source and destination.

    Examples
    --------
    >>> from flitloom.tables.by_destination.demand import demand_of
    >>> from flitloom.fabric.examples import torus
    >>> from flitloom.tables.by_destination.tables import destinations
    >>> ring = torus((4,))
    >>> demand_of(ring, *destinations(ring), job=[0, 2]).hosts
    [1, 0, 1, 0]
    """
    base = np.array([subnet.hosts[owner].lid for owner in owners], dtype=np.int64) == lids
    if job is None and traffic is None and bool(base.all()):
        return None
    switches, hosts = len(subnet.switches), len(subnet.hosts)
    where = np.array([host.switch for host in subnet.hosts], dtype=np.int64)
    if traffic is None:
        counts = np.zeros(hosts, dtype=bool)
        counts[list(range(hosts)) if job is None else list(job)] = True
        by_switch = np.bincount(where[counts], minlength=switches)
        pairs = np.where((base & counts[owners])[:, None], by_switch[None, :], 0).astype(np.uint32)
        return Demand(np.ascontiguousarray(pairs), by_switch.tolist())

    weights = traffic_matrix(traffic, hosts)
    assert weights is not None
    by_source = np.zeros((switches, hosts), dtype=np.uint64)
    np.add.at(by_source, where, weights)
    if int(by_source.max(initial=0)) > MOST_WEIGHT:
        raise SpecError.at(
            "traffic", f"weights of a switch add up to more than {MOST_WEIGHT}", "divide all by the same"
        )
    pairs = np.where(base[:, None], by_source.T[owners], 0).astype(np.uint32)
    return Demand(np.ascontiguousarray(pairs), None)
