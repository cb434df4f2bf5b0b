"""Balanced tables for a subnet as it is, failures included, and the files that load them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom import _core
from flitloom.errors import SpecError, unknown_parts
from flitloom.fabric.identifiers import with_identifiers
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition, recognise
from flitloom.fabric.torus_config import configured, read_torus_config
from flitloom.fixed import explained
from flitloom.notebook import fields_html
from flitloom.numerals import counted
from flitloom.spec.base import require_whole
from flitloom.tables.by_destination.checking import SubnetReport, judge, proof
from flitloom.tables.by_destination.comparing import of_one_width
from flitloom.tables.by_destination.demand import Demand, demand_of, unit_of
from flitloom.tables.by_destination.repairing import REPAIR_SLACK, OldTables, Update, read_old, repaired
from flitloom.tables.by_destination.tables import (
    NONE,
    ForwardingTables,
    destinations,
    host_levels,
    with_lanes,
)
from flitloom.tables.by_destination.writing import write_tables

#: Methods of tables by destination; the first that suits a fabric is the default.
FORWARDING_METHODS: tuple[str, ...] = _core.LISTS["forwarding_methods"]
#: The kind of fabric that each is for.
_KINDS = dict(zip(FORWARDING_METHODS, _core.LISTS["forwarding_kinds"], strict=True))
#: Entries the search may try at effort 1.
TRIES = 12_000_000
#: The same for large fabrics, per entry.
_TRIES_PER_ENTRY = 20

#: Loads up to so many times the best are not told as a price.
_WORTH = 1.005
#: Largest loads up to so many times those of another method are taken for what else the method is good for.
_NEAR = 1.1


@explained
@dataclass(frozen=True)
class SubnetTables:
    """Tables by destination with service levels and lanes, checked.

    Attributes
    ----------
    recognition : Recognition
        What the subnet is.
    lids, owners : array
        LID of every destination and the host it belongs to.
    following : array
        Channel by destination and switch.
    levels : array
        Service level by destination and switch of the source.
    mode : str
        ``portable``: the lane is the service level; ``sl2vl``: tables of the switches say.
    lanes : int
        Lanes in use.
    balanced : int or None
        Largest load of the tables that were balanced before lanes were chosen; `report.max_load` above it is
        the price of too few lanes. None for repairs that keep the lanes.
    short_of_lanes : bool
        Whether the lanes did not suffice for balanced tables, so that others were made.
    mode_loads : dict
        Largest load of the tables of every mode that was tried; both where portable tables of at most 10 %
        above the balanced were not found.
    scratch : int or None
        Largest load of tables made from scratch, where repaired ones stay more than 2 % above the bound.
    job : int or None
        Hosts whose pairs count, if not all do.
    changed : int or None
        Entries for hosts that differ from the tables they were made from.
    update : Update or None
        How to get there from those tables.
    old : OldTables or None
        Those tables.
    lanes_there : int
        Lanes that tables could use; those left over are free for repairs.
    report : SubnetReport
        The independent check of it all.
    method : str
        ``ftree``, ``dor``, ``dragonfly`` or ``balanced``; repairs of old tables are ``repair``.
    shifts : tuple or None
        Of a fat tree: pairs on the fullest channel of shift permutations, their mean over shifts, the worst,
        and how many shifts were looked at. In a shift every host sends to the one a fixed number further on,
        in the order of the tree.
    method_loads : dict
        Largest load of the tables of every method that was tried; both where those of ``ftree`` stay more
        than 10 % above the bound.
    """

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
            "unreachable pairs": self.report.unreachable,
            "update": None if self.update is None else self.update.describe(),
        }
        return fields_html(f"tables of the {self.recognition.describe()}", fields)

    def facts(self) -> dict[str, Any]:
        """The report as plain values; entries are counted as `compare_tables` counts them."""
        ports, levels = self.ports(), host_levels(self.subnet, self.levels)
        return {
            "fabric": self.recognition.describe(),
            "switches": len(self.subnet.switches),
            "hosts": len(self.subnet.hosts),
            "job_hosts": self.job,
            "max_load": self.report.max_load,
            "bound": self.bound["value"],
            "bound_proof": proof(self.bound),
            "gap": self.report.max_load - self.bound["value"],
            "optimal": self.report.max_load == self.bound["value"],
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
            "spare_lanes": self.lanes_there - self.lanes,
            "service_levels": int(self.levels.max(initial=0)) + 1,
            "deadlock": self.report.deadlock,
            "unreachable": self.report.unreachable,
            "seconds": round(self.seconds, 3),
            "remarks": list(self.report.remarks),
            "entries": int((ports != 255).sum()),
            "changed_entries": None if self.old is None else _differ(self.old.ports, ports),
            "update": None if self.update is None else self.update.describe(),
            "update_safe": None if self.update is None else self.update.safe,
            "update_rounds": None if self.update is None else self.update.rounds,
            "update_last": None if self.update is None else self.update.last,
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
                    f"method {self.method}, better for {better}, carries {self.report.max_load}; "
                    f"--method {method} carries {load}"
                )
        other = next((mode for mode in self.mode_loads if mode != self.mode), None)
        if other is not None:
            loads = f"{self.mode} tables carry {self.report.max_load}, {other} ones {self.mode_loads[other]}"
            said.append(f"{loads} on the fullest channel; OpenSM's engine file loads portable ones only")
        if self.scratch is not None and self.scratch < self.report.max_load:
            said.append(f"few changes cost load: {self._instead(self.scratch)} from scratch, without --from")
        elif self.scratch is not None:
            above = 100 * (self.report.max_load / max(self.bound["value"], 1) - 1)
            said.append(
                f"{self.report.max_load} {self.unit} on a channel, {above:.1f} % above the lower bound; "
                f"tables from scratch carry no less ({self.scratch})"
            )
        return said

    def notes(self) -> list[str]:
        """`prices`, and whether repairs have a lane to go to."""
        said = self.prices()
        if self.mode == "portable" and self.lanes == self.lanes_there > 1:
            said.append(
                f"all {self.lanes} lanes are used: repairs after a failure may need the traffic stopped; "
                "--spare-lanes 1 leaves a lane free for them, and --critical --from FOLDER says which need it"
            )
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
        rows = None if self.mode == "portable" else (self.lane_start, self.lane_rows)
        made = with_lanes(self.subnet, self.owners, self.following, self.levels, rows)
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
        for switch, node in enumerate(subnet.switches):
            if node.lid:
                if switch in by_switch:
                    table[:, node.lid] = table[:, self.lids[by_switch[switch]]]
                else:
                    table[:, node.lid] = _towards(subnet, switch, out)
                table[switch, node.lid] = 0
        return table

    def write(self, folder: str | Path) -> Path:
        """Write all files into a folder; see the page `docs/fabric.md`."""
        return write_tables(self, folder)


def entry_names(subnet: Subnet, lids: NDArray[np.int64], places: list[int]) -> list[str]:
    """Entries by ``destination * switches + switch`` as reports name them, e.g. ``S5 to lid 7``."""
    split = (divmod(place, len(subnet.switches)) for place in places)
    return [f"{subnet.switches[switch].name} to lid {lids[row]}" for row, switch in split]


def _differ(old: NDArray[np.uint8], new: NDArray[np.uint8]) -> int:
    """Entries that differ, as `compare_tables` counts them."""
    before, after = of_one_width(old, new)
    return int((before != after).sum())


def _towards(subnet: Subnet, root: int, out: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Ports of shortest ways to a switch without hosts, for management packets."""
    ports = np.full(len(subnet.switches), 255, dtype=np.uint8)
    outgoing = subnet.outgoing()
    seen, queue = {root}, [root]
    for here in queue:
        for channel, _, there in outgoing[here]:
            if there not in seen:
                seen.add(there)
                ports[there] = out[channel ^ 1]
                queue.append(there)
    return ports


