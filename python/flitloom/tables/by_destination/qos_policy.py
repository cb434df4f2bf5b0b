"""The QoS policy by which OpenSM's subnet administrator answers with the service levels of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from flitloom.fabric.identifiers import are_made_up
from flitloom.tables.by_destination.colours import NOT_OF_SUBNETS

if TYPE_CHECKING:
    from flitloom.tables.by_destination.known import MadeTables

#: Port GUIDs on a line of the policy.
_PER_LINE = 20
#: A service level by its name.
_LEVEL = "    qos-level\n        name: {name}\n        sl: {level}\n    end-qos-level\n"


def cannot_be_loaded(tables: MadeTables) -> str | None:
    """Why OpenSM's engine ``file`` and a QoS policy cannot load these tables safely; None if they can.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> from flitloom.tables.by_destination.qos_policy import cannot_be_loaded
    >>> cannot_be_loaded(route_subnet(parse_fabric("a,b")))
    'the fabric file names no LIDs or GUIDs, so the tables have made-up ones; they are for study'
    """
    if tables.rising is not None:
        return NOT_OF_SUBNETS
    if are_made_up(tables.subnet):
        return "the fabric file names no LIDs or GUIDs, so the tables have made-up ones; they are for study"
    if tables.mode == "sl2vl":
        loads = tables.mode_loads
        portable = (
            f"; portable ones have {loads['portable']} on the busiest channel, these {loads['sl2vl']}"
            if len(loads) > 1
            else ""
        )
        return (
            "lanes change along routes, and OpenSM's routing engine file does not set SL2VL tables; "
            f"without them the tables can deadlock (--mode portable needs none{portable})"
        )
    if tables.levels.any() and any(host.port_guid is None for host in tables.subnet.hosts):
        return "some hosts have no port GUID, so that no QoS policy can give their paths service levels"
    if _differ_by_lid(tables):
        return (
            "several LIDs of one port have different service levels, which a QoS policy cannot tell apart; "
            "set LMC to 0"
        )
    return None


def qos_policy(tables: MadeTables, known: dict[tuple[int, bytes], str] | None = None) -> str | None:
    """The policy file for ``opensm -Q -Y``; None where no path needs a level other than 0, or none can serve.

    Without a policy OpenSM answers with the level of the partition, which is that of multicast. A port group
    holds the hosts of a switch as sources, which share their levels; another one the destinations that they
    reach on a level. Pairs without a rule have level 0. Groups that are `known` by switch and levels are
    taken, and others kept.
    """
    apart = tables.levels.any() or tables.beside.multicast_level
    if cannot_be_loaded(tables) is not None or not apart:
        return None
    return "".join(_lines(tables, {} if known is None else known))


def _lines(tables: MadeTables, known: dict[tuple[int, bytes], str]) -> Iterator[str]:
    subnet = tables.subnet
    ports = [f"0x{host.port_guid or 0:016x}" for host in subnet.hosts]
    at: dict[int, list[int]] = {}
    for index, host in enumerate(subnet.hosts):
        at.setdefault(host.switch, []).append(index)
    rules: list[tuple[int, int]] = []
    if not tables.levels.any():
        yield f"qos-levels\n{_LEVEL.format(name='DEFAULT', level=0)}end-qos-levels\n"
        return
    yield "port-groups\n"
    for switch, sources in at.items():
        levels = tables.levels[:, switch]
        used = [level for level in np.unique(levels).tolist() if level]
        rules += [(switch, level) for level in used]
        key = switch, levels.tobytes()
        if key not in known:
            groups = [(f"S{switch}", sources)] if used else []
            groups += [
                (f"S{switch}-{level}", np.unique(tables.owners[levels == level]).tolist()) for level in used
            ]
            texts = (_group(name, [ports[host] for host in hosts]) for name, hosts in groups)
            known[key] = "".join(line for text in texts for line in text)
        yield known[key]
    yield "end-port-groups\n\nqos-levels\n"
    for level in range(int(tables.levels.max()) + 1):
        yield _LEVEL.format(name="DEFAULT" if level == 0 else f"SL{level}", level=level)
    yield "end-qos-levels\n\nqos-match-rules\n"
    for switch, level in rules:
        yield (
            f"    qos-match-rule\n        source: S{switch}\n        destination: S{switch}-{level}\n"
            f"        qos-level-name: SL{level}\n    end-qos-match-rule\n"
        )
    yield "end-qos-match-rules\n"


def _group(name: str, texts: Sequence[str]) -> Iterator[str]:
    yield f"    port-group\n        name: {name}\n"
    for start in range(0, len(texts), _PER_LINE):
        yield f"        port-guid: {', '.join(texts[start : start + _PER_LINE])}\n"
    yield "    end-port-group\n"


def _differ_by_lid(tables: MadeTables) -> bool:
    """Whether LIDs of one port have different levels for some source elsewhere."""
    first: dict[int, int] = {}
    for row, owner in enumerate(tables.owners.tolist()):
        known = first.setdefault(owner, row)
        if known != row and (tables.levels[row] != tables.levels[known]).any():
            return True
    return False
