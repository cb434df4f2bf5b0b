"""Make tables for a network as it is, and make them again after a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, overload

from numpy.typing import ArrayLike

from flitloom.fabric.model import Subnet
from flitloom.fabric.networks import fabric
from flitloom.spec import Graph, Product, Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.families import is_family
from flitloom.spec.product import network_of
from flitloom.spec.topology import is_grid
from flitloom.spec.what import fields_of, without_tables
from flitloom.tables.by_destination.made import SubnetTables
from flitloom.tables.by_destination.making import route_subnet
from flitloom.tables.by_source.making import METHODS, MethodName, RulesName, TurnsName, route
from flitloom.tables.by_source.rules import RouterRules
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.pairs import matrix_of_hosts


@overload
def make(
    network: Topology,
    *,
    method: MethodName | str = "balanced",
    failed_nodes: Iterable[int | str] = (),
    failed_links: Iterable[tuple[int, int] | str] = (),
    rules: RulesName | RouterRules | str | None = None,
    turns: TurnsName | str = "on-demand",
    traffic: ArrayLike | None = None,
    seed: int = 1,
    effort: int = 1,
    population: int = 100,
    mutation: float = 0.02,
    patience: int = 30,
    threshold: float = 0.05,
    unique_first: bool = True,
    exact_bound: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Tables: ...
@overload
def make(
    network: Subnet | Graph | Product | Path | str,
    *,
    mode: str | None = None,
    lanes: int | None = None,
    spare_lanes: int = 0,
    sizes: tuple[int, ...] | None = None,
    torus_config: str | Path | None = None,
    effort: int = 1,
    old: str | Path | None = None,
    reversible: bool | None = None,
    seed: int = 1,
    job: Sequence[int] | None = None,
    traffic: ArrayLike | None = None,
    method: str | None = None,
    safe_for: Sequence[str] | None = None,
    managers: Sequence[str] = (),
    manager_level: int | None = None,
) -> SubnetTables: ...
def make(network: Any, **how: Any) -> Any:
    """Make balanced, deadlock-free tables of routes, with a bound on what any tables can reach.

    Parameters
    ----------
    network : Topology, Subnet, Graph, Product, path or str
        Tables of source routes are made for a torus or a mesh, with the failures it names. Tables by
        destination are made for what `fabric` takes: a fabric, a graph, a product, a file or a name; also for
        what it makes of a twisted torus.
    method : str
        Source routes: ``balanced`` by rip-up and re-route; ``sssp``, ``bfs`` or ``genetic`` of
        angara-routing-2021 (Section 4); ``dor``, ordered routes without first and last steps; or
        ``coherent``, balanced so that forwarding by destination alone follows them. By destination:
        ``ftree``, ``dor``, ``dragonfly``, ``colours`` or ``balanced``; the first that suits the fabric by
        default, ``balanced`` rather than ``colours``.
    traffic : array of int, optional
        Weight of every pair, by source and destination; without it every pair counts once. Of a product, or
        of its name, rows and columns are its nodes, of other fabrics their hosts.
    seed, effort : int
        Seed of searches, and factor on their work.
    failed_nodes, failed_links
        Of source routes: failed parts besides those of the topology.
    rules : str or RouterRules, optional
        Of source routes: what the routers accept, ``"angara"``, ``"dimension-order"``, ``"dateline"``,
        ``"unrestricted"`` or rules of your own. Without them ``"angara"``; where that leaves a pair without a
        route even with turns on demand, the same with the two ways along a dimension exchanged if that
        serves every pair: ``"angara-y"``.
    turns : {"on-demand", "closed-form", "direction-sets", "exact", "none"}
        Of source routes: turns against the order that first and last steps may take: those that can never
        close a cycle and, where failures leave a pair without a route, more under an exact test (the
        default).
    population, mutation, patience, threshold
        Of source routes: parameters of the genetic method (angara-routing-2021, Section 4.2).
    unique_first : bool
        Of source routes: whether the sssp method routes pairs without a choice first.
    exact_bound : bool
        Of source routes: whether a gap to the bound is closed by a linear program where that is small enough.
    progress : callable, optional
        Of source routes: told the fraction done now and then.
    mode, lanes, spare_lanes, sizes, torus_config, old, job, safe_for, managers, manager_level
        For tables by destination, see `flitloom.fabric.route_subnet`.

    Returns
    -------
    Tables or SubnetTables
        Source routes, or tables by destination, checked.

    Raises
    ------
    SpecError
        The network or an option cannot be right.
    UnreachableError
        Some pair cannot be served; the message says which, why, and what would help.

    Examples
    --------
    >>> import flitloom as fl
    >>> tables = fl.tables.make(fl.Torus(4, 2, 2, 2))
    >>> tables.max_load, tables.min_load, tables.bound, tables.optimal
    (26, 9, 26, True)
    >>> gap = fl.tables.make(fl.Torus(4, 2, 2, 2), failed_nodes=range(28, 32))
    >>> gap.rules.name, fl.tables.check(gap).passed     # no legal way of angara leads from node 4 to node 24
    ('angara-y', True)
    >>> twisted = fl.tables.make(fl.tables.fabric(fl.Torus(4, 4, 8, twist=True)))
    >>> twisted.report.max_load, twisted.bound["value"]
    (74, 74)
    """
    named: Any = network
    if isinstance(network, str | Path):
        fields = without_tables(fields_of(network))
        if not {"graph", "failed"} & fields.keys() and not is_family(fields.get("network")):
            named = network_of(fields)
    if is_grid(named) and not (named.twist and isinstance(network, str | Path)):
        return route(named, **how)
    made = fabric(network)
    if how.get("traffic") is not None and isinstance(named, AnyNetwork) and named.grid is not None:
        how["traffic"] = matrix_of_hosts(made, named, how["traffic"])
    return route_subnet(made, **how)


@overload
def repair(
    tables: Tables,
    *,
    failed_nodes: Iterable[int | str] = (),
    failed_links: Iterable[tuple[int, int] | str] = (),
    **how: Any,
) -> Tables: ...
@overload
def repair(
    tables: str | Path, network: Subnet | Graph | Product | Path | str, **how: Any
) -> SubnetTables: ...
def repair(tables: Any, network: Any = None, **how: Any) -> Any:
    """Make tables anew for a network some parts of which have failed since.

    Parameters
    ----------
    tables : Tables or path
        Tables of before the failure: of source routes, or a folder or dump of tables by destination.
    network : Subnet, Graph, Product, path or str
        With a folder: the fabric as it is now. Few of its entries are changed, such that no mixture of old
        and new entries can deadlock; `SubnetTables.update` says whether.
    failed_nodes, failed_links
        Of source routes: what has failed besides the failures they were made for. All routes are made anew,
        with the same method and rules.
    **how
        Other options of `make`.

    Raises
    ------
    UnreachableError
        Some pair cannot be served; the message says which, why, and what would help.

    Examples
    --------
    >>> import flitloom as fl
    >>> before = fl.tables.make(fl.Torus(4, 4))
    >>> after = fl.tables.repair(before, failed_links=[(0, 1)])
    >>> after.topology.failed_links, after.rules == before.rules, after.max_load > before.max_load
    (((0, 1),), True, True)
    """
    if isinstance(tables, Tables):
        known = {"method": tables.method} if tables.method in METHODS else {}
        same = {**known, "rules": tables.rules, "traffic": tables.traffic, "seed": tables.seed}
        return route(tables.topology, **{**same, **how})
    return route_subnet(fabric(network), old=tables, **how)
