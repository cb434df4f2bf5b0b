"""How many packets every node sends to every other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from flitloom import _core
from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.ground.limits import MATRIX_PACKETS
from flitloom.ground.numerals import counted
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.spec.base import Checked, problem, whole_number
from flitloom.spec.tables import matrix
from flitloom.spec.traffic.fields import MATRIX, Column, Cycle, Length

if TYPE_CHECKING:
    from flitloom.networks.network import Network


class TrafficMatrix(PlannedTraffic):
    """How many packets every node (row) sends to every node (column).

    A node goes round its destinations, beginning with the next higher node: one packet to each that has
    any left, until none has.

    Parameters
    ----------
    matrix : path or array_like of int
        Packets from row to column, or a CSV file of as many rows and columns as there are nodes.
    length : int
        Flits per packet, the header included.
    interval : int
        Cycles between the starts of a node's consecutive packets; 0 sends them back to back.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.TrafficMatrix([[0, 2], [1, 0]], length=4).packet_table()
    array([[0, 1, 4, 0, 0],
           [0, 1, 4, 0, 0],
           [1, 0, 4, 0, 0]])
    """

    noun: ClassVar[str] = "a matrix"
    positional: ClassVar[str] = "matrix"

    kind: Literal["matrix"] = "matrix"
    matrix: Annotated[
        tuple[tuple[int, ...], ...],
        Checked(matrix(whole_number(0, LIMITS["packets"], "packets")), MATRIX),
    ]
    length: Length = 8
    interval: Cycle = 0

    if TYPE_CHECKING:

        def __init__(self, matrix: Column, *, length: int = 8, interval: int = 0) -> None: ...

    @model_validator(mode="after")
    def _not_too_many(self) -> Any:
        if (packets := sum(map(sum, self.matrix))) > MATRIX_PACKETS:
            raise problem(
                f"matrix asks for {counted(packets, 'packet')}", f"at most {MATRIX_PACKETS} are supported"
            )
        return self

    def packet_table(self) -> NDArray[np.int64]:
        """The packets: rows of source, destination, length, start and slice (always 0)."""
        counts = np.array(self.matrix, dtype=np.int64)
        source, destination = (np.repeat(ends, counts[counts > 0]) for ends in np.nonzero(counts))
        # The n-th packet to a destination goes in the n-th round.
        turn = np.concatenate([np.arange(count) for count in counts[counts > 0]] or [source])
        distance = (destination - source - 1) % len(counts)
        order = np.lexsort((distance, turn, source))
        number = np.arange(len(order)) - np.searchsorted(source, source)
        table = np.zeros((len(order), 5), dtype=np.int64)
        table[:, 0] = source
        table[:, 1] = destination[order]
        table[:, 2] = self.length
        table[:, 3] = number * self.interval
        return table

    def describe(self, network: Network) -> str:
        """That it is a matrix."""
        return f"traffic matrix on {network.topology}"

    def workload(self, network: Network, seed: int) -> _core.Workload:
        """The core's form of its packets."""
        del seed
        self._require_nodes(network.nodes)
        return _core.Workload.packets(network.core, self.packet_table())

    def _require_nodes(self, nodes: int) -> None:
        if len(self.matrix) != nodes:
            raise SpecError.at(
                "traffic.matrix", counted(len(self.matrix), "row"), f"one per node ({nodes}) is needed"
            )

    def count(self, nodes: int) -> int:
        """The sum of the matrix."""
        del nodes
        return sum(map(sum, self.matrix))

    @property
    def longest(self) -> int:
        """All packets have one length."""
        return self.length

    def to_plan(self, network: Network, seed: int) -> tuple[list[tuple[int, int, int, int]], str]:
        """A message per packet."""
        del network, seed
        rows = [(row[0], row[1], row[2], 1) for row in self.packet_table()]
        return rows, f"{counted(len(rows), 'packet')} of a matrix"

    def pair_flits(self, nodes: int) -> NDArray[np.int64]:
        """Its packets, which all have one length."""
        self._require_nodes(nodes)
        weights = np.array(self.matrix, dtype=np.int64)
        source, destination = np.nonzero(weights)
        return np.stack([source, destination, weights[source, destination]], axis=1)

    @classmethod
    def seated(cls, fields: dict[str, Any], nodes: Sequence[int], count: int) -> dict[str, Any]:
        """The packets between the nodes of ranks, which may sit on one together."""
        ranks = cls(**fields).matrix
        return {**fields, "matrix": placed_matrix(ranks, nodes, count).tolist()}


def placed_matrix(rows: Sequence[Sequence[int]], nodes: Sequence[int], count: int) -> NDArray[np.int64]:
    """A matrix of ranks as one of nodes; ranks that share a node send each other nothing.

    Raises
    ------
    SpecError
        It has not one row per rank.

    Examples
    --------
    >>> placed_matrix([[0, 5], [2, 0]], [2, 0], 3).tolist()
    [[0, 0, 2], [0, 0, 0], [5, 0, 0]]
    """
    given = np.array(rows, dtype=np.int64)
    if len(given) != len(nodes):
        raise SpecError.at(
            "traffic.matrix",
            f"has {counted(len(given), 'row')}",
            f"the placement has {counted(len(nodes), 'rank')}, a row for each",
        )
    where = np.asarray(nodes)
    matrix = np.zeros((count, count), dtype=np.int64)
    np.add.at(matrix, (where[:, None], where[None, :]), given)
    np.fill_diagonal(matrix, 0)
    return matrix
