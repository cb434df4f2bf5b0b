"""What must be reprogrammed to get from one set of tables to another, and which failure would hurt most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.fabric.failures import without
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import grid_of
from flitloom.tables.by_destination.tables import dump_in, read_forwarding


@dataclass(frozen=True)
class TableChange:
    """A switch whose entries differ: how many of them, and the first."""

    switch: str
    entries: int
    first: str


def compare_tables(
    subnet: Subnet, old: str | Path, new: str | Path
) -> tuple[list[TableChange], int, int, tuple[str, ...]]:
    """The switches to reprogram, the entries that change, all entries of the new tables, and what is odd.

    Switches that the new tables say nothing about are not reprogrammed.

    Parameters
    ----------
    old, new : path
        ``opensm-lfts.dump`` or ``opensm.fdbs`` each, or a folder with the former.
    """
    before, _ = read_forwarding(subnet, dump_in(old), strict=False)
    after, remarks = read_forwarding(subnet, dump_in(new))
    tables = of_one_width(before, after)
    differs = (tables[0] != tables[1]) & (tables[1] != 255).any(axis=1)[:, None]
    changes = []
    for index, switch in enumerate(subnet.switches):
        where = np.flatnonzero(differs[index])
        if len(where):
            lid = int(where[0])
            ports = " to ".join(
                "none" if port == 255 else str(port) for port in (int(t[index, lid]) for t in tables)
            )
            changes.append(TableChange(switch.name, len(where), f"LID {lid}: port {ports}"))
    return changes, int(differs.sum()), int((tables[1] != 255).sum()), remarks


def of_one_width(*tables: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Out ports by switch and LID, all with as many LIDs; 255 where a table ends before one."""
    lids = max(ports.shape[1] for ports in tables)
    return [np.pad(ports, ((0, 0), (0, lids - ports.shape[1])), constant_values=255) for ports in tables]


@dataclass(frozen=True)
class Criticality:
    """What the loss of a part would do.

    Attributes
    ----------
    part : str
        The part as ``--fail`` takes it.
    bound : int
        The lower bound of the largest load then, in pairs of hosts.
    cut_off : int
        Ordered pairs of hosts that no route joins then.
    repair : str or None
        ``safe`` if given tables can be repaired beside traffic then, ``stop`` if no such repair was found;
        None where it was not tried.
    rounds : int or None
        Rounds in which the entries of a safe repair change.
    """

    part: str
    bound: int
    cut_off: int
    repair: str | None = None
    rounds: int | None = None


def single_parts(subnet: Subnet) -> list[tuple[str, set[int], set[int]]]:
    """Every switch and every cable: its name for ``--fail``, and the switches and cables that go with it."""
    parts: list[tuple[str, set[int], set[int]]] = [
        (f"node:{switch.name}", {index}, set()) for index, switch in enumerate(subnet.switches)
    ]
    parts += [
        (f"cable:{subnet.port_name(cable.a, cable.a_port)}", set(), {index})
        for index, cable in enumerate(subnet.cables)
    ]
    return parts


def critical_parts(
    subnet: Subnet, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> list[Criticality]:
    """All single cables and switches, the worst first: by pairs cut off, then by the lower bound."""
    found = []
    grid = grid_of(subnet)
    parts = single_parts(subnet)
    for number, (name, switches, cables) in enumerate(parts):
        progress(number, len(parts))
        left = without(subnet, switches, cables)
        standing = grid and (*grid[:2], [place for n, place in enumerate(grid[2]) if n not in switches])
        value, cut_off = _core.fabric_bound(left.hosts_per_switch(), left.cable_ends(), standing)
        found.append(Criticality(name, value, cut_off))
    return sorted(found, key=lambda part: (-part.cut_off, -part.bound, part.part))
