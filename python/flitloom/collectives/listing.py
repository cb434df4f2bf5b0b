"""Which algorithms apply to an operation on a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from flitloom.collectives.algorithms import Algorithm, algorithms, cycles
from flitloom.collectives.boxes import over_boxes
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.direct import direct_messages, directs
from flitloom.collectives.exchanged import (
    MOST_NODES,
    Maker,
    bruck_exchange_messages,
    circle_messages,
    rank_makers,
    shift_messages,
    torus_makers,
)
from flitloom.collectives.nested import MOST_NODES as MOST_IN_SETS
from flitloom.collectives.nested import Gathers, best_nested, fastest, nested_messages
from flitloom.collectives.nested_orbits import turned, turned_messages
from flitloom.collectives.nested_unlike import mixed, mixed_messages
from flitloom.collectives.phases import phase_makers
from flitloom.collectives.prices import Prices
from flitloom.collectives.relays import exchanges_over
from flitloom.collectives.rounds import (
    around,
    busiest_loads,
    by_rank,
    exchanges_of_all,
    gathers_by_rank,
    on_grid,
    shift_rounds,
    ways_round,
)
from flitloom.collectives.rounds_plan import MOST_ROWS, Messages, crowding, extent, most_messages, shifted
from flitloom.collectives.routed import routed_exchanges
from flitloom.collectives.search import collective
from flitloom.collectives.spheres import spheres, spheres_messages
from flitloom.collectives.telling import Told, untold
from flitloom.spec import Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground

#: Most nodes for which every message is routed.
MOST_ROUTED = 1024
#: Most nodes of a torus with parallel links on which the messages of other tori are replayed.
MOST_REPLAYED = 256
#: Into how many chunks nodes cut their part of the vector, in the order in which they are tried.
CHUNKS = (4, 2, 8, 12, 18, 24, 36)
#: Chunks of all nodes that are planned for all nodes, over all numbers of chunks.
CHUNK_WORK = 120_000
#: Most chunks of a pipeline: a search takes as long as the square of their number.
MOST_CHUNKS = 512
#: Share by which a pipeline may be above its bound.
FINEST = 0.01
#: Shares by which bytes differ that count as equal.
NEAR = 1e-3


def _planned(plan: CollectivePlan) -> Algorithm:
    """One round a step; a chunk is an equal part of the vector."""
    owners = len(plan.members) if plan.root is None else 1
    loads = (1 / owners / plan.chunks,) * plan.steps
    name = "planned steps" if plan.chunks == 1 else f"planned steps ({plan.chunks} chunks)"
    return Algorithm(name, loads, "this project", plan=plan)


def finer_steps(
    plan: CollectivePlan, known: Sequence[Algorithm], least: float, told: Told = untold
) -> list[Algorithm]:
    """The operation planned with more chunks, where that takes fewer bytes than all algorithms so far.

    Parameters
    ----------
    plan : CollectivePlan
        The planned steps, with one chunk.
    known : sequence of Algorithm
        The algorithms so far.
    least : float
        Vectors that the busiest link transfers at least: once they are reached nothing more is planned.
    told : function
        Told how much of the work is done.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan = fl.collectives.plan(fl.Torus(8, failed_links=[(0, 1)]), "all-reduce")
    >>> [(one.name, one.factor) for one in finer_steps(plan, applying(plan, plain=False), 1.2)]
    [('planned steps (4 chunks)', 1.25), ('planned steps (8 chunks)', 1.125)]
    """
    fewest = min(one.factor for one in known if one.is_made)
    found: list[Algorithm] = []
    left = CHUNK_WORK
    for chunks in CHUNKS:
        # Chunks that all nodes receive.
        work = chunks * len(plan.members) ** 2
        told(CHUNK_WORK - left, CHUNK_WORK)
        if fewest <= least * (1 + NEAR) or work > left:
            continue
        left -= work
        one = _planned(_in_chunks(plan.ground.topology, plan.operation, chunks))
        if one.factor < fewest * (1 - NEAR):
            found.append(one)
            fewest = one.factor
    return sorted(found, key=lambda one: one.rounds)


def pipelined(plan: CollectivePlan, least: float, told: Told = untold) -> list[Algorithm]:
    """The steps of a broadcast or its mirror with 1, 2, 4, ... chunks, as long as more take fewer bytes.

    Parameters
    ----------
    plan : CollectivePlan
        The planned steps, with one chunk.
    least : float
        Vectors that the busiest link transfers at least.
    told : function
        Told how much of the work is done.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan = fl.collectives.plan(fl.Torus(8), "broadcast")
    >>> [(one.name, one.rounds, one.factor) for one in pipelined(plan, 0.5)][:2]
    [('planned steps', 4, 4.0), ('planned steps (2 chunks)', 4, 2.0)]
    """
    found, chunks, left = [_planned(plan)], 2, CHUNK_WORK
    while (
        found[-1].factor > least * (1 + FINEST)
        and chunks <= MOST_CHUNKS
        and chunks * len(plan.members) <= left
    ):
        told(CHUNK_WORK - left, CHUNK_WORK)
        left -= chunks * len(plan.members)
        more = collective(plan.ground.topology, plan.operation, chunks=chunks, root=plan.root)
        found.append(_planned(more))
        chunks *= 2
    return found


@lru_cache(maxsize=4 * len(CHUNKS))
def _in_chunks(topology: AnyNetwork, operation: str, chunks: int) -> CollectivePlan:
    """The operation in steps, with more chunks, which is asked for with other costs of messages, too."""
    return collective(topology, operation, chunks=chunks)


def applying(plan: CollectivePlan, plain: bool, prices: Sequence[Prices] = ()) -> list[Algorithm]:
    """Every algorithm of the operation of a plan that applies to its network, and the plan as the last.

    Parameters
    ----------
    plan : CollectivePlan
        The planned steps.
    plain : bool
        Whether the network is a healthy torus without a twist.
    prices : sequence of Prices
        By number of rounds what bounds all-gathers, if nested sets are searched where nodes do not see the
        same network.

    Examples
    --------
    >>> import flitloom as fl
    >>> plan = fl.collectives.plan(fl.Product("full8"), "reduce-scatter")
    >>> [one.name for one in applying(plan, plain=False)]
    ['spheres', 'ring', 'halving/doubling', 'Bruck', 'planned steps']
    """
    return [*in_rounds(plan.ground, plan.operation, plain, prices), _planned(plan)]


def in_rounds(ground: Ground, operation: str, plain: bool, prices: Sequence[Prices]) -> list[Algorithm]:
    """The same without the plan: what members send each other, in rounds.

    Examples
    --------
    >>> import flitloom as fl
    >>> star = fl.Graph(["0-3", "1-3", "2-3"], nodes=4, hosts=[0, 1, 2])
    >>> [one.name for one in in_rounds(Ground(star), "all-to-all", False, ())]
    ['shifts', 'Bruck']
    """
    topology = ground.topology
    grid = ground.is_torus
    # Neighbours after each other, as far as that goes.
    path = around(ground.sizes) if grid else ground.members
    order = [node for node in path if node in set(ground.members)]
    if operation == "all-to-all":
        makers: dict[str, Maker] = {
            "shifts": lambda: shift_messages(order, shift_rounds(ground, order)),
            "Bruck": partial(bruck_exchange_messages, order),
        }
        between = [replace(one, messages=makers[one.name]) for one in exchanges_of_all(ground, order)]
        return [*routed_exchanges(ground), *between]
    if grid and not topology.failed_nodes:
        found = algorithms(ground.sizes) if plain else on_grid(ground)
    else:
        found = by_rank(ground, order)
    makers = _makers(ground, order, operation != "all-reduce", plain)
    if _has_fast_rings(ground):
        found += _on_fast_rings(ground, operation != "all-reduce")
        makers |= {one.name: one.messages for one in found if one.messages is not None}
    relayed = ground.has_relays
    own = own_distances(ground, prices) if not relayed else exchanges_over(ground, operation != "all-reduce")
    own += over_boxes(ground)
    found = [*own, *(replace(one, messages=makers.get(one.name)) for one in found)]
    if operation == "all-reduce":
        return found
    gathers = [one.half(gathers=True) for one in found if one.halves]
    if ground.nodes <= MOST_ROUTED:
        gathers += [replace(one, messages=makers[one.name]) for one in gathers_by_rank(ground, order)]
    if operation == "all-gather":
        return gathers
    return [replace(one, loads=one.loads[::-1], crowd=one.crowd[::-1]) for one in gathers]


def _has_fast_rings(ground: Ground) -> bool:
    """Whether it is a healthy torus in which some dimension has parallel links."""
    plain = not (any(ground.full) or any(ground.steps) or ground.twist)
    return ground.whole and plain and max(ground.width) > 1 and ground.nodes <= MOST_REPLAYED


def _on_fast_rings(ground: Ground, owned: bool) -> list[Algorithm]:
    """Algorithms of the torus of the same sizes, whose messages share parallel links evenly."""
    sizes = ground.sizes
    makers = torus_makers(sizes, owned) | phase_makers(sizes, owned, True)
    makers = {name: maker for name, maker in makers.items() if name not in rank_makers(ground.members, owned)}
    found = []
    for one in algorithms(sizes):
        if (maker := makers.get(one.name)) is not None:
            made = maker()
            owners = len(ground.members) if made.owned else 1
            total = owners * extent((0, made.pieces), made.pieces, made.lengths)
            loads = tuple(load / total for load in busiest_loads(ground, made, one.rounds))
            found.append(replace(one, loads=loads, messages=maker))
    return found


def _makers(ground: Ground, order: Sequence[int], owned: bool, plain: bool) -> dict[str, Maker]:
    """What makes the messages of the algorithms of a network, by their names."""
    sizes = ground.sizes
    on_torus = ground.is_torus and not ground.topology.failed_nodes
    found = rank_makers(order, owned) if len(order) <= MOST_NODES else {}
    circles = {"ring": [order]}
    if on_torus:
        if len(order) <= MOST_NODES:
            found |= torus_makers(sizes, owned)
        found |= phase_makers(sizes, owned, plain)
        found["spheres of the torus"] = partial(torus_spheres_messages, sizes)
        circles["multi-ring"] = list(cycles(sizes) or ())
    for name, orders in circles.items():
        if orders and 4 * len(orders) * len(order) * (len(order) - 1) <= MOST_ROWS:
            found[name] = partial(circle_messages, orders, ways_round(ground))
    return found


def torus_spheres_messages(sizes: Sequence[int]) -> Messages:
    """Spheres of a healthy torus, for all nodes one by one.

    >>> made = torus_spheres_messages((4,))
    >>> made.alike, len(made.moves)
    (False, 24)
    """
    plain = Ground(Topology(sizes=tuple(sizes)))
    made = spheres_messages(plain, spheres(plain))
    rows = [
        [one for row in rows for one in shifted(plain, made.pieces, row)] for rows in (made.sums, made.moves)
    ]
    return replace(made, alike=False, sums=rows[0], moves=rows[1])


def _mirrored(name: str, half: tuple[float, ...], made: Maker, crowd: tuple[int, ...] = ()) -> Algorithm:
    """An all-gather behind its mirror."""
    return Algorithm(name, (*half[::-1], *half), "this project", True, made, (*crowd[::-1], *crowd))


def _nested_sets(ground: Ground) -> list[Algorithm]:
    """All-reduces in nested sets, where all nodes see the same network."""
    if not ground.whole or ground.nodes > MOST_IN_SETS:
        return []
    found = []
    for one in best_nested(ground):
        crowd = crowding(one.messages, ground.most_links)
        half = tuple(load / ground.nodes for load in one.loads)
        name = f"nested sets ({len(half)})"
        found.append(_mirrored(name, half, partial(nested_messages, ground, one), crowd))
    return found


def _mixed_sets(ground: Ground, prices: Sequence[Prices]) -> list[Algorithm]:
    """All-reduces in nested sets, where nodes do not see the same network."""
    if ground.whole:
        return []
    if any(one.healthy for one in prices):
        return _turned_sets(ground, len(prices))
    return _in_sets(ground, [mixed(ground, each) for each in prices], mixed_messages)


def _turned_sets(ground: Ground, rounds: int) -> list[Algorithm]:
    """All-reduces in nested sets, where nodes see the same network except for failures, by orbits.

    More rounds than bounds are known for save bytes, too.
    """
    every = [turned(ground, turns) for turns in range(1, rounds + 2)]
    return _in_sets(ground, [one for one in every if one is not None], turned_messages)


def _in_sets(
    ground: Ground, every: Sequence[Gathers], made: Callable[[Ground, Gathers], Messages]
) -> list[Algorithm]:
    """All-reduces by the all-gathers that are the fastest for some size, with their messages counted."""
    found = []
    for one in fastest(every):
        rounds = len(one.loads)
        gathered = made(ground, one).of("all-gather", 2 * rounds)
        crowd = crowding(most_messages(gathered, rounds), ground.most_links)
        half = tuple(load / len(ground.working) for load in one.loads)
        found.append(_mirrored(f"nested sets ({rounds})", half, partial(made, ground, one), crowd))
    return found


def counted_messages(one: Algorithm, ground: Ground) -> Algorithm:
    """An algorithm with its messages counted in every round, where they may be more than one over a link.

    Parts of the vector go to other nodes than their mirrored parts only where whole sums are exchanged.
    """
    if one.messages is None or "sums" not in one.name:
        return one
    return replace(one, crowd=crowding(most_messages(one.messages(), one.rounds), ground.most_links))


def own_distances(ground: Ground, prices: Sequence[Prices] = ()) -> list[Algorithm]:
    """All-reduces between neighbours of any network, by its own distances.

    `prices` are as of `applying`.

    >>> import flitloom as fl
    >>> [(one.name, one.rounds, one.factor) for one in own_distances(Ground(fl.Product("full8")))]
    [('spheres', 2, 0.25), ('one shot', 1, 1.0)]
    """
    count = len(ground.working)
    if count == 1:
        return []
    gathered = spheres(ground)
    most: Sequence[float] = gathered.most
    if max(ground.links.values()) > 1:
        # Parallel links share what a whole piece of one of them would be.
        made = spheres_messages(ground, gathered).of("all-gather", 2 * len(most))
        most = busiest_loads(ground, made, len(most))
    half = tuple(load / gathered.pieces / count for load in most)
    return [
        _mirrored("spheres", half, partial(spheres_messages, ground, gathered)),
        *_nested_sets(ground),
        *_mixed_sets(ground, prices),
        *(
            Algorithm(one.name, one.loads, "this project", False, partial(direct_messages, ground, one))
            for one in directs(ground)
        ),
    ]
