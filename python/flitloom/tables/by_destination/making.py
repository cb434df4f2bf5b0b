"""Balanced tables for a subnet as it is, failures included, and the files that load them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom import _core
from flitloom.errors import require_kind
from flitloom.fabric.identifiers import with_identifiers
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition
from flitloom.tables.by_destination.asking import (
    demanded,
    lanes_for,
    recognised,
    require_right,
    whole_of,
)
from flitloom.tables.by_destination.beside import Beside, assumed_tree
from flitloom.tables.by_destination.bounds import behind_cables
from flitloom.tables.by_destination.checking import SubnetReport, judge
from flitloom.tables.by_destination.colours import METHOD, require_colours
from flitloom.tables.by_destination.covering import ENOUGH, Cover, cover_of, on_levels
from flitloom.tables.by_destination.hanging import Hanging
from flitloom.tables.by_destination.known import NEAR
from flitloom.tables.by_destination.made import SubnetTables
from flitloom.tables.by_destination.management import SwitchRoutes, routes_of
from flitloom.tables.by_destination.patching import patch_steps
from flitloom.tables.by_destination.remembered import First, Match
from flitloom.tables.by_destination.repairing import (
    REPAIR_SLACK,
    OldTables,
    Update,
    is_far,
    read_old,
    repaired,
)
from flitloom.tables.by_destination.tables import (
    LEVELS,
    NONE,
    destinations,
    host_levels,
    report_in,
    roots_of,
    with_lanes,
)
from flitloom.tables.by_destination.ways import MOST, way
from flitloom.tables.traffic import Demand

#: Entries the search may try at effort 1.
TRIES = 12_000_000
#: The same for large fabrics, per entry.
_TRIES_PER_ENTRY = 20

#: Of many lanes those that cost more load than this factor are worth another search.
_NEARER = 1.02
#: How much more load than others safer tables may have where lanes are few.
_FEW = 2.0
#: From such a multiple of the bound on, lanes ran out: destinations in other orders may do better.
_FAR = 1.2
#: Orders that are tried then, and the most entries of such tables.
_ORDERS = 3
_SMALL = 1 << 14
#: Tables with more entries are made once, whatever they are safe for.
_LARGE = 1 << 17


def entry_names(subnet: Subnet, lids: NDArray[np.int64], places: list[int]) -> list[str]:
    """Entries by ``destination * switches + switch`` as reports name them, e.g. ``S5 to lid 7``."""
    split = (divmod(place, len(subnet.switches)) for place in places)
    return [f"{subnet.switches[switch].name} to lid {lids[row]}" for row, switch in split]


def route_subnet(
    subnet: Subnet,
    *,
    mode: str | None = None,
    lanes: int | None = None,
    spare_lanes: int = 0,
    sizes: tuple[int, ...] | None = None,
    torus_config: str | Path | None = None,
    effort: int = 1,
    old: str | Path | None = None,
    reversible: bool | None = None,
    seed: int = 1,
    job: Sequence[int] | None = None,
    traffic: ArrayLike | None = None,
    method: str | None = None,
    safe_for: Sequence[str] | None = None,
    managers: Sequence[str] = (),
    manager_level: int | None = None,
) -> SubnetTables:
    """Balanced, deadlock-free tables by destination for exactly this subnet.

    Parameters
    ----------
    mode : str, optional
        ``portable`` (the default, a packet keeps the lane of its level) or ``sl2vl`` (switches choose lanes,
        the default one way if the load of portable tables is more than 10 % above the others').
    lanes : int, optional
        Virtual lanes there are, 1 to 15; by default what the ports of `subnet` have, if a file says, else 8.
        Where they do not suffice, `SubnetTables.prices` tells the cost.
    spare_lanes : int
        How many of these lanes portable tables leave free for repairs with `old`.
    sizes : tuple of int, optional
        Sizes of the torus, where the fewest dimensions are not meant.
    torus_config : path, optional
        ``torus-2QoS.conf`` of OpenSM, for coordinates and datelines of your own.
    effort, seed : int
        Factor on the work of the search, and the order of destinations: 1 is that of LIDs, others are drawn.
    old : path, optional
        Tables of before a failure, as a folder that ``write`` made or a dump with ``path-sl.txt`` beside it:
        few entries are changed to come within 2 % of the bound, such that no mixture of old and new entries
        can deadlock where the lane is the service level. `SubnetTables.update` says whether that succeeded.
    job : sequence of int, optional
        Hosts whose pairs count in the load and the bound, by their numbers in `subnet.hosts`.
    traffic : array, optional
        Weight of every pair of hosts instead, by source and destination; loads and the bound are sums of
        weights.
    method : str, optional
        ``ftree`` (d-mod-k) for fat trees, ``dor`` (dimension order) for products, ``dragonfly`` (over one
        cable between groups), the defaults there, ``balanced``, or ``colours`` for two-coloured networks of
        routers of your own, where lanes rise from hop to hop: one for every two hops suffices.
    safe_for, managers, manager_level
        What the tables must be safe for besides host pairs one way, by default all traffic of a subnet; see
        `flitloom.tables.by_destination.covering.cover_of`. Repairs are safe for what `old` is safe for.
        `reversible` is the former name of ``"both ways"``.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> ring = "\\n".join(f"s{n},s{(n + 1) % 5}" for n in range(5))
    >>> tables = route_subnet(parse_fabric(ring))
    >>> tables.report.max_load, tables.bound["value"], tables.lanes
    (3, 3, 2)
    >>> tables.report.safe_for
    'safe for host pairs, both ways, managers, multicast'
    """
    require_kind("subnet", subnet, Subnet, "fabric", "fl.tables.fabric('dragonfly(4,2)')")
    lanes = lanes_for(subnet, lanes, spare_lanes, mode)
    require_right(mode, effort, seed, job is not None and traffic is not None)
    if method == METHOD:
        require_colours(subnet, lanes, {"--mode": mode, "--from": old, "--spare-lanes": spare_lanes})
        safe_for = ()
    whole, places = whole_of(with_identifiers(subnet), old)
    found = recognised(whole, method, sizes, torus_config)
    lids, owners = destinations(found.subnet)
    demand, asked = demanded(found.subnet, places, lids, owners, job, traffic)
    cover = cover_of(safe_for, managers, manager_level, lanes, reversible)
    cover.beside().hosts(found.subnet)
    how = (mode, lanes, spare_lanes, effort, cover, seed, method, asked)
    return _Routing(found, lids, owners, demand, *how).tables(old, None if job is None else len(job))


@dataclass(frozen=True)
class _Routing:
    """Tables of a subnet in the making."""

    recognition: Recognition
    lids: NDArray[np.int64]
    owners: NDArray[np.int64]
    demand: Demand | None
    mode: str | None
    lanes: int
    spare_lanes: int
    effort: int
    cover: Cover
    seed: int
    method: str | None
    asked: int | None
    begin: float = field(default_factory=time.perf_counter)

    @property
    def subnet(self) -> Subnet:
        return self.recognition.subnet

    @property
    def roots(self) -> list[int]:
        """The switch of every destination."""
        return roots_of(self.subnet, self.owners)

    @cached_property
    def hanging(self) -> Hanging | None:
        """What is hung on the torus or mesh, if anything is, and its tables can be balanced behind it."""
        return None if not self.recognition.service else Hanging.of(self.recognition, self.demand is None)

    @cached_property
    def to_switches(self) -> SwitchRoutes:
        """Routes to switches without hosts."""
        return routes_of(self.subnet)

    def load(self, report: SubnetReport) -> int:
        """The largest load that tables can change: that of channels which do not join hung switches."""
        return report.max_load if self.hanging is None else self.hanging.busiest(report.loads)[2]

    @property
    def portable(self) -> bool:
        """Whether tables of lanes are out of the question."""
        return self.mode is None and (self.spare_lanes > 0 or self.cover.both_ways)

    def search(
        self,
        old: NDArray[np.uint32] | None,
        kept: int,
        method: str | None = None,
        both_ways: bool | None = None,
        tree: bool = False,
    ) -> dict[str, Any]:
        """Tables made anew, or with few changes of others, with destinations in the order of the seed.

        Parameters
        ----------
        old : array or None
            Entries to begin with.
        kept : int
            Lanes that pairs leave free.
        method : str, optional
            Another method than the one that is asked for.
        both_ways : bool, optional
            Whether both directions of a pair get one level, if not as asked for.
        tree : bool
            Whether a level of pairs leaves the turns of the tree that OpenSM builds to multicast.
        """
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
        place, found, demands = {row: n for n, row in enumerate(base)}, self.recognition, [self.demand]
        hanging = self.hanging if old is None and (self.portable or self.mode == "portable") else None
        if hanging is not None:
            found, demands = hanging.part(found), hanging.demands(self.demand, self.roots)
        usual = "balanced" if found.kind == "graph" or found.member is not None else None
        back = np.argsort(np.array(base + further, dtype=np.int64))
        tables = list[dict[str, Any]]()
        for demand in demands:
            made: dict[str, Any] = _core.forward(
                found.core(),
                [found.subnet.hosts[self.owners[row]].switch for row in base],
                None if old is None else np.ascontiguousarray(old[base]),
                None if demand is None else demand.rows(base).core(),
                [place[first[int(self.owners[row])]] for row in further],
                "portable" if self.portable else self.mode,
                max(1, self.lanes - self.spare_lanes - kept),
                self.effort * max(TRIES, _TRIES_PER_ENTRY * len(base) * len(self.subnet.switches)),
                0.0 if old is None else REPAIR_SLACK,
                self.cover.both_ways if both_ways is None else both_ways,
                method or self.method or usual,
                assumed_tree(found.subnet)[0] if tree else None,
            )
            if hanging is not None:
                made = hanging.with_hung(made, [self.roots[row] for row in base + further])
            entries = {name: np.ascontiguousarray(made[name][back]) for name in ("next", "levels")}
            tables.append(made | entries)
        return tables[0] if len(tables) == 1 else min(tables, key=self.worst)

    def worst(self, made: dict[str, Any]) -> tuple[int, int]:
        """The largest load of tables, and that of channels which do not join hung switches."""
        report = self.judged(made)
        return report.max_load, self.load(report)

    def judged(self, made: dict[str, Any], beside: Beside | None = None) -> SubnetReport:
        """What a check says of tables; without `beside` of host pairs alone."""
        rows = (made["start"], made["entries"]) if made["mode"] == "sl2vl" else None
        rising = (made["rising"], made["lanes"]) if made["mode"] == "rising" else None
        laid = with_lanes(self.subnet, self.owners, made["next"], made["levels"], rows, rising)
        # Further LIDs of hosts change the loads, and hung switches have a bound of their own.
        known = (
            (self.recognition, made["bound"])
            if len(self.owners) == len(self.subnet.hosts) and self.hanging is None
            else None
        )
        laid = replace(laid, demand=self.demand, to_switches=self.to_switches)
        return judge(laid, known, beside)

    def repaired(self, before: OldTables) -> tuple[dict[str, Any], Update, OldTables] | None:
        """Old tables repaired such that they may be mixed with new ones, and what changes first."""
        if self.mode == "sl2vl" or before.highest_level >= self.lanes:
            return None
        tries = TRIES * self.effort
        made = repaired(self.recognition, before, self.lanes, demand=self.demand, tries=tries)
        both_ways = self.cover.both_ways and before.both_ways(self.owners)
        if made is None or (both_ways and not made["both_ways"]):
            return None
        if made["bound"] is None:
            laid = with_lanes(self.subnet, self.owners, made["next"], made["levels"], None)
            made["bound"] = judge(replace(laid, demand=self.demand)).proven
        moved = before.moved(host_levels(self.subnet, made["levels"]), self.owners) or 0
        if "between" in made:
            return made, Update(True, moved, [], [], steps=patch_steps(before.following, made, moved)), before
        rounds = [entry_names(self.subnet, self.lids, places) for places in made["rounds"]]
        last = entry_names(self.subnet, self.lids, made["last"])
        places = tuple(map(tuple, made["rounds"]))
        return made, Update(True, moved, rounds, last, places, tuple(made["last"])), before

    def anew(
        self, old: NDArray[np.uint32] | None
    ) -> tuple[dict[str, Any], Beside, SubnetReport, dict[str, int]]:
        """Tables that are safe for what is asked, as far as lanes go, with the loads of the methods tried.

        Where the load is far above the bound, the least of several orders of the destinations.
        """
        best = self.in_order(old)
        few = self.lanes - self.spare_lanes < ENOUGH and self.method is None
        if len(self.owners) * len(self.subnet.switches) > _SMALL or not few:
            return best
        for seed in range(self.seed + 1, self.seed + 1 + _ORDERS):
            if self.load(best[2]) <= _FAR * best[0]["bound"]["value"]:
                break
            other = replace(self, seed=seed).in_order(old)
            safe = len(self.cover.missing(other[2])) <= len(self.cover.missing(best[2]))
            if safe and self.load(other[2]) < self.load(best[2]):
                best = other
        return best

    def in_order(
        self, old: NDArray[np.uint32] | None
    ) -> tuple[dict[str, Any], Beside, SubnetReport, dict[str, int]]:
        """The same with destinations in the order of the seed."""
        best: tuple[dict[str, Any], Beside, SubnetReport, dict[str, int]] | None = None
        there = self.lanes - self.spare_lanes
        few_lanes = there < ENOUGH
        large = len(self.owners) * len(self.subnet.switches) > _LARGE
        for least, tree in self.cover.kept(there, large):
            if best is not None and not self.cover.missing(best[2]):
                balanced = best[0]["balanced"] or 0
                if not tree or self.load(best[2]) <= (NEAR if few_lanes else _NEARER) * balanced:
                    continue
            # Where pairs leave some lanes by themselves, others come of fewer lanes only.
            used = None if best is None or few_lanes or tree else best[0]["lanes"]
            kept = least if used is None else min(max(least, there + 1 - used), there - 1)
            made, methods = self.by_method(old, kept, tree)
            made, beside, report = self.settled(made)
            if best is None or self.better(report, best[2], few_lanes):
                best = made, beside, report, methods
        assert best is not None
        return best

    def better(self, report: SubnetReport, than: SubnetReport, few_lanes: bool) -> bool:
        """Whether tables are safe for more than others, at a load that is not much higher, or load less.

        Where lanes are few, tables that come later leave fewer of them to repairs, and must load much less.
        """
        loads = self.load(report), self.load(than)
        unsafe = [len(self.cover.missing(each)) for each in (report, than)]
        if unsafe[0] == unsafe[1]:
            return (NEAR if few_lanes else 1) * loads[0] < loads[1]
        return unsafe[0] < unsafe[1] and loads[0] <= (_FEW if few_lanes else NEAR) * loads[1]

    def by_method(
        self, old: NDArray[np.uint32] | None, kept: int, tree: bool
    ) -> tuple[dict[str, Any], dict[str, int]]:
        """Tables of the method that suits, and the loads of those that were tried."""
        made = self.search(old, kept, tree=tree)
        report = self.judged(made)
        methods = {made["method"]: report.max_load}
        if (
            old is None
            and self.method is None
            and made["method"] == "ftree"
            and report.max_load > NEAR * made["bound"]["value"]
        ):
            other = self.search(None, kept, "balanced")
            judged = self.judged(other)
            methods["balanced"] = judged.max_load
            # Few more pairs on the busiest channel are worth shifts without conflicts.
            if report.max_load > NEAR * judged.max_load:
                made, report = other, judged
        if report.deadlock:
            raise AssertionError(f"tables with a cycle were made: {report.cycle}")
        return made, methods

    def settled(
        self, made: dict[str, Any], before: OldTables | None = None
    ) -> tuple[dict[str, Any], Beside, SubnetReport]:
        """Tables with the levels of pairs, managers and multicast that leave the least unsafe."""

        def on(pairs: Sequence[int]) -> dict[str, Any]:
            return made | {"levels": on_levels(made["levels"], pairs)}

        if before is not None and before.beside is not None and before.beside.highest_level < self.lanes:
            beside = replace(before.beside, managers=self.cover.managers or before.beside.managers)
            return made, beside, self.judged(made, beside)
        portable = made["mode"] == "portable"
        pairs, beside, report = self.cover.settled(
            made["lanes"],
            self.lanes if portable else made["lanes"],
            lambda pairs, beside: self.judged(on(pairs), beside),
            before is not None or not portable,
        )
        return on(pairs), beside, report

    def again(
        self, first: First | None, before: OldTables
    ) -> tuple[dict[str, Any], Update, OldTables] | None:
        """The first tables of a row of repairs, if all that they were made for is as it was."""
        if first is None or not first.suits(self.mode, self.method, self.lanes, self.asked):
            return None
        if not Match.of(self.subnet, first.fabric).is_whole(self.subnet, first.fabric):
            return None
        known = read_old(self.subnet, first.folder, self.lids, self.owners)
        if known.levels is None:
            return None
        laid = with_lanes(self.subnet, self.owners, known.following, known.levels, None)
        report = judge(replace(laid, demand=self.demand))
        if report.deadlock:
            return None
        used = known.levels[known.following != NONE]
        made = {
            "mode": "portable",
            "next": known.following,
            "levels": known.levels,
            "bound": report.proven,
            "lanes": int(used.max(initial=0)) + 1,
            "method": report_in(first.folder)["method"],
            "start": np.zeros(0, dtype=np.uint64),
            "entries": np.zeros((0, LEVELS), dtype=np.uint8),
        }
        return made, self.update(before, known), known

    def update(self, before: OldTables, new: OldTables) -> Update:
        """How to get from old tables to others of which all entries are known."""
        assert new.levels is not None
        if before.levels is None or before.following.size > MOST:
            return Update(False, 0, [], [])
        tables = (before.following, before.levels), (new.following, new.levels)
        found = way(self.subnet, self.owners, *tables)
        moved = before.moved(host_levels(self.subnet, new.levels), self.owners)
        return Update(found.steps is not None, moved or 0, [], [], steps=found.steps or ())

    def tables(self, old: str | Path | None, job: int | None) -> SubnetTables:
        """The tables, beside the old ones if there are any."""
        before = None if old is None else read_old(self.subnet, old, self.lids, self.owners)
        first = None if old is None else First.of(old)
        again = None if before is None else self.again(first, before)
        found = again or (None if before is None else self.repaired(before))
        update: Update | None
        if found is None:
            update = None if before is None else Update(False, 0, [], [])
            made, beside, report, methods = self.anew(None if before is None else before.following)
        else:
            made, update, source = found
            methods = {}
            made, beside, report = self.settled(made, source)
            if report.deadlock:
                raise AssertionError(f"tables with a cycle were made: {report.cycle}")
        behind = None
        if self.hanging is not None and "part" in made:
            made, behind = self.hanging.told(made, report)
        elif self.demand is None:
            made["bound"] = behind_cables(self.subnet, made["bound"])
        kept = self.cover.kept(self.lanes - self.spare_lanes)[0][0]
        scratch = host_pairs = None
        if (
            again is None
            and before is not None
            and made["next"].size <= _LARGE
            and is_far(report.max_load, made["bound"]["value"])
        ):
            scratch = self.judged(self.search(None, kept)).max_load
        elif before is None and self.cover.kinds and report.max_load > NEAR * (made["balanced"] or 0):
            host_pairs = self.judged(self.search(None, 0, both_ways=False)).max_load
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
            job,
            None if before is None else int((made["next"] != before.following).sum()),
            update,
            self.demand,
            before,
            made["start"],
            made["entries"],
            made.get("method", "repair"),
            made.get("shifts"),
            methods,
            self.cover,
            beside,
            host_pairs,
            self.asked,
            first if first is not None and first.has_all_of(self.subnet) else None,
            again is not None,
            behind,
            made.get("rising"),
        )
