"""Check routing tables of any origin, and certify that they cannot deadlock."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import show
from flitloom.ground.claims import Claims
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.ground.reading import Progress
from flitloom.spec import Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.tables.by_source.bound import read_fraction
from flitloom.tables.by_source.rules import RouterRules
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.certificate import write_ranks
from flitloom.tables.formats.reading import read_tables
from flitloom.tables.verdict import SHOWN, Verdict

#: Claims that follow from the routes, with the relative tolerance of what is no whole number.
RECOMPUTED = {"max_load": 0.0, "min_load": 0.0, "perfect_load": 1e-9, "sigma4": 1e-9, "max_distance": 0.0}
#: How a problem ends that is a pair without a route.
MISSING = "missing; every pair of working nodes needs one"
#: Claims about all tables there could be.
BOUNDS = ("bound", "bound_exact", "proof", "optimal")
#: Claims about how the tables were made.
MAKING = ("method", "seed", "flitloom")


@explained
@dataclass(frozen=True, kw_only=True)
class CheckReport(Verdict):
    """The verdict on tables of source routes.

    Attributes
    ----------
    ranks : array or None
        A rank for every channel, if they cannot wait for each other in a cycle.
    tables : Tables
        The tables.
    """

    rules: RouterRules
    topology: Topology = field(repr=False)
    ranks: NDArray[np.uint32] | None = field(repr=False)
    tables: Tables = field(repr=False)

    @property
    def bound_in_words(self) -> str:
        """The bound before it is rounded up, and how it was proven."""
        return self.tables.bound_in_words

    def certificate(self) -> dict[str, Any]:
        """A rank for every channel, such that every dependency of the routes goes to a higher rank.

        With the bubble rule a dependency may also keep its rank within one ring of one direction. Beside the
        ranks stand the lengths of links that prove the lower bound, if there is one: all pairs on their
        shortest legal routes go at least so far, and the load of the busiest link is that over the sum of all
        lengths. The program of ``flitloom recheck`` verifies both against the tables on its own.
        """
        if self.ranks is None:
            raise ValueError("there is no certificate for tables that can deadlock")
        if self.problem_count > len(self.claims.problems):
            raise ValueError("there is no certificate for tables with wrong routes")
        rules, topology = self.tables.rules, self.tables.topology
        channels = rules.virtual_channels or 1
        ranked = []
        for link, node, _, name in self.tables.system.links():
            direction = name[name.rindex(")") + 1 :]
            ranked += [[node, direction, vc, int(self.ranks[link * channels + vc])] for vc in range(channels)]
        return {
            "format": "flitloom-certificate",
            "version": 2,
            "sizes": list(topology.sizes),
            "wraps": list(topology.wraps),
            "rules": rules.model_dump(mode="json"),
            "rules_from": self.rules_from,
            "bubble": rules.virtual_channels is None,
            "virtual_channels": channels,
            "datelines": rules.datelines,
            **self._lengths(),
            "channels": ranked,
        }

    def _lengths(self) -> dict[str, Any]:
        """What proves the lower bound, as collective operations prove theirs."""
        tables = self.tables
        bound = tables.priced()
        if bound is None or bound.prices is None:
            return {}
        named = [[node, end, int(bound.prices[link])] for link, node, end, _ in tables.system.links()]
        lengths = [row for row in named if row[2]]
        weights = None if tables.traffic is None else tables.traffic.tolist()
        proof = {"kind": "lengths", "value": bound.ceiling, "weights": weights, "lengths": lengths}
        return {"bound": proof}

    def write_certificate(self, file: str | Path) -> int:
        """Write the certificate to a file; returns the lower bound that it proves, 0 for none."""
        head = self.certificate()
        bound = {"bound": head.pop("bound")} if "bound" in head else {}
        write_ranks(file, head, head.pop("channels"), indent=1, **bound)
        return int(bound["bound"]["value"]) if bound else 0


def check(
    tables: Tables | str | Path,
    topology: AnyNetwork | str | Path | None = None,
    rules: str | RouterRules | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Check tables by source, or a file of them; parameters are those of `flitloom.tables.check`."""
    if not isinstance(tables, Tables):
        tables = read_tables(tables, topology, rules, progress)
    elif rules is not None:
        tables = tables.under(rules, progress=progress)
    facts = tables.verdict(progress)
    claims = judge(tables, complete=facts["problem_count"] == 0, progress=progress)
    proven = tables.prove() if "bound" in claims.verified else None
    lost = _unreachable(tables) if facts["problem_count"] else []
    remarks: tuple[str, ...] = ()
    if tables.source is not None and not tables.source.fields and len(lost) > facts["routes"]:
        # A list of routes of a few pairs is no table of all that lacks most.
        named = counted(facts["routes"], "route")
        remarks = (f"the file has {named} of {facts['routes'] + len(lost)} pairs; the others are not judged",)
        facts["problem_count"] -= len(lost)
        facts["problems"] = [problem for problem in facts["problems"] if not problem.endswith(MISSING)]
        lost = []
    return CheckReport(
        network=str(tables.topology),
        deadlock=facts["ranks"] is None,
        cycle=facts["cycle"],
        routes=facts["routes"],
        unreachable=len(lost),
        unreachable_pairs=[f"node {a} to node {b}" for a, b in lost[:SHOWN]],
        problem_count=facts["problem_count"] + len(claims.problems),
        problems=[*facts["problems"], *claims.problems],
        max_load=facts["max_load"],
        bound=None if proven is None else proven.ceiling,
        bound_proof=None if proven is None else proven.proof,
        lanes=tables.rules.virtual_channels or 1,
        service_levels=1,
        rules_in_words=tables.rules.describe(),
        rules_from=tables.rules_from,
        unit="pairs" if tables.traffic is None else "of the weights",
        rules=tables.rules,
        topology=tables.topology,
        claims=claims,
        remarks=remarks,
        ranks=facts["ranks"],
        tables=tables,
    )


