"""Message graphs: whole applications as sends, receives and computations per rank."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flitloom.networks.experiment import Experiment
from flitloom.networks.network import Network, network_of
from flitloom.run.simulation import begin_experiment
from flitloom.spec import Messages
from flitloom.tables.by_source.tables import Tables
from flitloom.traces.graph import MessageGraph

__all__ = ["MessageGraph", "simulate_messages"]


def simulate_messages(
    network: Network | str | Path,
    graph: MessageGraph,
    *,
    tables: Tables | None = None,
    nodes: Sequence[int] | None = None,
    flit_bytes: int = 16,
    packet_payload: int = 16,
    calc_cycles: int = 1,
    cycle_limit: int | None = None,
    threads: int = 1,
    _on_ranks: bool = False,
) -> dict[str, Any]:
    """Simulate a message graph, cycle by cycle, until every operation is complete.

    `flitloom.simulate` does the same with `Messages`, and keeps records.

    Parameters
    ----------
    network : Network, str or path
        The network, with routers of one cycle or pipelined ones; tables with turns need
        ``flow_control="bubble"`` and buffers of two packets.
    graph : MessageGraph
        What the ranks do.
    tables : Tables, optional
        Routes of the packets; dimension order without.
    nodes, flit_bytes, packet_payload, calc_cycles
        As in `Messages`.
    cycle_limit : int, optional
        Fail if not everything is delivered before this cycle.
    threads : int
        Threads, each with some rows of the network; the result does not depend on it.

    Returns
    -------
    dict
        ``duration`` and ``makespan`` in cycles, and the other totals.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.messages import MessageGraph, simulate_messages
    >>> net = fl.Network(fl.Torus(4, 2), fl.Router(flow_control="bubble", buffer=64, channels=1))
    >>> graph = MessageGraph.exchange(8, [(0, 5, 1600)])
    >>> simulate_messages(net, graph, tables=fl.tables.make(fl.Torus(4, 2)))["flits_delivered"]
    107
    >>> pipelined = fl.Network(fl.Torus(4, 2), fl.Router(model="pipelined"))
    >>> simulate_messages(pipelined, graph)["flits_delivered"]
    107
    """
    network = network_of(network)
    traffic = Messages(
        graph, nodes=nodes, flit_bytes=flit_bytes, packet_payload=packet_payload, calc_cycles=calc_cycles
    )
    experiment = Experiment(
        topology=network.topology, router=network.router, traffic=traffic, cycle_limit=cycle_limit
    )
    simulation = begin_experiment(experiment, links=False, tables=tables, threads=threads, on_ranks=_on_ranks)
    simulation.run()
    return simulation._core.totals(None, False)
