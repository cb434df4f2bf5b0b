"""Whether two sets of tables may be loaded side by side: every switch has entries of either, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError, show_file
from flitloom.fabric.identifiers import is_made_up
from flitloom.fabric.model import Host, Subnet
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.ground.reading import Progress
from flitloom.tables.by_destination.beside import Beside, KindVerdict, safe_for, verdicts
from flitloom.tables.by_destination.colours import refuse_rising
from flitloom.tables.by_destination.mixing_beside import MixedKinds, besides_of
from flitloom.tables.by_destination.mixtures import (
    LANES,
    NOTHING,
    are_safe,
    mixed,
    parts_of,
    places_of,
    shortest_cycle,
)
from flitloom.tables.by_destination.remembered import with_gone
from flitloom.tables.by_destination.tables import ForwardingTables, read_tables
from flitloom.tables.verdict import PRINTED, SHOWN, Row, deadlock_row, laid_out


@explained
@dataclass(frozen=True)
class MixtureReport:
    """The verdict on mixtures of two sets of tables, entry by entry, levels and lanes of either included.

    Attributes
    ----------
    network : str
        What the tables are for, as text.
    circles : int
        Destinations whose packets can go round in a circle.
    circle : list of str
        The switches of one, by name, with the destination behind them.
    lost : int
        Ordered pairs of hosts that both sets serve and a mixture does not.
    lost_pairs : list of str
        The first hundred of them.
    unserved : tuple of int
        Ordered pairs of hosts that the first set, and the second, do not serve.
    cycle : list of str
        A shortest cycle of channels that can wait for each other, as of `flitloom.tables.verdict.Verdict`.
    moved : int
        Ordered pairs of hosts that both sets serve, on different service levels.
    levels_first : list of str or None
        The cycle that is left, if any, where pairs take the levels of the second set while all entries are of
        the first, and entries follow when packets on other levels have arrived. None where it makes no
        difference.
    remarks : tuple of str
        What was odd.
    kinds : tuple of KindVerdict
        Every kind of traffic, as of `flitloom.tables.by_destination.checking.SubnetReport`.
    required : tuple of str
        Kinds that must be deadlock-free.
    """

    network: str
    circles: int
    circle: list[str]
    lost: int
    lost_pairs: list[str]
    unserved: tuple[int, int]
    cycle: list[str]
    moved: int
    levels_first: list[str] | None = None
    remarks: tuple[str, ...] = ()
    kinds: tuple[KindVerdict, ...] = ()
    required: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether entries, levels and lanes may be loaded in any order while hosts send."""
        refused = any(kind.kind in self.required and kind.deadlock is not False for kind in self.kinds)
        return not (self.circles or self.lost or self.cycle or refused)

    @property
    def safe_for(self) -> str:
        """Which kinds of traffic are safe in any order, and which are not, in a line."""
        return safe_for(self.kinds)

    def rows(self) -> list[Row]:
        """The rows of a printed report."""
        around = f"possible for {counted(self.circles, 'destination')}" if self.circles else "none possible"
        shown = self.lost_pairs[:PRINTED]
        if self.lost > len(shown):
            shown = [*shown, f"and {self.lost - len(shown)} more"]
        first, second = self.unserved
        levels: list[Row] = [
            ("levels", f"{counted(self.moved, 'pair')} that both serve, on another level", [])
        ]
        if self.levels_first is not None:
            _, text, below = deadlock_row(self.levels_first)
            why = "pairs take the second's levels first, and packets on others arrive before entries change"
            levels.append(("levels first", f"{text} ({why})", below))
        _, text, below = deadlock_row(self.cycle)
        return [
            ("network", f"{self.network}; {self.safe_for}" if self.kinds else self.network, []),
            ("circles", around, [" -> ".join(self.circle)] if self.circle else []),
            ("lost", f"{counted(self.lost, 'pair')} that both serve", shown),
            ("unreachable", f"{counted(first, 'pair')} with the first, {second} with the second", []),
            ("deadlock", f"{text} (every pair on its level of either)", below),
            *levels,
            *(kind.row() for kind in self.kinds[1:] if kind.deadlock is not None),
        ]

    def __str__(self) -> str:
        """What ``flitloom check --mix`` prints."""
        return "\n".join([*laid_out(self.rows()), "passed" if self.passed else "FAILED"])

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, by name: what ``flitloom check --mix --json`` prints."""
        told = asdict(self) | {"unserved": list(self.unserved), "remarks": list(self.remarks)}
        kinds = [kind.facts() for kind in self.kinds]
        told |= {"traffic_kinds": kinds, "required": list(self.required)}
        del told["kinds"]
        return {"passed": self.passed, "safe_for": self.safe_for, **told}


def check_mixture(
    subnet: Subnet,
    first: str | Path,
    second: str | Path,
    progress: Progress | None = None,
    *,
    managers: Sequence[str] = (),
    required: Sequence[str] = (),
) -> MixtureReport:
    """Judge all mixtures of two sets of tables, as they are there while one replaces the other.

    Every entry of every switch is of either set, as are its lane table and the service level of a pair. What
    is called safe is so in every such mixture. Circles and losses that are named are there in one of them.
    A cycle of channels can need packets of mixtures that follow each other.

    Parameters
    ----------
    subnet : Subnet
        The fabric as it is.
    first, second : path
        Folders that ``route --fabric`` wrote, or dumps.
    progress : callable, optional
        Told how many of how many destinations are done.
    managers : sequence of str
        Hosts that managers run on, if not as the folders say; any single host without.
    required : sequence of str
        Kinds of traffic that must be deadlock-free besides host pairs: ``"both ways"``, ``"managers"``,
        ``"multicast"``.

    Raises
    ------
    SpecError
        A damaged file, or tables that know hosts by different LIDs.

    Examples
    --------
    >>> import tempfile
    >>> from flitloom.fabric import check_mixture, parse_fabric, route_subnet
    >>> subnet = parse_fabric("a,b\\nb,c\\nc,d\\nd,a\\nh1,a\\nh2,b\\nh3,c\\nh4,d\\n")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = route_subnet(subnet).write(f"{folder}/out")
    ...     found = check_mixture(subnet, f"{folder}/out", f"{folder}/out")
    >>> found.passed, found.moved
    (True, 0)
    """
    for file in (first, second):
        subnet = with_gone(subnet, file)
    for file in (first, second):
        refuse_rising(file, "a mixture")
    before, after = (read_tables(subnet, file) for file in (first, second))
    ports = zip(before.subnet.hosts, after.subnet.hosts, strict=True)
    same = all(_is_same_port(old, new) for old, new in ports)
    if not same or not np.array_equal(before.owners, after.owners):
        raise SpecError.at(
            "--mix",
            f"{show_file(second)} knows hosts by other LIDs than {show_file(first)}",
            "give hosts the LIDs that they had (OpenSM's guid2lid), or load all of it while nothing sends",
        )
    besides = besides_of(Beside.of(first), replace(Beside.of(second), safe_for=tuple(required)), managers)
    found = replace(judge_mixture(before, after, progress, besides), required=tuple(required))
    switches = np.array([host.switch for host in before.subnet.hosts])
    pairs = int((switches[before.owners][:, None] != switches).sum())
    for file, unserved in zip((first, second), found.unserved, strict=True):
        if unserved == pairs > 0:
            raise SpecError.at(
                "--mix", f"{show_file(file)} brings no packet to another switch", "name tables of this fabric"
            )
    return replace(found, remarks=tuple(dict.fromkeys(subnet.remarks + before.remarks + after.remarks)))


def _is_same_port(old: Host, new: Host) -> bool:
    """Whether entries of two tables are of one port: by its LID, or its GUID, by which OpenSM takes them."""
    guid = old.port_guid or 0
    return old.lid == new.lid or (old.port_guid == new.port_guid and not is_made_up(guid))


def judge_mixture(
    first: ForwardingTables,
    second: ForwardingTables,
    progress: Progress | None = None,
    besides: tuple[Beside, Beside] | None = None,
) -> MixtureReport:
    """Judge tables that are in memory; see `check_mixture`. Without `besides` only host pairs are judged."""
    subnet, count = first.subnet, len(first.owners)
    network = f"fabric of {len(subnet.switches)} switches and {subnet.count_hosts()}"
    known = mixed(first, second) if besides is None else None
    if known is not None and are_safe(known):
        one, other = known["unserved"]
        return MixtureReport(network, 0, [], 0, [], (one, other), [], known["moved"])
    circles, lost, moved, unserved, differs = 0, 0, 0, np.zeros(2, dtype=int), False
    circle: list[str] = []
    lost_pairs: list[str] = []
    waits = [NOTHING]
    for part in parts_of(first, second):
        around = part.circles()
        circles += len(around)
        if len(around) and not circle:
            circle = part.circle(int(around[0]))
        pairs = part.lost()
        lost += len(pairs)
        lost_pairs += [part.pair(row, host) for row, host in pairs[: SHOWN - len(lost_pairs)]]
        unserved += part.unserved
        moved += part.moved
        differs |= part.differs
        waits = [np.unique(np.concatenate([*waits, part.waits()]))]
        if progress is not None:
            progress(part.rows.stop, count)
    cycle, levels_first = _cycle(subnet, waits), None
    if cycle and differs:
        given = replace(first, levels=second.levels)
        stages = ((first, given), (given, second))
        cycles = (_cycle(subnet, [part.waits() for part in parts_of(*stage)]) for stage in stages)
        levels_first = next(filter(None, cycles), [])
    kinds: tuple[KindVerdict, ...] = ()
    if besides is not None:
        facts = None if cycle or circles else MixedKinds((first, second), besides, waits[0]).facts()
        kinds = verdicts(subnet, facts, besides, cycle)
    return MixtureReport(
        network,
        circles,
        circle,
        lost,
        lost_pairs,
        (int(unserved[0]), int(unserved[1])),
        cycle,
        moved,
        levels_first,
        kinds=kinds,
    )


def _cycle(subnet: Subnet, waits: list[NDArray[np.int64]]) -> list[str]:
    """A shortest cycle of channels with their lanes, by name; empty if there is none."""
    found = shortest_cycle(*np.divmod(np.unique(np.concatenate([NOTHING, *waits])), places_of(subnet)))
    return [f"{subnet.channel_name(place // LANES)}, lane {place % LANES}" for place in found]
