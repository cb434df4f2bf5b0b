"""The verdict on the tables of a subnet, made by any routing engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import require_kind
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition, as_grid
from flitloom.ground.fixed import explained
from flitloom.tables.by_destination.beside import Beside, KindVerdict, safe_for, verdicts
from flitloom.tables.by_destination.bounds import behind_cables, proof
from flitloom.tables.by_destination.management import routes_of
from flitloom.tables.by_destination.remembered import with_gone
from flitloom.tables.by_destination.tables import ForwardingTables, read_tables, require_lanes
from flitloom.tables.traffic import unit_of
from flitloom.tables.verdict import SHOWN, Row, Verdict

#: Why other kinds of traffic are not judged where lanes rise.
_NO_SUBNET = "routers of your own have no subnet manager"


@explained
@dataclass(frozen=True, kw_only=True)
class SubnetReport(Verdict):
    """The verdict on tables by destination.

    Attributes
    ----------
    loads : array
        Host pairs by channel.
    proven : dict
        The bound with its cut, or with prices of channels.
    kinds : tuple of KindVerdict
        Every kind of traffic, the packets of host pairs on the level of their own direction first; those that
        cannot deadlock cannot do so together.
    required : tuple of str
        Kinds that must be deadlock-free.
    """

    loads: NDArray[np.uint64] = field(repr=False)
    proven: dict[str, Any] = field(repr=False)
    kinds: tuple[KindVerdict, ...] = field(default=(), repr=False)
    required: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong with host pairs, and the kinds of traffic that are required are safe."""
        refused = any(kind.kind in self.required and kind.deadlock is not False for kind in self.kinds)
        return super().passed and not refused

    @property
    def safe_for(self) -> str:
        """Which kinds of traffic are safe, and which are not, in a line."""
        return safe_for(self.kinds)

    def rows(self, lanes: str | None = None) -> list[Row]:
        """The rows of a report, with one for every kind of traffic."""
        rows = super().rows(lanes)
        name, text, below = rows[0]
        rows[0] = name, f"{text}; {self.safe_for}", below
        place = next(index for index, row in enumerate(rows) if row[0] == "deadlock")
        _, said, cycle = self.kinds[0].row()
        kinds = [("deadlock", said, cycle), *(kind.row() for kind in self.kinds[1:])]
        return rows[:place] + kinds + rows[place + 1 :]

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, by name, with the kinds of traffic."""
        told = [kind.facts() for kind in self.kinds]
        return super().facts() | {"safe_for": self.safe_for, "traffic_kinds": told}


def check_subnet(
    subnet: Subnet,
    tables: str | Path,
    *,
    path_levels: str | Path | None = None,
    lane_tables: str | Path | None = None,
    lanes: int | None = None,
    beside: Beside | None = None,
) -> SubnetReport:
    """Judge forwarding tables: deadlock by channel and lane, unreachable pairs, loads.

    Parameters
    ----------
    subnet : Subnet
        The fabric.
    tables : path
        ``opensm-lfts.dump`` or ``opensm.fdbs``, or a folder that ``route --fabric`` wrote, with all that
        belongs to it.
    path_levels : path, optional
        Service levels, ``0x<source guid> <dlid> <sl>`` per line. Without them every packet has level 0.
    lane_tables : path, optional
        ``opensm-sl2vl.dump`` or ibdmchk's SLVL file. Without it the lane is the level modulo `lanes`.
    lanes : int, optional
        Lanes of the links, 1 to 15; 8 by default if there are service levels, else 1. Of `lane_tables` with
        more, lanes are taken modulo this number.
    beside : Beside, optional
        What is known of managers and multicast; by default what a folder says. If it says nothing, any host
        may be the manager, the tree that OpenSM builds for all hosts is assumed, and both are on level 0.
    """
    require_kind("subnet", subnet, Subnet, "fabric", "fl.tables.fabric('dragonfly(4,2)')")
    subnet = with_gone(subnet, tables)
    read = read_tables(subnet, tables, path_levels=path_levels, lane_tables=lane_tables, lanes=lanes)
    return judge(read, beside=beside or Beside.of(tables))


def judge(
    tables: ForwardingTables,
    known: tuple[Recognition, dict[str, Any]] | None = None,
    beside: Beside | None = None,
) -> SubnetReport:
    """Judge tables that are in memory.

    `known` is what the subnet was taken for, and what was proven on that for the loads of the tables.
    Without `beside` only packets of host pairs on the level of their own direction are judged, as are those
    of tables whose lanes rise, which no subnet has.
    """
    require_lanes(tables.lanes)
    subnet, owners, remarks = tables.subnet, tables.owners, tables.remarks
    beside = beside if tables.rising is None else None
    found = as_grid(subnet)
    bound = known[1] if known is not None and known[0].grid() == found.grid() else None
    facts = _core.check_forwarding(
        found.core(),
        tables.roots,
        owners.tolist(),
        tables.following,
        tables.levels,
        tables.rows,
        None if tables.rising is None else tables.rising.tolist(),
        tables.lanes,
        None if tables.demand is None else tables.demand.core(),
        bound is None,
        None if beside is None else beside.request(subnet, tables.to_switches or routes_of(subnet)),
    )
    bound = bound or facts["bound"]
    if tables.demand is None:
        bound = behind_cables(subnet, bound)
    cycle = [f"{subnet.channel_name(channel)}, lane {lane}" for channel, lane in facts["cycle"]]
    if cycle and facts["shortest"] and facts["levels"] == 1:
        remarks += (
            "minimal routes with credit loops on one service level, as minhop has them: OpenSM installs it, "
            "and ends with exit code 0, when LASH or DFSSSP need more lanes than the fabric has; no_fallback "
            "prevents that",
        )
    pairs = [
        f"{subnet.switches[switch].name} to {subnet.hosts[owners[row]].name}"
        for switch, row in facts["examples"]
    ]
    near, near_pairs = _on_one_switch(tables)
    pairs = (near_pairs + pairs)[:SHOWN]
    unreachable, hosts = facts["unreachable"] + near, len(subnet.hosts)
    kinds = verdicts(subnet, facts["beside"], [] if beside is None else [beside], cycle)
    if tables.rising is not None:
        kinds = kinds[0], *(replace(kind, premise=_NO_SUBNET) for kind in kinds[1:])
    return SubnetReport(
        network=f"fabric of {len(subnet.switches)} switches and {subnet.count_hosts()}",
        deadlock=bool(cycle),
        cycle=cycle,
        routes=hosts * (hosts - 1) - unreachable,
        unreachable=unreachable,
        unreachable_pairs=pairs,
        problem_count=unreachable,
        problems=[f"no route from {pair}" for pair in pairs],
        max_load=facts["max_load"],
        bound=bound["value"],
        bound_proof=proof(bound, subnet),
        lanes=facts["lanes"],
        service_levels=facts["levels"],
        rules_in_words=tables.rule,
        rules_from=tables.rules_from,
        unit=unit_of(tables.demand),
        remarks=subnet.remarks + remarks,
        loads=facts["loads"],
        proven=bound,
        kinds=kinds,
        required=() if beside is None else beside.safe_for,
    )


def _on_one_switch(tables: ForwardingTables) -> tuple[int, list[str]]:
    """Pairs of hosts on one switch that it does not hand over, and the first of them."""
    subnet, count = tables.subnet, 0
    examples: list[str] = []
    hosts = subnet.hosts_per_switch()
    for host in np.unique(tables.owners[tables.undelivered]).tolist():
        owner = subnet.hosts[host]
        others = hosts[owner.switch] - 1
        count += others
        if others and len(examples) < SHOWN:
            examples.append(f"{subnet.switches[owner.switch].name} to {owner.name}")
    return count, examples
