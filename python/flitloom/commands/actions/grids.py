"""Tori and meshes that the command line names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flitloom.commands import options
from flitloom.errors import SpecError
from flitloom.placing.hosts import names_of
from flitloom.spec import Mesh, Topology, Torus
from flitloom.spec.failed import read_failed
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of


def grid_topology(
    torus: str | None, mesh: str | None, fail: Sequence[str], hosts: str | None = None
) -> Topology:
    """The network of ``--torus``, ``--mesh`` and ``--fail``, whose nodes ``--hosts`` may name.

    >>> str(grid_topology("4x4", None, ["node:3"]))
    '4x4 torus with 1 failed part'
    """
    if (torus is None) == (mesh is None):
        raise SpecError("name the network with --torus 4x2x2x2 or --mesh 8x8")
    whole: Topology = Torus(torus) if torus is not None else Mesh(str(mesh))
    failed = read_failed(names_of(whole, hosts).numbered(fail))
    return Torus(torus, **failed) if torus is not None else Mesh(str(mesh), **failed)


def named_topology(torus: str | None, mesh: str | None, fail: Sequence[str] = ()) -> Topology | None:
    """The same for files that may say it themselves; none where no option names it."""
    return None if torus is None and mesh is None else grid_topology(torus, mesh, fail)


def sized(fields: dict[str, Any]) -> Topology:
    """The torus or mesh of fields that options gave."""
    if {"network", "cables"} & fields.keys():
        raise SpecError.at(
            "--network", "names a network that is not a torus or mesh", "write 8x8 or mesh 8x8"
        )
    if "sizes" not in fields:
        raise SpecError.at("topology", "is missing")
    return Topology(**fields)


def ground_of_options(
    torus: str | None,
    mesh: str | None,
    fail: Sequence[str] | None,
    twist: bool,
    network: str | None = None,
) -> Ground | None:
    """The network of a plan of a collective operation, if options name it."""
    fields = options.topology_fields(torus, mesh, None, fail, twist, network)
    return Ground(network_of(fields)) if {"sizes", "network", "cables"} & fields.keys() else None
