"""Channel loads and bounds of networks of switches with hosts, whose packets go by tables by destination."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.analysis.demands import Demands
from flitloom.analysis.minimal_routes import RouteBound
from flitloom.fabric.model import Subnet
from flitloom.networks.pipelined import channel_loads
from flitloom.tables.by_destination.tables import ForwardingTables

#: Loads are fractions with denominators up to this.
FINEST = 1 << 20


@dataclass(frozen=True)
class SwitchLoads:
    """The busiest channel between switches, in flits per cycle and flit that every host sends.

    Attributes
    ----------
    largest : Fraction
        Its load.
    busiest : str or None
        Its name; None if no channel is used.
    """

    largest: Fraction
    busiest: str | None

    @property
    def ideal_throughput(self) -> Fraction | None:
        """Load with which it is always busy, in flits/host/cycle; None if no channel is used."""
        return 1 / self.largest if self.largest else None


def switch_loads(demands: Demands, tables: ForwardingTables) -> SwitchLoads:
    """The busiest channel under the tables of a network.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.analysis.demands import make_demands
    >>> ring = fl.Network(fl.Product("ring4"), fl.Router(model="pipelined"))
    >>> float(switch_loads(make_demands(ring, fl.Collective("rand")), ring.followed().tables).largest)
    0.666...
    """
    loads = channel_loads(tables, _weights(demands) / demands.scale)
    busiest = int(loads.argmax()) if loads.any() else None
    return SwitchLoads(
        Fraction(loads.max(initial=0)).limit_denominator(FINEST),
        None if busiest is None else tables.subnet.channel_name(busiest),
    )


def any_tables_bound(demands: Demands, subnet: Subnet) -> RouteBound:
    """Bound the load of the busiest channel over all tables, by the hops of the traffic over all channels."""
    where = np.array([host.switch for host in subnet.hosts])
    between = np.zeros((len(subnet.switches), len(subnet.switches)))
    np.add.at(between, (where[:, None], where[None, :]), _weights(demands))
    distances = _core.fabric_distances(subnet.core())
    # A pair without a way counts nothing.
    hops = float((between * np.maximum(distances, 0)).sum())
    channels = max(1, 2 * len(subnet.cables))
    least = Fraction(hops).limit_denominator(FINEST) / (demands.scale * channels)
    return RouteBound(least, None, "volume")


def _weights(demands: Demands) -> NDArray[np.float64]:
    """Weights by source and destination host; what a host sends to itself uses no channel."""
    hosts = demands.topology.nodes
    weights = np.zeros((hosts, hosts))
    np.add.at(weights, (demands.pairs[:, 0], demands.pairs[:, 1]), demands.pairs[:, 2])
    for sending, receiving in demands.products:
        weights += np.outer(sending, receiving)
    np.fill_diagonal(weights, 0)
    return weights
