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

from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.fabric.networks import fabric
    from flitloom.tables.by_destination.checking import SubnetReport
    from flitloom.tables.by_destination.made import SubnetTables
    from flitloom.tables.by_destination.tables import ForwardingTables
    from flitloom.tables.by_source.checking import CheckReport
    from flitloom.tables.by_source.ruled import from_rule
    from flitloom.tables.by_source.rules import RouterRules
    from flitloom.tables.by_source.tables import Tables
    from flitloom.tables.judging import check, read
    from flitloom.tables.making import make, repair
    from flitloom.tables.verdict import Verdict
else:
    # What uses tables by source alone loads nothing of fabrics.
    __getattr__ = names_of(
        "flitloom.tables",
        {
            "CheckReport": "by_source.checking",
            "ForwardingTables": "by_destination.tables",
            "RouterRules": "by_source.rules",
            "SubnetReport": "by_destination.checking",
            "SubnetTables": "by_destination.made",
            "Tables": "by_source.tables",
            "Verdict": "verdict",
            "check": "judging",
            "fabric": "flitloom.fabric.networks:fabric",
            "from_rule": "by_source.ruled",
            "make": "making",
            "read": "judging",
            "repair": "making",
        },
    )

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
    "from_rule",
    "make",
    "read",
    "repair",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
