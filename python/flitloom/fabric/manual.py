"""The page beside written tables that says how to load them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flitloom.fabric.routing import SubnetTables

_PORTABLE = """Lanes are constant on a path: VL = SL. Service levels of paths stand in path-sl.txt; whoever
opens connections must use them (applications with a service level of their own, or a subnet administrator
that answers with them). OpenSM's -Q configures the lanes and writes the identity SL2VL, which these tables
need."""

_TABLES = """Lanes change on the way: the SL2VL table of every port must be set as sl2vl.dump says. OpenSM's
routing engine "file" does not set it; until something does, these tables can deadlock. Ask for --mode
portable if your switches have lanes enough for it."""

_ONE = "One lane suffices: every path has service level 0, and nothing but the forwarding tables is needed."


_TORUS_2QOS = """
torus-2QoS.conf describes the torus to OpenSM's own engine torus-2QoS, which sets service levels and SL2VL
itself but always takes the same of two equally long ways round a ring:

    opensm -R torus-2QoS,no_fallback --torus_config torus-2QoS.conf -Q
"""


def manual(tables: SubnetTables, configured: bool) -> str:
    """How to load these tables, as plain text."""
    lanes = _ONE if tables.lanes == 1 else _PORTABLE if tables.mode == "portable" else _TABLES
    update = f"\nFrom the tables before: {tables.update.describe()}.\n" if tables.update else ""
    price = "".join(f"\nNote: {said}.\n" for said in tables.prices())
    engine = _TORUS_2QOS if configured else ""
    return f"""{tables.recognition.describe()}, {len(tables.subnet.hosts)} hosts
at most {tables.report.max_load} host pairs on a channel, lower bound {tables.bound["value"]}
{tables.lanes} lanes, mode {tables.mode}
{price}
Load the forwarding tables:

    opensm -R file,no_fallback -U opensm-lfts.dump -Q

{lanes}
{update}{engine}
opensm-lfts.dump  out port by switch and destination LID
path-sl.txt       service level by source node GUID and destination LID (ibdmchk -c)
slvl.txt          lanes by switch, port in and port out, a digit per service level (ibdmchk -d)
sl2vl.dump        the same in the form of opensm-sl2vl.dump
report.json       load, bound, lanes
"""
