"""The verdict on the tables of a subnet, made by any routing engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import grid_of
from flitloom.fabric.tables import ForwardingTables, read_given
from flitloom.notebook import fields_html

#: Pairs that a report names.
_SHOWN = 100


@dataclass(frozen=True)
class SubnetReport:
    """What a check of a subnet's tables found.

    Attributes
    ----------
    deadlock : bool
        Whether channels and lanes can wait for each other in a cycle.
    cycle : list of str
        A shortest such cycle: ``a/3 -> b/1, lane 0``, each waiting for the next, the last for the first.
    unreachable : int
        Ordered pairs of hosts without a route, those on one switch included.
    unreachable_pairs : list of str
        The first hundred of them.
    max_load, bound : int
        Most host pairs on a channel, and what no tables can go below.
    bound_proof : str
        Why.
    lanes, levels : int
        Virtual lanes and service levels that pairs use.
    rule : str
        What was assumed about lanes.
    loads : array
        Host pairs by channel.
    """

    deadlock: bool
    cycle: list[str]
    unreachable: int
    unreachable_pairs: list[str]
    max_load: int
    bound: int
    bound_proof: str
    lanes: int
    levels: int
    rule: str
    remarks: tuple[str, ...]
    loads: NDArray[np.uint64] = field(repr=False)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {
            "passed": self.passed,
            "deadlock": " ".join(self.cycle) or "none possible",
            "unreachable pairs": self.unreachable,
            "largest load": self.max_load,
            "lower bound": self.bound,
            "rule": self.rule,
        }
        return fields_html("check of a fabric", fields)

    @property
    def passed(self) -> bool:
        """Whether every pair is reached and nothing can deadlock."""
        return not self.deadlock and self.unreachable == 0


def check_subnet(
    subnet: Subnet,
    tables: str | Path,
    *,
    path_levels: str | Path | None = None,
    lane_tables: str | Path | None = None,
    lanes: int | None = None,
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
        Lanes of the links, 1 to 8; 8 by default if there are service levels, else 1.
    """
    return judge(read_given(subnet, tables, path_levels, lane_tables, lanes))


def judge(tables: ForwardingTables) -> SubnetReport:
    """Judge tables that are in memory."""
    if not 1 <= tables.lanes <= 8:
        raise SpecError.at("--lanes", str(tables.lanes), "links have 1 to 8 lanes")
    subnet, owners, remarks = tables.subnet, tables.owners, tables.remarks
    facts = _core.check_forwarding(
        subnet.hosts_per_switch(),
        subnet.cable_ends(),
        grid_of(subnet),
        tables.roots,
        owners.tolist(),
        tables.following,
        tables.levels,
        tables.rows,
        tables.lanes,
        None if tables.demand is None else tables.demand.core(),
    )
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
    beside, pairs_beside = _on_one_switch(tables)
    pairs = (pairs_beside + pairs)[:_SHOWN]
    return SubnetReport(
        deadlock=bool(cycle),
        cycle=cycle,
        unreachable=facts["unreachable"] + beside,
        unreachable_pairs=pairs,
        max_load=facts["max_load"],
        bound=facts["bound"]["value"],
        bound_proof=proof(facts["bound"]),
        lanes=facts["lanes"],
        levels=facts["levels"],
        rule=tables.rule,
        remarks=subnet.remarks + remarks,
        loads=facts["loads"],
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
        if others and len(examples) < _SHOWN:
            examples.append(f"{subnet.switches[owner.switch].name} to {owner.name}")
    return count, examples


def proof(bound: dict[str, object]) -> str:
    """A bound's proof in one line."""
    if bound["side"]:
        return f"{bound['proof']}: {bound['pairs']} pairs cross {bound['channels']} channels"
    if "prices" in str(bound["proof"]):
        return f"{bound['proof']}: {bound['pairs']} / {bound['channels']}"
    return f"{bound['proof']}: {bound['pairs']} hops on {bound['channels']} channels"
