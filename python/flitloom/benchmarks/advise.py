"""The best all-reduce that advice makes on ten networks, whole and less a node, beside what is proven."""

from __future__ import annotations

import time

from flitloom.benchmarks import Context, Row
from flitloom.collectives.advice import weigh
from flitloom.fabric.networks import direct_network
from flitloom.spec.any_network import AnyNetwork

#: Networks, and whether they take seconds whole and less a node; minutes only with ``--all``.
NETWORKS = {
    "4x4": (True, True),
    "8x8": (True, False),
    "16x16": (True, False),
    "4x4x4": (True, False),
    "8x8x8": (True, False),
    "8x8x16": (False, False),
    "twisted 4x4x8": (True, False),
    "twisted 8x8x16": (False, False),
    "full8 x full8": (True, False),
    "dragonfly(4,2,2)": (True, True),
}
#: The node that fails.
FAILED = 5
#: Bytes of the vectors.
SIZES = (2**12, 2**14, 2**16, 2**18, 2**20, 2**22)
#: Seconds of a round and of a message, and bytes per second of a link.
ALPHA, MESSAGE, BANDWIDTH = 1e-6, 0.0, 50e9


def run(context: Context) -> list[Row]:
    """Advise on every network, with 1 us a round, 50 GB/s a link and messages that cost nothing.

    `above %` is the distance to the bound of every all-reduce, `in halves %` that to the bound of those that
    scatter, then gather.
    """
    chosen = [
        (name, failed)
        for name, quick in NETWORKS.items()
        for failed in (False, True)
        if quick[failed] or context.everything
    ]
    rows: list[Row] = []
    for number, (name, failed) in enumerate(chosen):
        context.progress(number, len(chosen))
        rows += _advised(direct_network(name), name, failed)
    return rows


def _advised(network: AnyNetwork, name: str, failed: bool) -> list[Row]:
    """A row per size."""
    if failed:
        network = network.model_copy(update={"failed_nodes": (FAILED,)})
    begin = time.process_time()
    advice = weigh(network, SIZES, ALPHA, BANDWIDTH, message=MESSAGE)
    spent = round(time.process_time() - begin, 2)
    rows: list[Row] = []
    for row, size in enumerate(SIZES):
        best = advice.best(row)
        taken = advice.seconds[row][best]
        rows.append(
            {
                "network": f"{name}, a node failed" if failed else name,
                "bytes": size,
                "best": advice.algorithms[best].name,
                "rounds": advice.algorithms[best].rounds,
                "us": round(1e6 * taken, 2),
                "bound": round(1e6 * advice.bounds[row], 2),
                "above %": round(100 * (taken / advice.bounds[row] - 1), 1),
                "in halves %": round(100 * (taken / advice.halved[row] - 1), 1),
                "seconds": spent,
            }
        )
    return rows
