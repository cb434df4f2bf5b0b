"""The part of ``simulate`` that deals with message graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom.commands import options, screen
from flitloom.errors import SpecError, show_file

if TYPE_CHECKING:
    from flitloom.commands.placements import Sitting


def simulate_goal(
    file: Path,
    fields: dict[str, Any],
    cycle_limit: int | None,
    tables: Path | None,
    flit_bytes: int,
    calc_cycles: int,
    as_json: bool,
    threads: int = 1,
    sitting: Sitting | None = None,
) -> None:
    """Simulate a message graph, rank r on node r unless placed; messages are cut into packets of 16 flits."""
    from flitloom._core import LIMITS
    from flitloom.commands.simulate import say_of_rules
    from flitloom.messages import MessageGraph, simulate_messages
    from flitloom.network import Network
    from flitloom.outlook import memory_needed
    from flitloom.ranks import started
    from flitloom.routing import read_tables
    from flitloom.spec import Router, Topology

    if "topology" not in fields:
        raise SpecError.at("topology", "is missing", "give --torus 4x4 or --mesh 4x4")
    graph = MessageGraph.read(file)
    network = Network(options.part(Topology, fields), options.part(Router, fields))
    routes = None if tables is None else read_tables(tables, network.topology)
    nodes = None
    if sitting is not None:
        routes, nodes = routes or sitting.tables, sitting.nodes
        if len(nodes) != graph.ranks:
            raise SpecError(
                f"{show_file(file)}: messages: {graph.ranks} ranks; the placement has {len(nodes)}"
            )
    if routes is not None:
        say_of_rules(routes, network.router)
    # No more packets than buffers hold are under way.
    packets = LIMITS["packets"]
    screen.foretell_memory([memory_needed(network, packets=packets, listed=False, longest=17, links=False)])
    try:
        result = simulate_messages(
            network,
            graph,
            tables=routes,
            nodes=nodes,
            flit_bytes=flit_bytes,
            calc_cycles=calc_cycles,
            cycle_limit=cycle_limit,
            threads=threads,
            _on_ranks=started() > 1,
        )
    except SpecError as error:
        if str(error).startswith("messages:"):
            raise SpecError(f"{show_file(file)}: {error}", error.field, error.problem, error.advice) from None
        raise
    totals = {name: value for name, value in result.items() if isinstance(value, int | float)}
    facts: dict[str, object] = {"ranks": graph.ranks, **totals}
    if as_json:
        screen.print_json(facts)
    else:
        screen.print_fields(facts)


def simulate_collective_file(
    file: Path, fields: dict[str, Any], flits: int | None, ports: int | None, as_json: bool
) -> None:
    """Run a plan of a collective operation on routers and say who waited for whom."""
    from flitloom.collectives import read_collective, simulate_collective
    from flitloom.commands.collective import check_network
    from flitloom.spec import Router, Topology

    plan = read_collective(file)
    if "topology" in fields:
        check_network(plan, options.part(Topology, fields))
    run = simulate_collective(
        plan, options.part(Router, fields), flits=16 if flits is None else flits, ports=ports
    )
    facts = {"operation": plan.operation, "network": str(plan.ground), **run.summary()}
    if as_json:
        screen.print_json(facts)
        return
    waits, chain = facts.pop("waits"), facts.pop("chain")
    screen.print_fields(
        {
            "plan": f"{facts['operation']}, {facts['network']}",
            "steps": facts["steps"],
            "cycles": f"{facts['cycles']}, {facts['cycles_per_step']} per step",
            "a step alone": f"{facts['step_cycles']} cycles ({facts['flits_per_chunk']} flits and the link)",
            "ports of a node": facts["ports"],
            "links waited for chunks": f"{facts['waited_for_chunks']} cycles in all",
            "chunks waited for ports": f"{facts['waited_for_ports']} cycles in all",
            "lost on the way": f"{facts['lost_on_the_way']} cycles in all",
            "longest chain": f"{facts['chain_length']} chunks, one after the other",
        }
    )
    if waits:
        screen.echo()
        columns = ["node", "waits_for", "cycles"]
        screen.print_table(columns, [[row[name] for name in columns] for row in waits])
    if chain:
        screen.echo()
        columns = ["from", "to", "chunk", "step", "injected", "arrived"]
        rows = [[str(row[name]) if name == "chunk" else row[name] for name in columns] for row in chain]
        screen.print_table(columns, rows)
