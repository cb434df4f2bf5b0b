"""Other ports where a cable or a switch is gone: no pair gets another service level, or few do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.fabric.model import Subnet
from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.tables import NONE, destinations, roots_of
from flitloom.tables.by_destination.ways import Step

#: The share of entries that may be missing.
_MOST_MISSING = 0.1


def patched(
    subnet: Subnet,
    following: NDArray[np.uint32],
    levels: NDArray[np.uint8],
    lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    there: int = 8,
) -> dict[str, Any] | None:
    """Entries in place of those that are missing, at which every pair keeps its level; None for none.

    Every port is such that no mixture of old and new entries can deadlock or send a packet round. Where no
    port is, the entry of the next switch changes first, in a round before, or switches that forwarded to this
    one turn away, in rounds before.

    Parameters
    ----------
    following, levels : array
        Channel, and service level, by destination and switch.
    lost : tuple of array
        The same for destinations that are gone, to which packets may be under way.
    there : int
        Lanes of the links, modulo which levels are lanes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.patching import patched
    >>> from flitloom.tables.by_destination.repairing import read_old
    >>> with TemporaryDirectory() as folder:
    ...     _ = fl.tables.make("full5").write(folder)
    ...     left = fl.tables.fabric("full5", fail=["link:(0)-(1)"])
    ...     before = read_old(left, folder, *destinations(left))
    >>> found = patched(left, before.following, before.levels, before.lost)
    >>> int((found["next"] != before.following).sum()), found["rounds"]
    (2, [])
    """
    return _found(subnet, (following, levels), lost, there, None)


def reconnected(
    subnet: Subnet,
    following: NDArray[np.uint32],
    levels: NDArray[np.uint8],
    lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    there: int,
    choices: Sequence[Sequence[int]],
) -> tuple[dict[str, Any], Sequence[int]] | None:
    """Entries in place of those that are missing, and levels of pairs that cannot keep theirs; None for none.

    The lanes of the first choice with which that is possible come with them. Both directions of a pair get
    the same level. No mixture of old and new entries can deadlock where pairs have their new levels before
    entries change.

    Parameters
    ----------
    following, levels, lost, there
        As of `patched`.
    choices : sequence of sequence of int
        Lanes that pairs may get, the most welcome one first; all choices are tried one after the other.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.patching import missing_entries, reconnected
    >>> from flitloom.tables.by_destination.repairing import read_old
    >>> from flitloom.tables.by_destination.tables import destinations
    >>> with TemporaryDirectory() as folder:
    ...     _ = fl.tables.make("full6").write(folder)
    ...     left = fl.tables.fabric("full6", fail=["link:(0)-(1)"])
    ...     before = read_old(left, folder, *destinations(left))
    >>> tables = before.following, before.levels, before.lost
    >>> found, lanes = reconnected(left, *tables, 8, [range(8)])
    >>> len(missing_entries(left, before.following)), int((found["levels"] != before.levels).sum())
    (2, 0)
    """
    found = _found(subnet, (following, levels), lost, there, [list(lanes) for lanes in choices])
    return None if found is None else (found, choices[found["choice"]])


def _found(
    subnet: Subnet,
    old: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    there: int,
    choices: list[list[int]] | None,
) -> dict[str, Any] | None:
    """What the core finds, where few entries are missing."""
    places = missing_entries(subnet, old[0])
    if len(places) > _MOST_MISSING * old[0].size:
        return None
    by_row = np.bincount(places // len(subnet.switches), minlength=len(old[0]))
    if (by_row >= len(subnet.switches) - 1).any():
        return None
    roots = roots_of(subnet, destinations(subnet)[1])
    found = _core.patch_forwarding(subnet.core(), roots, old, lost, there, places, choices)
    return None if found is None else found | {"last": []}


def missing_entries(subnet: Subnet, following: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Places, by ``destination * switches + switch``, that have no entry and need one."""
    roots = roots_of(subnet, destinations(subnet)[1])
    missing = following == NONE
    missing[np.arange(len(roots)), roots] = False
    return np.flatnonzero(missing).astype(np.uint32)


def patch_steps(before: NDArray[np.uint32], made: dict[str, Any], moved: int) -> tuple[Step, ...]:
    """The steps of a repair: pairs whose level moves, what others wait for, what is gone, what balances."""
    between = made["between"]

    def changed(now: NDArray[np.uint32], places: list[int], then: NDArray[np.uint32]) -> NDArray[np.uint32]:
        state = now.copy()
        state.flat[places] = then.flat[places]
        return state

    states, now = list[tuple[str, NDArray[np.uint32]]](), before
    steps = list[Step]()
    if moved:
        pairs = f"{counted(moved, 'pair')} of hosts get the levels that moved-pairs.txt lists"
        what = (
            f"{pairs}:\ntheir connections must be opened anew, and old packets arrive, before the next stage"
        )
        steps.append(Step(what, now, made["levels"]))
    for places in made["rounds"]:
        now = changed(now, places, between)
        states.append(("that others wait for", now))
    states.append(("whose cable or switch is gone", between))
    now = between
    for more in made["further"]:
        new = more["next"]
        for places in more["rounds"]:
            now = changed(now, places, new)
            states.append(("that others wait for", now))
        states.append(("that balance the load, in any order", changed(new, more["last"], now)))
        states.append(("through which no host sends, when old packets are gone", new))
        now = new
    now = before
    for what, then in states:
        if count := int((now != then).sum()):
            steps.append(Step(f"{counted(count, 'entry')} {what}", then, made["levels"]))
        now = then
    return tuple(steps)
