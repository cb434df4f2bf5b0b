"""Tables by destination as they were made, which are written to folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flitloom.ground.fixed import explained
from flitloom.tables.by_destination.known import MadeTables
from flitloom.tables.by_destination.writing import write_tables


@explained
@dataclass(frozen=True)
class SubnetTables(MadeTables):
    """Tables by destination with service levels and lanes, checked.

    Attributes
    ----------
    recognition : Recognition
        What the subnet is.
    lids, owners : array
        LID of every destination and the host it belongs to.
    following : array
        Channel by destination and switch.
    levels : array
        Service level by destination and switch of the source.
    mode : str
        ``portable``: the lane is the service level; ``sl2vl``: tables of the switches say; ``rising``: it
        rises by one at some switches, on routers of your own.
    lanes : int
        Lanes in use.
    balanced : int or None
        Largest load of the tables that were balanced before lanes were chosen; `report.max_load` above it is
        the price of too few lanes. None for repairs that keep the lanes.
    short_of_lanes : bool
        Whether the lanes did not suffice for balanced tables, so that others were made.
    mode_loads : dict
        Largest load of the tables of every mode that was tried; both where portable tables of at most 10 %
        above the balanced were not found.
    scratch : int or None
        Largest load of tables made from scratch, where repaired ones stay more than 2 % above the bound.
    job : int or None
        Hosts whose pairs count, if not all do.
    changed : int or None
        Entries for hosts that differ from the tables they were made from.
    update : Update or None
        How to get there from those tables.
    old : OldTables or None
        Those tables.
    lanes_there : int
        Lanes that tables could use; those left over are free for repairs.
    report : SubnetReport
        The independent check of it all.
    method : str
        ``ftree``, ``dor``, ``dragonfly``, ``colours`` or ``balanced``; repairs of old tables are ``repair``.
    shifts : tuple or None
        Of a fat tree: pairs on the busiest channel of shift permutations, their mean over shifts, the worst,
        and how many shifts were looked at. In a shift every host sends to the one a fixed number further on,
        in the order of the tree.
    method_loads : dict
        Largest load of the tables of every method that was tried; both where those of ``ftree`` stay more
        than 10 % above the bound.
    cover : Cover
        What the tables were to be safe for.
    beside : Beside
        Managers and multicast, with their service levels.
    host_pairs : int or None
        Largest load of tables for host pairs alone, each direction on its own level, where being safe for
        more costs more than 10 %.
    asked : int or None
        Checksum of the job or the weights that count, if not all pairs do alike.
    first : First or None
        The first tables of a row of repairs, which are right when all is back.
    again : bool
        Whether these are the first tables, since all is back.
    behind : Behind or None
        What is behind the busiest channel, where that joins a switch that is hung on a torus or mesh.
    rising : array or None
        By switch whether the lane rises there, in mode ``rising``.
    """

    def write(self, folder: str | Path) -> Path:
        """Write all files into a folder; see the page `docs/fabric.md`."""
        return write_tables(self, folder)
