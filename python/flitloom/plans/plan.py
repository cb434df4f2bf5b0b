"""A plan: when every packet starts and which route it takes, with its proof; a JSON file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationInfo, model_validator

from flitloom import _core
from flitloom._core import LIMITS
from flitloom.errors import SpecError, require_kind, show, show_file
from flitloom.ground.garbage import uncollected
from flitloom.ground.limits import LISTED_HOPS, LISTED_PACKETS, PLAN_BYTES
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_text
from flitloom.ground.packed import Routes
from flitloom.ground.reading import opened, placed, read_json_list
from flitloom.networks.network import Network
from flitloom.plans.operation import PLANS
from flitloom.plans.phases import phases_of
from flitloom.plans.proofs import measure, messages_of, prove_bound
from flitloom.spec import Packets, Router, Topology
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.spec.base import Closed, each, explain, problem, whole_number
from flitloom.spec.legs import count_hops, read_route, route_text

if TYPE_CHECKING:
    from flitloom.plans.operation import Operation

#: Form of plan files; readers refuse others than this and the one before.
FORMAT: Literal["flitloom plan 2"] = "flitloom plan 2"
#: The form before: without `Plan.bound_proof`, so that no bound of it rests on CP-SAT's word.
EARLIER = "flitloom plan 1"


class PlannedPacket(Closed):
    """One packet of a plan."""

    source: int = Field(ge=0, lt=LIMITS["nodes"], description="Sending node.")
    destination: int = Field(ge=0, lt=LIMITS["nodes"], description="Receiving node.")
    start: int = Field(ge=0, le=2**40, description="Cycle in which its first flit is injected.")
    length: int = Field(ge=1, le=2**20, description="Flits, the header included.")
    slice: int = Field(default=0, ge=0, lt=2**32, description="Which slice of its message it is.")
    route: str = Field(description="Directions and numbers of hops, in order: '+x3 -y2'; empty if none.")
    channel: int = Field(default=0, ge=0, lt=LIMITS["channels"], description="First virtual channel.")

    def directions(self) -> bytes:
        """Indices of the directions of all hops."""
        return read_route(self.route)

    def line(self) -> str:
        """All fields as JSON."""
        return (
            f'{{"source": {self.source}, "destination": {self.destination}, "start": {self.start}, '
            f'"length": {self.length}, "slice": {self.slice}, "route": {_quoted(self.route)}, '
            f'"channel": {self.channel}}}'
        )


_quoted = lru_cache(maxsize=4096)(json.dumps)


def packets_of_core(table: NDArray[np.int64], routes: Iterable[bytes]) -> list[PlannedPacket]:
    """The packets of a schedule that the core made: they need not be looked at again.

    Ctrl-C waits for them. They are made as if they were unpickled, which takes a third of the time of
    `pydantic.BaseModel.model_construct`, and the collector of cycles, which finds none in them, stands still.

    >>> packets_of_core(np.array([[0, 2, 8, 40, 0]]), [bytes([0, 0])])[0].line()
    '{"source": 0, "destination": 2, "start": 40, "length": 8, "slice": 0, "route": "+x2", "channel": 0}'
    """
    with uncollected():
        return [_made(row, route_text(route)) for row, route in zip(table.tolist(), routes, strict=True)]


def _made(row: list[int], route: str) -> PlannedPacket:
    source, destination, length, start, number = row
    packet = PlannedPacket.__new__(PlannedPacket)
    fields = {
        "source": source,
        "destination": destination,
        "start": start,
        "length": length,
        "slice": number,
        "route": route,
        "channel": 0,
    }
    packet.__setstate__(
        {
            "__dict__": fields,
            "__pydantic_fields_set__": _SET,
            "__pydantic_extra__": None,
            "__pydantic_private__": None,
        }
    )
    return packet


_SET = set(PlannedPacket.model_fields)


def _packet(value: Any, _: Any) -> PlannedPacket:
    if isinstance(value, PlannedPacket):
        return value
    return PlannedPacket.model_validate(value)


_packets = each(_packet, LISTED_PACKETS)


def _each_packet(value: Any, info: ValidationInfo) -> list[PlannedPacket]:
    return list(_packets(value, info))


class Plan(Closed):
    """When every packet starts and which route it takes; no two are ever in each other's way.

    Nothing waits, so buffers, virtual channels and arbitration cannot change a cycle as long as every
    node is on time, and routes in any order are deadlock-free. Only in a plan of a genetic search do
    packets wait; it brings the router whose arbitration it was made for.

    Attributes
    ----------
    duration : int
        Duration in cycles, as for a simulation.
    bound : int
        Lower bound for any schedule of the messages on the routes allowed, in cycles: what the file says, as
        far as it was proven in this process.
    optimal : bool
        Whether the packets take no longer than the bound, and that was proven in this process.
    bound_proof : {"filter", "cp-sat"}
        What proves the bound: the bounds of flitloom, which every reader computes anew, or CP-SAT, which
        refuted all shorter durations.
    claimed_bound, claimed_optimal
        The same as the file says (``bound`` and ``optimal`` there), for `flitloom.plans.check` to judge.
    packets : list of PlannedPacket
        The packets.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(16, 16))
    >>> plan = fl.plans.search(net, fl.Collective("trns", payload=14, slices=2))
    >>> plan.duration, plan.bound, plan.optimal
    (132, 132, True)
    >>> fl.simulate(net, plan).duration
    132
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, ignored_types=(cached_property,), populate_by_name=True
    )
    format: Literal["flitloom plan 2"] = FORMAT
    duration: int = Field(ge=0, le=2**42, description="Duration in cycles.")
    claimed_bound: int = Field(
        ge=0, le=2**42, alias="bound", description="Proven lower bound on the duration, in cycles."
    )
    bound_proof: Literal["filter", "cp-sat"] = Field(
        default="filter",
        description="What proves the bound: flitloom's bounds, computed anew by a check, or CP-SAT.",
    )
    claimed_optimal: bool = Field(alias="optimal", description="Whether the duration is the bound.")
    topology: dict[str, Any] = Field(description="The network, as in an experiment file.")
    traffic: str = Field(description="What is sent, as text.")
    method: str = Field(description="How it was found.")
    routes: str = Field(description="dor, balanced-ties, any-order, minimal or staircase.")
    interval: int | None = Field(
        default=None, ge=1, le=2**20, description="Given interval between slices, in cycles."
    )
    free_slices: bool = Field(default=False, description="Whether every slice starts at a separate time.")
    guard: int = Field(default=0, ge=0, le=1024, description="Cycles kept free behind every packet.")
    phases: Annotated[
        list[Annotated[int, Field(ge=0, le=2**42)]],
        BeforeValidator(each(whole_number(0, 2**42, "cycles"), 1 << 16)),
    ] = Field(default=[], description="Cycles at which the phases of an operation begin.")
    spread: int = Field(
        default=0,
        ge=0,
        le=2**20,
        description="Delay in cycles against which spare time was spread; 0 if it was not.",
    )
    channels: int | None = Field(
        default=None,
        ge=1,
        le=LIMITS["channels"],
        description="Virtual channels under which late nodes cannot cause a deadlock, if separated.",
    )
    router: dict[str, Any] | None = Field(
        default=None,
        description="Router of a genetic search, under which packets wait for each other; null: none wait.",
    )
    operation: dict[str, Any] | None = Field(
        default=None, description="The collective operation: name, payload, root and nodes (null: all)."
    )
    algorithm_bound: int | None = Field(
        default=None, ge=0, le=2**42, description="Bound for any algorithm of the operation, in cycles."
    )
    seed: int = Field(default=1, ge=0, lt=2**64, description="Seed of the search.")
    reproducible: bool = Field(
        default=True,
        description="False if time or Ctrl-C limited the search: another run may find other starts.",
    )
    version: str = Field(default="", description="The flitloom that made it.")
    packets: Annotated[list[PlannedPacket], BeforeValidator(_each_packet)] = Field(description="The packets.")
    #: Whether CP-SAT refuted all shorter durations in this process.
    _refuted_here: bool = PrivateAttr(default=False)

    @model_validator(mode="after")
    def _not_too_many_hops(self) -> Plan:
        count_hops([packet.route for packet in self.packets], "packets", LISTED_HOPS)
        return self

    @model_validator(mode="after")
    def _channels_are_separated(self) -> Plan:
        channels = self.channels or 1
        for number, packet in enumerate(self.packets):
            if packet.channel >= channels:
                what = f"{packet.channel} is out of range; " + (
                    f"the plan has {counted(channels, 'virtual channel')}"
                    if self.channels
                    else "a plan whose channels are not separated (channels: null) begins in 0"
                )
                raise problem(f"packets[{number}].channel: {what}")
        return self

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """Rows of source, destination, length, start and slice."""
        rows = [(p.source, p.destination, p.length, p.start, p.slice) for p in self.packets]
        return np.array(rows, dtype=np.int64).reshape(-1, 5)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Plan:
        """A copy with other fields; what was computed from the old ones is left behind."""
        copy = super().model_copy(update=update, deep=deep)
        for name in ("table", "proven_bound", "optimal"):
            copy.__dict__.pop(name, None)
        return copy

    @cached_property
    def proven_bound(self) -> int:
        """The lower bound that is proven here, for any claim of the file; 0 if its parts do not fit."""
        try:
            return prove_bound(self)
        except SpecError:
            return 0

    @property
    def bound(self) -> int:
        """The lower bound, as far as it was proven in this process."""
        return self.claimed_bound if self._refuted_here else min(self.claimed_bound, self.proven_bound)

    @property
    def rests_on_cp_sat(self) -> bool:
        """Whether the bound is CP-SAT's word, beyond what is proven here."""
        return self.bound_proof == "cp-sat" and self.claimed_bound > self.proven_bound

    @cached_property
    def optimal(self) -> bool:
        """Whether the packets, without conflicts, take no longer than a bound proven in this process."""
        try:
            return measure(self) <= self.bound
        except SpecError:
            return False

    def __eq__(self, other: object) -> bool:
        """Whether another plan says the same; what was computed from it does not count."""
        if not isinstance(other, Plan):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).model_fields)

    def __hash__(self) -> int:
        """The same for plans that say the same."""
        return hash((self.traffic, self.duration, len(self.packets)))

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return (
            f"Plan({self.traffic}, {self.method}: {counted(self.duration, 'cycle')}, "
            f"{counted(len(self.packets), 'packet')})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {
            "duration": counted(self.duration, "cycle"),
            "lower bound": counted(self.bound, "cycle"),
            "optimal": self.optimal,
            "method": self.method,
            "packets": len(self.packets),
        }
        return fields_html(f"{self.traffic} on {self.network().topology}", fields)

    def directions(self) -> Routes:
        """The direction indices of all packets' routes."""
        routes = []
        for number, packet in enumerate(self.packets):
            try:
                routes.append(packet.directions())
            except SpecError as error:
                raise SpecError(f"packets[{number}].{error}") from None
        return Routes.of(routes)

    def network(self) -> Network:
        """The network it is for, with its router or the papers'."""
        try:
            return Network(Topology(**self.topology), Router(**(self.router or {})))
        except SpecError as error:
            raise SpecError.at("plan", str(error)) from None

    def save(self, file: str | Path) -> None:
        """Write it as JSON, a packet a line."""
        head = self.model_dump(exclude={"packets"}, by_alias=True)
        lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        packets = ",\n  ".join(map(PlannedPacket.line, self.packets))
        write_text(file, "{\n" + ",\n".join([*lines, f' "packets": [\n  {packets}\n ]']) + "\n}\n")

    def arbitrated(self, network: Network) -> Network:
        """The given network, with the arbitration of the plan if packets wait in it."""
        self.require(network)
        if self.router is None:
            return network
        mine = self.network().router
        fields = {"arbitration": mine.arbitration, "queue_order": mine.queue_order}
        return Network(network.topology, network.router.model_copy(update=fields))

    def require(self, network: Network) -> None:
        """Refuse a network of another shape."""
        mine, other = self.network().topology, network.topology
        if mine.shape != other.shape:
            raise SpecError.at("plan.topology", f"the plan is for {mine}, the network is {other}")

    def require_traffic(self, network: Network, traffic: PlannedTraffic | Operation, seed: int = 1) -> None:
        """Refuse traffic with other messages than those of the plan, in any order."""
        phases, _, words = phases_of(network, traffic, seed)
        wanted = sorted(map(tuple, np.concatenate(phases).tolist()))
        if wanted != sorted(map(tuple, messages_of(self).tolist())):
            raise SpecError.at("plan.traffic", f"the plan is for {self.traffic}, not for {words}")

    def first_channels(self) -> list[int]:
        """Virtual channels in which the packets enter their first links."""
        return [packet.channel for packet in self.packets]

    def separated(self, network: Network | None = None) -> Plan:
        """The same plan with virtual channels that keep late nodes from a deadlock.

        Routes in dimension order (XY) and in the opposite order (YX) get separate channels; routes
        with more bends the lowest channels under which no cycle of waiting can close.

        Parameters
        ----------
        network : Network, optional
            Whose router counts the datelines; the plan's own without.

        Raises
        ------
        SpecError
            No such channels were found; a router has at most 8.

        Examples
        --------
        >>> import flitloom as fl
        >>> plan = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl"), routes="any-order")
        >>> plan.separated().channels <= 6  # three for each order of the dimensions
        True
        """
        network = self.network() if network is None else network
        found = _core.separate_channels(network.one_cycle(PLANS), self.table, self._checked_routes(network))
        if found is None:
            raise SpecError.at(
                "plan",
                f"no {LIMITS['channels']} virtual channels were found that keep these routes from a deadlock",
                "take fewer kinds of routes (dor or any-order)",
            )
        channels, first = found
        packets = [
            packet.model_copy(update={"channel": channel})
            for packet, channel in zip(self.packets, first, strict=True)
        ]
        return self.model_copy(update={"channels": channels, "packets": packets})

    def _checked_routes(self, network: Network) -> Routes:
        directions = self.directions()
        _core.plan_workload(network.one_cycle(PLANS), self.table, directions, b"", "plan")
        return directions

    def as_packets(self, network: Network) -> Packets:
        """The packets with their starts, routes and, if the router has enough, their channels."""
        self.require(network)
        order = np.lexsort((self.table[:, 3], self.table[:, 0])).tolist()
        first = self.first_channels()
        # On time no packet waits, and channels change nothing.
        separate = self.channels is not None and network.channels >= self.channels
        return Packets(
            table=[tuple(row) for row in self.table[order].tolist()],
            routes=[self.packets[index].route for index in order],
            channels=[first[index] for index in order] if separate else [],
        )

    def workload(
        self, network: Network, delays: NDArray[np.int64] | None = None, lead: int = 0
    ) -> _core.Workload:
        """The core's form of it; `delays` shift all starts of a node, taken forward by `lead` (cycles)."""
        self.require(network)
        table = self.table
        if delays is not None:
            table = table.copy()
            table[:, 3] = np.maximum(table[:, 3] - lead, 0) + delays[table[:, 0]]
        enough = self.channels is not None and (delays is not None or network.channels >= self.channels)
        first = bytes(self.first_channels()) if enough else b""
        return _core.plan_workload(network.one_cycle(PLANS), table, self.directions(), first, "plan")


def require_plan(plan: object) -> None:
    """Refuse what is not a plan, with how to make one."""
    require_kind("plan", plan, Plan, "plan", "fl.plans.search(...) or fl.plans.read(...)")


def read_plan(file: str | Path) -> Plan:
    """Read a plan from a JSON file.

    Raises
    ------
    SpecError
        The file cannot be read, is damaged, or has another form.
    """
    place = show_file(file)
    with opened(file, PLAN_BYTES) as source:
        fields, packets = placed("plan", lambda: read_json_list(source, "packets"))
        form = fields.get("format")
        if form == EARLIER and "bound_proof" not in fields:
            fields["format"] = FORMAT
        elif form != FORMAT:
            found = f'its "format" is {show(form)}' if isinstance(form, str) else 'it has no "format"'
            raise SpecError.at(
                "plan", f'{place} is not a plan that this version reads: {found}, not "{FORMAT}"'
            )
        try:
            if packets is not None:
                fields["packets"] = list(itertools.islice(packets, LISTED_PACKETS + 1))
            return Plan(**fields)
        except pydantic.ValidationError as error:
            raise SpecError.at("plan", f"{place}: {explain(error, '')}") from None
