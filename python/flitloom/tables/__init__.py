"""Tables of routes: by source for tori and meshes, by destination for fabrics; made, checked, read, repaired.

Examples
--------
>>> import flitloom as fl
>>> tables = fl.tables.make(fl.Torus(4, 2, 2, 2), failed_nodes=[3])
>>> fl.tables.check(tables).passed
True
>>> star = fl.tables.make("slimfly(5)")
>>> star.report.deadlock, star.lanes
(False, 2)
"""

from __future__ import annotations

from flitloom.fabric.checking import SubnetReport
from flitloom.fabric.routing import SubnetTables
from flitloom.fabric.tables import ForwardingTables
from flitloom.routing.checking import CheckReport
from flitloom.routing.rules import RouterRules
from flitloom.routing.tables import Tables
from flitloom.tables.fabrics import fabric
from flitloom.tables.judging import check, read
from flitloom.tables.making import make, repair
from flitloom.verdict import Verdict

__all__ = [
    "CheckReport",
    "ForwardingTables",
    "RouterRules",
    "SubnetReport",
    "SubnetTables",
    "Tables",
    "Verdict",
    "check",
    "fabric",
    "make",
    "read",
    "repair",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
