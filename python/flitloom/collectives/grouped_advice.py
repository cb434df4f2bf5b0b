"""Advice for an operation in several groups at once, each over the links between its own nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from flitloom.collectives.advice import Advice, weigh
from flitloom.collectives.groups import GROUPED, checked_groups, sub_network
from flitloom.collectives.telling import Told, share, untold
from flitloom.errors import SpecError
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.product import Product


@dataclass(frozen=True)
class Alike:
    """Groups whose nodes are joined in the same way.

    Attributes
    ----------
    network : AnyNetwork
        The nodes of one of them, numbered by their places in it, with the links between them.
    groups : tuple of tuple of int
        Their nodes.
    advice : Advice
        The algorithms of one of them.
    """

    network: AnyNetwork
    groups: tuple[tuple[int, ...], ...]
    advice: Advice


@dataclass(frozen=True)
class GroupedAdvice:
    """Algorithms by message size for all groups at once.

    Attributes
    ----------
    kinds : tuple of Alike
        Groups by how their nodes are joined.
    """

    kinds: tuple[Alike, ...]

    def slowest(self, row: int) -> Alike:
        """The groups whose fastest algorithm takes the longest for a size: all end with them."""
        return max(self.kinds, key=lambda one: _taken(one.advice, row))

    def bound(self, row: int) -> float:
        """Seconds for a size that some group takes at least."""
        return max(one.advice.bounds[row] for one in self.kinds)

    def facts(self, network: str) -> dict[str, Any]:
        """All of it as plain values, by name."""
        first = self.kinds[0].advice
        cases = []
        for row, size in enumerate(first.sizes):
            slowest = self.slowest(row).advice
            best = slowest.best(row)
            cases.append(
                {
                    "bytes": size,
                    "bound": self.bound(row),
                    "best": slowest.algorithms[best].name,
                    "seconds": slowest.seconds[row][best],
                    **dict(zip(("algbw", "busbw"), slowest.bandwidths(row), strict=True)),
                }
            )
        kinds = [
            {**one.advice.facts(str(one.network)), "groups": [list(group) for group in one.groups]}
            for one in self.kinds
        ]
        return {"operation": first.operation, "network": network, "kinds": kinds, "cases": cases}


def _taken(advice: Advice, row: int) -> float:
    return advice.seconds[row][advice.best(row)]


def weigh_groups(
    topology: AnyNetwork,
    groups: Sequence[Sequence[int]],
    sizes: Sequence[float],
    alpha: float,
    bandwidth: float,
    *,
    operation: str = "all-reduce",
    message: float | None = None,
    latencies: Mapping[tuple[int, int], float] | None = None,
    told: Told = untold,
) -> GroupedAdvice:
    """Compare algorithms for an operation in all groups at once, each over the links between its own nodes.

    Parameters
    ----------
    topology, sizes, alpha, bandwidth, operation, message, latencies, told
        As of `flitloom.collectives.advice.weigh`; sizes are those of a group.
    groups : sequence of sequences of int
        The nodes of every group, as of `flitloom.collectives.groups.plan_groups`.

    Raises
    ------
    SpecError
        A group cannot be, or the operation is none of groups.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.groups import along_axes
    >>> torus = fl.Torus(8, 4)
    >>> advice = weigh_groups(torus, along_axes(torus, [0]), [2**20], 1e-6, 50e9)
    >>> [(str(one.network), len(one.groups)) for one in advice.kinds]
    [('ring8', 4)]
    >>> one = advice.slowest(0).advice
    >>> one.algorithms[one.best(0)].name
    'spheres'
    """
    if operation not in GROUPED:
        raise SpecError.at("groups", f"{operation} has none", f"{', '.join(GROUPED)} have")
    ground = Ground(topology)
    checked_groups(ground, groups)
    alike: dict[Any, list[tuple[int, ...]]] = {}
    for group in groups:
        slow = tuple(sorted(_inside(group, latencies or {}).items()))
        alike.setdefault((len(group), tuple(ground.cables_between(group)), slow), []).append(tuple(group))
    kinds = []
    for number, ((count, cables, slow), same) in enumerate(alike.items()):
        network = _box(ground, same[0], cables) or sub_network(count, cables, groups.index([*same[0]]))
        part = share(told, 100, number / len(alike), (number + 1) / len(alike))
        advice = weigh(
            network,
            sizes,
            alpha,
            bandwidth,
            operation=operation,
            message=message,
            latencies=dict(slow),
            told=part,
        )
        kinds.append(Alike(network, tuple(same), advice))
    return GroupedAdvice(tuple(kinds))


def _inside(group: Sequence[int], latencies: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """Latencies of the links between the nodes of a group, by their places in it."""
    place = {node: number for number, node in enumerate(group)}
    return {(place[a], place[b]): value for (a, b), value in latencies.items() if a in place and b in place}


def _box(ground: Ground, group: Sequence[int], cables: Sequence[tuple[int, int]]) -> Product | None:
    """The rings, lines and full meshes that a group is a product of, if it is one; numbered as it is."""
    if not ground.sizes:
        return None
    points = [ground.point(node) for node in group]
    places = [place for place in range(len(ground.sizes)) if len({point[place] for point in points}) > 1]
    if prod(ground.sizes[place] for place in places) != len(group):
        return None
    factors = []
    for place in places:
        size, width = ground.sizes[place], ground.width[place]
        kind = "full" if ground.full[place] or size == 2 else "ring" if ground.wraps[place] else "line"
        factors.append(f"{kind}{size}" + f"*{width}" * (width > 1))
    product = Product(" x ".join(factors))
    same = Ground(product).cables_between(range(len(group))) == [*cables]
    return product if same else None