def route_subnet(
    subnet: Subnet,
    *,
    mode: str | None = None,
    lanes: int = 8,
    spare_lanes: int = 0,
    sizes: tuple[int, ...] | None = None,
    torus_config: str | Path | None = None,
    effort: int = 1,
    old: str | Path | None = None,
    reversible: bool = False,
    seed: int = 1,
    job: Sequence[int] | None = None,
    traffic: ArrayLike | None = None,
    method: str | None = None,
) -> SubnetTables:
    """Balanced, deadlock-free tables by destination for exactly this subnet.

    Parameters
    ----------
    mode : str, optional
        ``portable`` (a packet keeps the lane of its service level) or ``sl2vl`` (tables of the switches
        choose the lane). By default portable where the largest load is at most 10 % above that of balanced
        tables or of ``sl2vl`` ones.
    lanes : int
        Virtual lanes there are, 1 to 8. Where they do not suffice for balanced tables, others are made at a
        higher load, which `SubnetTables.prices` tells.
    spare_lanes : int
        How many of these lanes portable tables leave free; a repair with `old` may use them all. A free lane
        is where pairs go whose old and new routes could otherwise wait for each other.
    sizes : tuple of int, optional
        Sizes of the torus, where the fewest dimensions are not meant.
    torus_config : path, optional
        ``torus-2QoS.conf`` of OpenSM, for coordinates and datelines of your own.
    effort : int
        Factor on the work of the search.
    seed : int
        Order in which destinations are looked at: 1 is that of their LIDs, others are drawn.
    old : path, optional
        Tables of before a failure, as a folder that ``write`` made or a dump with ``path-sl.txt`` beside it:
        few entries are changed to come within 2 % of the bound. Where the lane is the service level, such
        that no mixture of old and new entries can deadlock; `SubnetTables.update` says whether, and
        `SubnetTables.prices` what it costs where that is more than 2 %.
    reversible : bool
        Both ways between two switches get the same service level; may need more lanes.
    job : sequence of int, optional
        Hosts whose pairs are balanced, by their numbers in `subnet.hosts`. All others are served as well,
        within the same lanes, but count neither in the load nor in the bound.
    traffic : array, optional
        Weight of every pair of hosts instead, by source and destination; loads and the bound are sums of
        weights.
    method : str, optional
        ``ftree`` (d-mod-k) for fat trees, ``dor`` (dimension order) for products, ``dragonfly`` (over one
        cable between groups), the defaults there, or ``balanced``.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> ring = "\\n".join(f"s{n},s{(n + 1) % 5}" for n in range(5))
    >>> tables = route_subnet(parse_fabric(ring))
    >>> tables.report.max_load, tables.bound["value"], tables.lanes
    (3, 3, 2)
    """
    if not 1 <= lanes <= 8:
        raise SpecError.at("--lanes", str(lanes), "links have 1 to 8 lanes")
    if not 0 <= spare_lanes < lanes:
        advice = f"write 0 to {lanes - 1}: tables need one of {counted(lanes, 'lane')}"
        raise SpecError.at("--spare-lanes", str(spare_lanes), advice)
    if spare_lanes and mode == "sl2vl":
        problem = "only portable tables can be repaired beside traffic"
        raise SpecError.at("--spare-lanes", problem, "leave --mode out")
    require_whole("effort", effort, 1, 1_000_000)
    require_whole("seed", seed, 0, 2**64 - 1)
    if job is not None and traffic is not None:
        raise SpecError("job and traffic both say which pairs count; give one")
    if mode not in (None, "portable", "sl2vl"):
        raise SpecError.at("mode", *unknown_parts(str(mode), ("portable", "sl2vl")))
    found = _recognised(with_identifiers(subnet), sizes, torus_config)
    routing = _Routing(found, mode, (lanes, spare_lanes), effort, reversible, seed, job, traffic, method)
    return routing.tables(old)


