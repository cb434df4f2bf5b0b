"""Tables of a routing rule that is a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flitloom.errors import SpecError
from flitloom.spec import Topology
from flitloom.spec.grids import torus_of
from flitloom.tables.by_source.rules import RouterRules, routing_system
from flitloom.tables.by_source.tables import OWN, Source, Tables

#: Where a packet at a node goes that is for another node: the next node, or a direction like "+x".
Rule = Callable[[int, int], int | str]


def from_rule(topology: Topology | str | Path, rule: Rule, *, channels: int | None = None) -> Tables:
    """Compile a routing rule, a Python function, to the routes of all pairs of nodes, and check them.

    Parameters
    ----------
    topology : Topology, str or path
        A torus or mesh, also with failed parts, or what names it.
    rule : callable
        Is given a node and the destination of a packet there, and returns the next node, or the direction,
        e.g. ``"+x"``. It is called once for every pair of nodes.
    channels : int, optional
        Virtual channels per link; packets move one up at each dateline. By default one per wrapping dimension
        and one more.

    Returns
    -------
    Tables
        One route per pair of working nodes, deadlock-free in routers with this many channels. All that takes
        tables takes them: `flitloom.simulate`, `flitloom.load.curve`, `flitloom.tables.check`.

    Raises
    ------
    SpecError
        The rule leads over no link, or around in a circle, or its packets can wait for each other for ever.

    Examples
    --------
    Along y first, then along x, on a mesh:

    >>> import flitloom as fl
    >>> def y_first(node, destination):
    ...     (x, y), (to_x, to_y) = (node % 4, node // 4), (destination % 4, destination // 4)
    ...     if y != to_y:
    ...         return "+y" if to_y > y else "-y"
    ...     return "+x" if to_x > x else "-x"
    >>> tables = fl.tables.from_rule(fl.Mesh(4, 4), y_first)
    >>> tables.path(0, 5), fl.tables.check(tables).passed
    ([0, 4, 5], True)
    """
    topology = torus_of(topology, "routing rules")
    signs = [f"{sign}{name}" for sign in "+-" for name in "xyzuvw"[: len(topology.sizes)]]
    rules = RouterRules(
        name="function",
        order=tuple(signs),
        direction_bits=False,
        virtual_channels=channels or 1 + sum(topology.wraps),
        datelines=True,
        any_walk=True,
    )
    system = routing_system(topology, rules)
    ways = _Ways(topology.nodes, system.links(), rule)
    working = [node for node in range(topology.nodes) if node not in topology.failed_nodes]
    pairs = [(source, to) for source in working for to in working if source != to]
    visited = [ways.route(source, to) for source, to in pairs]
    offsets = np.cumsum([0, *map(len, visited)])
    sources, destinations = np.array(pairs, dtype=np.uint32).T
    nodes = np.concatenate([np.array(route, dtype=np.uint32) for route in visited])
    routes = (
        np.ascontiguousarray(sources),
        np.ascontiguousarray(destinations),
        offsets.astype(np.uint64),
        nodes,
    )
    tables = Tables.given(topology, rules, system, routes, Source(OWN, fields={"method": "function"}))
    if cycle := tables.verdict()["cycle"]:
        raise SpecError.at(
            "rule",
            f"packets can wait for each other for ever: {', '.join(cycle[:4])}{' ...' * (len(cycle) > 4)}",
            "forbid a turn, or give more channels",
        )
    return tables


class _Ways:
    """Where packets go from every node."""

    def __init__(self, nodes: int, links: list[tuple[int, int, int, str]], rule: Rule) -> None:
        self._rule, self._nodes = rule, nodes
        #: The nodes behind the links of every node, by their directions.
        self._there: list[dict[str, int]] = [{} for _ in range(nodes)]
        for _, node, there, name in links:
            self._there[node][name.rpartition(")")[2]] = there
        self._known: dict[tuple[int, int], int] = {}

    def route(self, source: int, destination: int) -> list[int]:
        """The nodes from a source to a destination."""
        route = [source, *self._rest(source, destination)]
        if len(route) > self._nodes:
            raise SpecError.at(
                "rule",
                f"packets from node {source} to node {destination} go around in a circle: {route[:6]} ...",
                "every hop must lead nearer to the destination in the end",
            )
        return route

    def _rest(self, node: int, destination: int) -> Iterator[int]:
        for _ in range(self._nodes):
            if node == destination:
                return
            node = self._next(node, destination)
            yield node

    def _next(self, node: int, destination: int) -> int:
        if (node, destination) not in self._known:
            answer: Any = self._rule(node, destination)
            there = self._there[node]
            found = there.get(answer) if isinstance(answer, str) else answer
            if found is None or found not in there.values():
                raise SpecError.at(
                    "rule",
                    f"returns {answer!r} at node {node} for node {destination}, where no link leads",
                    f"from there links lead {', '.join(f'{way} to {one}' for way, one in there.items())}",
                )
            self._known[node, destination] = int(found)
        return self._known[node, destination]
