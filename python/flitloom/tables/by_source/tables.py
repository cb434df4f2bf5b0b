"""Routing tables with what is known about them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.ground.extras import need
from flitloom.ground.fixed import Fixed
from flitloom.ground.limits import LISTED_NODES, TABLE_HOPS
from flitloom.ground.notebook import fields_html
from flitloom.ground.outputs import check_output, write_csv
from flitloom.ground.reading import Progress
from flitloom.spec import Topology
from flitloom.tables.by_source.bound import LARGEST_PROGRAM, Bound, linear_bound
from flitloom.tables.by_source.rules import RouterRules, routing_system
from flitloom.tables.formats.known import written_as

if TYPE_CHECKING:
    import networkx

    from flitloom.networks.network import Network

#: Packed headers, or sources, destinations, offsets and nodes of all routes.
Routes = _core.RoutingTable | tuple[NDArray[Any], ...]

#: Where the rules of a verdict come from.
OWN, IN_FILE, GIVEN = "from the tables", "from the file", "from --rules"
ASSUMED = "assumed: the file brings none; name those of the router with --rules"


@dataclass(frozen=True)
class Source:
    """What the file of tables says; its claims are for `flitloom.tables.check` to judge.

    Attributes
    ----------
    rules_from : str
        Where the rules come from.
    turns : bool
        Whether the file lists the turns of these rules.
    fields : dict
        Everything the file says besides topology, rules, turns and routes.
    """

    rules_from: str
    turns: bool = False
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """How the tables are said to be made."""
        method = self.fields.get("method")
        return method if isinstance(method, str) else "given"

    @property
    def seed(self) -> int:
        """The seed they are said to be made with."""
        seed = self.fields.get("seed")
        return seed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**64 else 0

    @property
    def weighted(self) -> bool:
        """Whether loads are said to be weights of a traffic matrix, which no file brings."""
        return self.fields.get("weighted", False) is not False

    def bounded(self, rules: RouterRules) -> bool:
        """Whether it is known which routes other tables might take instead."""
        steps = rules.first_steps or rules.last_steps
        return not (self.weighted or rules.any_walk) and (self.turns or not steps)


class Tables(Fixed):
    """One route per ordered pair of working nodes.

    Made by `flitloom.tables.make` or read by `read_tables`.

    Attributes
    ----------
    topology : Topology
        What exists.
    rules : RouterRules
        What its routers accept.
    method : str
        How the tables were made.
    seed : int
        Seed of the search.
    max_load, min_load : int
        Largest and smallest load of a working link: routes over it, or their weights.
    perfect_load : float
        Mean load of the working links.
    sigma4 : float
        Fourth-moment deviation of the loads from their mean (angara-routing-2021, Section 1.1).
    max_distance : int
        Most hops of a route.
    bound : int
        No tables of legal minimal routes have a smaller largest load.
    rules_from : str
        Where the rules come from: the tables or their file, ``--rules``, or an assumption.
    bound_value : Bound
        The bound as an exact fraction, with its proof; of tables that were read, proven anew when first
        requested, for any claim of their file, and 0 where that is not possible.
    loads : array of int
        Load of every link, by ``node * directions + direction``; directions are +x, -x, +y, ...
    calls : int or None
        Calls of the single-source search (sssp method).
    seconds : float or None
        Wall time of making them.
    """

    def __init__(
        self,
        topology: Topology,
        rules: RouterRules,
        system: _core.RoutingSystem,
        facts: dict[str, Any],
        routes: Routes,
        bound: Bound | None,
        method: str,
        seed: int,
        traffic: NDArray[np.uint64] | None = None,
        seconds: float | None = None,
        source: Source | None = None,
        channels: NDArray[np.uint8] | None = None,
    ) -> None:
        self.topology, self.rules, self.system = topology, rules, system
        #: What their file says, if they come from one.
        self.source = source
        self.method, self.seed, self.traffic, self.seconds = method, seed, traffic, seconds
        self.max_load: int = facts["max_load"]
        self.min_load: int = facts["min_load"]
        self.perfect_load: float = facts["perfect_load"]
        self.sigma4: float = facts["sigma4"]
        self.max_distance: int = facts["max_distance"]
        self.loads: NDArray[np.uint64] = facts["loads"]
        self.calls: int | None = facts.get("calls")
        self._sound: bool = facts.get("problem_count", 0) == 0
        self._bound = bound
        self._table = routes if isinstance(routes, _core.RoutingTable) else None
        self._listed = None if isinstance(routes, _core.RoutingTable) else routes
        #: What a check of the routes found, which never changes.
        self._verdict: dict[str, Any] | None = None
        #: Virtual channel of every hop, beside the nodes; None if the rules give it.
        self.channels = channels
        self._fix()

    @classmethod
    def given(
        cls,
        topology: Topology,
        rules: RouterRules,
        system: _core.RoutingSystem,
        routes: Routes,
        source: Source,
        channels: NDArray[np.uint8] | None = None,
        progress: Progress | None = None,
    ) -> Tables:
        """Tables that came from elsewhere, right or wrong."""
        facts = _checked(system, routes, channels, not source.turns, progress)
        said = (source.method, source.seed)
        tables = cls(topology, rules, system, facts, routes, None, *said, source=source, channels=channels)
        tables._verdict = facts
        return tables

    def __getstate__(self) -> dict[str, Any]:
        packed = None if self._table is None else self._table.headers()
        return self.__dict__ | {"system": self.system.turns(), "_table": packed, "_verdict": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        plain = routing_system(state["topology"], state["rules"])
        self.__dict__.update(state, system=plain.with_turns(*state["system"]))
        if state["_table"] is not None:
            self._table = _core.RoutingTable.from_headers(self.system, state["_table"])

    def under(
        self,
        rules: str | RouterRules | None,
        topology: Topology | None = None,
        progress: Progress | None = None,
    ) -> Tables:
        """The same routes under other rules, or in a network of the same shape with other failures."""
        topology = topology or self.topology
        chosen = self.rules if rules is None else RouterRules.chosen(rules, topology)
        source = self.source or Source(OWN, turns=not chosen.any_walk)
        if rules is not None:
            source = replace(source, rules_from=GIVEN, turns=False)
        system = routing_system(topology, chosen)
        if source.turns:
            system = system.with_turns(*self.system.turns())
        return Tables.given(topology, chosen, system, self.listed(), source, self.channels, progress)

    def verdict(self, progress: Progress | None = None) -> dict[str, Any]:
        """Every route, every rule and every channel dependency, checked."""
        if self._verdict is None:
            any_turn = self.source is not None and not self.source.turns
            routes = self.listed() if self._table is None else self._table
            self._verdict = _checked(self.system, routes, self.channels, any_turn, progress)
        return self._verdict

    @property
    def rules_from(self) -> str:
        """Where the rules come from."""
        return OWN if self.source is None else self.source.rules_from

    @property
    def bound_value(self) -> Bound:
        """The bound as an exact fraction, with its proof."""
        return self.prove()

    def prove(self, progress: Progress | None = None) -> Bound:
        """The same; of tables that were read it is proven when first asked for, if legal routes are known."""
        if self._bound is None:
            known = self._sound and self.source is not None and self.source.bounded(self.rules)
            self._bound = self._proven_for(self.max_load, progress) if known else Bound(Fraction(0), "none")
        return self._bound

    def priced(self, progress: Progress | None = None) -> Bound | None:
        """The bound with the prices of links that prove it, None where there is none.

        Examples
        --------
        >>> import flitloom as fl
        >>> bound = fl.tables.make(fl.Torus(4)).priced()
        >>> bound.ceiling, bound.prices.tolist()
        (2, [1, 1, 1, 1, 1, 1, 1, 1])
        """
        bound = self.prove(progress)
        # Where routers take more than ordered routes, these are not the only ones.
        if self.rules.any_walk or not self.rules.direction_bits:
            return None
        if bound.prices is None and self.source is None:
            bound = self._proven_for(bound.ceiling, progress)
        return bound if bound.prices is not None and bound.value else None

    def _proven_for(self, wanted: int, progress: Progress | None) -> Bound:
        """The bound proven anew; by a linear program where prices of a search prove less than is wanted."""
        found = self.system.bound(self.loads, self.traffic, _thousandths(progress))
        if found is None:
            return Bound(Fraction(0), "none")
        bound = Bound(Fraction(found[0], found[1]), found[2], found[3].astype(np.int64))
        if bound.ceiling < wanted:
            bound = max(bound, linear_bound(self.system, self.traffic, LARGEST_PROGRAM) or bound)
        return bound

    @property
    def bound(self) -> int:
        """The least largest load that is not ruled out."""
        return self.bound_value.ceiling

    @property
    def bound_in_words(self) -> str:
        """The bound before it is rounded up, and how it was proven."""
        return f"{float(self.bound_value.value):.3f}, {self.bound_value.proof}"

    @property
    def optimal(self) -> bool:
        """Whether the largest load is proven least; never because a file says so."""
        return self._sound and self.max_load <= self.bound

    @property
    def gap(self) -> int:
        """How far the largest load may be from the least possible one."""
        return self.max_load - self.bound

    def listed(self) -> tuple[NDArray[Any], ...]:
        """All routes as four arrays: sources, destinations, offsets, and the nodes of all routes.

        Route ``i`` visits ``nodes[offsets[i]:offsets[i + 1]]``, both ends included.
        """
        if self._listed is None:
            assert self._table is not None
            count = self.topology.nodes
            if count > LISTED_NODES:
                raise SpecError.at(
                    "output",
                    f"routes are listed for at most {LISTED_NODES} nodes",
                    f"these tables have {count}, so write them to an .npz file",
                )
            self._listed = self._table.listed(TABLE_HOPS)
        return self._listed

    def routes(self) -> Iterator[tuple[int, int, list[int]]]:
        """Source, destination and nodes of every route."""
        sources, destinations, offsets, nodes = self.listed()
        for index, (source, destination) in enumerate(
            zip(sources.tolist(), destinations.tolist(), strict=True)
        ):
            yield source, destination, nodes[offsets[index] : offsets[index + 1]].tolist()

    def path(self, source: int, destination: int) -> list[int]:
        """Nodes of one route, both ends included.

        Examples
        --------
        >>> import flitloom as fl
        >>> fl.tables.make(fl.Torus(4)).path(0, 3)
        [0, 3]
        """
        found: list[int] | None = None
        if self._table is not None:
            found = self._table.nodes(source, destination)
        else:
            sources, destinations, offsets, nodes = self.listed()
            for index in np.flatnonzero((sources == source) & (destinations == destination))[:1]:
                found = nodes[offsets[index] : offsets[index + 1]].tolist()
        if found is None:
            raise SpecError(f"there is no route from node {source} to node {destination}")
        return found

    def headers(self) -> NDArray[np.uint32]:
        """Packed header of every pair, by source and destination; 2^32 - 1 where there is no route.

        From the lowest bit: first step (4 bits: 0 none, else 1 + direction index), last step (4), one
        direction bit per dimension (1 is minus), hop counts in as many bits as each dimension needs.
        """
        if self._table is None:
            raise SpecError("headers exist for tables that flitloom made; make them anew with fl.tables.make")
        return self._table.headers()

    def routed(self, network: Network, workload: _core.Workload) -> _core.Workload:
        """A workload of the core over the routes of these tables; they must be for the network."""
        if not self.topology.is_as(network.topology):
            raise SpecError.at("tables", f"they are for {self.topology}, the network is {network.topology}")
        if self.channels is not None:
            raise SpecError.at(
                "tables",
                "their routes name a virtual channel for every hop",
                "packets follow the channels of the router's rule, so leave the channels out",
            )
        if self._table is not None:
            return workload.over_table(network.one_cycle("source routes are for"), self._table)
        return workload.over_routes(network.one_cycle("source routes are for"), *self.listed())

    def checksum(self) -> int:
        """CRC-32 of all routes: equal tables have equal checksums."""
        checksum = 0
        for part in self.listed():
            checksum = zlib.crc32(part.astype(np.uint64).tobytes(), checksum)
        return checksum

    def links(self) -> list[tuple[int, int, int, str, int]]:
        """Every working link: index, from node, to node, name and load."""
        return [(*link, int(self.loads[link[0]])) for link in self.system.links()]

    def histogram(self) -> dict[int, int]:
        """Number of links by load."""
        loads = self.loads[[link[0] for link in self.system.links()]]
        values, counts = np.unique(loads, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def most_loaded(self, count: int = 5) -> list[tuple[str, int]]:
        """Names and loads of the most loaded links."""
        ordered = sorted(self.links(), key=lambda link: (-link[4], link[0]))
        return [(link[3], link[4]) for link in ordered[:count]]

    def to_networkx(self) -> networkx.DiGraph[int]:
        """The working links as a directed graph with their ``load``, ``name`` and index ``link``.

        Examples
        --------
        >>> import flitloom as fl
        >>> graph = fl.tables.make(fl.Torus(4, 2)).to_networkx()
        >>> graph.number_of_edges(), graph.edges[0, 1]["load"]
        (24, 4)
        """
        need("graphs", "to_networkx")
        import networkx

        graph: networkx.DiGraph[int] = networkx.DiGraph()
        failed = set(self.topology.failed_nodes)
        graph.add_nodes_from(node for node in range(self.topology.nodes) if node not in failed)
        for link, source, target, name, load in self.links():
            graph.add_edge(source, target, link=link, name=name, load=load)
        return graph

    @overload
    def to_json(self) -> str: ...

    @overload
    def to_json(self, file: str | Path) -> None: ...

    def to_json(self, file: str | Path | None = None) -> str | None:
        """The tables as JSON text (see ``schema.json``), or into a file.

        Raises
        ------
        SpecError
            There are more than 1024 nodes for a text, or more than 4096 for a file.
        """
        return written_as(".json").write(self, file)

    def to_lft(self, file: str | Path | None = None) -> str:
        """The tables as OpenSM's dump of unicast forwarding tables, one switch per node.

        Node n has LID n + 1; the link along direction d leaves by port d + 1, port 0 is the node itself.

        Raises
        ------
        SpecError
            Some route cannot be followed by destination alone; make the tables with
            ``method="coherent"``.
        """
        return str(written_as(".lft").write(self, file))

    def to_csv(self, file: str | Path | None = None) -> str:
        """All routes as CSV: source, destination and the nodes of the route, separated by blanks."""
        return str(written_as(".csv").write(self, file))

    def loads_to_csv(self, file: str | Path | None = None) -> str:
        """All working links with their loads as CSV."""
        return write_csv(("link", "from", "to", "name", "load"), self.links(), file)

    def save_headers(self, file: str | Path) -> None:
        """The tables in compact form (``.npz``): packed headers and everything needed to read them."""
        check_output(file, (".npz",))
        written_as(".npz").write(self, file)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tables):
            return NotImplemented
        same = self.topology.model_dump() == other.topology.model_dump()
        return same and all(np.array_equal(a, b) for a, b in zip(self.listed(), other.listed(), strict=True))

    def __hash__(self) -> int:
        return hash((str(self.topology), *(np.asarray(part).tobytes() for part in self.listed())))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {
            "method": self.method,
            "largest load": self.max_load,
            "least load": self.min_load,
            "mean load": self.perfect_load,
            "longest route": self.max_distance,
            "lower bound": self.bound,
            "optimal": self.optimal,
        }
        return fields_html(f"routing tables of a {self.topology}", fields)

    def __repr__(self) -> str:
        proven = "optimal" if self.optimal else f"bound {self.bound}"
        return f"Tables({self.topology}, {self.method}, loads {self.min_load} to {self.max_load}, {proven})"


def _thousandths(progress: Progress | None) -> Callable[[float], None] | None:
    return None if progress is None else lambda done: progress(int(1000 * done), 1000)


def _checked(
    system: _core.RoutingSystem,
    routes: Routes,
    channels: NDArray[np.uint8] | None,
    any_turn: bool,
    progress: Progress | None,
) -> dict[str, Any]:
    """What the core finds in routes: loads, what is wrong, and what can deadlock."""
    told = _thousandths(progress)
    if isinstance(routes, _core.RoutingTable):
        return routes.check(any_turn, told)
    sources, destinations, offsets, nodes = routes
    return system.check(sources, destinations, offsets, nodes, channels, any_turn, told)
