"""Tables of before a failure, and their repair by few changes that may are beside the old ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition
from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.beside import Beside
from flitloom.tables.by_destination.colours import refuse_rising
from flitloom.tables.by_destination.covering import on_levels
from flitloom.tables.by_destination.dumped_names import (
    as_it_was,
    dumped_hosts,
    have_other_lids,
    require_same_fabric,
)
from flitloom.tables.by_destination.patching import patched, reconnected
from flitloom.tables.by_destination.remembered import First, as_in, fabric_in
from flitloom.tables.by_destination.tables import (
    LEVELS,
    NONE,
    all_are_zero,
    channels,
    destinations,
    lanes_of_links,
    own_lanes,
    read_bytes,
    read_forwarding,
    read_path_levels,
    report_in,
    roots_of,
)
from flitloom.tables.by_destination.ways import Step
from flitloom.tables.traffic import Demand

#: What repairs tables: with so many tries to balance them, and with a bound.
Repair = Callable[..., dict[str, Any] | None]

#: Repairs that move no level are taken up to such a multiple of the largest load of others.
WORTH = 1.25
#: How often tables are balanced one after the other on the levels that they have.
_BALANCED = 4
#: How far above the bound repaired tables may stay.
REPAIR_SLACK = 0.02


def is_far(load: int, bound: float) -> bool:
    """Whether a repair stays so far above the bound that other tables are worth a look."""
    return load > (1 + REPAIR_SLACK) * bound


@dataclass(frozen=True)
class OldTables:
    """Tables that a subnet had: entries, and service levels where the lane is the level.

    Attributes
    ----------
    following : array
        Channel by destination and switch; none where the port leads to no switch any more.
    levels : array or None
        Service level by destination and switch of the source; None if unknown, or if hosts at a switch
        differ.
    lost : tuple of array
        The same for LIDs that no host has any more.
    ports : array
        Out port by switch and LID, as the dump has it.
    pair_levels : array or None
        Service level by destination and host, if a file tells.
    beside : Beside or None
        Managers and multicast, if the tables were made beside them.
    kept : frozenset of int
        Lanes of these that no pair has.
    """

    following: NDArray[np.uint32]
    levels: NDArray[np.uint8] | None
    lost: tuple[NDArray[np.uint32], NDArray[np.uint8]]
    ports: NDArray[np.uint8]
    pair_levels: NDArray[np.uint8] | None
    beside: Beside | None = None
    kept: frozenset[int] = frozenset()

    @property
    def highest_level(self) -> int:
        """The highest service level of a pair."""
        return 0 if self.pair_levels is None else int(self.pair_levels.max(initial=0))

    def both_ways(self, owners: NDArray[np.int64]) -> bool:
        """Whether both directions of every pair of hosts have one level."""
        if self.pair_levels is None:
            return False
        first = np.searchsorted(owners, np.arange(self.pair_levels.shape[1]))
        there = self.pair_levels[first]
        return bool((there == there.T).all() and (self.pair_levels == there[owners]).all())

    def both_ways_by_switch(self, subnet: Subnet) -> bool:
        """The same where levels are known by switch, as in what `without` gives."""
        assert self.levels is not None
        owners = destinations(subnet)[1]
        base = np.searchsorted(owners, np.arange(len(subnet.hosts)))
        hosts = np.array([host.switch for host in subnet.hosts], dtype=np.int64)
        there = self.levels[base][:, hosts]
        return bool((there == there.T)[hosts[:, None] != hosts].all())

    def without(
        self, subnet: Subnet, owners: NDArray[np.int64], switches: set[int], cables: set[int]
    ) -> OldTables:
        """What these tables are where parts of the subnet are gone, in the numbers of what is left.

        Parameters
        ----------
        owners : array
            The host of every destination.
        switches, cables : set of int
            What is gone, by index.
        """
        cables_left = [
            index
            for index, cable in enumerate(subnet.cables)
            if index not in cables and not {cable.a, cable.b} & switches
        ]
        renamed = np.full(2 * len(subnet.cables) + 1, NONE, dtype=np.uint32)
        for number, index in enumerate(cables_left):
            renamed[2 * index : 2 * index + 2] = 2 * number, 2 * number + 1
        left = [index for index in range(len(subnet.switches)) if index not in switches]
        gone = np.array([subnet.hosts[owner].switch in switches for owner in owners.tolist()], dtype=bool)
        following = renamed[np.minimum(self.following, 2 * len(subnet.cables))][:, left]
        levels = None if self.levels is None else self.levels[:, left]
        lost = (np.zeros((0, len(left)), np.uint32), np.zeros((0, len(left)), np.uint8))
        if levels is not None:
            lost = np.ascontiguousarray(following[gone]), np.ascontiguousarray(levels[gone])
            levels = np.ascontiguousarray(levels[~gone])
        kept = np.ascontiguousarray(following[~gone])
        return OldTables(kept, levels, lost, self.ports, None, self.beside, self.kept)

    def moved(self, new: NDArray[np.uint8], owners: NDArray[np.int64]) -> int | None:
        """Ordered pairs of hosts that have another service level in new tables; None if the old are unknown.

        A pair counts once, however many LIDs the second host has.

        Parameters
        ----------
        new : array
            Service level by destination and host.
        owners : array
            The host of every destination.
        """
        if self.pair_levels is None:
            return None
        differs = self.pair_levels != new
        differs[np.arange(len(owners)), owners] = False
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        return int(np.logical_or.reduceat(differs, first).sum()) if len(first) else 0


@dataclass(frozen=True)
class Update:
    """How to get from old tables to new ones.

    Attributes
    ----------
    safe : bool
        Whether no mixture of old and new entries can deadlock or loop.
    moved : int
        Ordered pairs of hosts that have another service level; if there are any, all sources must use the new
        levels, and packets with old ones be gone, before the first entry changes.
    rounds : list of list of str
        Entries that must be changed before all others, as ``S5 to lid 7``, one round after the other.
    last : list of str
        Entries through which no host sends any more: they come after all others, when old packets are gone.
    places, last_places
        The same entries by ``destination * switches + switch``.
    steps : tuple of Step
        Tables in between instead, where the new ones are not a repair but those of before it.
    """

    safe: bool
    moved: int
    rounds: list[list[str]]
    last: list[str]
    places: tuple[tuple[int, ...], ...] = ()
    last_places: tuple[int, ...] = ()
    steps: tuple[Step, ...] = ()

    def describe(self) -> str:
        """What to do, in a line."""
        if not self.safe:
            return "no order is known in which mixtures of old and new tables are safe: stop the traffic"
        if len(self.steps) > 1:
            pairs = f"{counted(self.moved, 'pair')} of hosts get other service levels"
            levels = pairs if self.moved else "no service level changes"
            return f"{len(self.steps)} stages; no mixture of two in a row can deadlock; {levels}"
        mixtures = "no mixture of old and new ones can deadlock"
        entries = f"change entries in any order; {mixtures}"
        if self.rounds:
            count = sum(map(len, self.rounds))
            rounds = f"{len(self.rounds)} rounds" if len(self.rounds) > 1 else "one round"
            entries = (
                f"change the {count} entries that report.json lists in update_rounds, in {rounds}, each when "
                f"the one before is in place, then the others; within a round any order will do; {mixtures}"
            )
        if self.last:
            entries += (
                f"; the {counted(len(self.last), 'entry')} of update_last, through which no host "
                "sends, come when "
                "packets on old routes are gone"
            )
        if not self.moved:
            return f"{entries}, and no service level changes"
        if self.steps:
            levels = f"{counted(self.moved, 'pair')} of hosts get other service levels at any time"
            return f"{entries}; {levels}"
        return (
            f"first give {counted(self.moved, 'pair')} of hosts their new service levels "
            "(path-sl.txt) and let packets "
            f"with old ones arrive; then {entries}"
        )


def read_old(
    subnet: Subnet, old: str | Path, lids: NDArray[np.int64], owners: NDArray[np.int64]
) -> OldTables:
    """Read the tables in a folder that ``route --fabric`` wrote, or a dump with ``path-sl.txt`` beside it.

    Raises
    ------
    SpecError
        They cannot be read, or are those of another fabric.
    """
    refuse_rising(old, "a repair")
    folder = Path(old) if Path(old).is_dir() else Path(old).parent
    dump = folder / "opensm-lfts.dump" if Path(old).is_dir() else Path(old)
    ports, absent = read_forwarding(subnet, dump, strict=False)
    programmed = ports
    file = folder / "path-sl.txt"
    levels, missing = _levels(subnet, file, lids)
    past, first = fabric_in(old), First.of(old)
    # Names in a dump of gigabytes are only looked for where something has none of its own entries or levels.
    unknown = absent or missing or not _have_entries(ports, lids) or have_other_lids(subnet, dump)
    if past is not None:
        was = as_in(subnet, past, None if first is None else first.fabric)
    else:
        was = as_it_was(subnet, dump) if unknown else subnet
    if was != subnet:
        # Routes to and through what was replaced stay; only its identifiers are new.
        subnet, (lids, owners) = was, destinations(was)
        ports, _ = read_forwarding(subnet, dump, strict=False)
        levels, missing = _levels(subnet, file, lids)
    require_same_fabric(subnet, (ports != 255).any(axis=1).tolist(), dump)
    following = channels(subnet, ports, lids, owners)
    none = np.zeros((0, len(subnet.switches)), dtype=np.uint32), np.zeros((0, len(subnet.switches)), np.uint8)
    beside = Beside.of(folder) if "sm_sl" in report_in(folder) else None
    if levels is None or _changes_lanes(folder):
        return OldTables(following, None, none, programmed, levels, beside)
    by_switch = _by_switch(subnet, levels)
    known = {*lids.tolist(), *(switch.lid for switch in subnet.switches)}
    gone = [lid for lid in np.flatnonzero((ports != 255).any(axis=0)).tolist() if lid and lid not in known]
    gone = _with_levels(subnet, file, dump, gone) if by_switch is not None else []
    if gone and by_switch is not None:
        lost_levels, _ = _levels(subnet, file, np.array(gone, dtype=np.int64))
        assert lost_levels is not None
        lost_by_switch = _by_switch(subnet, lost_levels)
        table = subnet.channels_by_port()
        lost_following = table[np.arange(len(subnet.switches))[None, :], ports[:, gone].T]
        if lost_by_switch is None:
            by_switch = None
        else:
            none = np.ascontiguousarray(lost_following), lost_by_switch
    kept = frozenset[int]()
    if beside is not None:
        apart = owners[:, None] != np.arange(len(subnet.hosts))
        used = set(np.unique(levels[apart]).tolist())
        if np.count_nonzero(levels[apart] == 0) <= missing:
            # Pairs without a line, as those of a new host, have no level yet.
            used.discard(0)
        kept = frozenset({beside.manager_level, beside.multicast_level} - used)
    return OldTables(following, by_switch, none, programmed, levels, beside, kept)


def _with_levels(subnet: Subnet, file: Path, dump: Path, lids: list[int]) -> list[int]:
    """Those of some LIDs to which hosts send: no file tells service levels to the LID of a switch."""
    if not lids:
        return lids
    if not file.is_file():
        hosts = {lid for lid, _, _ in dumped_hosts(dump)}
        return [lid for lid in lids if lid in hosts]
    if read_path_levels(subnet, file, np.array(lids, dtype=np.int64))[1] == 0:
        return lids
    untold = {lid: read_path_levels(subnet, file, np.array([lid], dtype=np.int64))[1] for lid in lids}
    return [lid for lid in lids if untold[lid] < len(subnet.hosts)]


def _have_entries(ports: NDArray[np.uint8], lids: NDArray[np.int64]) -> bool:
    """Whether some switch has an entry for every LID."""
    there = (ports != 255).any(axis=0)
    return all(lid < len(there) and there[lid] for lid in lids.tolist())


def _levels(subnet: Subnet, file: Path, lids: NDArray[np.int64]) -> tuple[NDArray[np.uint8] | None, int]:
    """Service levels by destination and host if a file tells them, and how many of its lines are missing."""
    if not file.is_file():
        none = np.zeros((len(lids), len(subnet.hosts)), dtype=np.uint8)
        return (none if all_are_zero(file) else None), 0
    levels, missing, _ = read_path_levels(subnet, file, lids)
    return levels, missing


def _changes_lanes(folder: Path) -> bool:
    """Whether tables of the switches beside a dump choose other lanes than the level's."""
    file = folder / "sl2vl.dump"
    if not file.is_file():
        return False
    text = read_bytes(file).decode("utf-8", "replace")
    rows = {line.partition(":")[2].strip() for line in text.splitlines() if line[:1].isdigit()}
    own = [" ".join(map(str, own_lanes(lanes))) for lanes in (1, LEVELS - 1)]
    return any(" ".join(row.split()) not in own for row in rows)


