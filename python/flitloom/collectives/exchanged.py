"""Messages of exchanges between partners, of trees, rings and shifts, on tori and between ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import prod

from flitloom.collectives.algorithms import (
    Program,
    bine_tree,
    binomial_tree,
    halving_doubling,
    recursive_doubling,
    swing,
)
from flitloom.collectives.rounds import sent
from flitloom.collectives.rounds_plan import Messages, Row

#: Most nodes whose messages are made.
MOST_NODES = 1024
#: Makes messages.
Maker = Callable[[], Messages]


def torus_makers(sizes: Sequence[int], owned: bool) -> dict[str, Maker]:
    """What makes the messages of exchanges and trees on a torus, by the name of the algorithm.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of the torus.
    owned : bool
        Whether every node has its own parts; else parts are numbered so that few ranges are sent.

    Examples
    --------
    >>> made = torus_makers((4, 2), owned=False)["Swing, latency"]()
    >>> made.pieces, len(made.sums), made.moves  # three exchanges of four parts, each of eight nodes
    (4, 96, [])
    """
    swings = swing(sizes, False)
    if swings is None:
        return {}
    found: dict[str, Maker] = {}
    steps = len(swings.rounds)
    doubled, halves = recursive_doubling(sizes), halving_doubling(sizes)
    for program, halved in (
        (doubled, {"recursive doubling": 0}),
        (halves, {"halving/doubling": steps}),
        (
            swings,
            {"Swing, latency": 0, "Swing, bandwidth": steps}
            | {f"family (Swing, {halvings} of {steps} halved)": halvings for halvings in range(1, steps)},
        ),
    ):
        assert program is not None
        found |= {name: partial(_exchanges, sizes, program, count, owned) for name, count in halved.items()}
    for tree in (binomial_tree(sizes), bine_tree(sizes)):
        assert tree is not None
        found[tree.name] = partial(_tree, sizes, tree)
    return found


def rank_makers(order: Sequence[int], owned: bool) -> dict[str, Maker]:
    """The same between ranks; `order` has the node of every rank.

    >>> made = rank_makers([0, 1, 2], owned=False)["binomial tree"]()
    >>> made.sums, made.moves
    ([(0, 1, 0, 0, 1), (1, 2, 0, 0, 1)], [(2, 0, 2, 0, 1), (3, 0, 1, 0, 1)])
    """
    doublings = len(order).bit_length() - 1
    return {
        "binomial tree": partial(_rank_tree, order),
        "recursive doubling": partial(_folded, order, 0, False),
        "halving/doubling": partial(_folded, order, doublings, owned),
        "Bruck": partial(bruck_messages, order),
    }


def _exchanges(sizes: Sequence[int], program: Program, halved: int, owned: bool) -> Messages:
    """Exchanges with the partners of a program on a torus."""
    tables = [
        [{a: b for a, b, _ in sent(sizes, [messages[part]])} for messages in program.rounds]
        for part in range(len(program.rounds[0]))
    ]
    return exchange_messages(range(prod(sizes)), tables, halved, owned)


def exchange_messages(
    nodes: Sequence[int], partners: Sequence[Sequence[dict[int, int]]], halved: int, owned: bool
) -> Messages:
    """Exchanges, the first of which halve what is exchanged.

    A node answers for some of the parts; it sends its partner what that one answers for. Once nothing is
    halved any more, partners exchange all they answer for.

    Parameters
    ----------
    nodes : sequence of int
        The nodes.
    partners : sequence of sequences of dict
        Per part of the vector and step the partner of every node.
    halved : int
        How many exchanges halve.
    owned : bool
        As of `torus_makers`; only if all exchanges halve.
    """
    pieces = len(partners) * (1 if owned else 1 << halved)
    made = Messages(pieces, alike=False, owned=owned)
    places = {node: place for place, node in enumerate(sorted(nodes))}
    for part, steps in enumerate(partners):
        answers = [_groups(nodes, steps[halved:])]
        for table in reversed(steps[:halved]):
            later = answers[-1]
            answers.append({node: later[node] + later[table[node]] for node in nodes})
        answers.reverse()
        if owned:
            number = {node: place * pieces + part for node, place in places.items()}
        else:
            # What the first node answers for is in a row after every exchange.
            first = part << halved
            number = {one: first + rank for rank, one in enumerate(answers[0][nodes[0]])}
        for step, table in enumerate(steps):
            for node, other in table.items():
                asked = answers[halved][node] if step >= halved else answers[step + 1][other]
                made.sums.extend((step, node, other, *run) for run in runs(number[one] for one in asked))
                if step < halved:
                    turn = len(steps) + halved - 1 - step
                    known = runs(number[one] for one in answers[step + 1][node])
                    made.moves.extend((turn, node, other, *run) for run in known)
    return made


def _groups(nodes: Sequence[int], steps: Sequence[dict[int, int]]) -> dict[int, list[int]]:
    """Per node the first one of those that exchange whole sums with it."""
    found: dict[int, list[int]] = {}
    for first in nodes:
        group = [] if first in found else [first]
        for node in group:
            found[node] = [first]
            group += {table[node] for table in steps} - {*group}
    return found


def runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Numbers as ranges: the first one and how many."""
    first, count = -1, 0
    for number in sorted(numbers):
        if count and number == first + count:
            count += 1
            continue
        if count:
            yield first, count
        first, count = number, 1
    yield first, count


