"""Which pairs of nodes or hosts count in loads and bounds, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom.errors import SpecError
from flitloom.fabric.model import Subnet

#: Weights of a matrix may add up to so much per pair of switches.
MOST_WEIGHT = 2**20


def traffic_matrix(traffic: ArrayLike | None, nodes: int) -> NDArray[np.uint64] | None:
    """Check a traffic matrix: whole numbers from 0, nodes x nodes."""
    if traffic is None:
        return None
    try:
        matrix = np.asarray(traffic)
    except ValueError:
        raise SpecError.at("traffic", "its rows have different lengths") from None
    if matrix.shape != (nodes, nodes):
        shape = " x ".join(map(str, matrix.shape))
        raise SpecError.at(
            "traffic", f"it is {shape}", f"one row and column per node ({nodes} x {nodes}) is needed"
        )
    if matrix.dtype.kind not in "iuf" or not np.all(np.isfinite(matrix)):
        raise SpecError.at("traffic", "its entries must be whole numbers from 0")
    negative = np.argwhere(matrix < 0)
    if len(negative):
        source, destination = map(int, negative[0])
        raise SpecError(
            f"traffic[{source}][{destination}]: {matrix[source, destination]} is negative; weights start at 0"
        )
    if np.any(matrix != np.floor(matrix)) or np.any(matrix >= 2.0**63):
        raise SpecError.at("traffic", "its entries must be whole numbers below 2^63")
    return matrix.astype(np.uint64)


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
    >>> from flitloom.tables.traffic import demand_of
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
