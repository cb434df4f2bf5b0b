"""What tables are made safe for, and the levels of managers and multicast that do it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError, unknown_parts
from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.beside import BOTH_WAYS, KINDS, MANAGERS, MULTICAST, Beside
from flitloom.tables.by_destination.checking import SubnetReport

#: Of so many lanes or more, pairs leave one to managers and one to multicast.
ENOUGH = 6


@dataclass(frozen=True)
class Cover:
    """What tables must be safe for, and what is known of managers.

    Attributes
    ----------
    kinds : tuple of str
        Kinds of traffic besides host pairs, each direction on its own level.
    managers : tuple of str
        Hosts that managers and monitors run on, as lists of names; empty if any single one may be.
    manager_level : int or None
        Service level that is kept for them; None if it is to be found.
    """

    kinds: tuple[str, ...] = KINDS[1:]
    managers: tuple[str, ...] = ()
    manager_level: int | None = None

    @property
    def both_ways(self) -> bool:
        """Whether both directions of a pair have one level."""
        return BOTH_WAYS in self.kinds

    @property
    def apart(self) -> int:
        """Lanes that suit managers and multicast best: one for each."""
        return sum(kind in self.kinds for kind in (MANAGERS, MULTICAST))

    def kept(self, lanes: int, large: bool = False) -> list[tuple[int, bool]]:
        """How many of some lanes pairs leave free, the most welcome number first.

        Beside each stands whether one of the lanes of pairs leaves the turns of a tree to multicast. Other
        tables come of each, with which managers may be safe at more places. A tree is best for large ones,
        which are made once. Of few lanes it leaves one more to pairs.

        Examples
        --------
        >>> [Cover().kept(lanes) for lanes in (2, 1)]
        [[(1, False)], [(0, False)]]
        >>> Cover().kept(8), Cover().kept(4)
        ([(2, False), (2, True), (3, False)], [(1, False), (2, False), (1, True)])
        >>> Cover().kept(8, large=True)
        [(2, True)]
        """
        if lanes >= ENOUGH or self.apart == 0:
            numbers = [self.apart + more for more in range(1 + (MANAGERS in self.kinds))]
        else:
            numbers = [kept for kept in range(1, self.apart + 1) if kept < lanes] or [0]
        first = numbers[0]
        trees = self.both_ways and MULTICAST in self.kinds and 1 <= first < lanes - 1
        found = [(kept, False) for kept in numbers]
        if trees:
            found.insert(1 if lanes >= ENOUGH else len(found), (first, True))
        return [(first, trees)] if large else found

    def unsafe(self, report: SubnetReport) -> tuple[int, int]:
        """How many kinds were to be safe and are not, and at how many places managers are not."""
        return len(self.missing(report)), sum(kind.unsafe_places for kind in report.kinds)

    def missing(self, report: SubnetReport) -> list[str]:
        """Kinds that were to be safe and are not."""
        return [kind.kind for kind in report.kinds if kind.kind in self.kinds and kind.deadlock is not False]

    def beside(self, manager_level: int = 0, multicast_level: int = 0) -> Beside:
        """Managers and multicast on some levels."""
        return Beside(managers=self.managers, manager_level=manager_level, multicast_level=multicast_level)

    def places(self, used: int, lanes: int, fixed: bool) -> Iterator[tuple[list[int], Beside]]:
        """Levels of the lanes of pairs, of managers and of multicast; what asks for the least comes first.

        Level 0 is that of managers, monitors and multicast where nobody says otherwise.

        Parameters
        ----------
        used, lanes : int
            Lanes that pairs use, and those there are.
        fixed : bool
            Whether pairs keep their levels, as in a repair.

        Examples
        --------
        >>> [(pairs, each.manager_level, each.multicast_level) for pairs, each in Cover().places(3, 8, False)]
        [([1, 2, 3], 0, 7)]
        >>> [(pairs, each.manager_level, each.multicast_level) for pairs, each in Cover().places(1, 2, False)]
        [([0], 0, 0), ([0], 0, 1), ([1], 0, 0), ([1], 0, 1)]
        """
        own, free = list(range(used)), lanes - used
        level = self.manager_level
        if level is not None:
            taken = own if fixed else [lane for lane in range(lanes) if lane != level][:used]
            if len(taken) < used:
                taken = own
            yield from ((taken, self.beside(level, other)) for other in self._others(taken, level, lanes))
            return
        # One lane is no other for managers than for pairs.
        if used == 1 or self.managers or not self.apart or not free:
            yield own, self.beside()
            if MULTICAST in self.kinds and free:
                yield own, self.beside(0, lanes - 1)
        if MANAGERS not in self.kinds:
            if used > 1 and free and self.apart:
                yield own, self.beside(0, lanes - 1)
            return
        if free and (used > 1 or not fixed):
            if fixed:
                yield own, self.beside(lanes - 1, lanes - 2 if free > 1 else 0)
                return
            taken = [lane + 1 for lane in own]
            yield from ((taken, self.beside(0, other)) for other in self._others(taken, 0, lanes))

    def _others(self, pairs: Sequence[int], manager: int, lanes: int) -> list[int]:
        """Levels of multicast that are tried: a lane of its own, else those of pairs and of managers."""
        if MULTICAST not in self.kinds:
            return [0]
        free = [lane for lane in range(lanes) if lane != manager and lane not in pairs]
        return free[-1:] or list(dict.fromkeys([0, *pairs, manager]))

    def settled(
        self,
        used: int,
        lanes: int,
        judged: Callable[[Sequence[int], Beside], SubnetReport],
        fixed: bool = False,
    ) -> tuple[list[int], Beside, SubnetReport]:
        """Levels with which nothing can deadlock that should not; else those that leave the least unsafe."""
        best: tuple[list[int], Beside, SubnetReport] | None = None
        for pairs, beside in self.places(used, lanes, fixed):
            report = judged(pairs, beside)
            if best is None or self.unsafe(report) < self.unsafe(best[2]):
                best = pairs, beside, report
            if not self.missing(report):
                break
        assert best is not None
        return best


def cover_of(
    safe_for: Sequence[str] | None,
    managers: Sequence[str],
    manager_level: int | None,
    lanes: int,
    reversible: bool | None = None,
) -> Cover:
    """What tables are to be safe for.

    Parameters
    ----------
    safe_for : sequence of str, optional
        What cannot deadlock beside host pairs, each direction on its own level: ``"both ways"`` (one level in
        both directions of a pair, as connections of rdma_cm need it), ``"managers"`` and ``"multicast"``, for
        which lanes are kept where that is needed. All three by default; what does not succeed is said by
        `SubnetTables.notes`.
    managers : sequence of str
        Hosts of the subnet manager and of monitors; without them any single host may be the manager.
    manager_level : int, optional
        Service level that pairs leave to managers, OpenSM's ``sm_sl``.
    lanes : int
        Lanes there are.
    reversible : bool, optional
        The former name of ``"both ways"``, with a warning.

    Raises
    ------
    SpecError
        A kind that is unknown, or a level that no lane is left for.
    """
    if reversible is not None:
        warnings.warn(
            "reversible is the default now, and safe_for names what tables are safe for; the old name goes "
            "with the next release",
            FutureWarning,
            stacklevel=3,
        )
    kinds = KINDS[1:] if safe_for is None else tuple(kind.replace("-", " ") for kind in safe_for)
    for kind in kinds:
        if kind not in KINDS:
            raise SpecError.at("safe_for", *unknown_parts(kind, KINDS[1:]))
    if reversible is False:
        kinds = tuple(kind for kind in kinds if kind != BOTH_WAYS)
    if (managers or manager_level is not None) and MANAGERS not in kinds:
        problem = "managers are named, and tables are not to be safe for them"
        raise SpecError.at("--manager" if managers else "--sm-lane", problem, "leave one of both out")
    if manager_level is not None:
        if not 0 <= manager_level < lanes:
            raise SpecError.at(
                "--sm-lane", str(manager_level), f"write 0 to {lanes - 1}: there are {counted(lanes, 'lane')}"
            )
        if lanes == 1:
            raise SpecError.at("--sm-lane", "there is one lane", "leave it out, or give more --lanes")
    return Cover(tuple(kind for kind in KINDS[1:] if kind in kinds), tuple(managers), manager_level)


def on_levels(levels: NDArray[np.uint8], pairs: Sequence[int]) -> NDArray[np.uint8]:
    """Lanes of pairs as levels.

    >>> on_levels(np.array([[0, 1]], dtype=np.uint8), [1, 2]).tolist()
    [[1, 2]]
    """
    if list(pairs) == list(range(len(pairs))):
        return levels
    names = np.arange(256, dtype=np.uint8)
    names[: len(pairs)] = pairs
    return names[levels]
