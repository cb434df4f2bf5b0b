"""Dragonflies of which parts are missing: full groups, a cable or more between every two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

#: A network that lacks more than this part of its cables may be anything.
_MOST_MISSING = 0.2
#: Switches of a group, and groups, below which other networks look alike.
_LEAST = 3


@dataclass(frozen=True)
class Dragonfly:
    """The groups of a dragonfly, and what they lack.

    Attributes
    ----------
    groups : tuple of int
        The group of every switch.
    switches : tuple of int
        The group of every switch that is missing.
    cables : tuple of (int, int)
        Missing cables of which both ends are known, within groups and between them.
    between : tuple of (int, int)
        Groups between which cables are missing whose ends may be several.
    others : int
        Cables of groups with missing switches that are missing besides those of these switches.
    """

    groups: tuple[int, ...]
    switches: tuple[int, ...] = ()
    cables: tuple[tuple[int, int], ...] = ()
    between: tuple[tuple[int, int], ...] = ()
    others: int = 0

    def missing_cables(self) -> int:
        """How many cables are missing besides those of missing switches."""
        return len(self.cables) + len(self.between) + self.others


def damaged_dragonfly(count: int, ends: Iterable[tuple[int, int]]) -> Dragonfly | None:
    """The dragonfly that a network of switches is, if it is one with few parts missing.

    Cables of a group are those whose ends have a neighbour in common: all of a group are joined to each
    other, and cables between groups are few. All must fit, else nobody can be sure.

    Examples
    --------
    >>> from flitloom.spec.families import build
    >>> cables = list(build("dragonfly(4,2)").cables)
    >>> damaged_dragonfly(36, cables).cables, damaged_dragonfly(36, cables[1:]).cables == (cables[0],)
    ((), True)
    """
    near: list[set[int]] = [set() for _ in range(count)]
    for a, b in ends:
        near[a].add(b)
        near[b].add(a)
    groups = _groups(near)
    members: list[list[int]] = [[] for _ in range(max(groups, default=-1) + 1)]
    for switch, group in enumerate(groups):
        members[group].append(switch)
    size = max(map(len, members), default=0)
    if size < _LEAST or len(members) < _LEAST:
        return None
    inside = [pair for group in members for pair in combinations(group, 2) if pair[1] not in near[pair[0]]]
    away = [sum(groups[other] != groups[switch] for other in near[switch]) for switch in range(count)]
    joined = Counter((groups[a], groups[b]) for a in range(count) for b in near[a] if groups[a] < groups[b])
    usual = Counter(joined[pair] for pair in combinations(range(len(members)), 2)).most_common(1)[0][0]
    lost = [group for group, of in enumerate(members) for _ in range(size - len(of))]
    if usual == 0 or max(joined.values(), default=0) > usual:
        return None
    between = [pair for pair in combinations(range(len(members)), 2) for _ in range(usual - joined[pair])]
    most = max(away)
    whole = [pair for pair in between if not set(pair) & set(lost)]
    others = max(0, len(between) - len(whole) - most * len(lost))
    if len(inside) + len(between) > _MOST_MISSING * sum(map(len, near)) / 2:
        return None
    placed, left = _placed(whole, members, [most - has for has in away])
    return Dragonfly(tuple(groups), tuple(lost), (*inside, *placed), tuple(left), others)


def _groups(near: Sequence[set[int]]) -> list[int]:
    """The group of every switch: what cables join whose ends have a neighbour in common."""
    group = [-1] * len(near)
    number = 0
    for first in range(len(near)):
        if group[first] < 0:
            group[first], found = number, [first]
            for here in found:
                new = [there for there in near[here] if group[there] < 0 and near[here] & near[there]]
                for there in new:
                    group[there] = number
                found += new
            number += 1
    return group


def _placed(
    between: list[tuple[int, int]], members: list[list[int]], free: list[int]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Missing cables between groups whose ends can only be two switches, and the others."""
    placed, left = [], []
    for one, other in between:
        here, there = ([switch for switch in members[group] if free[switch]] for group in (one, other))
        if len(here) == len(there) == 1:
            placed.append((here[0], there[0]))
        else:
            left.append((one, other))
    return placed, left
