"""The network that options name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from flitloom.errors import SpecError
from flitloom.spec.failed import read_failed
from flitloom.spec.families import is_family
from flitloom.spec.topology import Topology
from flitloom.spec.what import fields_of, without_tables

Where = TypeVar("Where")


def topology_fields(
    torus: str | None,
    mesh: str | None,
    wrap: str | None,
    fail: Sequence[str] | None,
    twist: bool = False,
    network: str | None = None,
    graph: Path | None = None,
    hosts: str | None = None,
) -> dict[str, Any]:
    """The fields of a topology, a product or a graph that options give; `hosts` names its nodes."""
    if torus is not None and mesh is not None:
        raise SpecError.at("topology", "give either --torus or --mesh")
    refuse_grid(torus, mesh, wrap, network, graph)
    fields: dict[str, Any] = {}
    if network is not None:
        fields = without_tables(fields_of(network, "--network"))
        fail = [*fields.pop("failed", ()), *(fail or ())]
    if graph is not None:
        fields = {"graph": str(graph)}
    if "graph" in fields:
        from flitloom.fabric.networks import graph_of_file

        read = graph_of_file(Path(fields["graph"]), fields.get("hosts"))
        known = ("cables", "nodes", "name", "names", "one_way", "hosts")
        fields = {name: getattr(read, name) for name in known}
    if torus is not None or mesh is not None:
        fields = {"kind": "torus" if mesh is None else "mesh", "sizes": torus if mesh is None else mesh}
    if wrap is not None:
        answers = {"yes": True, "no": False}
        if not set(wrap.split(",")) <= set(answers):
            raise SpecError.at(
                "topology.wrap", f"{wrap!r} is not understood", "write yes,no,... per dimension"
            )
        fields["wrap"] = [answers[word] for word in wrap.split(",")]
    if twist:
        if "sizes" not in fields and fields:
            what = network or graph
            raise SpecError.at("twist", f"{what} has none", "a twisted torus is given by its sizes")
        fields["twist"] = True
    failed = read_failed(_numbered(fail, fields, hosts) if fail else [])
    return fields | {name: [*fields.get(name, ()), *parts] for name, parts in failed.items()}


def _numbered(fail: Sequence[str], fields: dict[str, Any], hosts: str | None) -> list[str]:
    """Failed parts with numbers for names of the network."""
    if hosts is None and "names" not in fields and not is_family(fields.get("network")):
        return list(fail)
    from flitloom.placing.hosts import named_nodes

    return named_nodes(fields, hosts).numbered(fail)


def refuse_grid(
    torus: str | None, mesh: str | None, wrap: str | None, network: str | None, graph: Path | None
) -> None:
    """Refuse options of tori and meshes beside a name or a file that says the whole network."""
    has_grid = torus is not None or mesh is not None
    if network is not None and has_grid:
        raise SpecError.at("network", "give either --network, --torus or --mesh")
    if network is not None and wrap is not None:
        raise SpecError.at("--wrap", "a product says itself what wraps", "write ring8 or line8")
    if graph is not None and (has_grid or network is not None or wrap is not None):
        raise SpecError.at(
            "--graph", "names the whole network", "leave --torus, --mesh, --network, --wrap out"
        )


def resolved(where: Where, file: str = "graph") -> tuple[Where, list[str]]:
    """Options of which ``--network`` names sizes or a file, with those that name the same, and what failed.

    Parameters
    ----------
    where : group of options
        With `network`, `torus`, `mesh`, `twist` and, for cables, an option of the name `file`.
    file : str
        That option.
    """
    named: Any = where
    if named.network is None:
        return where, []
    fields = fields_of(named.network, "--network")
    if {"cables", "hosts"} & fields.keys():
        return where, []
    changes: dict[str, Any] = {"network": fields.get("network")}
    fail = [f"node:{node}" for node in fields.get("failed_nodes", ())]
    fail += [f"link:{a}-{b}" for a, b in fields.get("failed_links", ())]
    if "graph" in fields:
        changes[file] = Path(fields["graph"])
    if "sizes" in fields:
        topology = Topology(**fields)
        plain = topology.kind == "mesh" and not any(topology.wraps)
        changes["mesh" if plain else "torus"] = "x".join(map(str, topology.sizes))
        changes["twist"] = topology.twist or named.twist
        if not plain and not topology.twist and not all(topology.wrap or (True,)):
            changes["wrap"] = ",".join("yes" if wraps else "no" for wraps in topology.wrap or ())
    return replace(named, **changes), [*fail, *fields.get("failed", ())]


def take_hosts(where: Any, file: str = "graph", names: bool = False) -> None:
    """Let ``--hosts`` and ``--no-hosts`` be part of what ``--network`` says.

    Parameters
    ----------
    where : group of options
        With `network`, `hosts`, `no_hosts` and an option of the name `file`.
    file : str
        The option of a file of cables.
    names : bool
        Whether ``--hosts`` names all nodes of other networks.

    Raises
    ------
    SpecError
        No file of cables is named, or the options contradict each other.
    """
    given = "--no-hosts" if where.no_hosts else "--hosts"
    cables = getattr(where, file)
    if (where.hosts is None and not where.no_hosts) or (cables is not None and where.network is not None):
        return
    if where.no_hosts and where.hosts is not None:
        raise SpecError.at(given, "contradicts --hosts", "give one of them")
    named = None if where.network is None else fields_of(where.network, "--network")
    if cables is None and "graph" not in (named or {}):
        if names and not where.no_hosts:
            return
        raise SpecError.at(given, "is about a file of cables", "name one with --graph or --network")
    said = " no hosts" if where.no_hosts else f" hosts {where.hosts}"
    where.network = f"{where.network if cables is None else cables}{said}"
    where.hosts, where.no_hosts = None, False
    setattr(where, file, None)


def has_switches(graph: Path | None, network: str | None, tables: Path | None, model: str | None) -> bool:
    """Whether options name a network of switches with hosts: cables, a family or, pipelined, a product.

    >>> has_switches(None, "full4 x ring3", None, None), has_switches(None, "full4", None, "pipelined")
    (False, True)
    >>> has_switches(None, "8x8", None, "pipelined"), has_switches(None, "slimfly(5)", None, None)
    (False, True)
    """
    if graph is not None or network is None:
        return graph is not None
    named = fields_of(network, "--network")
    if (
        {"graph", "cables"} & named.keys()
        or is_family(named.get("network"))
        or {"tables", "failed"} & named.keys()
    ):
        return True
    return "network" in named and (tables is not None or model == "pipelined")


def switches_fields(
    graph: Path | None,
    network: str | None,
    fail: Sequence[str] | None,
    tables: Path | None,
    *,
    torus: str | None = None,
    mesh: str | None = None,
    wrap: str | None = None,
    twist: bool = False,
) -> dict[str, Any]:
    """The fields of a network of switches with hosts; what says a torus or mesh beside it is refused.

    >>> switches_fields(None, "full4 x ring3", None, None)
    {'network': 'full4 x ring3'}
    """
    if graph is not None and network is not None:
        raise SpecError.at("topology", "give either --graph or --network")
    refuse_grid(torus, mesh, wrap, network, graph)
    if twist:
        raise SpecError.at("--twist", "is of tori", "leave it out")
    named = {} if network is None else fields_of(network, "--network")
    if "sizes" in named:
        raise SpecError.at("--network", f"{network} has no switches with hosts", "name a family or a file")
    if "cables" in named:
        named = {"direct": named}
    kept = ("network", "graph", "direct", "tables", "failed", "hosts")
    named = {name: value for name, value in named.items() if name in kept}
    failed = None if fail is None else [*named.get("failed", ()), *fail]
    values = {"graph": graph, "tables": tables, "failed": failed}
    return named | {
        name: str(value.absolute()) if isinstance(value, Path) else value
        for name, value in values.items()
        if value is not None
    }


def sizes_of_fabric(text: str | None, place: str = "--sizes") -> tuple[int, ...] | None:
    """What ``--sizes`` says of a fabric, or another option of a grid, e.g. 4x4x8.

    >>> sizes_of_fabric("4x4x8"), sizes_of_fabric(None)
    ((4, 4, 8), None)
    """
    from flitloom.spec.topology import sizes_at

    return None if text is None else sizes_at(text, place)
