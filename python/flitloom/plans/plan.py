"""A plan: when every packet starts and which route it takes, with its proof; a JSON file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pydantic

from flitloom import _core
from flitloom._core import LIMITS
from flitloom.errors import SpecError, require_kind, show, show_file
from flitloom.ground.limits import LISTED_PACKETS, PLAN_BYTES
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_text
from flitloom.ground.reading import opened, placed, read_json_list
from flitloom.networks.network import Network
from flitloom.plans.operation import PLANS
from flitloom.plans.phases import phases_of
from flitloom.plans.proofs import measure, messages_of, prove_bound
from flitloom.plans.values import EARLIER, FORMAT, PlannedPacket, PlanValues
from flitloom.spec import Packets
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.spec.from_file import refused

if TYPE_CHECKING:
    from flitloom.plans.operation import Operation


class Plan(PlanValues):
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

    def require_traffic(self, network: Network, traffic: PlannedTraffic | Operation, seed: int = 1) -> None:
        """Refuse traffic with other messages than those of the plan, in any order."""
        phases, _, words = phases_of(network, traffic, seed)
        wanted = sorted(map(tuple, np.concatenate(phases).tolist()))
        if wanted != sorted(map(tuple, messages_of(self).tolist())):
            raise SpecError.at("plan.traffic", f"the plan is for {self.traffic}, not for {words}")

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
            raise refused(error, Plan, place, "a plan as flitloom schedule writes it is needed") from None
