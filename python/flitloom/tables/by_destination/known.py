"""What is known about tables by destination as they were made, whatever is done with them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.beside import BOTH_WAYS, KINDS, MANAGERS, Beside
from flitloom.tables.by_destination.bounds import proof
from flitloom.tables.by_destination.checking import SubnetReport
from flitloom.tables.by_destination.comparing import of_one_width
from flitloom.tables.by_destination.covering import Cover
from flitloom.tables.by_destination.hanging import Behind
from flitloom.tables.by_destination.management import towards
from flitloom.tables.by_destination.remembered import First
from flitloom.tables.by_destination.repairing import OldTables, Update, is_far
from flitloom.tables.by_destination.tables import (
    NONE,
    ForwardingTables,
    fewest_in_words,
    host_levels,
    with_lanes,
)
from flitloom.tables.traffic import Demand, unit_of

#: Loads up to so many times the best are not told as a price.
_WORTH = 1.005
#: Largest loads up to so many times those of other tables are taken for what else these are good for.
NEAR = 1.1
#: Options that give up kinds of traffic.
GIVEN_UP = dict(zip(KINDS[1:], ("--one-way", "--no-managers", "--no-multicast"), strict=True))


@dataclass(frozen=True)
class MadeTables:
    """Tables with all that is known about them; `SubnetTables` says what the fields are."""

    recognition: Recognition
    lids: NDArray[np.int64]
    owners: NDArray[np.int64]
    following: NDArray[np.uint32]
    levels: NDArray[np.uint8]
    mode: str
    lanes: int
    lanes_there: int
    report: SubnetReport
    bound: dict[str, Any]
    seconds: float
    balanced: int | None
    short_of_lanes: bool
    mode_loads: dict[str, int]
    scratch: int | None
    job: int | None
    changed: int | None
    update: Update | None
    demand: Demand | None = field(repr=False)
    old: OldTables | None = field(repr=False)
    lane_start: NDArray[np.uint64] = field(repr=False)
    lane_rows: NDArray[np.uint8] = field(repr=False)
    method: str
    shifts: tuple[float, int, int] | None
    method_loads: dict[str, int]
    cover: Cover
    beside: Beside
    host_pairs: int | None
    asked: int | None = None
    first: First | None = field(default=None, repr=False)
    again: bool = False
    behind: Behind | None = None
    rising: NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def subnet(self) -> Subnet:
        """The subnet the tables are for."""
        return self.recognition.subnet

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {
            "largest load": self.report.max_load,
            "lower bound": self.bound["value"],
            "lanes": self.lanes,
            "mode": self.mode,
            "deadlock": self.report.deadlock,
            "traffic": self.report.safe_for,
            "unreachable pairs": self.report.unreachable,
            "update": None if self.update is None else self.update.describe(),
        }
        return fields_html(f"tables of the {self.recognition.describe()}", fields)

    def facts(self) -> dict[str, Any]:
        """The report as plain values; entries are counted as `compare_tables` counts them."""
        ports, levels = self.ports(), host_levels(self.subnet, self.levels)
        # Entries that change twice are in no list: the stages have them.
        staged = self.update is not None and len(self.update.steps) > 1
        return {
            "fabric": self.recognition.describe(),
            "switches": len(self.subnet.switches),
            "hosts": len(self.subnet.ports_of_hosts()),
            "job_hosts": self.job,
            "pairs_checksum": self.asked,
            "first_again": self.again,
            "max_load": self.report.max_load,
            "bound": self.bound["value"],
            "bound_proof": proof(self.bound, self.subnet),
            "gap": self.report.max_load - self.bound["value"],
            "optimal": self.report.max_load == self.bound["value"],
            "behind": None if self.behind is None else self.behind.bottleneck,
            "behind_load": None if self.behind is None else self.behind.load,
            "behind_bound": None if self.behind is None else self.behind.bound,
            "balanced_load": self.balanced,
            "short_of_lanes": self.short_of_lanes,
            "mode_loads": self.mode_loads,
            "scratch_load": self.scratch,
            "method": self.method,
            "method_loads": self.method_loads,
            "shift_load": None if self.shifts is None else round(self.shifts[0], 3),
            "shift_load_worst": None if self.shifts is None else self.shifts[1],
            "mode": self.mode,
            "lanes": self.lanes,
            "lanes_there": self.lanes_there,
            "lanes_from": fewest_in_words(self.subnet) or None,
            "spare_lanes": self.spare_lanes,
            "service_levels": int(self.levels.max(initial=0)) + 1,
            "deadlock": self.report.deadlock,
            "safe_for": self.report.safe_for,
            "traffic_kinds": self.report.facts()["traffic_kinds"],
            "given_up": [kind for kind in KINDS[1:] if kind not in self.cover.kinds],
            "managers": list(self.beside.managers),
            "sm_sl": self.beside.manager_level,
            "multicast_sl": self.beside.multicast_level,
            "host_pairs_load": self.host_pairs,
            "unreachable": self.report.unreachable,
            "seconds": round(self.seconds, 3),
            "remarks": list(self.report.remarks),
            "entries": int((ports != 255).sum()),
            "changed_entries": None if self.old is None else _differ(self.old.ports, ports),
            "update": None if self.update is None else self.update.describe(),
            "update_safe": None if self.update is None else self.update.safe,
            "update_rounds": None if staged else self.update and self.update.rounds,
            "update_last": None if staged else self.update and self.update.last,
            "moved_levels": None if self.old is None else self.old.moved(levels, self.owners),
        }

    def prices(self) -> list[str]:
        """What lanes, modes and few changes cost, a line each; at most 0.5 % of load is not worth one."""
        said = []
        if self.balanced is not None and self.report.max_load > _WORTH * self.balanced:
            short = (
                "the lanes do not suffice for balanced tables" if self.short_of_lanes else "lanes cost load"
            )
            said.append(
                f"{short}: {self._instead(self.balanced)} of tables balanced without lanes; "
                "more --effort, another --seed or more --lanes may lower that"
            )
        for method, load in self.method_loads.items():
            if method != self.method:
                least = min(load, self.report.max_load)
                better = "all-to-alls" if self.report.max_load == least else "shifts of hosts"
                said.append(
                    f"method {self.method}, better for {better}, has a load of {self.report.max_load}; "
                    f"--method {method} has {load}"
                )
        if self.host_pairs is not None and self.report.max_load > NEAR * self.host_pairs:
            said.append(
                f"safety for {', '.join(self.cover.kinds)} costs load: {self._instead(self.host_pairs)} of "
                f"{' '.join(GIVEN_UP.values())}; each of these gives one up"
            )
        other = next((mode for mode in self.mode_loads if mode != self.mode), None)
        if other is not None:
            loads = f"{self.mode} tables have {self.report.max_load}, {other} ones {self.mode_loads[other]}"
            said.append(f"{loads} on the busiest channel; OpenSM's engine file loads portable ones only")
        if self.scratch is not None and self.scratch < self.report.max_load:
            said.append(f"few changes cost load: {self._instead(self.scratch)} from scratch, without --from")
        elif self.scratch is not None or self.is_far:
            above = 100 * (self.report.max_load / max(self.bound["value"], 1) - 1)
            other = "are not better" if self.scratch is not None else "may be better, and were not made"
            said.append(
                f"{self.report.max_load} {self.unit} on a channel, {above:.1f} % above the lower bound; "
                f"tables from scratch {other}{'' if self.scratch is None else f' ({self.scratch})'}"
            )
        return said

    @property
    def is_far(self) -> bool:
        """Whether a repair loads so much more than the bound that others are worth a look."""
        far = is_far(self.report.max_load, self.bound["value"])
        return self.old is not None and not self.again and far

    @property
    def spare_lanes(self) -> int:
        """Lanes that neither pairs of hosts have nor managers or multicast alone."""
        alone = {self.beside.manager_level, self.beside.multicast_level} if self.mode == "portable" else set()
        return self.lanes_there - self.lanes - len(alone - set(np.unique(self.levels).tolist()))

    def notes(self) -> list[str]:
        """`prices`, `settings`, `remedies`, and whether repairs have a lane to go to."""
        said = [*self.prices(), *self.settings, *self.remedies]
        if self.mode == "portable" and self.spare_lanes == 0 and self.lanes > 1:
            said.append(
                f"all {self.lanes_there} lanes are used: repairs after a failure may need the traffic "
                "stopped; --spare-lanes 1 leaves a lane free for them, and --critical --from FOLDER says "
                "which need it"
            )
        return said

    @property
    def settings(self) -> list[str]:
        """What OpenSM must be told of the levels of managers and multicast; nothing of level 0."""
        said = []
        if level := self.beside.manager_level:
            said.append(
                f"managers and monitors are on level {level}: 'sm_sl {level}' in opensm.conf, or --sm_sl"
            )
        if level := self.beside.multicast_level:
            said.append(f"multicast is on level {level}: the line of partitions.conf in the folder says so")
        return said

    @property
    def remedies(self) -> list[str]:
        """What may make kinds of traffic safe that can deadlock with these tables.

        Examples
        --------
        >>> import flitloom as fl
        >>> fl.tables.make("dragonfly(6,3)").remedies
        []
        >>> fl.tables.make("dragonfly(6,3)", safe_for=["managers", "multicast"]).remedies
        ['not safe both ways: leave --one-way out']
        """
        # Lanes that rise are for routers without a subnet manager.
        judged = self.report.kinds if self.rising is None else ()
        unsafe = [kind.kind for kind in judged if kind.deadlock is not False]
        said = []
        for kind, option in GIVEN_UP.items():
            how = kind if kind == BOTH_WAYS else f"for {kind}"
            if kind not in unsafe:
                continue
            if kind not in self.cover.kinds:
                said.append(f"not safe {how}: leave {option} out")
            elif self.old is not None:
                said.append(
                    f"not safe {how}: a repair beside running traffic cannot change that; tables without "
                    "--from can be"
                )
            elif self.mode != "portable":
                said.append(f"not safe {how}: --mode portable has lanes apart")
            elif kind == MANAGERS and not self.cover.managers:
                premise = next(each.premise for each in self.report.kinds if each.kind == kind)
                said.append(f"not safe {how} {premise}: --manager HOST says where they run; others are safe")
            else:
                more = "other --manager or more --lanes" if kind == MANAGERS else "more --lanes"
                said.append(f"not safe {how} on {counted(self.lanes_there, 'lane')}: {more} may help")
        return said

    def _instead(self, load: int) -> str:
        more = 100 * (self.report.max_load / max(load, 1) - 1)
        return f"{self.report.max_load} {self.unit} on a channel, {more:.1f} % more than the {load}"

    @property
    def unit(self) -> str:
        """What loads and bounds count."""
        return unit_of(self.demand)

    def forwarding(self) -> ForwardingTables:
        """The tables as the check and packets in motion take them."""
        rows = (self.lane_start, self.lane_rows) if self.mode == "sl2vl" else None
        rising = None if self.rising is None else (self.rising, self.lanes)
        made = with_lanes(self.subnet, self.owners, self.following, self.levels, rows, rising)
        return replace(made, demand=self.demand)

    def ports(self) -> NDArray[np.uint8]:
        """Out port by switch and LID, 255 for none: hosts and switches."""
        subnet = self.subnet
        lids = [switch.lid for switch in subnet.switches if switch.lid]
        highest = int(max([*self.lids.tolist(), *lids], default=0))
        table = np.full((len(subnet.switches), highest + 1), 255, dtype=np.uint8)
        out = np.zeros(2 * len(subnet.cables) + 1, dtype=np.uint8)
        for index, cable in enumerate(subnet.cables):
            out[2 * index], out[2 * index + 1] = cable.a_port, cable.b_port
        by_switch: dict[int, int] = {}
        for row, (lid, owner) in enumerate(zip(self.lids, self.owners, strict=True)):
            host = subnet.hosts[owner]
            by_switch.setdefault(host.switch, row)
            line = self.following[row]
            known = line != NONE
            table[known, lid] = out[line[known]]
            table[host.switch, lid] = host.switch_port
        outgoing = subnet.outgoing()
        for switch, node in enumerate(subnet.switches):
            if node.lid:
                if switch in by_switch:
                    table[:, node.lid] = table[:, self.lids[by_switch[switch]]]
                else:
                    line = towards(outgoing, switch)
                    known = line != NONE
                    table[known, node.lid] = out[line[known]]
                table[switch, node.lid] = 0
        return table


def _differ(old: NDArray[np.uint8], new: NDArray[np.uint8]) -> int:
    """Entries that differ, as `compare_tables` counts them."""
    before, after = of_one_width(old, new)
    return int((before != after).sum())