def _tree(sizes: Sequence[int], program: Program) -> Messages:
    """The whole vector up a tree and down again."""
    half = program.rounds[: len(program.rounds) // 2]
    up = [[(a, b) for a, b, _ in sent(sizes, messages)] for messages in half]
    return _up_and_down(up, _backwards(up))


def _rank_tree(order: Sequence[int]) -> Messages:
    count = len(order)
    up = [
        [
            (order[rank], order[rank - (1 << step)])
            for rank in range(1 << step, count, 1 << step)
            if rank >> step & 1
        ]
        for step in range((count - 1).bit_length())
    ]
    return _up_and_down(up, _backwards(up))


def _backwards(up: Sequence[Sequence[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    return [[(b, a) for a, b in row] for row in reversed(up)]


def _folded(order: Sequence[int], halved: int, owned: bool) -> Messages:
    """Exchanges; the ranks above a power of two give their vector away first and get the sum at the end."""
    count = len(order)
    doublings = count.bit_length() - 1
    over = count - (1 << doublings)
    folded = [(order[2 * rank + 1], order[2 * rank]) for rank in range(over)]
    active = [*order[: 2 * over : 2], *order[2 * over :]]
    partners = [
        {node: active[rank ^ (1 << step)] for rank, node in enumerate(active)} for step in range(doublings)
    ]
    inner = exchange_messages(active, [partners], halved, owned)
    if not over:
        return inner
    last = doublings + halved + 1
    whole = (0, inner.pieces)
    return replace(
        inner,
        sums=[
            *((0, a, b, *whole) for a, b in folded),
            *((turn + 1, a, b, first, parts) for turn, a, b, first, parts in inner.sums),
        ],
        moves=[
            *((turn + 1, a, b, first, parts) for turn, a, b, first, parts in inner.moves),
            *((last, b, a, *whole) for a, b in folded),
        ],
    )


def circle_messages(orders: Sequence[Sequence[int]], ways: int = 2) -> Messages:
    """Parts of the vector round a circle of nodes each, half of them either way, or all one way.

    >>> made = circle_messages([[0, 1, 2]])
    >>> made.pieces, [row for row in made.moves if row[1] == 0]  # its own chunk, then its neighbours'
    (2, [(2, 0, 1, 0, 1), (3, 0, 1, 4, 1), (2, 0, 2, 1, 1), (3, 0, 2, 3, 1)])
    """
    count = len(orders[0])
    places = {node: place for place, node in enumerate(sorted(orders[0]))}
    pieces = ways * len(orders)
    moves = []
    for number, order in enumerate(orders):
        for half, row in enumerate((order, order[::-1])[:ways]):
            for turn in range(count - 1):
                moves += [
                    (turn, a, b, places[row[rank - turn]] * pieces + ways * number + half, 1)
                    for rank, (a, b) in enumerate(pairwise((*row, row[0])))
                ]
    return mirrored(pieces, moves, count - 1)


def bruck_messages(order: Sequence[int]) -> Messages:
    """In every round a rank passes on all blocks it has, to the rank 1, 2, 4, ... before it.

    >>> bruck_messages([0, 1, 2]).moves
    [(2, 0, 2, 0, 1), (2, 1, 0, 1, 1), (2, 2, 1, 2, 1), (3, 0, 1, 0, 1), (3, 1, 2, 1, 1), (3, 2, 0, 2, 1)]
    """
    count = len(order)
    places = {node: place for place, node in enumerate(sorted(order))}
    rounds = (count - 1).bit_length()
    moves = [
        (turn, node, order[rank - (1 << turn)], *run)
        for turn in range(rounds)
        for rank, node in enumerate(order)
        for run in runs(
            places[order[(rank + block) % count]] for block in range(min(1 << turn, count - (1 << turn)))
        )
    ]
    return mirrored(1, moves, rounds)


def shift_messages(order: Sequence[int], shifts: Sequence[Sequence[int]]) -> Messages:
    """An all-to-all straight between ranks: per round by how many ranks blocks go ahead.

    >>> shift_messages([0, 1, 2], [[1, 2]]).moves  # parts are numbered by sender, then by receiver
    [(0, 0, 1, 1, 1), (0, 1, 2, 5, 1), (0, 2, 0, 6, 1), (0, 0, 2, 2, 1), (0, 1, 0, 3, 1), (0, 2, 1, 7, 1)]
    """
    count = len(order)
    places = {node: place for place, node in enumerate(sorted(order))}
    made = Messages(count, alike=False)
    for turn, row in enumerate(shifts):
        for by in row:
            for rank, node in enumerate(order):
                end = order[(rank + by) % count]
                made.moves.append((turn, node, end, places[node] * count + places[end], 1))
    return made


def bruck_exchange_messages(order: Sequence[int]) -> Messages:
    """An all-to-all in which a rank passes blocks 1, 2, 4, ... ranks on, as far as each still has to go.

    >>> bruck_exchange_messages([0, 1]).moves
    [(0, 0, 1, 1, 1), (0, 1, 0, 2, 1)]
    """
    count = len(order)
    places = {node: place for place, node in enumerate(sorted(order))}
    made = Messages(count, alike=False)
    for turn in range((count - 1).bit_length()):
        step = 1 << turn
        for rank, node in enumerate(order):
            blocks = []
            for by in range(count):
                if by & step:
                    source = rank - by % step
                    blocks.append(
                        places[order[source % count]] * count + places[order[(source + by) % count]]
                    )
            made.moves.extend((turn, node, order[(rank + step) % count], *run) for run in runs(blocks))
    return made


def mirrored(pieces: int, moves: Sequence[Row], rounds: int) -> Messages:
    """An all-reduce by an all-gather in which every node gets every part once, and its mirror."""
    return Messages(
        pieces,
        alike=False,
        sums=[(rounds - 1 - turn, b, a, first, parts) for turn, a, b, first, parts in moves],
        moves=[(rounds + row[0], *row[1:]) for row in moves],
    )


def _up_and_down(
    up: Sequence[Sequence[tuple[int, int]]], down: Sequence[Sequence[tuple[int, int]]]
) -> Messages:
    """Whole vectors: sums first, then what is complete."""
    made = Messages(1, alike=False, owned=False)
    made.sums.extend((turn, a, b, 0, 1) for turn, row in enumerate(up) for a, b in row)
    made.moves.extend((len(up) + turn, a, b, 0, 1) for turn, row in enumerate(down) for a, b in row)
    return made
