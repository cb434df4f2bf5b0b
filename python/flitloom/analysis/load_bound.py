"""The highest load that a network can accept, before anything is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flitloom.analysis.channel_loads import ChannelLoads, channel_loads
from flitloom.analysis.demands import make_demands
from flitloom.analysis.minimal_routes import RouteBound, minimal_routes_bound
from flitloom.analysis.switch_loads import SwitchLoads, any_tables_bound, switch_loads
from flitloom.networks.network import Network
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.any_traffic import AnyTraffic


@dataclass(frozen=True)
class LoadBound:
    """Loads above which a network cannot deliver everything, in flits per node and cycle.

    Attributes
    ----------
    channel_loads : dict of str to ChannelLoads or SwitchLoads
        Loads of all links by routing; of switches with hosts, the busiest channel of their tables.
    minimal_routes : RouteBound
        Bound over all minimal routes, which of switches with hosts holds for all routes.
    receive : Fraction
        Load of which the most wanted node can eject its part.
    uniform : Fraction or None
        Rule of thumb for uniform traffic (scaling-effects-2007, Section 2): 8/N on a torus, 4/N on a mesh;
        none of switches with hosts.
    """

    channel_loads: Mapping[str, ChannelLoads | SwitchLoads]
    minimal_routes: RouteBound
    receive: Fraction
    uniform: Fraction | None

    def throughput(self, routing: str) -> Fraction:
        """Ideal throughput of a routing: what links, ejection and sources allow."""
        return self._least(self.channel_loads[routing].ideal_throughput)

    @property
    def minimal_throughput(self) -> Fraction:
        """What no minimal routing can exceed."""
        return self._least(self.minimal_routes.throughput)

    def _least(self, links: Fraction | None) -> Fraction:
        return min(self.receive, Fraction(1), *([] if links is None else [links]))

    def as_dict(self) -> dict[str, Any]:
        """All of it by name; loads of links are those of the busiest one at 1 flit/node/cycle."""
        return {
            "routings": {
                name: {
                    "throughput": float(self.throughput(name)),
                    "largest_load": float(loads.largest),
                    "busiest_link": loads.busiest,
                }
                for name, loads in self.channel_loads.items()
            },
            "minimal_routes": {
                "throughput": float(self.minimal_throughput),
                "largest_load": float(self.minimal_routes.least),
                "found_load": self.minimal_routes.found,
                "proof": self.minimal_routes.proof,
            },
            "receive_bound": float(self.receive),
            "uniform_rule": None if self.uniform is None else float(self.uniform),
        }


def load_bound(
    network: Network,
    traffic: AnyTraffic,
    routings: Sequence[str] = ("do",),
    *,
    ties: str | None = None,
    seed: int = 1,
) -> LoadBound:
    """Bound the load that a network can accept.

    Parameters
    ----------
    network : Network
        The network; a torus, mesh or product without failed parts.
    traffic : Load, Collective, TrafficMatrix or Packets
        Who sends to whom.
    routings : sequence of str
        Oblivious routings, see `channel_loads`; switches with hosts have tables instead.
    ties : {"wrap", "balanced", "split"}, optional
        Ways at distance exactly N/2 of a ring; by default those of the network's router.
    seed : int
        Seed of patterns that are drawn once.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = load_bound(fl.Network(fl.Torus(16, 16)), fl.Collective("torn"), ["do", "valiant"])
    >>> float(found.throughput("do")), round(float(found.throughput("valiant")), 3), float(found.uniform)
    (0.125, 0.222, 0.5)
    """
    demands, topology = make_demands(network, traffic, seed), network.topology
    followed = network.followed()
    if topology.grid is None and followed is not None:
        tables = {"tables": switch_loads(demands, followed.tables)}
        return LoadBound(
            tables, any_tables_bound(demands, followed.tables.subnet), demands.receive_bound, None
        )
    ties = ties or network.router.ties
    loads = {routing: channel_loads(demands, routing, ties) for routing in routings}
    return LoadBound(loads, minimal_routes_bound(demands), demands.receive_bound, uniform_rule(topology))


def uniform_rule(topology: AnyNetwork) -> Fraction:
    """Load at which the middle of the longest dimension is full under uniform traffic.

    Half of the packets of a line of N nodes change sides; two ways of a ring, one of a line, or the N/2 links
    of every node of a full mesh take them.

    Examples
    --------
    >>> import flitloom as fl
    >>> uniform_rule(fl.Torus(32, 32)), uniform_rule(fl.Mesh(8))
    (Fraction(1, 4), Fraction(1, 2))
    >>> uniform_rule(fl.Network(fl.Product("full4 x ring8")).topology)
    Fraction(1, 1)
    """
    topology.require_untwisted("rules of thumb")
    topology.require_no_circulants("rules of thumb are")
    lines = zip(topology.sizes, topology.wraps, topology.full, strict=True)
    return min(Fraction(size if full else Fraction(8 if wraps else 4, size)) for size, wraps, full in lines)
