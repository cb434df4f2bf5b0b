"""What a check of tables says, whatever kind of tables they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from flitloom.ground.claims import Claims
from flitloom.ground.fixed import explained
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.spec.base import SpecModel

#: What a report names of many things that are wrong.
SHOWN = 100
#: What a printed report names of them.
PRINTED = 10

#: A row of a printed report: its name, what it says, and lines below that belong to it.
Row = tuple[str, str, Sequence[str]]


def circle(channels: list[str]) -> str:
    """A cycle of waiting channels as text, in which the first one stands at the end again.

    Examples
    --------
    >>> circle(["(0)+x", "(1)+x"]), circle([])
    ('(0)+x -> (1)+x -> (0)+x', '')
    """
    return " -> ".join([*channels, *channels[:1]])


def laid_out(rows: Iterable[Row]) -> Iterator[str]:
    """The lines of a report, in which what the rows say stands in one column.

    Examples
    --------
    >>> list(laid_out([("problems", "1", ["no route"]), ("load", "at most 2", [])]))
    ['problems  1', '  no route', 'load      at most 2']
    """
    rows = list(rows)
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, text, below in rows:
        yield f"{name.ljust(width)}  {text}"
        yield from (f"  {line}" for line in below)


def deadlock_row(cycle: Sequence[str]) -> Row:
    """Whether channels can wait for each other, and those of a shortest cycle, each waiting for the next.

    Examples
    --------
    >>> deadlock_row([]), deadlock_row(["(0)+x", "(1)-x"])[1]
    (('deadlock', 'none possible', []), 'possible: 2 channels wait for each other')
    """
    if not cycle:
        return "deadlock", "none possible", []
    waiting = f"{counted(len(cycle), 'channel')} {'waits' if len(cycle) == 1 else 'wait'}"
    return "deadlock", f"possible: {waiting} for {'itself' if len(cycle) == 1 else 'each other'}", list(cycle)


def bound_row(bound: int, proof: str, load: int | None) -> Row:
    """What no tables can go below, why, and how far a load is from that, if one is given.

    Examples
    --------
    >>> bound_row(26, "dual", 26)[1], bound_row(26, "dual", 28)[1], bound_row(26, "dual", None)[1]
    ('26 (dual): optimal', '26 (dual): gap 2', '26 (dual)')
    """
    reached = "" if load is None else ": optimal" if load <= bound else f": gap {load - bound}"
    return "lower bound", f"{bound} ({proof}){reached}", []


@explained
@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a check of tables found: the same fields for tables by source and by destination.

    Attributes
    ----------
    network : str
        What the tables are for, as text.
    deadlock : bool
        Whether channels can wait for each other in a cycle.
    cycle : list of str
        A shortest such cycle, each channel waiting for the next, the last for the first; empty if there is
        none. ``(0,3)+x`` of a torus, ``a/3 -> b/1, lane 0`` of a fabric.
    routes : int
        Routes of a torus; ordered pairs of hosts of a fabric that have one.
    unreachable : int
        Ordered pairs of nodes or hosts without a route, those on one switch included.
    unreachable_pairs : list of str
        The first hundred of them.
    problem_count : int
        What else than a deadlock is wrong, in all: unreachable pairs, hops that do not exist, broken rules,
        claims that do not hold.
    problems : list of str
        The first hundred of them.
    max_load : int
        Most pairs on a channel.
    bound : int or None
        What no tables can go below; None where the file claims none that is proven here.
    bound_proof : str or None
        Why.
    lanes, service_levels : int
        Virtual lanes and service levels: those that pairs of a fabric use, those of the rules of a torus.
    rules_in_words, rules_from : str
        The rules that the verdict rests on, and where they come from.
    unit : str
        What loads count: ``pairs``, ``host pairs`` or ``of the weights``.
    rules, topology : RouterRules and Topology, or None
        Rules and network as data, of tables by source.
    claims : Claims
        What a file says of itself: verified, not verified, or a problem.
    remarks : tuple of str
        What was odd.
    """

    network: str
    deadlock: bool
    cycle: list[str]
    routes: int
    unreachable: int
    unreachable_pairs: list[str]
    problem_count: int
    problems: list[str]
    max_load: int
    bound: int | None
    bound_proof: str | None
    lanes: int
    service_levels: int
    rules_in_words: str
    rules_from: str
    unit: str = "pairs"
    rules: SpecModel | None = None
    topology: SpecModel | None = field(default=None, repr=False)
    claims: Claims = field(default_factory=Claims, repr=False)
    remarks: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.deadlock and self.problem_count == 0

    @property
    def bound_in_words(self) -> str:
        """What the bound rests on."""
        return str(self.bound_proof)

    def rows(self, lanes: str | None = None) -> list[Row]:
        """All of it but whether it passed, in the one order and the words in which reports print it.

        Parameters
        ----------
        lanes : str, optional
            What is said of the lanes instead of how many are used.

        Examples
        --------
        >>> import flitloom as fl
        >>> torus = fl.tables.check(fl.tables.make(fl.Torus(4, 4)))
        >>> fabric = fl.tables.check(fl.tables.make("slimfly(5)"))
        >>> more = [row[0] for row in fabric.rows() if row[0] not in dict(row[:2] for row in torus.rows())]
        >>> more                                      # kinds of traffic that only tables of a fabric know
        ['both ways', 'managers', 'multicast']
        >>> print("\\n".join(laid_out(torus.rows()[5:7])))
        deadlock  none possible
        load      at most 8 pairs on a channel
        """
        shown = self.problems[:PRINTED]
        if self.problem_count > len(shown):
            shown.append(f"and {self.problem_count - len(shown)} more")
        load = (
            counted(self.max_load, self.unit[:-1])
            if self.unit.endswith("pairs")
            else f"{self.max_load} {self.unit}"
        )
        bound: Row = ("lower bound", "none is proven here", [])
        if self.bound is not None:
            # Of tables with wrong routes the load says nothing.
            bound = bound_row(self.bound, self.bound_in_words, None if self.problem_count else self.max_load)
        return [
            ("network", self.network, []),
            ("rules", f"{self.rules_in_words} ({self.rules_from})", []),
            ("routes", str(self.routes), []),
            ("unreachable", counted(self.unreachable, "pair"), []),
            ("problems", str(self.problem_count), shown),
            deadlock_row(self.cycle),
            ("load", f"at most {load} on a channel", []),
            bound,
            (
                "lanes",
                f"{lanes or f'{self.lanes} used'}, {counted(self.service_levels, 'service level')}",
                [],
            ),
            *((heading, text, []) for heading, text in self.claims.lines()),
        ]

    def __str__(self) -> str:
        """What ``flitloom check`` prints."""
        return "\n".join([*laid_out(self.rows()), "passed" if self.passed else "FAILED"])

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, by name: what ``flitloom check --json`` prints.

        Examples
        --------
        >>> import flitloom as fl
        >>> torus = fl.tables.check(fl.tables.make(fl.Torus(4, 4)))
        >>> fabric = fl.tables.check(fl.tables.make("slimfly(5)"))
        >>> list(torus.facts()) == list(fabric.facts())
        True
        """
        rules, topology = self.rules, self.topology
        return {
            "passed": self.passed,
            "network": self.network,
            "deadlock": self.deadlock,
            "cycle": self.cycle,
            "routes": self.routes,
            "unreachable": self.unreachable,
            "unreachable_pairs": self.unreachable_pairs,
            "problem_count": self.problem_count,
            "problems": self.problems,
            "max_load": self.max_load,
            "bound": self.bound,
            "bound_proof": self.bound_proof,
            "lanes": self.lanes,
            "service_levels": self.service_levels,
            "topology": None if topology is None else topology.model_dump(mode="json"),
            "rules": None if rules is None else rules.model_dump(mode="json"),
            "rules_in_words": self.rules_in_words,
            "rules_from": self.rules_from,
            "verified": self.claims.verified,
            "not_verified": self.claims.not_verified,
            "remarks": list(self.remarks),
            "safe_for": None,
            "traffic_kinds": None,
        }

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {
            "passed": self.passed,
            "deadlock": circle(self.cycle) or "none possible",
            "unreachable pairs": self.unreachable,
            "problems": self.problem_count,
            "first problem": next(iter(self.problems), None),
            "largest load": self.max_load,
            "lower bound": self.bound,
            "rules": f"{self.rules_in_words} ({self.rules_from})",
        }
        return fields_html(f"check of tables of a {self.network}", fields)
