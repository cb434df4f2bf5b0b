"""Stages that lead from repaired tables back to the first ones when all that has failed is there again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flitloom.fabric.model import Subnet
from flitloom.tables.by_destination.remembered import First, Match
from flitloom.tables.by_destination.repairing import OldTables, read_old
from flitloom.tables.by_destination.stages import Stage
from flitloom.tables.by_destination.tables import NONE, destinations
from flitloom.tables.by_destination.ways import MOST, way

if TYPE_CHECKING:
    from flitloom.tables.by_destination.known import MadeTables

#: The file that lists pairs whose level moves back.
MOVED = "moved-pairs-back.txt"


@dataclass(frozen=True)
class Back:
    """The way back.

    Attributes
    ----------
    stages : list of Stage
        The stages, the last one with the first tables; empty where no order is known.
    tables : MadeTables
        The first tables, beside the repaired ones as those of before.
    now : MadeTables
        The repaired ones on the healed fabric, where pairs that are not there have the levels of before.
    """

    stages: list[Stage]
    tables: MadeTables
    now: MadeTables


def back_from(tables: MadeTables) -> Back | None:
    """The way back from a repair; None for tables that are none, or whose first ones are not known.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.back import back_from
    >>> with TemporaryDirectory() as folder:
    ...     _ = fl.tables.make("full8").write(folder)
    ...     repaired = fl.tables.make(fl.tables.fabric("full8", fail=["link:(0)-(1)"]), old=folder)
    ...     found = back_from(repaired)
    >>> [stage.what for stage in found.stages]
    ['all entries and levels, in any order']
    """
    first = tables.first
    if first is None or not first.is_there or tables.again or tables.mode != "portable" or tables.old is None:
        return None
    fabric = first.fabric
    lids, owners = destinations(fabric)
    known = read_old(fabric, first.folder, lids, owners)
    if known.levels is None or known.following.size > MOST:
        return None
    before, levels = _as_in_first(tables, first, owners, known.levels)
    found = way(fabric, owners, (before, levels), (known.following, known.levels), MOVED)
    hosts = np.array([host.switch for host in fabric.hosts])
    there = replace(
        tables,
        recognition=replace(tables.recognition, subnet=fabric),
        lids=lids,
        owners=owners,
        following=known.following,
        levels=known.levels,
        beside=known.beside or tables.beside,
        old=OldTables(before, levels, known.lost, known.ports, levels[:, hosts]),
    )
    stages = [
        Stage(step.what, replace(there, following=step.following, levels=step.levels))
        for step in found.steps or ()
    ]
    return Back(stages, there, replace(there, following=before, levels=levels))


def _as_in_first(
    tables: MadeTables, first: First, owners: NDArray[np.int64], known: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Repaired tables in the numbers of the fabric that the first ones are for.

    Pairs that are not there now keep the levels that they had.
    """
    subnet, fabric = tables.subnet, first.fabric
    match = Match.of(subnet, fabric)
    switches = np.array(match.switches, dtype=np.int64)
    renamed = np.append(_channels(subnet, fabric, switches), NONE)
    following = np.full((len(owners), len(fabric.switches)), NONE, dtype=np.uint32)
    levels = known.copy()
    base = np.searchsorted(owners, np.arange(len(fabric.hosts)))
    own = np.searchsorted(tables.owners, np.arange(len(subnet.hosts)))
    rows = base[np.array(match.hosts)[tables.owners]] + np.arange(len(tables.owners)) - own[tables.owners]
    entries = renamed[np.minimum(tables.following, 2 * len(subnet.cables))]
    following[np.ix_(rows, switches)] = entries
    levels[np.ix_(rows, switches)] = tables.levels
    return following, levels


def _channels(subnet: Subnet, fabric: Subnet, switches: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The channels of a fabric in the numbers of another one, which has its cables at the same ports."""
    by_port = fabric.channels_by_port()
    ends = [
        (end, port)
        for cable in subnet.cables
        for end, port in ((cable.a, cable.a_port), (cable.b, cable.b_port))
    ]
    places = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return by_port[switches[places[:, 0]], places[:, 1]]
