"""A network: what exists, with a router at every node."""

from __future__ import annotations

from pathlib import Path

from flitloom import _core
from flitloom.errors import SpecError, require_kind
from flitloom.ground.fixed import Fixed
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.networks.described import require_described
from flitloom.networks.followed import Followed, followed
from flitloom.networks.kinds import described, run_by
from flitloom.spec import Router
from flitloom.spec.any_network import AnyNetwork

#: A lower bound in cycles, and what it rests on: in words, as nodes, or as a link.
Bound = tuple[int, str, list[int], int | None]


def network_of(network: Network | str | Path) -> Network:
    """A network, also by what names it; see `Network`.

    Raises
    ------
    SpecError
        It is something else.

    Examples
    --------
    >>> network_of("mesh 8x8"), network_of("dragonfly(3,1,2)").router.model
    (Network(8x8 mesh, 3 channels, 4-flit buffers), 'pipelined')
    """
    if isinstance(network, str | Path):
        return Network(network)
    if isinstance(network, AnyNetwork):
        raise SpecError.at("network", f"{network} has no routers yet", f"give fl.Network({network!r})")
    require_kind("network", network, Network, "network", "fl.Network(fl.Torus(...))")
    return network


class Network(Fixed):
    """A topology with the same router at every node, checked once and never changed.

    Parameters
    ----------
    topology : AnyNetwork, str or path
        What exists: a `Torus`, a `Mesh`, a `Product`, a `Graph` of a family, or what names it: ``"8x8x8"``,
        ``"mesh 8x8"``, ``"twisted 4x4x8"``, ``"full8 x ring4"``, ``"dragonfly(4,2,2)"``, a file of
        switches and cables, or a plan, placement, result or experiment that flitloom wrote.
    router : Router, optional
        The router at every node; by default the papers' (cup-stacking-2022, Section 5.1), or a pipelined one
        where what is named has switches with hosts.
    routing : str, optional
        Another routing function than the router says; see `Router`.

    Raises
    ------
    SpecError
        The parts do not fit together.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(16, 16))
    >>> net.nodes, net.channels
    (256, 3)
    >>> net.coordinates(17)
    (1, 1)
    >>> fl.Network("16x16") == net
    True
    """

    def __init__(
        self,
        topology: AnyNetwork | str | Path,
        router: Router | None = None,
        *,
        routing: str | None = None,
    ) -> None:
        topology = described(topology, "network")
        if router is not None and not isinstance(router, Router):
            raise SpecError.at("router", f"{router!r} is not a router", "give fl.Router(...)")
        router = router or Router(model="pipelined" if topology.grid is None else "one-cycle")
        if routing is not None:
            router = Router(**{**router.model_dump(), "routing": routing})
        self.topology = topology = run_by(topology, router.model)
        self.router = router
        require_described(topology, router.options)
        if self.follows_tables and router.routing != "do":
            raise SpecError.at(
                "router.routing",
                f"is {router.routing}, and packets on {topology} go by tables by destination",
                "leave it out",
            )
        #: The network as the core has it.
        self.core = topology.core(router.ties)
        # What the core's routers of one cycle have no room for is told to the pipelined ones.
        plain = router.model_copy(update={"channels": None}) if self.is_pipelined else router
        #: The core's routers of one cycle, where nodes are a grid.
        self.routers = None if topology.grid is None else _core.Routers(self.core, plain)
        self._fix()

    @property
    def is_pipelined(self) -> bool:
        """Whether its routers are pipelined."""
        return self.router.model == "pipelined"

    @property
    def nodes(self) -> int:
        """Number of routers, or of hosts where these are at switches."""
        return self.topology.nodes

    @property
    def channels(self) -> int:
        """Virtual channels per link; in pipelined routers those given, or two for every class or lane.

        >>> import flitloom as fl
        >>> fl.Network(fl.Torus(8, 8), fl.Router(model="pipelined")).channels
        6
        """
        router = self.router
        if not self.is_pipelined:
            return self.one_cycle("these channels are of").channels
        if router.channels is not None:
            return router.channels
        parts = (router.message_classes or 1) if router.reply_length is not None else 1
        if followed := self.followed():
            return 2 * parts * followed.tables.used_lanes
        return 2 * parts * self.grid("routes in dimension order are of").channel_classes

    @property
    def follows_tables(self) -> bool:
        """Whether packets follow tables by destination that are part of the network.

        >>> import flitloom as fl
        >>> torus, pipelined = fl.Torus(4, 4, failed_nodes=[5]), fl.Router(model="pipelined")
        >>> fl.Network(torus, pipelined).follows_tables, fl.Network(torus).follows_tables
        (True, False)
        """
        return self.is_pipelined and self.topology.has_tables

    def followed(self) -> Followed | None:
        """The tables by destination that packets follow, and whose they are; or none."""
        return followed(self.topology) if self.follows_tables else None

    def one_cycle(self, what: str) -> _core.Routers:
        """The core's routers of one cycle; any other is refused.

        Parameters
        ----------
        what : str
            What is known of these routers only, with its verb, for the message.

        Raises
        ------
        SpecError
            The routers are pipelined, or the network is one of switches with hosts.

        Examples
        --------
        >>> import flitloom as fl
        >>> fl.Network(fl.Torus(4, 4), fl.Router(model="pipelined")).one_cycle("stackings are known of")
        Traceback (most recent call last):
        flitloom.errors.SpecError: router.model: is pipelined, and stackings are known of routers of one...
        """
        if self.is_pipelined:
            raise SpecError.at(
                "router.model", f"is pipelined, and {what} routers of one cycle", "leave it out"
            )
        return self._in_grid(what)

    def grid(self, what: str) -> _core.Routers:
        """The core's routers in a grid, with its links and its routes in dimension order, whatever the model.

        At half a ring these go over the wrap-around link.

        Parameters
        ----------
        what : str
            What is known of grids only, with its verb, for the message.

        Raises
        ------
        SpecError
            The network is one of switches with hosts.
        """
        routers = self._in_grid(what)
        if self.router.ties == "wrap":
            return routers
        return _core.Routers(self.topology.core(), self.router.model_copy(update={"channels": None}))

    def _in_grid(self, what: str) -> _core.Routers:
        self.topology.require_grid(what)
        assert self.routers is not None
        return self.routers

    def route_bound(self, workload: _core.Workload) -> Bound | None:
        """A duration that a workload cannot beat on its routes in a grid, and what it rests on.

        ``None`` for traffic that is not listed, and where packets go by tables by destination or as options
        of BookSim2 say. Links and ports transfer a flit per cycle with any routers, and pipelined ones take
        longer for a hop.
        """
        if self.follows_tables or not self.router.is_own_way:
            return None
        return _core.lower_bound(self.grid("bounds are of"), workload)

    def working_links(self) -> list[bool]:
        """Whether every link works, by the numbers of links in records.

        >>> import flitloom as fl
        >>> sum(fl.Network(fl.Torus(4, 4, failed_links=["0-1"])).working_links())
        62
        """
        return self.core.working_links()

    @property
    def directions(self) -> tuple[str, ...]:
        """Directions of links by their index: +x, -x, +y, -y, ..., and +2x for two on in a full mesh.

        Where nodes have no coordinates there are none.
        """
        return tuple(self.core.directions())

    def name_of_node(self, node: int) -> str:
        """A node by its coordinates, or a host by its name.

        >>> import flitloom as fl
        >>> fl.Network(fl.Torus(4, 4)).name_of_node(6), fl.Network("dragonfly(3,1,2)").name_of_node(6)
        ('(2,1)', 'g1s0-host0')
        """
        if self.topology.grid is None:
            return self.topology.node_names[node]
        return f"({','.join(map(str, self.coordinates(node)))})"

    def name_of_link(self, link: int) -> str:
        """A link by its number in records.

        >>> import flitloom as fl
        >>> fl.Network(fl.Torus(4, 4)).name_of_link(25), fl.Network("dragonfly(3,1,2)").name_of_link(0)
        ('(2,1)-x', 'g0s0/1 -> g0s1/1')
        """
        subnet = self.topology.subnet
        if subnet is not None:
            return subnet.channel_name(link)
        node, direction = divmod(link, len(self.directions))
        return f"{self.name_of_node(node)}{self.directions[direction]}"

    def coordinates(self, node: int) -> tuple[int, ...]:
        """Coordinates of a node, x first; refused where nodes have none."""
        if not 0 <= node < self.nodes:
            raise SpecError(f"node {node} does not exist; nodes are 0 to {self.nodes - 1}")
        coordinates = []
        for size in self.topology.sizes:
            node, coordinate = divmod(node, size)
            coordinates.append(coordinate)
        return tuple(coordinates)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {"nodes": self.nodes, "channels": self.channels}
        return fields_html(f"network: {self.topology}", fields | self.router.model_dump(exclude_none=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return (self.topology, self.router) == (other.topology, other.router)

    def __hash__(self) -> int:
        return hash((str(self.topology), repr(self.router)))

    def __reduce__(self) -> tuple[type[Network], tuple[AnyNetwork, Router]]:
        return type(self), (self.topology, self.router)

    def __repr__(self) -> str:
        kind = "pipelined, " if self.is_pipelined else ""
        channels = f"{kind}{counted(self.channels, 'channel')}"
        return f"Network({self.topology}, {channels}, {self.router.buffer}-flit buffers)"