def _unreachable(tables: Tables) -> list[list[int]]:
    """Ordered pairs of working nodes that no route is given for."""
    topology = tables.topology
    served = np.zeros((topology.nodes, topology.nodes), dtype=bool)
    sources, destinations, _, _ = tables.listed()
    inside = (np.asarray(sources) < topology.nodes) & (np.asarray(destinations) < topology.nodes)
    served[np.asarray(sources)[inside], np.asarray(destinations)[inside]] = True
    np.fill_diagonal(served, True)
    gone = list(topology.failed_nodes)
    served[gone, :], served[:, gone] = True, True
    found: list[list[int]] = np.argwhere(~served).tolist()
    return found


def judge(tables: Tables, *, complete: bool, progress: Progress | None = None) -> Claims:
    """Hold what the file of tables says about them against what its routes give.

    Parameters
    ----------
    tables : Tables
        The tables.
    complete : bool
        Whether nothing is wrong with the routes; only then is a bound a statement about them.
    progress : callable, optional
        Told how much of the proof of the bound is done.
    """
    claims = Claims()
    source = tables.source
    if source is None:
        return claims
    said = source.fields
    if not isinstance(said.get("weighted", False), bool):
        claims.problems.append(f"weighted: {show(said['weighted'])} is not true or false")
    for name, tolerance in RECOMPUTED.items():
        if name in said and source.weighted:
            claims.leave(name, "loads are weights of a traffic matrix that the file does not bring")
        elif name in said:
            claims.equal(name, said[name], getattr(tables, name), tolerance)
    _judge_bound(claims, tables, complete, progress)
    for name in said:
        if name not in {*RECOMPUTED, *BOUNDS, "weighted"}:
            claims.leave(name, "nothing in the routes says so" if name in MAKING else "unknown field")
    return claims


def _judge_bound(claims: Claims, tables: Tables, complete: bool, progress: Progress | None) -> None:
    """Hold bound and optimality, as claimed, against what can be proven here."""
    said = {} if tables.source is None else tables.source.fields
    if not any(name in said for name in BOUNDS):
        return
    bound, exact = _whole(said.get("bound")), read_fraction(said.get("bound_exact"))
    if "bound" in said and bound is None:
        claims.problems.append(f"bound: {show(said['bound'])} is not a whole number from 0")
    if bound is not None and exact is not None and math.ceil(exact) != bound:
        claims.problems.append(f"bound: the file says {show(bound)}, and {show(str(exact))} as bound_exact")
    claimed = max(bound or 0, math.ceil(exact or 0))
    weighted = tables.source is not None and tables.source.weighted
    if complete and not weighted and claimed > tables.max_load:
        claims.problems.append(
            f"bound: the file says that no tables are below {show(claimed)}, its own have {tables.max_load}"
        )
        return
    proven = tables.prove(progress)
    unproven = f"{proven.ceiling} is proven here" if proven.value else "the bound cannot be proven here"
    for name, value in (("bound", bound), ("bound_exact", exact)):
        if value is not None and value <= (proven.ceiling if name == "bound" else proven.value):
            claims.verified.append(name)
        elif value is not None:
            claims.leave(name, unproven)
    if "proof" in said and said["proof"] == proven.proof:
        claims.verified.append("proof")
    elif "proof" in said:
        claims.leave("proof", unproven)
    optimal = said.get("optimal")
    if "optimal" not in said:
        return
    if not isinstance(optimal, bool):
        claims.problems.append(f"optimal: {show(optimal)} is not true or false")
    elif not weighted and optimal != (tables.max_load <= claimed):
        claims.problems.append(f"optimal: {show(optimal)} does not follow from load and bound of the file")
    elif optimal == tables.optimal:
        claims.verified.append("optimal")
    else:
        claims.leave("optimal", unproven)


def _whole(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if isinstance(value, int) and whole else None
