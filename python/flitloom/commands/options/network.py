"""The network that options name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.spec.factors import parse_factors
from flitloom.spec.failed import read_failed
from flitloom.spec.families import is_family


def topology_fields(
    torus: str | None,
    mesh: str | None,
    wrap: str | None,
    fail: Sequence[str] | None,
    twist: bool = False,
    network: str | None = None,
    graph: Path | None = None,
    hosts: Path | None = None,
) -> dict[str, Any]:
    """The fields of a topology, a product or a graph that options give; `hosts` names its nodes."""
    if torus is not None and mesh is not None:
        raise SpecError.at("topology", "give either --torus or --mesh")
    refuse_grid(torus, mesh, wrap, network, graph)
    fields: dict[str, Any] = {}
    if network is not None:
        check_name(network)
        fields["network"] = network
    if graph is not None:
        from flitloom.fabric import read_fabric
        from flitloom.fabric.networks import graph_of, members_of

        subnet = read_fabric(graph)
        read, members = graph_of(subnet, graph.name), members_of(subnet)
        fields = {name: getattr(read, name) for name in ("cables", "nodes", "name", "names")}
        if members is not None:
            fields["members"] = members
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
        fields["twist"] = True
    return fields | read_failed(_numbered(fail, fields, hosts) if fail else [])


def _numbered(fail: Sequence[str], fields: dict[str, Any], hosts: Path | None) -> list[str]:
    """Failed parts with numbers for names of the network."""
    if hosts is None and "names" not in fields:
        return list(fail)
    from flitloom.placing.hosts import named_nodes

    return named_nodes({name: value for name, value in fields.items() if name != "members"}, hosts).numbered(
        fail
    )


def check_name(network: str) -> None:
    """Refuse a name that is neither a product nor written like a family.

    Raises
    ------
    SpecError
        It is none.
    """
    if is_family(network):
        return
    for factor in parse_factors(network):
        if isinstance(factor, str):
            raise SpecError.at(
                "--network",
                f"{show(factor)} is not a factor",
                'write factors like "full8 x ring4*6 x line4": ring, line or full, the size, and *6 for six '
                "links; or a family, e.g. dragonfly(4,2,2)",
            )


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


def has_switches(graph: Path | None, network: str | None, tables: Path | None, model: str | None) -> bool:
    """Whether options name a network of switches with hosts: a graph, a family or, pipelined, a product.

    >>> has_switches(None, "full4 x ring3", None, None), has_switches(None, "full4", None, "pipelined")
    (False, True)
    """
    if graph is not None or network is None:
        return graph is not None
    return is_family(network) or tables is not None or model == "pipelined"


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
    if network is not None:
        check_name(network)
    values = {"network": network, "graph": graph, "tables": tables, "failed": fail}
    return {
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
