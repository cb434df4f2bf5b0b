"""The part of ``simulate`` that deals with message graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def simulate_goal(file: Path, fields: dict[str, Any], cycle_limit: int | None, as_json: bool) -> None:
    """Simulate a GOAL text, rank r on node r; messages are cut into packets of 16 flits of 16 bytes."""
    from flitloom.commands import screen
    from flitloom.errors import SpecError
    from flitloom.messages import MessageGraph, simulate_messages
    from flitloom.network import Network
    from flitloom.spec import Router, Topology

    if "topology" not in fields:
        raise SpecError("topology: is missing; give --torus 4x4 or --mesh 4x4")
    graph = MessageGraph.read(file)
    network = Network(Topology(**fields["topology"]), Router(**fields.get("router", {})))
    result = simulate_messages(network, graph, cycle_limit=cycle_limit)
    totals = {name: value for name, value in result.items() if isinstance(value, int | float)}
    facts: dict[str, object] = {"ranks": graph.ranks, **totals}
    if as_json:
        screen.print_json(facts)
    else:
        screen.print_fields(facts)
