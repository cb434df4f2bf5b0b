"""All-reduces straight between the nodes of full meshes, dimension after dimension.

The vector is cut into parts, one per dimension, and part p begins in dimension p, so that all links work in
every round. In the first dimensions a part is scattered; in the others whole sums are exchanged; then
it is gathered again. The fewer dimensions are scattered, the fewer are the rounds, and the more the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from flitloom.collectives.rounds_plan import Messages
from flitloom.spec.ground import Ground

#: Into how many equal pieces the vector is cut at most, to make parts of unequal sizes.
MOST_PIECES = 12


@dataclass(frozen=True)
class Direct:
    """An all-reduce straight between the nodes of full meshes.

    Attributes
    ----------
    scattered : int
        In how many dimensions every part is scattered; in the others whole sums are exchanged.
    shares : tuple of int
        Equal pieces of the vector in every part.
    loads : tuple of float
        Per round the share of the vector on the busiest link.
    """

    scattered: int
    shares: tuple[int, ...]
    loads: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name, with the number of dimensions that are scattered."""
        return f"direct ({self.scattered} of {len(self.shares)} halved)" if self.scattered else "one shot"


def is_full(ground: Ground) -> bool:
    """Whether all nodes along every dimension are neighbours, and nothing has failed.

    >>> import flitloom as fl
    >>> [is_full(Ground(one)) for one in (fl.Torus(3, 2), fl.Torus(4, 2), fl.Product("full8 x ring3"))]
    [True, False, True]
    """
    grid = ground.topology.grid is not None
    neighbours = sum(size - 1 for size in ground.sizes)
    return grid and ground.whole and not ground.twist and len(ground.directions) == neighbours


def directs(ground: Ground) -> list[Direct]:
    """Those that exchange whole sums in some dimension; with none, they would be the spheres.

    Examples
    --------
    >>> import flitloom as fl
    >>> [(one.name, one.loads) for one in directs(Ground(fl.Product("full8 x full8")))]
    [('one shot', (0.5, 0.5)), ('direct (1 of 2 halved)', (0.0625, 0.0625, 0.0625))]
    """
    if not is_full(ground):
        return []
    found = []
    dimensions = len(ground.sizes)
    for scattered in range(dimensions):
        table = _table(ground, scattered)
        pieces, shares = min(_splits(dimensions), key=lambda split: (_cost(table, scattered, *split), split))
        half = [max(load * n for load, n in zip(row, shares, strict=True)) / pieces for row in table]
        found.append(Direct(scattered, shares, (*half, *half[:scattered][::-1])))
    return found


def direct_messages(ground: Ground, found: Direct) -> Messages:
    """All messages of a direct all-reduce.

    Examples
    --------
    >>> import flitloom as fl
    >>> ground = Ground(fl.Product("full3"))
    >>> direct_messages(ground, directs(ground)[0]).sums  # all three parts to both neighbours
    [(0, 0, 1, 0, 1), (0, 0, 1, 1, 1), (0, 0, 1, 2, 1), (0, 0, 2, 0, 1), (0, 0, 2, 1, 1), (0, 0, 2, 2, 1)]
    """
    made = Messages(sum(found.shares), alike=True)
    dimensions, points = len(ground.sizes), [ground.point(node) for node in range(ground.nodes)]
    for part, share in enumerate(found.shares):
        first = sum(found.shares[:part])
        dims = [(part + phase) % dimensions for phase in range(dimensions)]
        for phase, dim in enumerate(dims):
            halved = dims[: min(phase, found.scattered)]
            for step in range(1, ground.sizes[dim]):
                end = ground.number([step * (place == dim) for place in range(dimensions)])
                # Node 0 is responsible for what has its coordinates in the dimensions that are scattered.
                own = [node for node, point in enumerate(points) if not any(point[one] for one in halved)]
                rows = [
                    (phase, 0, end, owner * made.pieces + first, share)
                    for owner in own
                    if phase >= found.scattered or points[owner][dim] == step
                ]
                made.sums.extend(rows)
                if phase < found.scattered:
                    turn = dimensions + found.scattered - 1 - phase
                    made.moves.extend(
                        (turn, 0, end, owner * made.pieces + first, share)
                        for owner in own
                        if not points[owner][dim]
                    )
    return made


def _table(ground: Ground, scattered: int) -> list[list[float]]:
    """Per phase and part the load of its links, were the part the whole vector."""
    dimensions = len(ground.sizes)
    table = []
    left = [1.0] * dimensions
    for phase in range(dimensions):
        dims = [(part + phase) % dimensions for part in range(dimensions)]
        if phase < scattered:
            left = [left[part] / ground.sizes[dim] for part, dim in enumerate(dims)]
        table.append([left[part] / ground.width[dim] for part, dim in enumerate(dims)])
    return table


def _splits(parts: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Ways to cut equal pieces into parts, few pieces first."""
    for pieces in range(parts, max(MOST_PIECES, parts) + 1):
        for ends in combinations(range(1, pieces), parts - 1):
            yield pieces, tuple(b - a for a, b in pairwise((0, *ends, pieces)))


def _cost(table: Sequence[Sequence[float]], scattered: int, pieces: int, shares: Sequence[int]) -> float:
    """Vectors on the busiest links over all rounds, rounded so that equal ones are equal."""
    total = 0.0
    for phase, row in enumerate(table):
        most = max(load * share for load, share in zip(row, shares, strict=True)) / pieces
        total += (2 if phase < scattered else 1) * most
    return round(total, 12)
