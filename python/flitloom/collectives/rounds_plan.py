"""A collective operation as rounds of messages: who sends which parts of the vector to whom; a JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import ConfigDict, Field

from flitloom import limits
from flitloom.collectives.collective_plan import OperationName
from flitloom.errors import SpecError, show_file
from flitloom.numerals import counted
from flitloom.outputs import write_text
from flitloom.reading import opened
from flitloom.spec.base import Frozen, explain
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of

#: Form of the files; readers refuse others.
FORMAT: Literal["flitloom rounds 1"] = "flitloom rounds 1"
Whole = Annotated[int, Field(ge=0, lt=2**32)]
#: Round, sender, receiver, first part, number of parts.
Row = tuple[int, int, int, int, int]
WholeRow = Annotated[list[Whole], Field(min_length=5, max_length=5)]


@dataclass(frozen=True)
class Messages:
    """The messages of an operation, whatever the bytes of its vector.

    Attributes
    ----------
    pieces : int
        Into how many equal parts the share of a node is cut.
    alike : bool
        Whether only what node 0 sends is listed; all other nodes do the same, shifted.
    sums, moves : list of Row
        Partial sums that receivers add to their own, and parts that they keep.
    """

    pieces: int
    alike: bool
    sums: list[Row] = field(default_factory=list)
    moves: list[Row] = field(default_factory=list)

    def of(self, operation: str, rounds: int) -> Messages:
        """Those of one half of an all-reduce of that many rounds: the first scatters, the second gathers."""
        if operation == "all-reduce":
            return self
        if operation == "reduce-scatter":
            return replace(self, moves=[])
        return replace(self, sums=[], moves=[(row[0] - rounds // 2, *row[1:]) for row in self.moves])


class RoundsPlan(Frozen):
    """Who sends which parts of the vector to whom in which round, and how long that takes.

    The vector is cut into equal parts, as many for each node that takes part; they are numbered node after
    node. In a round all nodes send what they had when it began. A round takes alpha and the time of
    the bytes on the busiest link.

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
    operation: OperationName = Field(description="all-reduce or one of its halves.")
    topology: dict[str, Any] = Field(description="The network, as in an experiment file.")
    twist: bool = Field(default=False, description="Whether the torus is twisted.")
    algorithm: str = Field(description="Its name among those that flitloom collective advise compares.")
    pieces: int = Field(ge=1, lt=2**16, description="Equal parts of the vector per node that takes part.")
    rounds: int = Field(ge=0, lt=2**20, description="Number of rounds.")
    loads: list[Annotated[float, Field(ge=0)]] = Field(
        description="Per round the parts on the busiest link; messages over several hops take all minimal "
        "routes evenly."
    )
    size: float = Field(gt=0, lt=2**60, description="Bytes of the vector for which the time is.")
    alpha: float = Field(ge=0, lt=2**20, description="Seconds of a round besides its bytes.")
    bandwidth: float = Field(ge=1, lt=2**60, description="Bytes per second of a link in one direction.")
    seconds: float = Field(gt=0, description="How long the operation takes.")
    version: str = Field(default="", description="The flitloom that made it.")
    alike: bool = Field(
        default=False, description="Whether only what node 0 sends is listed, and all do the same, shifted."
    )
    sums: list[WholeRow] = Field(
        default=[],
        description="[round, from, to, first part, parts]: partial sums that the receiver adds to its own.",
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
            return Ground(network_of(self.topology), self.twist)
        except (SpecError, TypeError) as error:
            raise SpecError.at("plan.topology", str(error)) from None

    @property
    def members(self) -> tuple[int, ...]:
        """Nodes that take part: all that work."""
        return self.ground.working

    @property
    def parts(self) -> int:
        """Equal parts of the vector."""
        return self.pieces * len(self.members)

    @property
    def factor(self) -> float:
        """Vectors on the busiest links, over all rounds."""
        return sum(self.loads) / self.parts

    @property
    def bandwidths(self) -> tuple[float, float]:
        """``algbw`` and ``busbw`` in bytes per second, as NCCL's tests print them."""
        rate = self.size / self.seconds
        return rate, rate * bus_factor(self.operation, len(self.members))

    def rows(self) -> Iterator[tuple[bool, Row]]:
        """All rows, with whether they are sums."""
        for adds, rows in ((True, self.sums), (False, self.moves)):
            for one in rows:
                yield adds, (one[0], one[1], one[2], one[3], one[4])

    def save(self, file: str | Path) -> None:
        """Write it as JSON, a row a line."""
        head = self.model_dump(exclude={"sums", "moves"})
        fields = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        for name in ("sums", "moves"):
            if rows := getattr(self, name):
                text = ",\n  ".join(json.dumps(row, separators=(",", ":")) for row in rows)
                fields.append(f" {json.dumps(name)}: [\n  {text}\n ]")
        write_text(file, "{\n" + ",\n".join(fields) + "\n}\n")


def bus_factor(operation: str, members: int) -> float:
    """``busbw`` by ``algbw``: (N-1)/N, twice as much for an all-reduce.

    >>> bus_factor("all-gather", 4), bus_factor("all-reduce", 4)
    (0.75, 1.5)
    """
    return (2 if operation == "all-reduce" else 1) * (members - 1) / members


def taken(loads: list[float], parts: int, size: float, alpha: float, bandwidth: float) -> float:
    """Seconds of rounds by the parts on their busiest links.

    >>> round(taken([7.0, 7.0], 56, 1e6, 1e-6, 50e9) * 1e6, 3)  # 2 us, and 2/8 of 1 MB
    7.0
    """
    return len(loads) * alpha + sum(loads) / parts * size / bandwidth


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
        raise SpecError.at("plan", f"{show_file(file)}: {explain(error, '')}") from None
