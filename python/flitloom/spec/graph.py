"""Networks that are not grid: nodes and the cables between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, ValidationInfo, model_serializer, model_validator

from flitloom.errors import SpecError, show
from flitloom.ground.limits import FABRIC_PARTS
from flitloom.ground.numerals import counted
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.base import Checked, each, listed, one_of, problem, whole
from flitloom.spec.families import build, is_family
from flitloom.spec.topology import CABLE, NODE, node_number, parse_cable

_ends = each(node_number, 2)


def _cable(value: Any, info: ValidationInfo) -> tuple[int, int]:
    """Two different nodes, also written ``"3-4"``."""
    a, b = _ends(parse_cable(value), info)
    if a == b:
        raise problem(f"a {'link' if info.field_name == 'one_way' else 'cable'} joins node {a} to itself")
    return a, b


class Graph(AnyNetwork):
    """Nodes and cables in any arrangement, with failed parts.

    Collective operations are planned on graphs; `flitloom route` makes their tables by destination.

    Parameters
    ----------
    cables : sequence of (int, int)
        The two nodes of every cable; a cable has both directions. Parallel cables are listed as often
        as they exist. It may be empty where links lead one way.
    nodes : int
        Number of nodes; nodes are numbered from 0.
    name : str
        What it is called.
    names : sequence of str
        A name per node, if there are any.
    one_way : sequence of (int, int)
        Links that lead one way only, from the first node to the second: what collective operations know, and
        routers and tables do not.
    hosts : sequence of int
        Nodes that take part; the others, switches, only pass on what these send. All are hosts if none are
        given.
    failed_nodes, failed_links
        As in `Topology`.

    Examples
    --------
    >>> import flitloom as fl
    >>> star = fl.Graph([(0, 1), (0, 2), (0, 3)], nodes=4)
    >>> print(star)
    a graph of 4 nodes and 3 cables
    >>> fl.collectives.plan(star, "all-gather").steps
    3
    >>> ring = fl.Graph([], nodes=4, one_way=["0-1", "1-2", "2-3", "3-0"])
    >>> fl.collectives.plan(ring, "all-gather")
    CollectivePlan(all-gather on a graph of 4 nodes and 4 links that lead one way: 3 steps, optimal)
    """

    place: ClassVar[str] = "network"
    positional: ClassVar[str] = "cables"
    twist: ClassVar[bool] = False

    kind: Annotated[str, one_of("graph")] = "graph"
    cables: Annotated[tuple[tuple[int, int], ...], Checked(each(_cable), listed(CABLE, FABRIC_PARTS))]
    nodes: Annotated[int, whole(2, FABRIC_PARTS)]
    name: Annotated[str, Field(max_length=256)] = ""
    names: Annotated[tuple[str, ...], Field(max_length=FABRIC_PARTS)] = ()
    one_way: Annotated[tuple[tuple[int, int], ...], Checked(each(_cable), listed(CABLE, FABRIC_PARTS))] = ()
    hosts: Annotated[tuple[int, ...], Checked(each(node_number), listed(NODE))] = ()
    failed_nodes: Annotated[tuple[int, ...], Checked(each(node_number), listed(NODE))] = ()
    failed_links: Annotated[tuple[tuple[int, int], ...], Checked(each(_cable), listed(CABLE))] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            cables: Iterable[Sequence[int] | str],
            *,
            nodes: int,
            name: str = "",
            names: Iterable[str] = (),
            one_way: Iterable[Sequence[int] | str] = (),
            hosts: Iterable[int] = (),
            failed_nodes: Iterable[int] = (),
            failed_links: Iterable[Sequence[int] | str] = (),
        ) -> None: ...

    @property
    def single(self) -> Graph:
        """The same graph with one cable where several are parallel."""
        return self.model_copy(update={"cables": tuple(dict.fromkeys(self.cables))})

    @classmethod
    def family(cls, text: str, **failed: Any) -> Graph:
        """A network of a published family.

        Where every router has one host, the routers are the nodes. Otherwise the nodes are the hosts and then
        the routers, which only pass on what hosts send.

        Parameters
        ----------
        text : str
            ``dragonfly(a,h)``, ``slimfly(q)``, ``fattree(k)``, ``circulant(n;s1,s2)``, ``tori(8x4;4;c)`` or
            ``random(n,d,seed)``; docs/networks.md says what each is.
        **failed
            ``failed_nodes`` and ``failed_links``.

        Raises
        ------
        SpecError
            There is no such network.

        Examples
        --------
        >>> import flitloom as fl
        >>> network = fl.Graph.family("slimfly(5)")
        >>> network.nodes, len(network.cables), network.names[0]
        (50, 175, 'a0-0')
        >>> network = fl.Graph.family("fattree(4)")
        >>> len(network.hosts), network.nodes, network.names[0]
        (16, 36, 'edge0-0-host0')
        """
        built = build(text)
        plain = set(built.hosts) == {1}
        at = [] if plain else [router for router, count in enumerate(built.hosts) for _ in range(count)]
        cables = [(host, len(at) + router) for host, router in enumerate(at)]
        cables += [(len(at) + a, len(at) + b) for a, b in built.cables]
        numbers = [number for count in built.hosts for number in range(count)]
        names = [f"{built.names[router]}-host{number}" for router, number in zip(at, numbers, strict=False)]
        names += built.names
        hosts = tuple(range(len(at)))
        return cls(cables, nodes=len(names), name=built.text, names=names, hosts=hosts, **failed)

    @model_validator(mode="after")
    def _check(self) -> Graph:
        if not self.cables and not self.one_way:
            raise problem("cables: none are given; list at least one")
        for field, pairs in (("cables", self.cables), ("one_way", self.one_way)):
            for place, ends in enumerate(pairs):
                if max(ends) >= self.nodes:
                    raise problem(f"{field}.{place}: node {max(ends)} does not exist; there are {self.nodes}")
        if self.names and len(self.names) != self.nodes:
            raise problem(f"names: {len(self.names)} names for {counted(self.nodes, 'node')}")
        known: dict[str, int] = {}
        for node, name in enumerate(self.names):
            if (first := known.setdefault(name, node)) < node:
                raise problem(f"names: nodes {first} and {node} are both called {show(name)}")
        joined = {frozenset(ends) for ends in (*self.cables, *self.one_way)}
        for field, nodes in (("failed_nodes", self.failed_nodes), ("hosts", self.hosts)):
            for node in nodes:
                if node >= self.nodes:
                    raise problem(f"{field}: node {node} does not exist; there are {self.nodes}")
        for a, b in self.failed_links:
            if frozenset((a, b)) not in joined:
                raise problem(f"failed_links: no cable joins nodes {a} and {b}")
        return self

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields; files list hosts and links that lead one way where there are any."""
        fields: dict[str, Any] = handler(self)
        for name in ("hosts", "one_way"):
            if not getattr(self, name):
                fields.pop(name, None)
        return fields

    @property
    def sizes(self) -> tuple[int, ...]:
        """Refused: its nodes have no coordinates."""
        return self.require_grid("coordinates are").sizes

    def run_as(self, model: str | None) -> dict[str, Any] | None:
        """Switches with hosts, for pipelined routers."""
        if model != "pipelined":
            problem = f"{self} is a graph, which routers of one cycle do not know"
            raise SpecError.at("network", problem, "give router.model = pipelined")
        self.require_both_ways()
        return {"network": self.name} if is_family(self.name) and not self.damaged else {"direct": self}

    def require_both_ways(self) -> None:
        """Refuse links that lead one way, where cables with both directions are needed.

        Raises
        ------
        SpecError
            There are such links.
        """
        if self.one_way:
            a, b = self.one_way[0]
            problem = f"the link from node {a} to node {b} leads one way, and routers have cables"
            raise SpecError.at("network.one_way", problem, "collective operations are planned on such links")

    @property
    def cable_ends(self) -> tuple[tuple[int, int], ...]:
        """The two nodes of every cable."""
        return self.cables

    @property
    def one_way_links(self) -> tuple[tuple[int, int], ...]:
        """Links that lead one way only."""
        return self.one_way

    @property
    def members(self) -> tuple[int, ...]:
        """The hosts that work, at switches that do, where other nodes only pass on what they send.

        >>> import flitloom as fl
        >>> fl.Graph(["0-2", "1-3", "2-3"], nodes=4, hosts=[0, 1], failed_nodes=[2]).members
        (1,)
        """
        gone = set(self.failed_nodes)
        joined = {
            node for ends in (*self.cables, *self.one_way) if not gone.intersection(ends) for node in ends
        }
        return tuple(node for node in self.hosts if node in joined)

    @property
    def node_names(self) -> tuple[str, ...]:
        """What its nodes are called."""
        return self.names

    @property
    def shape(self) -> tuple[object, ...]:
        """Its cables, whatever its nodes are called."""
        cables = sorted((min(ends), max(ends)) for ends in self.cables)
        return self.nodes, cables, sorted(self.one_way), self.hosts

    def __str__(self) -> str:
        failed = len(self.failed_nodes) + len(self.failed_links)
        links = counted(len(self.cables), "cable") if self.cables else ""
        if one_way := len(self.one_way):
            several = f"{counted(one_way, 'link')} that {'lead' if one_way > 1 else 'leads'} one way"
            links = f"{links}, {several}" if links else several
        name = self.name or f"a graph of {counted(self.nodes, 'node')} and {links}"
        return name + (f" with {counted(failed, 'failed part')}" if failed else "")
