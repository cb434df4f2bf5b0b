"""The page beside written tables that says how to load them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.qos_policy import cannot_be_loaded
from flitloom.tables.by_destination.tables import host_levels, roots_of

if TYPE_CHECKING:
    from flitloom.tables.by_destination.known import MadeTables

_LOAD = """Load the forwarding tables{levels}:

    opensm -R file,no_fallback -U opensm-lfts.dump -Q{policy} -D 0x43

{settings}{lanes} -D 0x43 has OpenSM write what is loaded to /var/log.

Look at what was loaded. OpenSM takes a file that it cannot use without a word, and ends with exit code 0:

    ibnetdiscover > now.topo
    flitloom check --fabric now.topo --lft /var/log/opensm-lfts.dump{levels_file}
"""

_LEVELS = """Every packet keeps the lane of its service level; -Q writes the identity SL2VL that this needs.
Applications ask the subnet administrator for the level of a path; qos-policy.conf makes it answer with those
of path-sl.txt. Without the policy it answers 0 for every path, and the network can deadlock."""

_ONE = "One lane suffices for pairs of hosts: every path has service level 0."
_PARTITION = """partitions.conf puts multicast on level {level}. Where there is such a file already, leave
-P out, and add 'sl={level}' to the line of its Default partition and of every other one with ipoib.
"""
_MANAGER = """--sm_sl puts managers on level {level}; 'sm_sl {level}' in opensm.conf does the same.
Monitors must send on it, too.
"""

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
_LANES = """slvl.txt          lanes by switch, port in and port out, a digit per service level (ibdmchk -d)
sl2vl.dump        the same in the form of opensm-sl2vl.dump
"""
_RISES = "lane-rises.txt    switches where the lane of a packet rises by one; hosts send on lane 0\n"
_PATHS = "path-sl.txt       service level by source node GUID and destination LID (ibdmchk -c)"
_POLICY = "qos-policy.conf   levels of paths as a QoS policy of OpenSM (-Y)\n"
_MULTICAST = "partitions.conf   level of multicast (-P)\n"


def manual(tables: MadeTables, configured: bool, policy: bool, staged: bool) -> str:
    """How to load these tables, as plain text.

    Parameters
    ----------
    configured, policy, staged : bool
        Whether ``torus-2QoS.conf``, ``qos-policy.conf`` and ``STAGES.txt`` are beside it.
    """
    refused = cannot_be_loaded(tables)
    if refused is not None:
        first, load = f"Not to be loaded: {refused}.\n\n", ""
    else:
        first = ""
        load = _LOAD.format(
            levels=" and the service levels of paths" if tables.levels.any() else "",
            policy=options(tables, policy),
            settings=_settings(tables),
            levels_file=_judged(tables),
            lanes=_LEVELS if tables.levels.any() else _ONE,
        ) + (_question(tables) if tables.levels.any() else "")
        load += _TORUS_2QOS if configured else ""
    update = f"From the tables before: {tables.update.describe()}.\n\n" if tables.update else ""
    update += "STAGES.txt says how that is done with a running OpenSM.\n\n" if staged else ""
    price = "".join(f"Note: {said}.\n\n" for said in tables.notes())
    order = _ORDER if tables.recognition.order else ""
    levels = (_PATHS + "\n" if tables.levels.any() else "") + (_POLICY if policy else "")
    levels += _MULTICAST if tables.beside.multicast_level else ""
    kinds = "".join(f"{name}: {said}\n" for name, said, _ in (kind.row() for kind in tables.report.kinds[1:]))
    return f"""{first}{tables.recognition.describe()}, {tables.subnet.count_hosts()}; \
{tables.report.safe_for}
{kinds}at most {tables.report.max_load} {tables.unit} on a channel, lower bound {tables.bound["value"]}
{counted(tables.lanes, "lane")}, mode {tables.mode}

{price}{update}{load}
opensm-lfts.dump  out port by switch and destination LID
{levels}{_LANES if tables.rising is None else _RISES}report.json       load, bound, lanes
{order}"""


def options(tables: MadeTables, policy: bool, folder: str = "") -> str:
    """Options of OpenSM besides those of all tables; the files are in a folder, ``cur/``."""
    beside = tables.beside
    said = f" -Y {folder}qos-policy.conf" if policy else ""
    said += f" -P {folder}partitions.conf" if beside.multicast_level else ""
    return said + (f" --sm_sl {beside.manager_level}" if beside.manager_level else "")


def _judged(tables: MadeTables) -> str:
    """Options of the check of what was loaded, which OpenSM dumps beside the tables."""
    beside = tables.beside
    said = " --path-sl path-sl.txt" if tables.levels.any() else ""
    said += " \\\n        --slvl /var/log/opensm-sl2vl.dump --mcfdbs /var/log/opensm.mcfdbs"
    said += f" --sm-sl {beside.manager_level}" if beside.manager_level else ""
    return said + (f" --multicast-sl {beside.multicast_level}" if beside.multicast_level else "")


def _settings(tables: MadeTables) -> str:
    """What these options are for."""
    beside = tables.beside
    said = _PARTITION.format(level=beside.multicast_level) if beside.multicast_level else ""
    return said + (_MANAGER.format(level=beside.manager_level) if beside.manager_level else "")


def _question(tables: MadeTables) -> str:
    """A path record query whose answer shows whether the policy is in force."""
    hosts = tables.subnet.hosts
    roots = np.array(roots_of(tables.subnet, tables.owners))
    apart = roots[:, None] != np.array([host.switch for host in hosts])
    asked = np.argwhere(apart & (host_levels(tables.subnet, tables.levels) > 0))
    if not len(asked):
        return ""
    row, source = int(asked[0][0]), hosts[int(asked[0][1])]
    level = int(tables.levels[row, source.switch])
    return _ASK.format(level=level, source=source.lid, destination=int(tables.lids[row]))
