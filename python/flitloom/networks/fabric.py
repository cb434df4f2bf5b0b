"""Networks of switches with hosts, by name or from a file, with tables by destination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeGuard

from pydantic import (
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from flitloom.errors import SpecError
from flitloom.ground.digests import digest, require_same
from flitloom.ground.numerals import counted
from flitloom.networks.followed import among
from flitloom.networks.of_switches import OfSwitches
from flitloom.spec.any_network import without_grid
from flitloom.spec.base import Checked, Problems, each, listed, problem, text
from flitloom.spec.families import FAMILIES, is_family, numbers_of
from flitloom.spec.graph import Graph
from flitloom.spec.product import Product
from flitloom.spec.what import host_lists

if TYPE_CHECKING:
    from flitloom.fabric.model import Subnet
    from flitloom.tables.by_destination.tables import ForwardingTables


#: Name, file or cables, what has failed, which nodes are hosts, and what the file holds.
_Named: TypeAlias = tuple[
    str | None, str | None, Graph | None, tuple[str, ...], tuple[str, ...] | None, tuple[str, ...]
]


def _name(value: Any, _: Any = None) -> str:
    """A list of names, or a name that is a number."""
    return str(value) if type(value) is int else text(value)


def _lists(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    """Lists of hosts: one, or several."""
    return (value,) if isinstance(value, str) else each(_name)(value, info)


#: JSON schema of the same.
_LISTS = {
    "anyOf": [
        {"type": "string", "description": "a list, or its file"},
        listed({"type": ["string", "integer"]}),
    ]
}


class Fabric(OfSwitches):
    """A network of switches with hosts; packets go by tables by destination.

    Its nodes are the hosts, which have numbers and no coordinates.

    Parameters
    ----------
    network : str, optional
        A family with its numbers, as ``dragonfly(4,2,2)``, or a product, as ``full8 x full8``.
    graph : path, optional
        Instead of that a file that describes switches, cables and hosts (ibnetdiscover, GraphML, CSV).
    direct : Graph, optional
        Instead of both nodes and cables; a host is at every node, or at the switches that its hosts have.
    tables : path, optional
        Tables by destination, made by ``flitloom route --fabric``: a folder, or a dump on one lane. They are
        searched for without.
    failed : sequence of str
        Parts that do not work, as ``--fail`` names them.
    hosts : str or sequence of str, optional
        Which nodes of `graph` are hosts: a list like ``"n[0-3],gw"``, a file that has one, or several lists;
        empty for none. As the file says, or guessed, without.
    content : sequence of str
        SHA-256 of `graph` and `tables`, of those that are given; found if it is left out. Another one than
        that of the files is refused.

    Examples
    --------
    >>> from flitloom.networks.fabric import Fabric
    >>> dragonfly = Fabric(network="dragonfly(3,1,2)")
    >>> print(dragonfly, dragonfly.nodes)
    dragonfly(3,1,2) with 24 hosts 24
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [name]} for name in ("network", "graph", "direct")]}
    )

    network: str | None = None
    graph: str | None = None
    direct: Graph | None = None
    tables: str | None = None
    failed: tuple[str, ...] = ()
    hosts: Annotated[tuple[str, ...], Checked(_lists, _LISTS)] | None = None
    content: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            network: str | None = None,
            graph: str | None = None,
            direct: Graph | None = None,
            tables: str | None = None,
            failed: tuple[str, ...] = (),
            hosts: str | Sequence[str] | None = None,
            content: tuple[str, ...] = (),
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _count_hosts(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping):
            return data
        fields = without_grid(data, "failed_nodes", "failed_links")
        _refuse_numbers(fields)
        if isinstance(fields.get("direct"), Mapping):
            fields["direct"] = Graph.model_validate(fields["direct"])
        folder = (info.context or {}).get("folder", Path())
        for name in ("graph", "tables"):
            if fields.get(name) is not None:
                fields[name] = str((folder / fields[name]).absolute())
        named = [fields.get(name) for name in ("network", "graph", "direct")]
        if named.count(None) != 2:
            raise problem("network, graph: give one of them")
        files = _files(fields.get("graph"), fields.get("tables"))
        hosts = fields.get("hosts")
        if hosts is not None and fields.get("graph") is None:
            raise problem("hosts: say which nodes of a graph are hosts", "leave them out")
        try:
            content = tuple(map(digest, files))
            if given := tuple(fields.get("content") or ()):
                require_same(files, given, "content")
            said = None if hosts is None else host_lists(hosts, folder)
            subnet = _living(*named, _failed(fields), said, content)
        except SpecError as error:
            raise problem(str(error)) from None
        if len(subnet.hosts) < 2:
            raise problem(f"{next(filter(None, named))}: has fewer than two hosts")
        hosts = None if subnet.named is None or said is None else tuple(subnet.named["hosts"])
        return {**fields, "failed": _failed(fields), "hosts": hosts, "content": content}

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields; names and files need no cables."""
        fields: dict[str, Any] = handler(self)
        for name in ("direct", "hosts"):
            if getattr(self, name) is None:
                fields.pop(name, None)
        return fields

    @property
    def subnet(self) -> Subnet:
        """Its switches, cables and hosts; of a product also those that have failed, which no cable joins."""
        return _subnet_of(*self._named)

    def forwarding(self) -> ForwardingTables:
        """Its tables by destination."""
        return _forwarding_of(*self._named, self.tables)

    @property
    def failed_nodes(self) -> tuple[int, ...]:  # type: ignore[override]
        """Failed nodes of a product, whose coordinates others keep; of all else they are not in it.

        >>> Fabric(network="full4 x ring3", failed=("node:(1,0)", "link:(0,0)-(0,1)")).failed_nodes
        (1,)
        """
        return _lost(*self._named)

    @property
    def _named(self) -> _Named:
        return self.network, self.graph, self.direct, self.failed, self.hosts, self.content

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Sizes in whose order hosts are numbered: those of a product, or all hosts in a row.

        >>> Fabric(network="full4 x ring3").dimensions, Fabric(network="dragonfly(3,1,2)").dimensions
        ((4, 3), (24,))
        """
        return Product(self.network).sizes if _is_product(self.network) else (self.nodes,)

    def run_as(self, model: str | None) -> dict[str, Any] | None:
        """Itself, by pipelined routers only."""
        if model != "pipelined":
            raise SpecError.at("topology.network", "has switches with hosts", "give router.model = pipelined")
        return None

    @property
    def has_tables(self) -> bool:
        """Packets always follow its tables."""
        return True

    @property
    def order(self) -> tuple[int, ...]:
        """Hosts of a switch, switches of a group, groups, as far as all are alike.

        >>> Fabric(network="dragonfly(4,2,3)").order, Fabric(network="slimfly(5)").order
        ((3, 4, 9), (5, 10))
        """
        hosts, each = self.nodes, {count for count in self.subnet.hosts_per_switch() if count}
        sizes: tuple[int, ...] = (hosts,)
        if len(each) == 1:
            sizes = (*each, hosts // min(each))
            if self.network is not None and is_family(self.network) and not self.failed:
                name, numbers = numbers_of(self.network)
                sizes = FAMILIES[name].order(*numbers)
        return tuple(size for size in sizes if size > 1)

    @property
    def tables_file(self) -> str | None:
        """The file or folder of its tables, if they are not searched for."""
        return self.tables

    @property
    def shape(self) -> tuple[object, ...]:
        """Its cables and the switches of its hosts."""
        subnet = self.subnet
        cables = sorted((min(ends), max(ends)) for ends in subnet.cable_ends().tolist())
        return tuple(cables), tuple(host.switch for host in subnet.hosts)

    def __str__(self) -> str:
        name = self.network or (str(self.direct) if self.direct else Path(self.graph or "").name)
        return f"{name} with {counted(self.nodes - len(self.failed_nodes), 'host')}" + (
            f", without {', '.join(self.failed)}" if self.failed else ""
        )


def _refuse_numbers(fields: Mapping[str, Any]) -> None:
    """Refuse failed parts by the numbers of nodes, which switches do not have."""
    problems = Problems()
    for name in ("failed_nodes", "failed_links"):
        if name in fields:
            advice = 'write failed = ["node:NAME", "link:NAME-NAME"]'
            problems.add(name, problem("parts of a network of switches have names", advice))
    problems.end()


def _failed(fields: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(part) for part in fields.get("failed") or ())


def _files(graph: str | None, tables: str | None) -> list[str]:
    """The files of a network, in the order of their digests."""
    return [file for file in (graph, tables) if file is not None]


def _is_product(network: str | None) -> TypeGuard[str]:
    """Whether a name is that of a product, whose nodes have coordinates."""
    return network is not None and not is_family(network)


@lru_cache(maxsize=16)
def _lost(network: str | None, *named: Any) -> tuple[int, ...]:
    """The nodes of a product that have failed."""
    if not _is_product(network):
        return ()
    there = {host.name for host in _living(network, *named).hosts}
    hosts = enumerate(_subnet_of(network, *named).hosts)
    return tuple(node for node, host in hosts if host.name not in there)


@lru_cache(maxsize=16)
def _subnet_of(network: str | None, *named: Any) -> Subnet:
    """The switches, cables and hosts; of a product all switches and hosts, in the order of coordinates."""
    living = _living(network, *named)
    if not _is_product(network):
        return living
    whole = _living(network, None, None, (), None, ())
    return living if len(living.hosts) == len(whole.hosts) else living.among(whole)


@lru_cache(maxsize=16)
def _living(
    network: str | None,
    graph: str | None,
    direct: Graph | None,
    failed: tuple[str, ...],
    hosts: tuple[str, ...] | None,
    content: tuple[str, ...],
) -> Subnet:
    """What works of the switches, cables and hosts of a name, of a file with this content, or of a graph."""
    from flitloom.fabric.allocation import first_ports
    from flitloom.fabric.networks import fabric

    made = first_ports(fabric(network or direct or Path(graph or ""), fail=failed, hosts=hosts))
    require_same(_files(graph, None), content[: graph is not None], "topology.content")
    return made


@lru_cache(maxsize=16)
def _forwarding_of(
    network: str | None,
    graph: str | None,
    direct: Graph | None,
    failed: tuple[str, ...],
    hosts: tuple[str, ...] | None,
    content: tuple[str, ...],
    tables: str | None,
) -> ForwardingTables:
    """The tables of a network: those of a file with this content, or the best that are found."""
    from flitloom.tables.by_destination.making import route_subnet
    from flitloom.tables.by_destination.tables import read_tables

    named = network, graph, direct, failed, hosts, content
    if tables is None:
        made = route_subnet(_living(*named), safe_for=()).forwarding()
    else:
        made = read_tables(_living(*named), tables)
        require_same([tables], content[-1:], "topology.content")
    return among(made, _subnet_of(*named)) if _lost(*named) else made
