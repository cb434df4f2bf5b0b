"""The page beside written tables that says how to load them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.qos_policy import cannot_be_loaded

if TYPE_CHECKING:
    from flitloom.tables.by_destination.known import MadeTables

_LOAD = """Load the forwarding tables{levels}:

    opensm -R file,no_fallback -U opensm-lfts.dump -Q{policy} -D 0x43

{lanes} -D 0x43 has OpenSM write what is loaded to /var/log.

Look at what was loaded. OpenSM takes a file that it cannot use without a word, and ends with exit code 0:

    ibnetdiscover > now.topo
    flitloom check --fabric now.topo --lft /var/log/opensm-lfts.dump{levels_file}
"""

_LEVELS = """Every packet keeps the lane of its service level; -Q writes the identity SL2VL that this needs.
Applications ask the subnet administrator for the level of a path; qos-policy.conf makes it answer with those
of path-sl.txt. Without the policy it answers 0 for every path, and the network can deadlock."""

_ONE = "One lane suffices: every path has service level 0, and nothing but the forwarding tables is needed."

_ASK = """
Ask the subnet administrator for a path whose level is not 0; path-sl.txt says {level}:

    saquery -p --slid {source} --dlid {destination} | grep '[^_]sl\\.'
"""

_TORUS_2QOS = """
torus-2QoS.conf describes the torus to OpenSM's own engine torus-2QoS, which sets service levels and SL2VL
itself but always takes the same of two equally long routes round a ring:

    opensm -R torus-2QoS,no_fallback --torus_config torus-2QoS.conf -Q
"""

_ORDER = "host-order.txt    hosts in the order of the tree, in which ranks shift without conflicts\n"
_PATHS = "path-sl.txt       service level by source node GUID and destination LID (ibdmchk -c)"
_POLICY = "\nqos-policy.conf   the same levels as a QoS policy of OpenSM (-Y)"


def manual(tables: MadeTables, configured: bool, policy: bool) -> str:
    """How to load these tables, as plain text.

    Parameters
    ----------
    configured, policy : bool
        Whether ``torus-2QoS.conf`` and ``qos-policy.conf`` are beside it.
    """
    refused = cannot_be_loaded(tables)
    if refused is not None:
        first, load = f"Not to be loaded: {refused}.\n\n", ""
    else:
        first = ""
        load = _LOAD.format(
            levels=" and the service levels of paths" if policy else "",
            policy=" -Y qos-policy.conf" if policy else "",
            levels_file=" --path-sl path-sl.txt" if tables.levels.any() else "",
            lanes=_LEVELS if policy else _ONE,
        ) + (_question(tables) if policy else "")
        load += _TORUS_2QOS if configured else ""
    update = f"From the tables before: {tables.update.describe()}.\n\n" if tables.update else ""
    price = "".join(f"Note: {said}.\n\n" for said in tables.notes())
    order = _ORDER if tables.recognition.order else ""
    levels = (_PATHS + (_POLICY if policy else "") + "\n") if tables.levels.any() else ""
    kinds = "".join(f"{name}: {said}\n" for name, said, _ in (kind.row() for kind in tables.report.kinds[1:]))
    return f"""{first}{tables.recognition.describe()}, {tables.subnet.count_hosts()}; \
{tables.report.safe_for}
{kinds}at most {tables.report.max_load} {tables.unit} on a channel, lower bound {tables.bound["value"]}
{counted(tables.lanes, "lane")}, mode {tables.mode}

{price}{update}{load}
opensm-lfts.dump  out port by switch and destination LID
{levels}slvl.txt          lanes by switch, port in and port out, a digit per service level (ibdmchk -d)
sl2vl.dump        the same in the form of opensm-sl2vl.dump
report.json       load, bound, lanes
{order}"""


def _question(tables: MadeTables) -> str:
    """A path record query whose answer shows whether the policy is in force."""
    row, switch = (int(place) for place in np.argwhere(tables.levels > 0)[0])
    source = next((host for host in tables.subnet.hosts if host.switch == switch), None)
    if source is None:
        return ""
    level = int(tables.levels[row, switch])
    return _ASK.format(level=level, source=source.lid, destination=int(tables.lids[row]))
