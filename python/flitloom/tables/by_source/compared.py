"""Tables of several methods side by side, and what is said of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from flitloom.errors import UnreachableError
from flitloom.spec import Topology
from flitloom.tables.by_source.making import route
from flitloom.tables.by_source.rules import RouterRules
from flitloom.tables.by_source.tables import Tables


@dataclass(frozen=True)
class MethodTables:
    """Tables of one network under the same rules.

    Attributes
    ----------
    tables : tuple of Tables
        Those that serve every pair, in the order of their methods.
    failures : dict of str to UnreachableError
        Methods whose tables would leave pairs without a route, except for the first.
    exchanged : bool
        Whether the order of the rules had to be exchanged, which nobody asked for.
    """

    tables: tuple[Tables, ...]
    failures: dict[str, UnreachableError]
    exchanged: bool


def make_tables(
    topology: Topology,
    methods: Sequence[str],
    *,
    rules: str | RouterRules | None = None,
    shown: Callable[[str], AbstractContextManager[Callable[[float], None] | None]] | None = None,
    **options: Any,
) -> MethodTables:
    """Make tables by each method, all under the rules of the first.

    Parameters
    ----------
    topology : Topology
        The network.
    methods : sequence of str
        Their names.
    rules : str or RouterRules, optional
        As for `route`.
    shown : callable, optional
        Gives, for the name of a method, a context whose value is called with the fraction done.
    **options : object
        As for `route`.

    Raises
    ------
    UnreachableError
        The first method leaves a pair without a route.

    Examples
    --------
    >>> import flitloom as fl
    >>> made = make_tables(fl.Torus(4, 4), ["dor", "bfs"])
    >>> [tables.method for tables in made.tables], made.failures, made.exchanged
    (['dor', 'bfs'], {}, False)
    """
    found: list[Tables] = []
    failures: dict[str, UnreachableError] = {}
    for name in methods:
        try:
            with nullcontext() if shown is None else shown(name) as progress:
                found.append(
                    route(
                        topology,
                        method=name,
                        # Only tables under the same rules can be compared.
                        rules=found[0].rules if found else rules,
                        progress=progress,
                        **options,
                    )
                )
        except UnreachableError as error:
            if not found:
                raise
            failures[name] = error
    return MethodTables(tuple(found), failures, rules is None and found[0].rules.name != "angara")


def danger(tables: Tables) -> list[str]:
    """A shortest cycle of channels that can wait for each other; empty where the rules admit none.

    Examples
    --------
    >>> import flitloom as fl
    >>> danger(fl.tables.make(fl.Torus(4, 4)))
    []
    """
    rules = tables.rules
    enough = rules.datelines and (rules.virtual_channels or 0) > sum(tables.topology.wraps)
    if rules.virtual_channels is None or enough:
        return []
    cycle: list[str] = tables.verdict()["cycle"]
    return cycle


def summary(tables: Tables) -> dict[str, Any]:
    """Loads in pairs, distances in hops, and the bound, by name.

    Examples
    --------
    >>> import flitloom as fl
    >>> summary(fl.tables.make(fl.Torus(4, 4)))["max_load"]
    8
    """
    return {
        "method": tables.method,
        "rules": tables.rules.name,
        "max_load": tables.max_load,
        "min_load": tables.min_load,
        "perfect_load": tables.perfect_load,
        "sigma4": round(tables.sigma4, 4),
        "max_distance": tables.max_distance,
        "bound": tables.bound,
        "bound_exact": str(tables.bound_value.value),
        "bound_proof": tables.bound_value.proof,
        "gap": tables.gap,
        "optimal": tables.optimal,
        "seconds": None if tables.seconds is None else round(tables.seconds, 4),
    }
