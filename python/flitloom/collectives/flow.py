"""The exact bound for all-to-all on any graph: a linear program of flows, whose dual is a length per link."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flitloom.ground.linear import solve
from flitloom.spec.ground import Ground

#: Largest number of members times links for which the program is solved; about a second.
LARGEST = 1 << 15
#: Whole lengths are at most this.
SCALE = 1_000_000


def link_lengths(
    ground: Ground, members: tuple[int, ...], demands: Mapping[tuple[int, int], int] | None = None
) -> list[list[int]]:
    """Lengths of links that prove the largest possible bound for an all-to-all among `members`.

    With `demands` these are the chunks from node to node; all pairs have equally many without.

    Least load of the busiest link over all ways of splitting every pair's flow, one commodity per source; the
    dual values of the links are their lengths (Shahrokhi and Matula 1990).

    Returns
    -------
    list of [from, to, length]
        Whole lengths, those of 0 left out; empty if the solver gives up.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.flow import link_lengths
    >>> from flitloom.spec.ground import Ground
    >>> lengths = link_lengths(Ground(fl.Mesh(3)), (0, 1, 2))
    >>> len({length for _, _, length in lengths})  # a line of three: all links are equally full
    1
    """
    ends = np.array(list(ground.links), dtype=np.int64)
    width = np.array(list(ground.links.values()), dtype=np.float64)
    links, count = len(ends), len(members)
    column = np.arange(links)
    # Columns: the flow of every source on every link, then the busiest link's load; rows: what enters every
    # node but the source and stays there, per source, then the load of every link.
    rows, columns, signs, wanted = [], [], [], []
    first = 0
    for number, source in enumerate(members):
        others = [node for node in ground.working if node != source]
        row_of = np.full(ground.nodes, -1)
        row_of[others] = first + np.arange(len(others))
        for side, sign in ((1, 1.0), (0, -1.0)):
            inner = row_of[ends[:, side]] >= 0
            rows.append(row_of[ends[inner, side]])
            columns.append(number * links + column[inner])
            signs.append(np.full(int(inner.sum()), sign))
        if demands is None:
            wanted.append(np.isin(others, members).astype(float))
        else:
            wanted.append(np.array([demands.get((source, node), 0) for node in others], dtype=float))
        first += len(others)
    rows += [first + np.tile(column, count), first + column]
    columns += [np.arange(count * links), np.full(links, count * links)]
    signs += [np.ones(count * links), -width]
    cost = np.zeros(count * links + 1)
    cost[-1] = 1
    found = solve(
        cost,
        (np.concatenate(rows), np.concatenate(columns), np.concatenate(signs)),
        np.concatenate([*wanted, np.full(links, -np.inf)]),
        np.concatenate([*wanted, np.zeros(links)]),
        method="ipm",
    )
    if found is None:
        return []
    prices = np.maximum(-found.duals[first:], 0)
    whole = np.rint(prices / max(prices.max(), 1e-300) * SCALE).astype(np.int64)
    return [[*map(int, pair), int(length)] for pair, length in zip(ends, whole, strict=True) if length]
