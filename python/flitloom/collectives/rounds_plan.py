"""A collective operation as rounds of messages: who sends which parts of the vector to whom; a JSON file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic import ConfigDict, Field

from flitloom.collectives.collective_plan import OperationName
from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_text
from flitloom.ground.reading import opened
from flitloom.spec.base import Frozen
from flitloom.spec.from_file import refused
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of, with_beside

#: Form of the files; readers refuse others.
FORMAT: Literal["flitloom rounds 1"] = "flitloom rounds 1"
#: Most rows of a plan that are made.
MOST_ROWS = 1 << 20
#: Most rows of all nodes that are listed of one in which symmetries lead some of them.
MOST_LISTED = 1 << 22
Whole = Annotated[int, Field(ge=0, lt=2**32)]
#: Fields that a file has only where they say something.
_SELDOM = (
    *("owned", "lengths", "messages", "message", "latencies", "bound", "cut", "clusters", "link_lengths"),
)

#: Round, sender, receiver, first part, number of parts.
Row = tuple[int, int, int, int, int]
WholeRow = Annotated[list[Whole], Field(min_length=5, max_length=5)]
#: The same, then per piece of the sum a round and a node.
PartialRow = Annotated[list[Whole], Field(min_length=7, max_length=5 + 2 * 64)]


@dataclass(frozen=True)
class Messages:
    """The messages of an operation, whatever the bytes of its vector.

    Attributes
    ----------
    pieces : int
        Into how many parts the share of a node is cut; the whole vector if nodes have no share.
    alike : bool
        Whether only what node 0 sends is listed; all other nodes do the same, shifted.
    sums, moves : list of Row
        Partial sums that receivers add to their own, and parts that they keep.
    partials : list of tuple of int
        Sums of some pieces that the sender has, which receivers add to their own: rows, then the pieces,
        as in the file.
    owned : bool
        Whether every node has a share.
    lengths : tuple of int
        Relative lengths of the pieces; none if they are equal.
    symmetries : tuple of tuple of int
        Where nodes go, if only what is done with the parts of some of them is listed; see `image_rows`.
    """

    pieces: int
    alike: bool
    sums: list[Row] = field(default_factory=list)
    moves: list[Row] = field(default_factory=list)
    partials: list[tuple[int, ...]] = field(default_factory=list)
    owned: bool = True
    lengths: tuple[int, ...] = ()
    symmetries: tuple[tuple[int, ...], ...] = ()

    def of(self, operation: str, rounds: int) -> Messages:
        """Those of one half of an all-reduce of that many rounds: the first scatters, the second gathers."""
        if operation in ("all-reduce", "all-to-all"):
            return self
        if operation == "reduce-scatter":
            return replace(self, moves=[])
        return replace(self, sums=[], moves=[(row[0] - rounds // 2, *row[1:]) for row in self.moves])


class Priced(Frozen):
    """Prices that prove how many chunks the busiest links of an all-gather have at least.

    A chunk that a node has at the end has a price. To send it costs the lengths of the links on its routes.
    Before a round a chunk is worth its own price and what sending it gains over its cost, to every node. The
    prices of all nodes, less the worth at its owner before the first round, bound the chunks. Where all nodes
    see the same network this is of the chunk of node 0, else of the chunks of all nodes one after the other.
    Potentials bound them, too, with the same lengths of links: no message may raise those of all nodes
    together by more than it costs, so the potentials of the nodes at themselves after the last round count.
    """

    nodes: list[Annotated[float, Field(ge=0, lt=2**20)]] = Field(
        description="Price of the chunk of node 0 at every node at the end; where nodes are not alike, of "
        "the chunk of every node that takes part at all of these."
    )
    links: list[list[Annotated[float, Field(ge=0, le=1)]]] = Field(
        description="Per round the length of a link from node 0, by the number of the node to which it "
        "leads; those of all its links add up to at most one. Where nodes are not alike, of every link, by "
        "the nodes from and to which it leads; those of all links add up to at most one."
    )
    potentials: list[list[list[Annotated[float, Field(ge=0, lt=2**20)]]]] = Field(
        default=[],
        description="Per round, by hops of a node from node 0 (from 1 on) and hops from it to a node that "
        "has the chunk: its potential. Of nodes that are alike; none if prices prove as much.",
    )
    healthy: bool = Field(
        default=False,
        description="Whether they are of the network without its failures, as where all nodes see the same: "
        "messages cost the shortest way there.",
    )


class RoundsPlan(Frozen):
    """Who sends which parts of the vector to whom in which round, and how long that takes.

    The vector is cut into parts, as many for each node that takes part; they are numbered node after
    node. In an all-to-all the parts of a node are what it sends to each of them. In a round all nodes send
    what they had when it began. A round takes alpha and the time of the bytes on the busiest link.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> plan = make_rounds(fl.Product("full8 x full8"), "all-reduce", "spheres", 2.0**20, 1e-6, 50e9)
    >>> plan, len(plan.sums), plan.alike
    (RoundsPlan(all-reduce on full8 x full8, spheres: 4 rounds, 0.1406 of the vector, 6.949 us), 78, True)
    """

    model_config = ConfigDict(extra="forbid", ignored_types=(cached_property,))
    format: Literal["flitloom rounds 1"] = FORMAT
    operation: OperationName = Field(description="all-reduce, one of its halves, or all-to-all.")
    topology: dict[str, Any] = Field(description="The network, as in an experiment file.")
    twist: bool = Field(default=False, description="Whether the torus is twisted.")
    algorithm: str = Field(description="Its name among those that flitloom collective advise compares.")
    pieces: int = Field(ge=1, lt=2**20, description="Parts of the vector per node that takes part.")
    owned: bool = Field(
        default=True,
        description="Whether every node has as many parts; else the pieces are those of the whole vector.",
    )
    lengths: list[Annotated[int, Field(ge=1, lt=2**40)]] = Field(
        default=[], description="Relative lengths of the pieces; none if all are equal."
    )
    rounds: int = Field(ge=0, lt=2**20, description="Number of rounds.")
    loads: list[Annotated[float, Field(ge=0)]] = Field(
        description="Per round the parts on the busiest link, or their lengths; messages over several hops "
        "take all minimal routes evenly."
    )
    messages: Annotated[int, Field(ge=0, lt=2**32)] | None = Field(
        default=None,
        description="To how many nodes a node sends in a round, or from how many it receives, at most.",
    )
    size: float = Field(gt=0, lt=2**60, description="Bytes of the vector for which the time is.")
    alpha: float = Field(ge=0, lt=2**20, description="Seconds of a round besides its bytes.")
    message: Annotated[float, Field(ge=0, lt=2**20)] | None = Field(
        default=None,
        description="Seconds of every message of a node over a link beyond the first one of a round; none if "
        "a node sends at most as many messages as it has links.",
    )
    bandwidth: float = Field(ge=1, lt=2**60, description="Bytes per second of a link in one direction.")
    latencies: list[tuple[Whole, Whole, Annotated[float, Field(ge=0, lt=2**20)]]] = Field(
        default=[],
        description="From, to, seconds of links that a message takes besides all else, the sum over its "
        "route; a round takes those of its slowest message.",
    )
    seconds: float = Field(gt=0, description="How long the operation takes.")
    bound: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Seconds that every plan in rounds takes at least."
    )
    prices: list[Priced] = Field(
        default=[],
        description="What proves the bound, for all-gathers of 1, 2, ... rounds; none where the bytes that "
        "enter nodes do.",
    )
    cut: list[Whole] = Field(
        default=[],
        description="Several nodes with few links to all others, over which their parts go; the bound counts "
        "them.",
    )
    clusters: list[list[Whole]] = Field(
        default=[],
        description="Nodes with few links to those of other clusters, over which sums go; the bound counts "
        "them. Nodes in none are alone.",
    )
    link_lengths: list[Annotated[list[Whole], Field(min_length=3, max_length=3)]] = Field(
        default=[],
        description="From, to, length of links, which share what the blocks of an all-to-all have to go; the "
        "bound counts it.",
    )
    version: str = Field(default="", description="The flitloom that made it.")
    alike: bool = Field(
        default=False, description="Whether only what node 0 sends is listed, and all do the same, shifted."
    )
    symmetries: list[list[Whole]] = Field(
        default=[],
        description="Where every node goes under symmetries that keep all links. Then only what is done with "
        "the parts of some nodes is listed. The same, led by all symmetries, is done with the parts of all "
        "nodes: those that lead a node to the same node, in their order, take its equal shares of pieces, "
        "one after the other, and the listed pieces are the first share.",
    )
    sums: list[WholeRow] = Field(
        default=[],
        description="[round, from, to, first part, parts]: partial sums that the receiver adds to its own.",
    )
    partials: list[PartialRow] = Field(
        default=[],
        description="[round, from, to, first part, parts, round, node, ...]: the same of some pieces that "
        "the sender has: what came from a node in a round; from itself, what it had when the round began.",
    )
    moves: list[WholeRow] = Field(
        default=[],
        description="[round, from, to, first part, parts]: parts that the receiver keeps.",
    )

    def __repr__(self) -> str:
        takes = (
            f"{counted(self.rounds, 'round')}, {self.factor:.4g} of the vector, {1e6 * self.seconds:.4g} us"
        )
        return f"RoundsPlan({self.operation} on {self.ground}, {self.algorithm}: {takes})"

    __str__ = __repr__

    @cached_property
    def ground(self) -> Ground:
        """The network it is for."""
        try:
            return Ground(with_beside(network_of(self.topology), self.twist))
        except (SpecError, TypeError) as error:
            raise SpecError.at("plan.topology", str(error)) from None

    @property
    def members(self) -> tuple[int, ...]:
        """Nodes that take part: all that work, or all hosts where others only pass on."""
        return self.ground.members

    @property
    def parts(self) -> int:
        """Parts of the vector."""
        return self.pieces * (len(self.members) if self.owned else 1)

    @property
    def total(self) -> int:
        """Length of the vector of a node: its parts, if they are equal."""
        owners = 1 if self.operation == "all-to-all" or not self.owned else len(self.members)
        return owners * extent((0, self.pieces), self.pieces, self.lengths)

    @property
    def factor(self) -> float:
        """Vectors on the busiest links, over all rounds."""
        return sum(self.loads) / self.total

    @property
    def bandwidths(self) -> tuple[float, float]:
        """``algbw`` and ``busbw`` in bytes per second, as NCCL's tests print them."""
        rate = self.size / self.seconds
        return rate, rate * bus_factor(self.operation, len(self.members))

    def rows(self) -> Iterator[tuple[bool, Row]]:
        """All rows, with whether they are sums; of partial ones without what they sum up."""
        for adds, rows in ((True, self.sums), (True, self.partials), (False, self.moves)):
            for one in rows:
                yield adds, (one[0], one[1], one[2], one[3], one[4])

    @property
    def listed_owners(self) -> list[int]:
        """The nodes whose parts are listed, by their places among those that take part."""
        return sorted({row[3] // self.pieces for _, row in self.rows()})

    def save(self, file: str | Path) -> None:
        """Write it as JSON, a row a line."""
        rows = ("prices", "symmetries", "sums", "partials", "moves")
        given = {name for name in _SELDOM if getattr(self, name) == self.__class__.model_fields[name].default}
        head = self.model_dump(exclude={*rows, *given})
        fields = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        for name in rows:
            if listed := self.model_dump(include={name})[name]:
                if name == "prices":
                    listed = [{key: each for key, each in row.items() if each} for row in listed]
                text = ",\n  ".join(json.dumps(row, separators=(",", ":")) for row in listed)
                fields.append(f" {json.dumps(name)}: [\n  {text}\n ]")
        write_text(file, "{\n" + ",\n".join(fields) + "\n}\n")


def shifted(ground: Ground, pieces: int, row: Row) -> Iterator[Row]:
    """What all nodes do as node 0 does, part by part."""
    turn, _, end, first, count = row
    for node in range(ground.nodes):
        for part in range(first, first + count):
            owner, piece = divmod(part, pieces)
            there = vector_sum(ground, node, owner) * pieces + piece
            yield turn, node, vector_sum(ground, node, end), there, 1


def image_rows(plan: RoundsPlan) -> Iterator[tuple[bool, Row]]:
    """All rows of a plan of which symmetries lead those that are listed, with whether they are sums.

    Raises
    ------
    SpecError
        They are too many.
    """
    place = {node: number for number, node in enumerate(plan.members)}
    shares: dict[int, list[tuple[list[int], int]]] = {}
    for owner in plan.listed_owners:
        nth = Counter[int]()
        ends = [place[one[plan.members[owner]]] for one in plan.symmetries]
        share = plan.pieces * len({*ends}) // len(ends)
        shares[owner] = []
        for one, end in zip(plan.symmetries, ends, strict=True):
            shares[owner].append((one, end * plan.pieces + nth[end] * share - owner * plan.pieces))
            nth[end] += 1
    if (len(plan.sums) + len(plan.moves)) * len(plan.symmetries) > MOST_LISTED:
        raise SpecError.at("plan", f"more than {counted(MOST_LISTED, 'message')}", "it is kept as rounds")
    for adds, (turn, start, end, first, count) in plan.rows():
        for one, ahead in shares[first // plan.pieces]:
            yield adds, (turn, one[start], one[end], first + ahead, count)


def vector_sum(ground: Ground, a: int, b: int, sign: int = 1) -> int:
    """The node at the sum, or the difference, of two vectors from node 0."""
    vector = [x + sign * y for x, y in zip(ground.point(a), ground.point(b), strict=True)]
    return ground.number(ground.normal(vector))


def extent(parts: tuple[int, int], pieces: int, lengths: Sequence[int]) -> int:
    """Length of the parts from a first one to before a last one.

    >>> extent((1, 4), 2, []), extent((1, 4), 2, [3, 1])
    (3, 5)
    """
    if not lengths:
        return parts[1] - parts[0]
    ends = [0, *accumulate(lengths)]
    before, until = (ends[-1] * (part // pieces) + ends[part % pieces] for part in parts)
    return until - before


def bus_factor(operation: str, members: int) -> float:
    """``busbw`` by ``algbw``: (N-1)/N, twice as much for an all-reduce, 1 where one node is the root.

    >>> bus_factor("all-gather", 4), bus_factor("all-reduce", 4), bus_factor("reduce", 4)
    (0.75, 1.5, 1.0)
    """
    if operation in ("broadcast", "reduce"):
        return 1.0
    return (2 if operation == "all-reduce" else 1) * (members - 1) / members


def crowding(messages: Sequence[int], links: int) -> tuple[int, ...]:
    """Messages of a node over a link beyond the first one, per round, if it shares them out evenly.

    >>> crowding([12, 4, 2], 4)
    (2, 0, 0)
    """
    return tuple(max(-(-count // links) - 1, 0) for count in messages)


def most_messages(messages: Messages, rounds: int) -> list[int]:
    """Per round to how many nodes a node sends, or from how many it receives, at most."""
    rows = (*messages.sums, *messages.partials, *messages.moves)
    turns, starts, ends = np.array(list({row[:3] for row in rows}), dtype=np.int64).reshape(-1, 3).T
    if messages.symmetries:
        images = np.array(messages.symmetries)
        starts, ends = images[:, starts], images[:, ends]
    side = 1 + max(int(starts.max(initial=0)), int(ends.max(initial=0)))
    every = (turns * side + starts) * side + ends
    turns, starts, ends = np.unravel_index(np.unique(every), (rounds, side, side))
    counts = [np.bincount(turns * side + node, minlength=rounds * side) for node in (starts, ends)]
    return [int(most) for most in np.maximum(*counts).reshape(rounds, side).max(axis=1)]


def further_messages(plan: RoundsPlan) -> int:
    """Messages of a node over a link beyond the first one of every round, over all rounds.

    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> torus = fl.Torus(4, 4)
    >>> plan = make_rounds(torus, "all-gather", "nested sets (1)", 4096, 1e-6, 50e9, message=0.0)
    >>> further_messages(plan)  # fifteen messages over four links
    3
    """
    return sum(crowding(most_messages(messages_of(plan), plan.rounds), plan.ground.most_links))


def messages_of(plan: RoundsPlan) -> Messages:
    """The messages of a plan."""
    sums, moves = ([(a, b, c, d, e) for a, b, c, d, e in rows] for rows in (plan.sums, plan.moves))
    partials = [tuple(row) for row in plan.partials]
    led = tuple(map(tuple, plan.symmetries))
    return Messages(
        plan.pieces, plan.alike, sums, moves, partials, plan.owned, tuple(plan.lengths), symmetries=led
    )


def taken(loads: list[float], total: int, size: float, alpha: float, bandwidth: float) -> float:
    """Seconds of rounds by the lengths on their busiest links, of a vector of a length.

    >>> round(taken([7.0, 7.0], 56, 1e6, 1e-6, 50e9) * 1e6, 3)  # 2 us, and 2/8 of 1 MB
    7.0
    """
    return len(loads) * alpha + sum(loads) / total * size / bandwidth


def read_rounds(file: str | Path) -> RoundsPlan:
    """Read a plan in rounds; `flitloom.collectives.rounds_checking` judges what it says.

    Raises
    ------
    SpecError
        The file cannot be read, or is not such a plan.
    """
    with opened(file, limits.COLLECTIVE_BYTES) as source:
        text = source.content()
    try:
        return RoundsPlan.model_validate_json(text)
    except pydantic.ValidationError as error:
        advice = "a plan as flitloom collective OPERATION --algorithm NAME writes it is needed"
        raise refused(error, RoundsPlan, show_file(file), advice) from None
