"""A plan: when every packet starts and which way it goes, with its proof; a JSON file."""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.outputs import write_text
from flitloom.spec import DIMENSION_NAMES, Topology
from flitloom.spec.base import explain

#: Form of plan files; readers refuse others.
FORMAT: Literal["flitloom plan 1"] = "flitloom plan 1"
_LEG = re.compile(r"([+-])([a-z])([1-9][0-9]*)")


class PlannedPacket(BaseModel):
    """One packet of a plan."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    source: int = Field(ge=0, description="Sending node.")
    destination: int = Field(ge=0, description="Receiving node.")
    start: int = Field(ge=0, le=2**40, description="Cycle in which its first flit is injected.")
    length: int = Field(ge=1, le=2**20, description="Flits, the header included.")
    slice: int = Field(default=0, ge=0, description="Which slice of its message it is.")
    route: str = Field(description="Directions and numbers of hops, in order: '+x3 -y2'; empty if none.")

    def directions(self) -> bytes:
        """Indices of the directions of all hops."""
        hops = bytearray()
        for leg in self.route.split():
            match = _LEG.fullmatch(leg)
            if match is None or match[2] not in DIMENSION_NAMES:
                raise SpecError(f"route: {leg!r} is not understood; write legs like '+x3 -y2'")
            hops += bytes([2 * DIMENSION_NAMES.index(match[2]) + (match[1] == "-")]) * int(match[3])
        return bytes(hops)


def route_text(directions: bytes) -> str:
    """A route as legs."""
    legs: list[list[int]] = []
    for index in directions:
        if legs and legs[-1][0] == index:
            legs[-1][1] += 1
        else:
            legs.append([index, 1])
    return " ".join(f"{'+-'[index % 2]}{DIMENSION_NAMES[index // 2]}{hops}" for index, hops in legs)


class Plan(BaseModel):
    """When every packet starts and which way it goes; no two are ever in each other's way.

    Nothing waits, so buffers, virtual channels and arbitration cannot change a cycle as long as every
    node is on time, and routes in any order are free of deadlock.

    Attributes
    ----------
    duration : int
        Duration in cycles, as for a simulation.
    bound : int
        Proven lower bound for any schedule of the messages on the routes allowed, in cycles.
    optimal : bool
        Whether the duration is the bound.
    packets : list of PlannedPacket
        The packets.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(16, 16))
    >>> plan = fl.schedule(net, fl.Collective("trns", payload=14, slices=2))
    >>> plan.duration, plan.bound, plan.optimal
    (132, 132, True)
    >>> fl.simulate(net, plan).duration
    132
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))
    format: Literal["flitloom plan 1"] = FORMAT
    duration: int = Field(ge=0, description="Duration in cycles.")
    bound: int = Field(ge=0, description="Proven lower bound on the duration, in cycles.")
    optimal: bool = Field(description="Whether the duration is the bound.")
    topology: dict[str, Any] = Field(description="The network, as in an experiment file.")
    traffic: str = Field(description="What is sent, in words.")
    method: str = Field(description="How it was found.")
    routes: str = Field(description="dor, balanced-ties, any-order or minimal.")
    interval: int | None = Field(default=None, description="Given interval between slices, in cycles.")
    free_slices: bool = Field(default=False, description="Whether every slice has a time of its own.")
    guard: int = Field(default=0, ge=0, description="Cycles kept free behind every packet.")
    phases: list[int] = Field(default=[], description="Cycles at which the phases of an operation begin.")
    seed: int = Field(default=1, description="Seed of the search.")
    reproducible: bool = Field(
        default=True, description="False if the search was ended by time: another run may differ."
    )
    version: str = Field(default="", description="The flitloom that made it.")
    packets: list[PlannedPacket] = Field(description="The packets.")

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """Rows of source, destination, length, start and slice."""
        rows = [(p.source, p.destination, p.length, p.start, p.slice) for p in self.packets]
        return np.array(rows, dtype=np.int64).reshape(-1, 5)

    def directions(self) -> list[bytes]:
        """The direction indices of every packet's route."""
        routes = []
        for number, packet in enumerate(self.packets):
            try:
                routes.append(packet.directions())
            except SpecError as error:
                raise SpecError(f"packets[{number}].{error}") from None
        return routes

    def network(self) -> Network:
        """The network it is for, with the papers' router."""
        try:
            return Network(Topology(**self.topology))
        except SpecError as error:
            raise SpecError(f"plan: {error}") from None

    def save(self, file: str | Path) -> None:
        """Write it as JSON, a packet a line."""
        head = self.model_dump(exclude={"packets"})
        lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        packets = ",\n  ".join(json.dumps(packet.model_dump()) for packet in self.packets)
        write_text(file, "{\n" + ",\n".join([*lines, f' "packets": [\n  {packets}\n ]']) + "\n}\n")

    def require(self, network: Network) -> None:
        """Refuse a network of another shape."""
        mine, other = self.network().topology, network.topology
        if (mine.sizes, mine.wraps) != (other.sizes, other.wraps):
            raise SpecError(f"plan.topology: the plan is for {mine}, the network is {other}")

    def workload(
        self, network: Network, delays: NDArray[np.int64] | None = None, channels: list[int] | None = None
    ) -> _core.Workload:
        """The core's form of it; `delays` (per node, in cycles) shift all starts of a node."""
        self.require(network)
        table = self.table
        if delays is not None:
            table = table.copy()
            table[:, 3] += delays[table[:, 0]]
        return _core.plan_workload(network._core, table, self.directions(), bytes(channels or []))


