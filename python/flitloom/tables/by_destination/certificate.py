"""Certificates that tables by destination cannot deadlock, verified by a program that shares no code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np

from flitloom.tables.by_destination.tables import LEVELS, ForwardingTables, port_rows, source_guids
from flitloom.tables.certificate import write_ranks

#: A channel and its lane.
Laned = tuple[int, int]


def write_certificate(
    tables: ForwardingTables,
    file: str | Path,
    bound: dict[str, Any],
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> None:
    """Write a rank for every channel and lane, such that packets wait only for those of a higher rank.

    The cables and hosts of the fabric are beside the ranks, and the lengths of channels that prove the
    lower bound: all pairs go at least as far as on their minimal routes, and the load of the busiest
    channel is that over the sum of all lengths. The program of ``flitloom recheck`` follows the tables over
    the cables, and finds the minimal routes.

    Parameters
    ----------
    tables : ForwardingTables
        Tables that reach every host and cannot deadlock.
    file : path
        Where the certificate goes.
    bound : dict
        The lower bound, with its cut or its prices: `SubnetReport.proven`, or `SubnetTables.bound`.
    progress : function, optional
        Is told destinations done, and all.
    """
    subnet = tables.subnet
    guids = [f"0x{switch.guid:016x}" for switch in subnet.switches]
    cables = [(guids[c.a], c.a_port, guids[c.b], c.b_port) for c in subnet.cables]
    begins = [end for a, a_port, b, b_port in cables for end in ((a, a_port), (b, b_port))]
    # Who waits comes after what it waits for.
    order = TopologicalSorter(_Routes(tables).waits(progress)).static_order()
    ranked = [[*begins[channel], lane] for channel, lane in order]
    head = {
        "format": "flitloom-certificate",
        "version": 2,
        "lanes": "rising" if tables.rising is not None else None if tables.rows is not None else tables.lanes,
        "cables": cables,
        "hosts": [
            (
                host.name if host.guid is None else f"0x{guid:016x}",
                *(host.lid, host.lmc, guids[host.switch], host.switch_port),
            )
            for host, guid in zip(subnet.hosts, source_guids(subnet), strict=True)
        ],
    } | ({} if subnet.named is None else {"topology": dict(subnet.named)})
    if bound["value"]:
        head["bound"] = _lengths(tables, bound, begins, guids)
    write_ranks(file, head, ([*row, rank] for rank, row in enumerate(reversed(ranked))))


def _lengths(
    tables: ForwardingTables, bound: dict[str, Any], begins: list[tuple[str, int]], guids: list[str]
) -> dict[str, Any]:
    """What proves the lower bound: lengths of channels, one over a cut or everywhere, or their prices."""
    ends = np.array(tables.subnet.cable_ends(), dtype=np.int64)
    if len(bound["prices"]):
        lengths = bound["prices"].tolist()
    elif bound["side"]:
        inside = np.isin(np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2), bound["side"])
        lengths = (inside[:, 0] & ~inside[:, 1]).astype(int).tolist()
    else:
        lengths = [1] * len(begins)
    rows = [(*begin, length) for begin, length in zip(begins, lengths, strict=True) if length]
    return {"kind": "lengths", "value": bound["value"], "pairs": _pairs(tables, guids), "lengths": rows}


def _pairs(tables: ForwardingTables, guids: list[str]) -> list[tuple[str, str, int]] | None:
    """How many pairs count from switch to switch, if not all of hosts do."""
    if tables.demand is None:
        return None
    counted = Counter[tuple[int, int]]()
    for root, row in zip(tables.roots, tables.demand.pairs, strict=True):
        for switch in np.flatnonzero(row).tolist():
            counted[switch, root] += int(row[switch])
    return [(guids[a], guids[b], count) for (a, b), count in sorted(counted.items()) if a != b]


class _Routes:
    """The routes of all packets, with their lanes."""

    def __init__(self, tables: ForwardingTables) -> None:
        subnet = tables.subnet
        self.tables = tables
        ends = [(c.b, c.b_port, c.a, c.a_port) for c in subnet.cables]
        #: The switch and port that each channel enters.
        self.enters = [end for b, b_port, a, a_port in ends for end in ((b, b_port), (a, a_port))]
        self.rows = port_rows(subnet)
        self.columns = [
            {channel: column for column, (channel, _, _) in enumerate(lists)} for lists in subnet.outgoing()
        ]
        self.plugs: list[list[int]] = [[] for _ in subnet.switches]
        for host in subnet.hosts:
            self.plugs[host.switch].append(host.switch_port)

    def waits(self, progress: Callable[[int, int], None]) -> dict[Laned, set[Laned]]:
        """For what a packet on a channel and lane may wait."""
        waits: dict[Laned, set[Laned]] = {}
        tables = self.tables
        sources = np.array([host.switch for host in tables.subnet.hosts], dtype=np.int64) * LEVELS
        for row, root in enumerate(tables.roots):
            progress(row, len(tables.roots))
            following = tables.following[row].tolist()
            begins = np.unique(sources if tables.levels is None else sources + tables.levels[row])
            seen: set[tuple[Laned, int]] = set()
            for switch, level in (divmod(begin, LEVELS) for begin in begins.tolist()):
                if switch != root:
                    for lane in {
                        self.lane(switch, port, following[switch], level, None) for port in self.plugs[switch]
                    }:
                        self._follow((following[switch], lane), level, following, root, seen, waits)
        return waits

    def lane(self, switch: int, port: int, channel: int, level: int, before: int | None) -> int:
        """The lane of a packet that came by a port, on a lane unless from a host, and leaves on a channel."""
        if self.tables.rising is not None:
            raised = 0 if before is None else before + int(self.tables.rising[switch])
            return min(raised, self.tables.lanes - 1)
        if self.tables.rows is None:
            return level % self.tables.lanes
        start, entries = self.tables.rows
        columns = self.columns[switch]
        return int(
            entries[int(start[switch]) + self.rows[switch][port] * len(columns) + columns[channel], level]
        )

    def _follow(
        self,
        here: Laned,
        level: int,
        following: list[int],
        root: int,
        seen: set[tuple[Laned, int]],
        waits: dict[Laned, set[Laned]],
    ) -> None:
        """Adds what a packet waits for, as far as no other to this destination was followed."""
        while (here, level) not in seen:
            seen.add((here, level))
            wanted = waits.setdefault(here, set())
            switch, port = self.enters[here[0]]
            if switch == root:
                return
            channel = following[switch]
            here = channel, self.lane(switch, port, channel, level, here[1])
            wanted.add(here)
