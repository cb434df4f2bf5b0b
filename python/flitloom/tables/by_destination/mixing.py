"""Whether two sets of tables may be loaded side by side: every switch has entries of either, in any order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError, show_file
from flitloom.fabric.model import Subnet
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.ground.reading import Progress
from flitloom.tables.by_destination.mixtures import LANES, NOTHING, Destinations, Mixture, places_of
from flitloom.tables.by_destination.tables import ForwardingTables, read_tables
from flitloom.tables.verdict import PRINTED, SHOWN, Row, deadlock_row, laid_out

#: Entries of tables that are looked at together.
_TOGETHER = 200_000
#: Channels through which a cycle is looked for that is shorter than one that is found.
_STARTS = 200


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

    @property
    def passed(self) -> bool:
        """Whether entries, levels and lanes may be loaded in any order while hosts send."""
        return not (self.circles or self.lost or self.cycle)

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
            ("network", self.network, []),
            ("circles", around, [" -> ".join(self.circle)] if self.circle else []),
            ("lost", f"{counted(self.lost, 'pair')} that both serve", shown),
            ("unreachable", f"{counted(first, 'pair')} with the first, {second} with the second", []),
            ("deadlock", f"{text} (every pair on its level of either)", below),
            *levels,
        ]

    def __str__(self) -> str:
        """What ``flitloom check --mix`` prints."""
        return "\n".join([*laid_out(self.rows()), "passed" if self.passed else "FAILED"])

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, by name: what ``flitloom check --mix --json`` prints."""
        told = asdict(self) | {"unserved": list(self.unserved), "remarks": list(self.remarks)}
        return {"passed": self.passed, **told}


def check_mixture(
    subnet: Subnet, first: str | Path, second: str | Path, progress: Progress | None = None
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
    before, after = (read_tables(subnet, file) for file in (first, second))
    old, new = ([host.lid for host in tables.subnet.hosts] for tables in (before, after))
    if old != new or not np.array_equal(before.owners, after.owners):
        raise SpecError.at(
            "--mix",
            f"{show_file(second)} knows hosts by other LIDs than {show_file(first)}",
            "give hosts the LIDs that they had (OpenSM's guid2lid), or load all of it while nothing sends",
        )
    found = judge_mixture(before, after, progress)
    switches = np.array([host.switch for host in before.subnet.hosts])
    pairs = int((switches[before.owners][:, None] != switches).sum())
    for file, unserved in zip((first, second), found.unserved, strict=True):
        if unserved == pairs > 0:
            raise SpecError.at(
                "--mix", f"{show_file(file)} brings no packet to another switch", "name tables of this fabric"
            )
    return replace(found, remarks=tuple(dict.fromkeys(subnet.remarks + before.remarks + after.remarks)))


def judge_mixture(
    first: ForwardingTables, second: ForwardingTables, progress: Progress | None = None
) -> MixtureReport:
    """Judge tables that are in memory; see `check_mixture`."""
    subnet, count = first.subnet, len(first.owners)
    circles, lost, moved, unserved, differs = 0, 0, 0, np.zeros(2, dtype=int), False
    circle: list[str] = []
    lost_pairs: list[str] = []
    waits = [NOTHING]
    for part in _parts(first, second):
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
        cycles = (_cycle(subnet, [part.waits() for part in _parts(*stage)]) for stage in stages)
        levels_first = next(filter(None, cycles), [])
    return MixtureReport(
        f"fabric of {len(subnet.switches)} switches and {subnet.count_hosts()}",
        circles,
        circle,
        lost,
        lost_pairs,
        (int(unserved[0]), int(unserved[1])),
        cycle,
        moved,
        levels_first,
    )


def _parts(first: ForwardingTables, second: ForwardingTables) -> Iterator[Destinations]:
    """All destinations, some at once."""
    mixture, count = Mixture(first, second), len(first.owners)
    step = max(1, _TOGETHER // max(1, mixture.none))
    return (Destinations(mixture, slice(start, min(start + step, count))) for start in range(0, count, step))


def _cycle(subnet: Subnet, waits: list[NDArray[np.int64]]) -> list[str]:
    """A shortest cycle of channels with their lanes, by name; empty if there is none."""
    found = _shortest_cycle(*np.divmod(np.unique(np.concatenate([NOTHING, *waits])), places_of(subnet)))
    return [f"{subnet.channel_name(place // LANES)}, lane {place % LANES}" for place in found]


def _shortest_cycle(before: NDArray[np.int64], after: NDArray[np.int64]) -> Sequence[int]:
    """A shortest cycle among pairs of numbers, of those through some of them; empty if there is none."""
    count = int(max(before.max(initial=0), after.max(initial=0))) + 1
    while len(before):
        # What nothing waits for, and what waits for nothing, is in no cycle.
        waits, waited_for = np.zeros((2, count), dtype=bool)
        waits[before], waited_for[after] = True, True
        kept = waited_for[before] & waits[after]
        if kept.all():
            break
        before, after = before[kept], after[kept]
    following: dict[int, list[int]] = {}
    for one, other in zip(before.tolist(), after.tolist(), strict=True):
        following.setdefault(one, []).append(other)
    best: list[int] = []
    for tried, start in enumerate(following):
        if best and tried >= _STARTS:
            break
        came: dict[int, int] = {}
        waiting = deque([start])
        while waiting and start not in came:
            at = waiting.popleft()
            for other in following.get(at, []):
                if other not in came:
                    came[other] = at
                    waiting.append(other)
        if start in came:
            way = [start]
            while (at := came[way[-1]]) != start:
                way.append(at)
            if not best or len(way) < len(best):
                best = way[::-1]
    return best
