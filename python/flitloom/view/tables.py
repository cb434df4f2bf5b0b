"""Routing tables as a page shows them: loads of links, and routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flitloom.ground.numerals import counted
from flitloom.spec import DIMENSION_NAMES
from flitloom.tables.by_source.tables import Tables
from flitloom.view.pack import Packer
from flitloom.view.wires import grid_fields

#: Hops of all routes that a page brings along; without them it shows loads only.
MOST_HOPS = 1 << 22


@dataclass
class Loads:
    """Routing tables for a page.

    Attributes
    ----------
    tables : Tables
        The tables.
    bound : int
        No tables have a smaller largest load.
    """

    tables: Tables
    bound: int

    @property
    def title(self) -> str:
        """What a page calls them."""
        return self.tables.method

    def all_facts(self) -> dict[str, Any]:
        """Totals by name."""
        tables = self.tables
        verdict = "optimal" if tables.max_load <= self.bound else f"gap {tables.max_load - self.bound}"
        return {
            "largest load": counted(tables.max_load, "route"),
            "lower bound": f"{counted(self.bound, 'route')}: {verdict}",
            "least load": counted(tables.min_load, "route"),
            "mean load": f"{tables.perfect_load:.2f} routes",
            "longest route": counted(tables.max_distance, "hop"),
            "rules": tables.rules.name,
        }

    def head(self, packer: Packer) -> dict[str, Any]:
        """What the page needs to know; the columns go to `packer`."""
        tables = self.tables
        columns = {"load": packer.add(tables.loads)}
        routes = self._routes()
        if routes is not None:
            columns["hops"], columns["legs"] = (packer.add(values) for values in routes)
        return {
            "kind": "tables",
            "title": self.title,
            "fabric": grid_fields(tables.topology),
            "facts": self.all_facts(),
            "columns": columns,
        }

    def _routes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """How many hops the route of every pair has, and the direction of every hop."""
        tables = self.tables
        count = tables.topology.nodes
        if count**2 * (tables.max_distance + 1) > 4 * MOST_HOPS:
            return None
        sources, destinations, offsets, nodes = (part.astype(np.int64) for part in tables.listed())
        hops = np.diff(offsets) - 1
        if int(hops.sum()) > MOST_HOPS:
            return None
        pairs = sources * count + destinations
        order = np.argsort(pairs, kind="stable")
        counts = np.zeros(count**2, dtype=np.int64)
        np.add.at(counts, pairs, hops)
        # Every hop by its place in the list of nodes, route by route in the order of the pairs.
        starts = np.repeat(offsets[:-1][order], hops[order])
        within = np.arange(starts.size) - np.repeat(np.cumsum(hops[order]) - hops[order], hops[order])
        places = starts + within
        return counts, self._directions(nodes[places], nodes[places + 1])

    def _directions(self, here: np.ndarray, there: np.ndarray) -> np.ndarray:
        """Direction index of every hop between neighbours."""
        directions = np.zeros(here.size, dtype=np.int64)
        for dimension, size in enumerate(self.tables.topology.sizes[: len(DIMENSION_NAMES)]):
            step = there % size - here % size
            # A step around the rim goes on in the same sense.
            minus = (step == -1) | ((step > 1) & (size > 2))
            directions[step != 0] = (2 * dimension + minus)[step != 0]
            here, there = here // size, there // size
        return directions
