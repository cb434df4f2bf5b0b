"""Placements in motion: the traffic of ranks as packets between their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom.errors import SpecError
from flitloom.ground.limits import LISTED_PACKETS
from flitloom.ground.numerals import counted
from flitloom.placing.traffic import Traffic
from flitloom.run.simulation import Simulation
from flitloom.spec import Packets, Router
from flitloom.spec.machine import Machine

if TYPE_CHECKING:
    from flitloom.networks.network import Network
    from flitloom.tables.by_source.tables import Tables

#: Bytes of a flit, and flits of a packet besides its header, unless told otherwise.
FLIT_BYTES, PAYLOAD = 16, 16


def packet_rows(traffic: Traffic, nodes: ArrayLike, flit_bytes: int = FLIT_BYTES) -> NDArray[np.int64]:
    """Packets of all messages at once: rows of source, destination, length and start, all from cycle 0.

    A message becomes packets of a header and up to 16 flits. A rank goes round its partners, beginning
    with the next higher rank: one packet to each that is owed any, until none is. Ranks that share a node
    take turns there; what they send to each other needs no packets.

    Parameters
    ----------
    traffic : Traffic
        Bytes between ranks.
    nodes : array of int
        The node of every rank.
    flit_bytes : int
        Bytes of a flit.

    Raises
    ------
    SpecError
        There are more packets than a simulation may list.

    Examples
    --------
    >>> from flitloom.placing import pairs_traffic
    >>> packet_rows(pairs_traffic(2, [(0, 1, 300)]), [7, 3]).tolist()
    [[7, 3, 17, 0], [7, 3, 4, 0]]
    """
    if not 1 <= flit_bytes <= 1 << 40:
        raise SpecError.at("flit_bytes", f"{flit_bytes} is out of range", "it must be 1 to 2^40 bytes")
    where = np.asarray(nodes, dtype=np.int64)
    sources, destinations = traffic.sources.astype(np.int64), traffic.destinations.astype(np.int64)
    apart = where[sources] != where[destinations]
    sources, destinations = sources[apart], destinations[apart]
    amounts = traffic.bytes[apart].astype(np.int64)
    flits = _up(amounts, flit_bytes)
    packets = _up(flits, PAYLOAD)
    if (count := int(packets.sum())) > LISTED_PACKETS:
        if len(amounts) > LISTED_PACKETS:
            raise SpecError.at(
                "traffic", f"needs {counted(count, 'packet')}", f"at most {LISTED_PACKETS} are simulated"
            )
        enough = flit_bytes
        while int(_up(_up(amounts, enough), PAYLOAD).sum()) > LISTED_PACKETS:
            enough *= 2
        raise SpecError.at(
            "flit_bytes",
            f"{counted(flit_bytes, 'byte')} make {counted(count, 'packet')}, and at most "
            f"{LISTED_PACKETS} are simulated",
            f"let a flit hold more bytes, e.g. --flit-bytes {enough}",
        )
    if count == 0:
        raise SpecError.at("traffic", "has no bytes between different nodes", "there is nothing to simulate")
    row = np.repeat(np.arange(len(sources)), packets)
    turn = np.arange(count) - np.repeat(np.cumsum(packets) - packets, packets)
    length = 1 + np.minimum(PAYLOAD, flits[row] - PAYLOAD * turn)
    distance = (destinations - sources - 1) % traffic.ranks
    order = np.lexsort((sources[row], distance[row], turn, where[sources[row]]))
    row = row[order]
    rows: NDArray[np.int64] = np.column_stack(
        [where[sources[row]], where[destinations[row]], length[order], np.zeros(count, dtype=np.int64)]
    )
    return rows


def moves(traffic: Traffic, nodes: ArrayLike) -> bool:
    """Whether any bytes go from one node to another.

    Examples
    --------
    >>> from flitloom.placing import pairs_traffic
    >>> traffic = pairs_traffic(2, [(0, 1, 300)])
    >>> moves(traffic, [7, 3]), moves(traffic, [7, 7])
    (True, False)
    """
    where = np.asarray(nodes, dtype=np.int64)
    return bool((where[traffic.sources] != where[traffic.destinations]).any())


def _up(numbers: NDArray[np.int64], by: int) -> NDArray[np.int64]:
    """Quotients, rounded up."""
    quotients: NDArray[np.int64] = (numbers + by - 1) // by
    return quotients


def as_packets(traffic: Traffic, nodes: ArrayLike, flit_bytes: int = FLIT_BYTES) -> Packets:
    """The same as traffic of a simulation."""
    return Packets([tuple(row) for row in packet_rows(traffic, nodes, flit_bytes).tolist()])


def router_for(
    tables: Tables | None, machine: Machine | None = None, pipelined: bool = False
) -> Router | None:
    """The router that placements run on: under the rules of tables bubble flow control, else the usual.

    Links have the latency on which a round of the machine costs as much.

    >>> router = router_for(None, Machine())
    >>> router.latency, router.buffer
    (195, 392)
    """
    fields: dict[str, Any] = {}
    if tables is not None:
        fields = {"flow_control": "bubble", "buffer": 64, "channels": 1}
    if machine is None:
        return Router(**fields) if fields else None
    if pipelined:
        fields["model"] = "pipelined"
    machine.set_clock(fields)
    return Router(**fields | {"buffer": max(fields["buffer"], 2 * fields["latency"] + 2)})


def duration(
    network: Network, traffic: Traffic, nodes: ArrayLike, tables: Tables | None, flit_bytes: int
) -> int:
    """Cycles until all messages, sent at once, have arrived."""
    simulation = Simulation(
        network, as_packets(traffic, nodes, flit_bytes), tables=tables, links=False, latencies=False
    )
    simulation.run()
    return int(simulation.totals.duration)


def port_bound(traffic: Traffic, flit_bytes: int) -> tuple[int, dict[str, Any]]:
    """Cycles that one rank needs to send, or to receive, all its flits through its node's port."""
    flits = _up(traffic.bytes.astype(np.int64), flit_bytes)
    flits = flits + _up(flits, PAYLOAD)
    best: tuple[int, dict[str, Any]] = (0, {"kind": "nothing"})
    for sends, ends in ((True, traffic.sources), (False, traffic.destinations)):
        sums = np.zeros(traffic.ranks, dtype=np.int64)
        np.add.at(sums, ends.astype(np.int64), flits)
        rank = int(sums.argmax())
        if sums[rank] > best[0]:
            best = (int(sums[rank]), {"kind": "port", "rank": rank, "sends": sends, "flit_bytes": flit_bytes})
    return best