def _recognised(
    subnet: Subnet, sizes: tuple[int, ...] | None, torus_config: str | Path | None
) -> Recognition:
    """What a subnet is, with the sizes or the coordinates that are asked for."""
    if torus_config is None:
        return recognise(subnet, sizes)
    if sizes is not None:
        raise SpecError("sizes and torus_config both say what the torus is; give one")
    return configured(subnet, read_torus_config(torus_config))


class _Routing:
    """Tables of a subnet in the making."""

    def __init__(
        self,
        recognition: Recognition,
        mode: str | None,
        lanes: tuple[int, int],
        effort: int,
        reversible: bool,
        seed: int,
        job: Sequence[int] | None,
        traffic: ArrayLike | None,
        method: str | None,
    ) -> None:
        self.begin = time.perf_counter()
        self.subnet, self.job, self.recognition = recognition.subnet, job, recognition
        self.mode, self.effort, self.reversible, self.seed = mode, effort, reversible, seed
        self.method = method
        if method not in (None, *FORWARDING_METHODS):
            raise SpecError.at("--method", *unknown_parts(str(method), FORWARDING_METHODS))
        suits = "any" if method is None else _KINDS[method]
        if suits not in ("any", self.recognition.kind):
            raise SpecError.at(
                "--method",
                f"{method} is for fabrics of kind {suits}; this is {self.recognition.describe()}",
                "leave it out",
            )
        self.lanes, self.spare_lanes = lanes
        self.lids, self.owners = destinations(self.subnet)
        self.roots = [self.subnet.hosts[owner].switch for owner in self.owners]
        self.demand = demand_of(self.subnet, self.lids, self.owners, job, traffic)

    def search(self, old: NDArray[np.uint32] | None, method: str | None = None) -> dict[str, Any]:
        """Tables made anew, or with few changes of others, with destinations in the order of the seed."""
        # Further LIDs of a host come behind the first of every one; repairs keep what they can.
        first: dict[int, int] = {}
        base: list[int] = []
        further: list[int] = []
        for row, owner in enumerate(self.owners.tolist()):
            (further if owner in first and old is None else base).append(row)
            first.setdefault(owner, row)
        if self.seed != 1:
            draw = random.Random(self.seed)
            draw.shuffle(base)
            draw.shuffle(further)
        place = {row: n for n, row in enumerate(base)}
        made: dict[str, Any] = _core.forward(
            self.subnet.hosts_per_switch(),
            self.subnet.cable_ends(),
            self.recognition.grid(),
            [self.roots[row] for row in base],
            None if old is None else np.ascontiguousarray(old[base]),
            None if self.demand is None else self.demand.rows(base).core(),
            [place[first[int(self.owners[row])]] for row in further],
            "portable" if self.spare_lanes else self.mode,
            self.lanes - self.spare_lanes,
            self.effort * max(TRIES, _TRIES_PER_ENTRY * len(base) * len(self.subnet.switches)),
            0.0 if old is None else REPAIR_SLACK,
            self.reversible,
            method or self.method,
        )
        back = np.argsort(np.array(base + further, dtype=np.int64))
        return made | {name: np.ascontiguousarray(made[name][back]) for name in ("next", "levels")}

    def judged(self, made: dict[str, Any]) -> SubnetReport:
        """What a check says of tables."""
        rows = None if made["mode"] == "portable" else (made["start"], made["entries"])
        laid = with_lanes(self.subnet, self.owners, made["next"], made["levels"], rows)
        # Further LIDs of hosts change the loads.
        known = (
            (self.recognition.grid(), made["bound"]) if len(self.roots) == len(self.subnet.hosts) else None
        )
        return judge(replace(laid, demand=self.demand), known)

    def repaired(self, before: OldTables) -> tuple[dict[str, Any], Update] | None:
        """Old tables repaired such that they may be mixed with new ones, and what changes first."""
        if self.mode == "sl2vl" or self.reversible:
            return None
        made = repaired(self.recognition, self.roots, before, self.demand, self.lanes, TRIES * self.effort)
        if made is None:
            return None
        moved = before.moved(host_levels(self.subnet, made["levels"]), self.owners)
        rounds = [entry_names(self.subnet, self.lids, places) for places in made["rounds"]]
        last = entry_names(self.subnet, self.lids, made["last"])
        return made, Update(True, moved or 0, rounds, last)

    def tables(self, old: str | Path | None) -> SubnetTables:
        """The tables, beside the old ones if there are any."""
        before = None if old is None else read_old(self.subnet, old, self.lids, self.owners)
        found = None if before is None else self.repaired(before)
        if found is None:
            made = self.search(None if before is None else before.following)
            update = None if before is None else Update(False, 0, [], [])
        else:
            made, update = found
        report = self.judged(made)
        methods = {made["method"]: report.max_load} if "method" in made else {}
        if (
            before is None
            and self.method is None
            and made["method"] == "ftree"
            and report.max_load > _NEAR * made["bound"]["value"]
        ):
            other = self.search(None, "balanced")
            judged = self.judged(other)
            methods["balanced"] = judged.max_load
            # Few more pairs on the fullest channel are worth shifts without conflicts.
            if report.max_load > _NEAR * judged.max_load:
                made, report = other, judged
        if report.deadlock:
            raise AssertionError(f"tables with a cycle were made: {report.cycle}")
        scratch = None
        if before is not None and report.max_load > (1 + REPAIR_SLACK) * made["bound"]["value"]:
            scratch = self.judged(self.search(None)).max_load
        return SubnetTables(
            self.recognition,
            self.lids,
            self.owners,
            made["next"],
            made["levels"],
            made["mode"],
            made["lanes"],
            self.lanes,
            report,
            made["bound"],
            time.perf_counter() - self.begin,
            made.get("balanced"),
            made.get("short_of_lanes", False),
            {made["mode"]: report.max_load, **made.get("other", {})},
            scratch,
            None if self.job is None else len(self.job),
            None if before is None else int((made["next"] != before.following).sum()),
            update,
            self.demand,
            before,
            made["start"],
            made["entries"],
            made.get("method", "repair"),
            made.get("shifts"),
            methods,
        )
