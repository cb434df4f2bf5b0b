"""Packets in motion on the tables of a subnet, cycle by cycle: any graph, any routing engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import CycleLimitError, DeadlockError, SpecError
from flitloom.networks.pipelined import begun_on, far_ends, host_rows, table_fields
from flitloom.spec import Router
from flitloom.tables.by_destination.tables import ForwardingTables


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
        Flits on the busiest channel, or to or from a host: no order of packets takes fewer cycles.
    packets, delivered, unreachable : int
        Packets asked for, those that arrived, and those without a route, which were not sent.
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
            "latency": round(self.mean_latency, 2),
            "max_latency": self.max_latency,
            "max_flits": int(self.flits.max(initial=0)),
            "waits": self.waits,
        }


def all_to_all(hosts: int, length: int = 8) -> NDArray[np.uint64]:
    """A packet of `length` flits from every host to every other, each host beginning with the next one.

    Examples
    --------
    >>> from flitloom.run.tables_in_motion import all_to_all
    >>> all_to_all(3, 4).tolist()
    [[0, 1, 4, 0], [0, 2, 4, 0], [1, 2, 4, 0], [1, 0, 4, 0], [2, 0, 4, 0], [2, 1, 4, 0]]
    """
    sources = np.repeat(np.arange(hosts), hosts - 1)
    return _rows(sources, (sources + np.tile(np.arange(1, hosts), hosts)) % max(hosts, 1), length)


def by_matrix(matrix: NDArray[np.int64], length: int = 8) -> NDArray[np.uint64]:
    """As many packets of `length` flits from every host (row) to every other (column) as a matrix says."""
    sources, targets = np.nonzero(matrix)
    counts = matrix[sources, targets]
    return _rows(np.repeat(sources, counts), np.repeat(targets, counts), length)


def _rows(sources: NDArray[Any], targets: NDArray[Any], length: int) -> NDArray[np.uint64]:
    """Packets that all start at once."""
    columns = [sources, targets, np.full_like(sources, length), np.zeros_like(sources)]
    return np.stack(columns, axis=1).astype(np.uint64)


def send_packets(
    tables: ForwardingTables,
    packets: NDArray[np.uint64],
    *,
    buffer: int = 8,
    latency: int = 1,
    channels: int | None = None,
    cycle_limit: int | None = None,
) -> MotionReport:
    """Send packets over tables by destination, through pipelined routers.

    A header asks for a channel of the lane that tables and service levels name, and its packet keeps it
    until the tail has passed. Channels transfer, and hosts send and receive, a flit per cycle
    (docs/pipelined.md).

    Parameters
    ----------
    tables : ForwardingTables
        The tables.
    packets : array
        Rows of source host, destination host, flits and first cycle; a host sends in the order of its rows.
    buffer : int
        Flits that a switch holds per port and lane.
    latency : int
        Cycles from one switch to the next.
    channels : int, optional
        Virtual channels of a link, divided evenly among the lanes; two per lane without.
    cycle_limit : int, optional
        Cycles after which to stop.

    Examples
    --------
    >>> from flitloom.fabric import route_subnet
    >>> from flitloom.fabric.examples import torus
    >>> from flitloom.run.tables_in_motion import all_to_all, send_packets
    >>> report = send_packets(route_subnet(torus((4, 4))).forwarding(), all_to_all(16))
    >>> report.outcome, report.bound
    ('delivered', 120)
    """
    hosts = len(tables.subnet.hosts)
    if packets.ndim != 2 or packets.shape[1] != 4 or (packets[:, :2] >= hosts).any():
        raise SpecError.at(
            "packets", f"rows of source, destination, flits and start, for hosts 0 to {hosts - 1}"
        )
    if (packets[:, 2] < 1).any():
        raise SpecError.at("packets", "every packet has at least one flit")
    router = Router(model="pipelined", channels=channels, buffer=buffer, latency=latency)
    rows = packets.astype(np.int64)
    joined = are_joined(tables, rows[:, 0], rows[:, 1])
    sent = rows[joined]
    waits: list[str] = []
    outcome, facts = "delivered", None
    if len(sent):
        simulation = tables_run(tables, sent, router)
        try:
            simulation.run(None, cycle_limit, None)
        except DeadlockError as error:
            outcome, waits = "deadlock", [str(channel["queue"]) for channel in error.channels]
        except CycleLimitError:
            outcome = "limit"
        facts = simulation.totals(None, True)
    flits = np.zeros(2 * len(tables.subnet.cables), dtype=np.uint64)
    if facts is not None:
        flits = facts["links"]["flits"].astype(np.uint64)
    out = np.bincount(rows[:, 0], weights=rows[:, 2], minlength=1)
    into = np.bincount(rows[:, 1], weights=rows[:, 2], minlength=1)
    delivered = facts["packets_delivered"] if facts else 0
    return MotionReport(
        outcome=outcome,
        cycles=facts["duration"] if facts else 0,
        bound=int(max(flits.max(initial=0), out.max(), into.max())),
        packets=len(packets),
        delivered=delivered,
        unreachable=int((~joined).sum()),
        mean_latency=facts["latency_sum"] / delivered + 2 if facts and delivered else 0.0,
        max_latency=facts["latency_max"] if facts else 0,
        waits=waits,
        flits=flits,
    )


def tables_run(tables: ForwardingTables, packets: NDArray[np.int64], router: Router) -> _core.Simulation:
    """A run of packets over tables at its beginning; rows are source, destination, flits and start."""
    fields = table_fields(tables)
    slices = np.zeros((len(packets), 1), dtype=np.int64)
    workload = _core.Workload.packets(fields["network"], np.hstack([packets, slices]))
    hosts = tables.subnet.hosts
    lanes = tables.used_lanes
    per_lane = max(1, router.channels // lanes) if router.channels else 2

    def name(kind: str, place: int, channel: int) -> str:
        channel = min(channel // per_lane, lanes - 1)
        if kind == "link":
            return f"{tables.subnet.channel_name(place)}, lane {channel}"
        return f"{'from' if kind == 'entry' else 'to'} {hosts[place].name}, lane {channel}"

    settings = {
        "seed": 1,
        "windows": None,
        "link_time": False,
        "packets": False,
        "film": False,
        "replies": None,
        "threads": 1,
    }
    return begun_on((fields["network"], None), router, workload, fields, name, settings)


def are_joined(
    tables: ForwardingTables, sources: NDArray[np.int64], destinations: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether tables lead from hosts to others."""
    switch = np.array([host.switch for host in tables.subnet.hosts])
    towards = far_ends(tables)
    rows = host_rows(tables)
    at, joined = switch[sources], np.zeros(len(sources), dtype=bool)
    left = np.arange(len(sources))
    for _ in range(len(tables.subnet.switches) + 1):
        arrived = at == switch[destinations[left]]
        joined[left[arrived]] = True
        left, at = left[~arrived], at[~arrived]
        channels = tables.following[rows[destinations[left]], at]
        known = channels < len(towards)
        left, at = left[known], towards[channels[known]]
        if not len(left):
            break
    return joined