def read_plan(file: str | Path) -> Plan:
    """Read a plan from a JSON file.

    Raises
    ------
    SpecError
        The file cannot be read, is damaged, or has another form.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"plan: {file} cannot be read: {error}") from None
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise SpecError(f"plan: {file} is not JSON: {error}") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise SpecError(f'plan: {file} has no "format": "{FORMAT}"; is it a plan of this version?')
    try:
        return Plan(**fields)
    except pydantic.ValidationError as error:
        raise SpecError(f"plan: {file}: {explain(error, '')}") from None


def messages_of(plan: Plan) -> NDArray[np.int64]:
    """The messages of a plan: source, destination, slice length, slices."""
    messages: list[list[int]] = []
    for packet in plan.packets:
        if packet.slice == 0:
            messages.append([packet.source, packet.destination, packet.length, 1])
            continue
        if not messages:
            raise SpecError("packets[0].slice: a message begins with slice 0")
        last = messages[-1]
        if [packet.source, packet.destination, packet.length] != last[:3] or packet.slice != last[3]:
            raise SpecError(
                f"packets: the slices of a message from node {packet.source} do not follow one another"
            )
        last[3] += 1
    return np.array(messages, dtype=np.int64).reshape(-1, 4)


def check_plan(plan: Plan) -> dict[str, Any]:
    """Check a plan by means that share nothing with the search.

    Every route is followed link by link; no two packets may hold a port or link at once; duration and
    lower bound are computed anew; the engine simulates it under several arbitration schemes.

    Returns
    -------
    dict
        ``passed``, ``problems`` (a list of messages), ``duration``, ``bound``, ``simulated``.
    """
    network = plan.network()
    problems: list[str] = []
    duration = bound = None
    simulated: dict[str, int] = {}
    try:
        routes = plan.directions()
        duration = _core.check_plan(network._core, plan.table, routes)
    except SpecError as error:
        return {"passed": False, "problems": [str(error)], "duration": None, "bound": None, "simulated": {}}
    if duration != plan.duration:
        problems.append(f"duration: the file says {plan.duration}, the packets take {duration}")
    if not plan.phases:
        try:
            bound = _core.schedule_bound(
                network._core, messages_of(plan), plan.routes, plan.interval, plan.free_slices
            )[0]
        except SpecError as error:
            problems.append(str(error))
    if bound is not None and bound < plan.bound and not plan.method.endswith("cp-sat"):
        problems.append(f"bound: the file says {plan.bound}, only {bound} can be proven")
    if plan.optimal != (plan.duration == plan.bound):
        problems.append("optimal: does not agree with duration and bound")
    if plan.bound > duration:
        problems.append(f"bound: {plan.bound} is above the duration")
    from flitloom.spec import Router

    for scheme in ("C00", "C04", "C09"):
        same = Network(network.topology, Router(arbitration=scheme))
        raw = _core.simulate(same._core, plan.workload(same), None, None, False, False, False)
        simulated[scheme] = int(raw["duration"])
        if simulated[scheme] != duration:
            problems.append(f"simulated with {scheme}: {simulated[scheme]} cycles instead of {duration}")
    return {
        "passed": not problems,
        "problems": problems,
        "duration": duration,
        "bound": bound,
        "simulated": simulated,
    }