def _by_switch(subnet: Subnet, levels: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    """Levels by destination and switch, if hosts at a switch have the same ones."""
    switches = np.array([host.switch for host in subnet.hosts])
    table = np.zeros((len(levels), len(subnet.switches)), dtype=np.uint8)
    # A host sends nothing to itself, and no file tells a level for that: those of others at its switch count.
    np.maximum.at(table.T, switches, levels.T)
    differs = table[:, switches] != levels
    own = np.array([host.lid for host in subnet.hosts])
    return None if (differs & (levels != 0)).any() or own.size == 0 else table


def repaired(
    found: Recognition,
    old: OldTables,
    lanes: int,
    *,
    demand: Demand | None = None,
    tries: int = 0,
) -> dict[str, Any] | None:
    """Tables with few other entries that can be used beside the old ones; None if there are none.

    Pairs keep their levels where ports are found for that, as `patched` looks for them; ``"between"`` are the
    entries before they are balanced, ``"further"`` the tables that lead from there. That may cost 25 % of
    load. Where the core finds nothing, `reconnected` looks for pairs that get other levels. They get lanes
    that managers and multicast have to themselves only where nothing else is possible.
    Without tries only what must change does: for a verdict, not balanced, and without a bound.
    """
    if old.levels is None:
        return None

    def repair(now: OldTables, tries: int, bounded: bool = False) -> dict[str, Any] | None:
        return _repaired(found, now, lanes, demand, tries, bounded)

    subnet, made = found.subnet, repair(old, tries, tries > 0)
    if made is None or moved_levels(subnet, old.levels, made["levels"]).any():
        kept = _kept(subnet, old, made, repair, tries, lanes_of_links(lanes))
        if kept is not None:
            return kept
    if made is not None:
        return made
    made = _moving(subnet, old, lanes, repair, tries)
    if made is None and old.kept:
        made = repair(replace(old, kept=frozenset()), tries)
    return made


def _moving(
    subnet: Subnet,
    old: OldTables,
    lanes: int,
    repair: Repair,
    tries: int,
) -> dict[str, Any] | None:
    """A repair in which few pairs get other levels, those of managers only if nothing else does."""
    assert old.levels is not None
    there = lanes_of_links(lanes)
    own = [lane for lane in range(lanes) if lane not in old.kept]
    kept = [lane for lane in range(lanes) if lane in old.kept]
    # What managers have alone is worth more than what multicast has.
    level = 0 if old.beside is None else old.beside.manager_level
    kept.sort(key=lambda lane: lane == level)
    choices = [own + kept[:more] for more in range(len(kept) + 1)]
    moved = reconnected(subnet, old.following, old.levels, old.lost, there, choices)
    if moved is None:
        return None
    made, allowed = moved
    now = replace(old, kept=old.kept - set(allowed))
    return _balanced(subnet, now, made, None, repair, tries, there)


def _kept(
    subnet: Subnet,
    old: OldTables,
    other: dict[str, Any] | None,
    repair: Repair,
    tries: int,
    there: int,
) -> dict[str, Any] | None:
    """A repair in which all pairs keep their levels, if its load is not far above that of another one."""
    assert old.levels is not None
    kept = patched(subnet, old.following, old.levels, old.lost, there)
    if kept is None:
        return None
    # Compared without balancing, so that a verdict beforehand is the same.
    plain = repair(old, 0)
    if plain and largest_load(subnet, kept["next"]) > WORTH * largest_load(subnet, plain["next"]):
        return None
    return _balanced(subnet, old, kept, None if other is None else other["bound"], repair, tries, there)


def _balanced(
    subnet: Subnet,
    old: OldTables,
    kept: dict[str, Any],
    bound: dict[str, Any] | None,
    repair: Repair,
    tries: int,
    there: int,
) -> dict[str, Any]:
    """Patched entries with all that repaired tables have, balanced on their levels."""
    old = replace(old, levels=kept["levels"])
    used = kept["levels"][kept["next"] != NONE]
    told = kept | {
        "between": kept["next"],
        "further": [],
        "mode": "portable",
        "lanes": int((used % there).max(initial=0)) + 1,
        "bound": bound,
        "both_ways": old.both_ways_by_switch(subnet),
        "start": np.zeros(0, dtype=np.uint64),
        "entries": np.zeros((0, LEVELS), dtype=np.uint8),
    }
    # What is balanced beside the old tables can be balanced further beside that.
    for _ in range(_BALANCED if tries else 0):
        more = repair(replace(old, following=told["next"]), tries, told["bound"] is None)
        if more is None or moved_levels(subnet, kept["levels"], more["levels"]).any():
            break
        told["bound"] = told["bound"] or more["bound"]
        if np.array_equal(told["next"], more["next"]):
            break
        told["next"] = more["next"]
        told["further"].append(more)
    return told


def moved_levels(subnet: Subnet, old: NDArray[np.uint8], new: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether packets to a destination from a host on another switch have another level."""
    owners = destinations(subnet)[1]
    hosts = np.array([host.switch for host in subnet.hosts], dtype=np.int64)
    moved: NDArray[np.bool_] = (old != new)[:, hosts] & (hosts[owners][:, None] != hosts)
    return moved


def largest_load(subnet: Subnet, following: NDArray[np.uint32]) -> int:
    """Pairs of hosts on the busiest channel; those without a route count as far as they come."""
    ends, nowhere = subnet.cable_ends().astype(np.int64), len(subnet.switches)
    heads = np.append(ends[:, ::-1].reshape(-1), nowhere)
    entries = np.full((len(following), nowhere + 1), len(heads) - 1, dtype=np.int64)
    entries[:, :nowhere] = np.minimum(following, len(heads) - 1)
    loads, rows = np.zeros(len(heads), dtype=np.int64), np.arange(len(entries))
    for switch, hosts in enumerate(subnet.hosts_per_switch()):
        at = np.full(len(entries), switch if hosts else nowhere)
        for _ in subnet.switches:
            channel = entries[rows, at]
            np.add.at(loads, channel, hosts)
            at = heads[channel]
            if (at == nowhere).all():
                break
    return int(loads[:-1].max(initial=0))


def _repaired(
    taken: Recognition,
    old: OldTables,
    lanes: int,
    demand: Demand | None,
    tries: int,
    bounded: bool,
) -> dict[str, Any] | None:
    """The same, with the lanes that the old tables leave to pairs."""
    assert old.levels is not None
    lost, lost_levels = old.lost
    pairs = [level for level in range(LEVELS) if level not in old.kept]
    lane_of = np.zeros(LEVELS, dtype=np.uint8)
    lane_of[pairs] = np.arange(len(pairs))
    found: dict[str, Any] | None = _core.repair_forwarding(
        taken.core(),
        roots_of(taken.subnet, destinations(taken.subnet)[1]),
        (old.following, lane_of[old.levels]),
        (lost, lane_of[lost_levels]),
        None if demand is None else demand.core(),
        max(1, lanes - sum(lane < lanes for lane in old.kept)),
        tries,
        REPAIR_SLACK,
        bounded,
    )
    if found is None:
        return None
    used = found["levels"][found["next"] != NONE]
    return found | {
        "mode": "portable",
        "levels": on_levels(found["levels"], pairs),
        "lanes": int((used % lanes_of_links(lanes)).max(initial=0)) + 1,
        "start": np.zeros(0, dtype=np.uint64),
        "entries": np.zeros((0, 16), dtype=np.uint8),
    }
