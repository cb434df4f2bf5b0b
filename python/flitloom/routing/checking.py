"""Check routing tables, whoever made them, and certify that they cannot deadlock."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.outputs import write_text
from flitloom.routing.rules import RouterRules
from flitloom.routing.tables import Tables, read_tables
from flitloom.spec import Topology


@dataclass(frozen=True)
class CheckReport:
    """Result of a check.

    Attributes
    ----------
    passed : bool
        Whether nothing is wrong.
    deadlock_free : bool
        Whether the channels cannot wait for each other in a cycle.
    cycle : str
        A shortest cycle of waiting channels if there is one: ``(0,3)+x -> (1,3)+x -> ...``.
    routes : int
        Number of routes.
    problem_count : int
        Number of other problems: pairs without a route, hops that do not exist, broken rules.
    problems : list of str
        The first hundred of them.
    max_load : int
        Largest number of routes over a link.
    """

    passed: bool
    deadlock_free: bool
    cycle: str
    routes: int
    problem_count: int
    problems: list[str]
    max_load: int
    ranks: NDArray[np.uint32] | None = field(repr=False)
    tables: Tables = field(repr=False)

    def certificate(self) -> dict[str, Any]:
        """A rank for every channel, such that every dependency of the routes goes to a higher rank.

        With the bubble rule a dependency may also keep its rank within one ring of one direction. The
        script ``tools/recheck.py`` of the repository verifies it against the tables on its own.
        """
        if self.ranks is None:
            raise ValueError("there is no certificate for tables that can deadlock")
        rules, topology = self.tables.rules, self.tables.topology
        channels = rules.virtual_channels or 1
        ranked = []
        for link, node, _, name in self.tables.system.links():
            direction = name[name.rindex(")") + 1 :]
            ranked += [[node, direction, vc, int(self.ranks[link * channels + vc])] for vc in range(channels)]
        return {
            "format": "flitloom-certificate",
            "version": 1,
            "sizes": list(topology.sizes),
            "wraps": list(topology.wraps),
            "bubble": rules.virtual_channels is None,
            "virtual_channels": channels,
            "datelines": rules.datelines,
            "channels": ranked,
        }

    def write_certificate(self, file: str | Path) -> None:
        """Write the certificate to a file."""
        head = self.certificate()
        rows = ",\n  ".join(json.dumps(row) for row in head.pop("channels"))
        write_text(file, json.dumps(head, indent=1)[:-2] + f',\n "channels": [\n  {rows}\n ]\n}}\n')


def check(
    tables: Tables | str | Path, topology: Topology | None = None, rules: str | RouterRules | None = None
) -> CheckReport:
    """Check every route, every rule and every channel dependency of routing tables.

    Parameters
    ----------
    tables : Tables or path
        The tables, or a file of them.
    topology, rules
        As in `read_tables`, for a file.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.check(fl.route(fl.Torus(4, 4))).passed
    True
    >>> report = fl.check(fl.route(fl.Torus(8), method="dor", rules="unrestricted"))
    >>> report.cycle                      # a ring without the bubble rule
    '(0)+x -> (1)+x -> (2)+x -> (3)+x -> (4)+x -> (5)+x -> (6)+x -> (7)+x -> (0)+x'
    """
    if not isinstance(tables, Tables):
        tables = read_tables(tables, topology, rules)
    core = tables._table
    if core is not None:
        facts = core.check()
    else:
        sources, destinations, offsets, nodes = tables.listed()
        facts = tables.system.check(sources, destinations, offsets, nodes, tables.channels)
    return CheckReport(
        passed=facts["passed"],
        deadlock_free=facts["ranks"] is not None,
        cycle=facts["cycle"],
        routes=facts["routes"],
        problem_count=facts["problem_count"],
        problems=facts["problems"],
        max_load=facts["max_load"],
        ranks=facts["ranks"],
        tables=tables,
    )
