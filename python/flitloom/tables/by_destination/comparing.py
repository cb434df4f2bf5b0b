"""What must be reprogrammed to get from one set of tables to another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitloom.fabric.model import Subnet
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
