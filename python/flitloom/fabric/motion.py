"""Packets in motion on the tables of a subnet, cycle by cycle: any graph, any routing engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.fabric.model import Subnet
from flitloom.fabric.routing import SubnetTables
from flitloom.fabric.tables import ForwardingTables, read_tables

#: Cycles without a limit of one's own.
NO_LIMIT = 2**40


@dataclass(frozen=True)
class MotionReport:
    """What was seen of packets in motion.

    Attributes
    ----------
    outcome : {"delivered", "deadlock", "limit"}
        Everything arrived, nothing could ever move again, or the limit of cycles was reached.
    cycles : int
        One more than the last cycle in which something arrived.
    bound : int
        Flits on the fullest channel, or to or from a host: no order of packets takes fewer cycles.
    packets, delivered, unreachable : int
        Packets asked for, those that arrived, and those without a way, which were not sent.
    mean_latency, max_latency : float, int
        Cycles from the start of a packet to the arrival of its last flit.
    waits : list of str
        In a deadlock: channels and lanes that wait for each other in a cycle.
    flits : array
        Flits that crossed every channel.
    """

    outcome: str
    cycles: int
    bound: int
    packets: int
    delivered: int
    unreachable: int
    mean_latency: float
    max_latency: int
    waits: list[str]
    flits: NDArray[np.uint64] = field(repr=False)

    def facts(self) -> dict[str, Any]:
        """What `flitloom simulate --graph --json` prints."""
        return {
            "outcome": self.outcome,
            "cycles": self.cycles,
            "bound": self.bound,
            "packets": self.packets,
            "packets_delivered": self.delivered,
            "unreachable": self.unreachable,
            "mean_latency": round(self.mean_latency, 2),
            "max_latency": self.max_latency,
            "max_flits": int(self.flits.max(initial=0)),
            "waits": self.waits,
        }


def all_to_all(hosts: int, length: int = 8) -> NDArray[np.uint64]:
    """A packet of `length` flits from every host to every other, each host beginning with the next one.

    Examples
    --------
    >>> from flitloom.fabric.motion import all_to_all
    >>> all_to_all(3, 4).tolist()
    [[0, 1, 4, 0], [0, 2, 4, 0], [1, 2, 4, 0], [1, 0, 4, 0], [2, 0, 4, 0], [2, 1, 4, 0]]
    """
    sources = np.repeat(np.arange(hosts), hosts - 1)
    targets = (sources + np.tile(np.arange(1, hosts), hosts)) % max(hosts, 1)
    columns = [sources, targets, np.full_like(sources, length), np.zeros_like(sources)]
    return np.stack(columns, axis=1).astype(np.uint64)


def by_matrix(matrix: NDArray[np.int64], length: int = 8) -> NDArray[np.uint64]:
    """As many packets of `length` flits from every host (row) to every other (column) as a matrix says."""
    sources, targets = np.nonzero(matrix)
    counts = matrix[sources, targets]
    sources, targets = np.repeat(sources, counts), np.repeat(targets, counts)
    columns = [sources, targets, np.full_like(sources, length), np.zeros_like(sources)]
    return np.stack(columns, axis=1).astype(np.uint64)


def send_packets(
    tables: SubnetTables,
    packets: NDArray[np.uint64],
    *,
    buffer: int = 8,
    latency: int = 1,
    cycle_limit: int | None = None,
) -> MotionReport:
    """Send packets over tables that `route_subnet` made.

    Wormhole switching: a channel carries a flit per cycle, its lanes take turns; a header asks for the lane
    that tables and service levels name, and who asked first keeps it until the tail has passed. Hosts send
    and receive a flit per cycle.

    Parameters
    ----------
    tables : SubnetTables
        The tables.
    packets : array
        Rows of source host, destination host, flits and first cycle; a host sends in the order of its rows.
    buffer : int
        Flits that a switch holds per port and lane.
    latency : int
        Cycles from one switch to the next.
    cycle_limit : int, optional
        Cycles after which to stop.

    Examples
    --------
    >>> from flitloom.fabric import route_subnet
    >>> from flitloom.fabric.examples import torus
    >>> from flitloom.fabric.motion import all_to_all, send_packets
    >>> report = send_packets(route_subnet(torus((4, 4))), all_to_all(16))
    >>> report.outcome, report.bound
    ('delivered', 120)
    """
    return _send(tables.forwarding(), packets, buffer, latency, cycle_limit)


def send_by_files(
    subnet: Subnet,
    tables: str | Path,
    packets: NDArray[np.uint64],
    *,
    buffer: int = 8,
    latency: int = 1,
    cycle_limit: int | None = None,
) -> MotionReport:
    """The same on tables in files: a folder that ``route --fabric`` wrote, or a dump on one lane."""
    folder = Path(tables)
    if folder.is_dir():
        read = read_tables(
            subnet,
            folder / "opensm-lfts.dump",
            path_levels=folder / "path-sl.txt",
            lane_tables=folder / "sl2vl.dump",
        )
    else:
        read = read_tables(subnet, folder)
    return _send(read, packets, buffer, latency, cycle_limit)


def _send(
    tables: ForwardingTables,
    packets: NDArray[np.uint64],
    buffer: int,
    latency: int,
    cycle_limit: int | None,
) -> MotionReport:
    subnet, owners = tables.subnet, tables.owners
    for name, value in (("buffer", buffer), ("latency", latency)):
        if not 1 <= value <= 1 << 16:
            raise SpecError(f"{name}: {value} is out of range; it must be from 1 to {1 << 16}")
    hosts = len(subnet.hosts)
    if packets.ndim != 2 or packets.shape[1] != 4 or (packets[:, :2] >= hosts).any():
        raise SpecError.at(
            "packets", f"rows of source, destination, flits and start, for hosts 0 to {hosts - 1}"
        )
    if (packets[:, 2] < 1).any():
        raise SpecError.at("packets", "every packet has at least one flit")
    # A host is meant by its first LID.
    row = np.zeros(hosts, dtype=np.uint64)
    row[owners[::-1]] = np.arange(len(owners))[::-1]
    sent = packets.copy()
    sent[:, 1] = row[packets[:, 1]]
    facts = _core.send_packets(
        subnet.hosts_per_switch(),
        subnet.cable_ends(),
        tables.roots,
        tables.following,
        tables.levels,
        tables.rows,
        tables.lanes,
        np.ascontiguousarray(sent),
        buffer,
        latency,
        NO_LIMIT if cycle_limit is None else cycle_limit,
    )
    flits, delivered = facts["flits"], facts["delivered"]
    out = np.bincount(packets[:, 0].astype(np.int64), weights=packets[:, 2], minlength=1)
    into = np.bincount(packets[:, 1].astype(np.int64), weights=packets[:, 2], minlength=1)
    return MotionReport(
        outcome=facts["outcome"],
        cycles=facts["cycles"],
        bound=int(max(flits.max(initial=0), out.max(), into.max())),
        packets=len(packets),
        delivered=delivered,
        unreachable=facts["unreachable"],
        mean_latency=facts["latency_sum"] / max(1, delivered),
        max_latency=facts["latency_max"],
        waits=[f"{subnet.channel_name(channel)}, lane {lane}" for channel, lane in facts["waits"]],
        flits=flits,
    )
