"""Twisted tori beside plain ones of the same size: loads, bounds and an all-to-all in motion."""

from __future__ import annotations

from flitloom.benchmarks import Context, Row
from flitloom.fabric import examples
from flitloom.run.tables_in_motion import all_to_all, send_packets
from flitloom.tables.by_destination.making import route_subnet

#: Sizes; those after the first two only with ``--all``.
SIZES = ((4, 4, 8), (4, 8, 8), (8, 8, 16), (8, 16, 16))
#: Flits of a packet.
LENGTH = 8


def run(context: Context) -> list[Row]:
    """Route both kinds of every size, and send a packet from every host to every other."""
    rows: list[Row] = []
    sizes = SIZES if context.everything else SIZES[:2]
    for done, shape in enumerate(sizes):
        for kind, make in (("plain", examples.torus), ("twisted", examples.twisted_torus)):
            context.progress(2 * done + (kind == "twisted"), 2 * len(sizes))
            tables = route_subnet(make(shape), safe_for=())
            report = send_packets(tables.forwarding(), all_to_all(len(tables.subnet.hosts), LENGTH))
            rows.append(
                {
                    "torus": "x".join(map(str, shape)),
                    "kind": kind,
                    "bound": tables.bound["value"],
                    "load": tables.report.max_load,
                    "lanes": tables.lanes,
                    "cycles": report.cycles,
                    "at least": report.bound,
                    "outcome": report.outcome,
                }
            )
    return rows
