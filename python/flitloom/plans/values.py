"""What a plan of packets says, whatever is proven of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationInfo, model_validator

from flitloom import _core
from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.ground.garbage import uncollected
from flitloom.ground.limits import LISTED_HOPS, LISTED_PACKETS
from flitloom.ground.numerals import counted
from flitloom.ground.packed import Routes
from flitloom.networks.network import Network
from flitloom.plans.operation import PLANS
from flitloom.spec import Router, Topology
from flitloom.spec.base import Closed, each, problem, whole_number
from flitloom.spec.legs import count_hops, read_route, route_text

if TYPE_CHECKING:
    pass

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


class PlanValues(Closed):
    """The fields of a plan, and what they mean to the core; `Plan` says what they are."""

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
    def _not_too_many_hops(self) -> PlanValues:
        count_hops([packet.route for packet in self.packets], "packets", LISTED_HOPS)
        return self

    @model_validator(mode="after")
    def _channels_are_separated(self) -> PlanValues:
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

    def require(self, network: Network) -> None:
        """Refuse a network of another shape."""
        mine, other = self.network().topology, network.topology
        if mine.shape != other.shape:
            raise SpecError.at("plan.topology", f"the plan is for {mine}, the network is {other}")

    def first_channels(self) -> list[int]:
        """Virtual channels in which the packets enter their first links."""
        return [packet.channel for packet in self.packets]

    def _checked_routes(self, network: Network) -> Routes:
        directions = self.directions()
        _core.plan_workload(network.one_cycle(PLANS), self.table, directions, b"", "plan")
        return directions

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
