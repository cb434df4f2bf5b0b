"""A list of packets, with or without their routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from flitloom import _core
from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.ground.limits import LISTED_HOPS, LISTED_PACKETS
from flitloom.ground.numerals import counted
from flitloom.ground.packed import Routes
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.spec.base import Checked, each, in_file, listed, problem, text, whole_number
from flitloom.spec.legs import count_hops, read_route
from flitloom.spec.tables import packet_table
from flitloom.spec.topology import node_number
from flitloom.spec.traffic.fields import CYCLE, Column, cycle_number

if TYPE_CHECKING:
    from flitloom.networks.network import Network

#: What is checked of every column.
PACKET = (
    node_number,
    node_number,
    whole_number(1, LIMITS["length"], "flits"),
    cycle_number,
    whole_number(0, 2**32 - 1),
)


class Packets(PlannedTraffic):
    """A list of packets; every node sends its own in the order in which they are listed.

    Parameters
    ----------
    table : path or sequence of (source, destination, length, start[, slice])
        The packets, or a CSV file with the columns source, destination, length, start and slice (the
        last is optional): nodes, flits with the header, the first cycle in which the packet may leave.
    routes : sequence of str, optional
        The route of every packet, as ``"+x3 -y2"``; dimension order without. The packets of a node are
        then listed in the order of their starts.
    channels : sequence of int, optional
        With routes: the virtual channel in which every packet enters its first link (one higher at a
        dateline); 0 without.

    Examples
    --------
    >>> import flitloom as fl
    >>> len(fl.Packets([(0, 5, 8, 0), (1, 4, 8, 0)]).table)
    2
    """

    noun: ClassVar[str] = "packets"
    positional: ClassVar[str] = "table"

    kind: Literal["packets"] = "packets"
    table: Annotated[
        tuple[tuple[int, int, int, int, int], ...],
        Checked(packet_table(PACKET), in_file(listed(listed(CYCLE, 5, 4), LISTED_PACKETS, 1))),
        Field(min_length=1),
    ]
    routes: Annotated[
        tuple[str, ...], Checked(each(text, LISTED_PACKETS), listed({"type": "string"}, LISTED_PACKETS))
    ] = ()
    channels: Annotated[
        tuple[int, ...],
        Checked(
            each(whole_number(0, LIMITS["channels"] - 1), LISTED_PACKETS),
            listed({"type": "integer", "minimum": 0, "maximum": LIMITS["channels"] - 1}, LISTED_PACKETS),
        ),
    ] = ()

    if TYPE_CHECKING:

        def __init__(
            self, table: Column, *, routes: Sequence[str] = (), channels: Sequence[int] = ()
        ) -> None: ...

    @model_validator(mode="after")
    def _one_route_per_packet(self) -> Any:
        for name, given in (("routes", self.routes), ("channels", self.channels)):
            if given and len(given) != len(self.table):
                raise problem(
                    f"{name} has {counted(len(given), 'entry')}; one per packet ({len(self.table)}) is needed"
                )
        if self.channels and not self.routes:
            raise problem("channels need routes")
        count_hops(self.routes, "routes", LISTED_HOPS)
        latest: dict[int, int] = {}
        for number, (source, _, _, start, _) in enumerate(self.table if self.routes else ()):
            if start < latest.get(source, 0):
                raise problem(f"table[{number}]: with routes, a node's packets are listed by their starts")
            latest[source] = start
        return self

    def describe(self, network: Network) -> str:
        """How many there are."""
        return f"{counted(len(self.table), 'packet')} on {network.topology}"

    def workload(self, network: Network, seed: int) -> _core.Workload:
        """The core's form of them, with their routes if they are given."""
        del seed
        table = np.array(self.table, dtype=np.int64)
        if not self.routes:
            return _core.Workload.packets(network.core, table)
        routes = []
        for number, route in enumerate(self.routes):
            try:
                routes.append(read_route(route))
            except SpecError as error:
                raise SpecError(f"traffic.routes[{number}]: {error}") from None
        packed = Routes.of(routes)
        _require_own_routes(network, table, packed)
        if network.router.model == "pipelined":
            # These number the channels of their lanes themselves.
            return _core.Workload.packets(network.core, table)
        routers = network.one_cycle("these routes are of")
        return _core.plan_workload(routers, table, packed, bytes(self.channels), "traffic")

    def count(self, nodes: int) -> int:
        """As many as are listed."""
        del nodes
        return len(self.table)

    @property
    def longest(self) -> int:
        """The longest of the list."""
        return max(row[2] for row in self.table)

    @property
    def common_length(self) -> int:
        """The length that all have."""
        lengths = {row[2] for row in self.table}
        return lengths.pop() if len(lengths) == 1 else 0

    def to_plan(self, network: Network, seed: int) -> tuple[list[tuple[int, int, int, int]], str]:
        """A message per packet."""
        del network, seed
        rows = [(row[0], row[1], row[2], 1) for row in self.table]
        return rows, counted(len(rows), "given packet")

    def pair_flits(self, nodes: int) -> NDArray[np.int64]:
        """The sums over the packets of every pair."""
        if self.routes:
            raise SpecError.at("traffic.routes", "packets with given routes have no bound over other routes")
        table = np.array(self.table, dtype=np.int64)[:, :3]
        if table[:, :2].max() >= nodes:
            raise SpecError.at(
                "traffic.table", f"node {table[:, :2].max()} does not exist", f"nodes are 0 to {nodes - 1}"
            )
        pairs, places = np.unique(table[:, 0] * nodes + table[:, 1], return_inverse=True)
        flits = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(flits, places, table[:, 2])
        return np.stack([*np.divmod(pairs, nodes), flits], axis=1)

    @classmethod
    def seated(cls, fields: dict[str, Any], nodes: Sequence[int], count: int) -> dict[str, Any]:
        """The packets between the nodes of ranks."""
        del count
        table, last = cls(**fields).table, len(nodes) - 1
        for number, (source, destination, *_) in enumerate(table):
            if max(source, destination) > last:
                raise SpecError.at(
                    f"traffic.table[{number}]",
                    f"names rank {max(source, destination)}",
                    f"the placement has 0 to {last}",
                )
        return {**fields, "table": [[nodes[row[0]], nodes[row[1]], *row[2:]] for row in table]}


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
