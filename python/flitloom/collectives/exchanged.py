"""Messages of exchanges between partners and of trees, on tori and between ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
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
from flitloom.collectives.rounds_plan import Messages

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
    ([(0, 1, 0, 0, 3), (1, 2, 0, 0, 3)], [(2, 0, 2, 0, 3), (3, 0, 1, 0, 3)])
    """
    count = len(order)
    doublings = count.bit_length() - 1
    over = count - (1 << doublings)
    whole: dict[str, Maker] = {
        "binomial tree": partial(_rank_tree, order),
        "recursive doubling": partial(_doubling, order),
    }
    if over:
        return whole
    place = {node: rank for rank, node in enumerate(order)}
    partners = [{node: order[place[node] ^ (1 << step)] for node in order} for step in range(doublings)]
    return whole | {"halving/doubling": lambda: exchange_messages(order, [partners], doublings, owned)}


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

    A node answers for the blocks of all nodes that later exchanges reach from it; it sends its partner what
    that one answers for. Once nothing is halved any more, partners exchange all they answer for.

    Parameters
    ----------
    nodes : sequence of int
        The nodes, in the order of their parts.
    partners : sequence of sequences of dict
        Per part of the vector and step the partner of every node.
    halved : int
        How many exchanges halve.
    owned : bool
        As of `torus_makers`.
    """
    made = Messages(len(partners), alike=False)
    places = {node: place for place, node in enumerate(sorted(nodes))}
    for part, steps in enumerate(partners):
        answers = [{node: [node] for node in nodes}]
        for table in reversed(steps):
            later = answers[-1]
            answers.append({node: later[node] + later[table[node]] for node in nodes})
        answers.reverse()
        if owned:
            number = {node: place * made.pieces + part for node, place in places.items()}
        else:
            # What node 0 answers for is in a row after every exchange.
            first = part * len(nodes)
            number = {node: first + rank for rank, node in enumerate(answers[0][nodes[0]])}
        for step, table in enumerate(steps):
            for node, other in table.items():
                asked = answers[halved][node] if step >= halved else answers[step + 1][other]
                made.sums.extend((step, node, other, *run) for run in _runs(number[one] for one in asked))
                if step < halved:
                    turn = len(steps) + halved - 1 - step
                    known = _runs(number[one] for one in answers[step + 1][node])
                    made.moves.extend((turn, node, other, *run) for run in known)
    return made


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
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
    return _up_and_down(up, _backwards(up), prod(sizes))


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
    return _up_and_down(up, _backwards(up), count)


def _backwards(up: Sequence[Sequence[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    return [[(b, a) for a, b in row] for row in reversed(up)]


def _doubling(order: Sequence[int]) -> Messages:
    """Whole vectors exchanged; the ranks above a power of two give theirs away first and get the sum."""
    count = len(order)
    doublings = count.bit_length() - 1
    over = count - (1 << doublings)
    folded = [(order[2 * rank + 1], order[2 * rank]) for rank in range(over)]
    active = [*order[: 2 * over : 2], *order[2 * over :]]
    rounds = [
        [(node, active[rank ^ (1 << step)]) for rank, node in enumerate(active)] for step in range(doublings)
    ]
    back = _backwards([folded]) if over else []
    return _up_and_down([*([folded] if over else []), *rounds], back, count)


def _up_and_down(
    up: Sequence[Sequence[tuple[int, int]]], down: Sequence[Sequence[tuple[int, int]]], nodes: int
) -> Messages:
    """Whole vectors: sums first, then what is complete."""
    made = Messages(1, alike=False)
    made.sums.extend((turn, a, b, 0, nodes) for turn, row in enumerate(up) for a, b in row)
    made.moves.extend((len(up) + turn, a, b, 0, nodes) for turn, row in enumerate(down) for a, b in row)
    return made
