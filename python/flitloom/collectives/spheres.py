"""All-gathers in a network's own distances: round r brings every node the sphere of radius r.

The chunk of a node at distance r comes over links whose tail is one step nearer to that node. It is cut into
pieces, which go over these links so that the busiest one has the fewest. That number needs no search. What
only a set of links can bring is at best spread evenly over the set, so it is the largest of pieces / links
over all sets, rounded up (Ford and Fulkerson 1956).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

import numpy as np
from numpy.typing import NDArray

from flitloom.collectives.rounds_plan import Messages
from flitloom.spec.ground import Ground

#: Most pieces of a chunk.
MOST_PIECES = 12
#: Most sets of links, of all nodes together, that are examined; flows are tried above it.
LARGEST_TABLE = 1 << 20


@dataclass(frozen=True)
class Spheres:
    """How an all-gather in spheres loads the links.

    Attributes
    ----------
    pieces : int
        Into how many pieces the chunk of a node is cut.
    most : tuple of int
        Per round the pieces on the busiest link.
    """

    pieces: int
    most: tuple[int, ...]

    @property
    def chunks(self) -> float:
        """Chunks on the busiest links, over all rounds."""
        return sum(self.most) / self.pieces


@dataclass(frozen=True)
class Arrivals:
    """What enters a node: its neighbours, and over which of their links every chunk can come.

    Attributes
    ----------
    node : int
        The node.
    tails : tuple of int
        Neighbours with a link to it.
    widths : tuple of int
        Parallel links from each.
    distances : array of int
        Hops from every node; -1 from those that do not reach it.
    nearer : array of bool, by tail and node
        Whether a tail is one step nearer to a node.
    """

    node: int
    tails: tuple[int, ...]
    widths: tuple[int, ...]
    distances: NDArray[np.int16]
    nearer: NDArray[np.bool_]

    def classes(self, radius: int) -> dict[tuple[int, ...], list[int]]:
        """Nodes at a distance, by the numbers of the tails that are nearer to them."""
        found: dict[tuple[int, ...], list[int]] = {}
        for source in np.flatnonzero(self.distances == radius).tolist():
            found.setdefault(tuple(np.flatnonzero(self.nearer[:, source]).tolist()), []).append(source)
        return found


def arrivals(ground: Ground) -> Iterator[Arrivals]:
    """Of every working node what enters it; of node 0 alone where all nodes see the same.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> one, = arrivals(Ground(fl.Torus(4)))
    >>> one.tails, one.distances.tolist(), one.nearer[:, 2].tolist()
    ((1, 3), [0, 1, 2, 1], [True, True])
    """
    nodes = ground.working[:1] if ground.whole else ground.working
    targets = sorted({*nodes, *(tail for node in nodes for tail in ground.incoming[node])})
    rows = {node: row for row, node in enumerate(targets)}
    hops = hops_to(ground, targets)
    for node in nodes:
        tails = tuple(sorted(ground.incoming[node]))
        far = hops[rows[node]]
        before = hops[[rows[tail] for tail in tails]]
        nearer = (before + 1 == far) & (before >= 0)
        yield Arrivals(node, tails, tuple(ground.links[tail, node] for tail in tails), far, nearer)


def hops_to(ground: Ground, targets: Sequence[int]) -> NDArray[np.int16]:
    """Hops to some nodes (rows) from every node (columns); -1 from those that do not reach it.

    >>> import flitloom as fl
    >>> hops_to(Ground(fl.Torus(5, failed_nodes=[3])), [0]).tolist()
    [[0, 1, 2, -1, 1]]
    """
    degree = max(map(len, ground.outgoing.values()))
    # Nodes with fewer links have themselves as further neighbours.
    ends = np.tile(np.arange(ground.nodes)[:, None], (1, degree))
    for node, beside in ground.outgoing.items():
        ends[node, : len(beside)] = beside
    far = np.full((len(targets), ground.nodes), -1, dtype=np.int16)
    reached = np.zeros(far.shape, dtype=bool)
    reached[np.arange(len(targets)), list(targets)] = True
    fresh, radius = reached, 0
    while fresh.any():
        far[fresh] = radius
        radius += 1
        near = np.zeros_like(reached)
        for column in ends.T:
            near |= reached[:, column]
        fresh = near & ~reached
        reached = near | reached
    return far


def spheres(ground: Ground) -> Spheres:
    """The all-gather in spheres with the fewest bytes, its chunks cut into at most `MOST_PIECES` pieces.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> found = spheres(Ground(fl.Torus(4, 4, 8, twist=True)))
    >>> len(found.most), found.pieces, round(found.chunks * 6, 3)  # 127 chunks over 6 links in 6 rounds
    (6, 6, 127.0)
    """
    nodes = 1 if ground.whole else len(ground.working)
    degree = max(map(len, ground.incoming.values()))
    small = nodes << degree <= LARGEST_TABLE
    # As many pieces as there are parallel links spread over them evenly.
    counts = {*(range(1, MOST_PIECES + 1) if small or nodes == 1 else (1, 2, 4)), *ground.links.values()}
    found: dict[int, list[int]] = {pieces: [] for pieces in counts}
    for one in arrivals(ground):
        least = _by_sets(one, counts) if small else _by_flows(one, counts)
        for pieces, most in least.items():
            found[pieces] = [max(pair) for pair in zip_longest(found[pieces], most, fillvalue=0)]
    pieces = min(found, key=lambda pieces: (sum(found[pieces]) / pieces, pieces))
    return Spheres(pieces, tuple(found[pieces]))


def spheres_messages(ground: Ground, found: Spheres) -> Messages:
    """All messages of an all-reduce in spheres: sums travel as the gather does, backwards, then it follows.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> ground = Ground(fl.Torus(4))
    >>> made = spheres_messages(ground, spheres(ground))
    >>> made.pieces, made.moves  # at last a half of the opposite node's part over either link
    (2, [(2, 0, 3, 0, 2), (2, 0, 1, 0, 2), (3, 0, 3, 2, 1), (3, 0, 1, 7, 1)])
    """
    half, pieces = len(found.most), found.pieces
    made = Messages(pieces, ground.whole)
    place = {node: number for number, node in enumerate(ground.working)}
    for one in arrivals(ground):
        for radius, most in enumerate(found.most, 1):
            ways = one.classes(radius)
            flows = spread(ways, pieces, [most * width for width in one.widths])
            assert flows is not None
            for links, flow in flows.items():
                for source, link, first, count in _dealt(ways[links], flow, pieces):
                    tail = one.tails[link]
                    made.sums.append((half - radius, one.node, tail, place[source] * pieces + first, count))
                    sender, receiver, owner = tail, one.node, source
                    if ground.whole:
                        # Seen from the tail, as node 0 sees it.
                        sender, receiver, owner = 0, *(_from(ground, tail, node) for node in (0, source))
                    made.moves.append(
                        (half + radius - 1, sender, receiver, place[owner] * pieces + first, count)
                    )
    return made


def _dealt(
    sources: Sequence[int], flow: Mapping[int, int], pieces: int
) -> Iterator[tuple[int, int, int, int]]:
    """Chunks dealt to links one after the other: source, link, first piece, number of pieces."""
    begin = 0
    for link, count in flow.items():
        end = begin + count
        while begin < end:
            number, first = divmod(begin, pieces)
            several = min(pieces - first, end - begin)
            yield sources[number], link, first, several
            begin += several


def _from(ground: Ground, start: int, node: int) -> int:
    """The node that stands to node 0 as a node does to `start`."""
    return ground.number(
        ground.normal([b - a for a, b in zip(ground.point(start), ground.point(node), strict=True)])
    )


def _by_sets(one: Arrivals, counts: Iterable[int]) -> dict[int, list[int]]:
    """Per number of pieces and round those on the busiest link, as the busiest set of links says."""
    degree = len(one.tails)
    names = (one.nearer * (1 << np.arange(degree))[:, None]).sum(axis=0)
    rounds = int(one.distances.max())
    table = np.zeros((rounds, 1 << degree), dtype=np.int64)
    away = one.distances > 0
    np.add.at(table, (one.distances[away] - 1, names[away]), 1)
    links = np.zeros(1 << degree, dtype=np.int64)
    for place, width in enumerate(one.widths):
        # From chunks that exactly a set of links can bring to those that none but they can.
        pairs = table.reshape(rounds, -1, 2, 1 << place)
        pairs[:, :, 1] += pairs[:, :, 0]
        links.reshape(-1, 2, 1 << place)[:, 1] += width
    table, links = table[:, 1:], links[1:]
    return {pieces: (-(-pieces * table // links)).max(axis=1).tolist() for pieces in counts}


def _by_flows(one: Arrivals, counts: Iterable[int]) -> dict[int, list[int]]:
    """The same, tried with more and more room on the links."""
    rounds = [one.classes(radius) for radius in range(1, int(one.distances.max()) + 1)]
    return {pieces: [_least(one, ways, pieces) for ways in rounds] for pieces in counts}


def _least(one: Arrivals, ways: Mapping[tuple[int, ...], Sequence[int]], pieces: int) -> int:
    """Pieces on the busiest link in a round."""
    most = -(-pieces * sum(map(len, ways.values())) // sum(one.widths))
    while spread(ways, pieces, [most * width for width in one.widths]) is None:
        most += 1
    return most


def spread(
    ways: Mapping[tuple[int, ...], Sequence[int]], pieces: int, room: Sequence[int]
) -> dict[tuple[int, ...], dict[int, int]] | None:
    """Spread the pieces of chunks over links that have limited room: a flow, by augmenting paths.

    Parameters
    ----------
    ways : mapping
        Links (numbers) over which chunks can come, and these chunks.
    pieces : int
        Pieces of a chunk.
    room : sequence of int
        Most pieces on every link.

    Returns
    -------
    mapping or None
        Per set of links how many pieces each of them brings; None if there is not enough room.

    Examples
    --------
    >>> spread({(0,): [4], (0, 1): [5, 6]}, 2, [3, 3])
    {(0,): {0: 2}, (0, 1): {1: 3, 0: 1}}
    """
    left = list(room)
    sent: dict[tuple[int, ...], dict[int, int]] = {links: {} for links in ways}
    for links in sorted(ways, key=len):
        wanted = len(ways[links]) * pieces
        while wanted:
            path = _path(links, sent, left)
            if path is None:
                return None
            # Sets and links by turns: a set sends more over the link behind it, less over the one before.
            most = min(
                wanted, left[path[-1][1]], *(sent[own][link] for (_, link), (own, _) in pairwise(path))
            )
            for (_, link), (own, _) in pairwise(path):
                sent[own][link] -= most
            for own, link in path:
                sent[own][link] = sent[own].get(link, 0) + most
            left[path[-1][1]] -= most
            wanted -= most
    return {links: {link: n for link, n in flows.items() if n} for links, flows in sent.items()}


def _path(
    start: tuple[int, ...], sent: Mapping[tuple[int, ...], Mapping[int, int]], left: Sequence[int]
) -> list[tuple[tuple[int, ...], int]] | None:
    """The shortest chain of sets, each taking the next link from another one, to the link with most room."""
    before: dict[int, tuple[tuple[int, ...], int | None]] = dict.fromkeys(start, (start, None))
    border = list(before)
    while border:
        end = max(border, key=lambda link: left[link])
        if left[end]:
            path: list[tuple[tuple[int, ...], int]] = []
            link: int | None = end
            while link is not None:
                own, previous = before[link]
                path.append((own, link))
                link = previous
            return path[::-1]
        following = []
        for link in border:
            for own, flows in sent.items():
                if flows.get(link):
                    fresh = [other for other in own if other not in before]
                    before.update(dict.fromkeys(fresh, (own, link)))
                    following += fresh
        border = following
    return None
