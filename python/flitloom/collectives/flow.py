"""The exact bound for all-to-all on any graph: a linear program of flows, whose dual is a length per link."""

from __future__ import annotations

from typing import Any

import numpy as np

from flitloom.collectives.ground import Ground

#: Largest number of members times links for which the program is solved; about a second.
LARGEST = 1 << 15
#: Whole lengths are at most this.
SCALE = 1_000_000


def link_lengths(ground: Ground, members: tuple[int, ...]) -> list[list[int]]:
    """Lengths of links that prove the largest possible bound for an all-to-all among `members`.

    Least load of the fullest link over all ways of splitting every pair's flow, one commodity per source; the
    dual values of the links are their lengths (Shahrokhi and Matula 1990).

    Returns
    -------
    list of [from, to, length]
        Whole lengths, those of 0 left out; empty if the solver gives up.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.flow import link_lengths
    >>> from flitloom.collectives.ground import Ground
    >>> lengths = link_lengths(Ground(fl.Mesh(3)), (0, 1, 2))
    >>> len({length for _, _, length in lengths})  # a line of three: all links are equally full
    1
    """
    from scipy import sparse
    from scipy.optimize import linprog

    ends = np.array(list(ground.links), dtype=np.int64)
    width = np.array(list(ground.links.values()), dtype=np.float64)
    links, nodes, count = len(ends), ground.nodes, len(members)
    column = np.arange(links)
    flow = sparse.csr_array(
        (
            np.r_[np.ones(links), -np.ones(links)],
            (np.r_[ends[:, 1], ends[:, 0]], np.r_[column, column]),
        ),
        shape=(nodes, links),
    )
    blocks, wanted = [], []
    for source in members:
        others = [node for node in ground.working if node != source]
        blocks.append(flow[others])
        wanted.append(np.isin(others, members).astype(float))
    conserve = sparse.hstack([sparse.block_diag(blocks), sparse.csr_array((sum(map(len, wanted)), 1))])
    shares = sparse.hstack([sparse.eye_array(links)] * count + [sparse.csr_array(-width[:, None])])
    cost = np.zeros(count * links + 1)
    cost[-1] = 1
    found: Any = linprog(
        cost,
        A_ub=sparse.csr_array(shares),
        b_ub=np.zeros(links),
        A_eq=sparse.csr_array(conserve),
        b_eq=np.concatenate(wanted),
        method="highs-ipm",
    )
    if not found.success:
        return []
    prices = np.maximum(-found.ineqlin.marginals, 0)
    whole = np.rint(prices / max(prices.max(), 1e-300) * SCALE).astype(np.int64)
    return [[*map(int, pair), int(length)] for pair, length in zip(ends, whole, strict=True) if length]
