"""What ``flitloom simulate`` does with a message graph."""

from __future__ import annotations

from typing import Any

from flitloom import ranks
from flitloom._core import LIMITS
from flitloom.commands import options, screen
from flitloom.commands.inputs.messages import ITS_OWN, TITLE
from flitloom.commands.inputs.running import check_threads, say_of_rules
from flitloom.commands.inputs.seating import Sitting, put_on_nodes
from flitloom.commands.options.simulation import Simulated
from flitloom.errors import SpecError, show_file
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.network import Network
from flitloom.outlook import memory_needed
from flitloom.routing import read_tables
from flitloom.spec import Router as RouterSpec
from flitloom.spec import Topology

#: Fields of an experiment that a message graph goes with.
_FIELDS = {"topology", "router", "cycle_limit"}


def run(asked: Simulated) -> None:
    """Simulate a message graph, rank r on node r unless placed; messages are cut into packets of 16 flits."""
    file, fields = asked.file, asked.fields()
    assert file is not None
    check_threads(asked.kept.threads)
    sitting = None
    if asked.brought.placement is not None:
        has_tables = asked.brought.tables is not None
        sitting = put_on_nodes(asked.brought.placement, fields, has_tables, None, True)
    for name in fields:
        if name not in _FIELDS:
            raise SpecError(f"{name!r:.60}: {TITLE} {ITS_OWN}")
    if "topology" not in fields:
        raise SpecError.at("topology", "is missing", "give --torus 4x4 or --mesh 4x4")
    graph = MessageGraph.read(file)
    network = Network(options.part(Topology, fields), options.part(RouterSpec, fields))
    try:
        result = _totals(asked, graph, network, sitting, fields.get("cycle_limit"))
    except SpecError as error:
        if str(error).startswith("messages:"):
            raise SpecError(f"{show_file(file)}: {error}", error.field, error.problem, error.advice) from None
        raise
    totals = {name: value for name, value in result.items() if isinstance(value, int | float)}
    facts: dict[str, object] = {"ranks": graph.ranks, **totals}
    if asked.printed.json:
        screen.print_json(facts)
    else:
        screen.print_fields(facts)


def _totals(
    asked: Simulated, graph: MessageGraph, network: Network, sitting: Sitting | None, cycle_limit: int | None
) -> dict[str, Any]:
    """Totals of the simulation."""
    tables, sizes = asked.brought.tables, asked.sizes
    routes = None if tables is None else read_tables(tables, network.topology)
    nodes = None
    if sitting is not None:
        routes, nodes = routes or sitting.tables, sitting.nodes
        if len(nodes) != graph.ranks:
            raise SpecError.at("messages", f"{graph.ranks} ranks", f"the placement has {len(nodes)}")
    if routes is not None:
        say_of_rules(routes, network.router)
    # No more packets than buffers hold are under way.
    packets = LIMITS["packets"]
    screen.foretell_memory([memory_needed(network, packets=packets, listed=False, longest=17, links=False)])
    return simulate_messages(
        network,
        graph,
        tables=routes,
        nodes=nodes,
        flit_bytes=16 if sizes.flit_bytes is None else sizes.flit_bytes,
        calc_cycles=1 if sizes.calc_cycles is None else sizes.calc_cycles,
        cycle_limit=cycle_limit,
        threads=asked.kept.threads,
        _on_ranks=ranks.started() > 1,
    )
