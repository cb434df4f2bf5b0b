"""Plans in rounds as plans in steps, in which a link transfers a part at a time: for pages and exports."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from flitloom.collectives.collective_plan import MOST_MOVES, CollectivePlan, network_fields
from flitloom.collectives.rounds_hops import Hops, first_chunks, hop_by_hop, is_direct
from flitloom.collectives.rounds_plan import RoundsPlan, Row, image_rows, shifted, vector_sum
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted


def to_steps(plan: RoundsPlan) -> CollectivePlan:
    """The same messages, part by part: a round has as many steps as its busiest link has parts.

    Messages over several hops go over one minimal route a part, and nodes on it keep what they pass on.

    Raises
    ------
    SpecError
        Sums go over several hops, nodes send sums of some pieces, or there are too many parts.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> plan = make_rounds(fl.Torus(8, 8), "all-reduce", "spheres", 2.0**20, 1e-6, 50e9)
    >>> to_steps(plan)
    CollectivePlan(all-reduce on 8x8 torus: 126 steps, optimal)
    """
    if plan.operation == "all-to-all" or (plan.operation == "all-gather" and not is_direct(plan)):
        return shown_steps(hop_by_hop(plan))
    advice = "write a message graph (.goal, .bin or .et), or keep it as rounds"
    if plan.partials:
        raise SpecError.at(
            "plan", "nodes send sums of some pieces that they have, and steps add up all of them", advice
        )
    if not is_direct(plan):
        raise SpecError.at(
            "plan", "sums go over several hops, and in steps nodes on their routes would add to them", advice
        )
    links = plan.ground.links
    share = plan.pieces * (len(plan.members) - 1)
    gathered = plan.sums if plan.operation == "reduce-scatter" else plan.moves
    # Else whole sums are exchanged, which orbits of steps do not know.
    alike = plan.alike and sum(row[4] for row in gathered) == share
    table: dict[str, list[Any]] = defaultdict(list)
    begin = 0
    first_chunk, _ = first_chunks(plan)
    chunks = first_chunk[-1] // len(plan.members)
    rows = _by_round(plan, first_chunk, whole=not alike)
    for turn in range(plan.rounds):
        taken: defaultdict[tuple[int, int], int] = defaultdict(int)
        for adds, (_, start, end, first, count) in rows[turn]:
            for number in range(first_chunk[first], first_chunk[first + count]):
                place, chunk = divmod(number, chunks)
                step, lane = divmod(taken[start, end], links[start, end])
                taken[start, end] += 1
                name = "sums" if adds else "moves"
                table[name].append([begin + step, start, end, plan.members[place], chunk, lane])
        begin += max((-(-count // links[pair]) for pair, count in taken.items()), default=0)
    lists = (
        _orbits(plan, table) if alike else {name: [row[:5] for row in rows] for name, rows in table.items()}
    )
    return _in_steps(plan, chunks, begin, lists)


def shown_steps(hops: Hops) -> CollectivePlan:
    """Moves of chunks over links, for a page.

    Where sums go over several hops it is not a plan in steps: nodes on their routes pass them on as they are.
    """
    lists: dict[str, Any] = {"sums": [], "moves": []}
    for one in hops.transfers:
        lists["sums" if one.adds else "moves"].append([one.step, one.start, one.end, *one.block])
    return _in_steps(hops.plan, hops.chunks, hops.steps, lists)


def _in_steps(plan: RoundsPlan, chunks: int, steps: int, lists: dict[str, Any]) -> CollectivePlan:
    """A plan in steps with its bound."""
    found = CollectivePlan.model_construct(
        operation=plan.operation,
        **network_fields(plan.ground.topology),
        nodes=list(plan.members) if plan.ground.has_relays else None,
        chunks=chunks,
        steps=steps,
        version=plan.version,
        proof=_proof(plan),
        bound=0,
        optimal=False,
        **lists,
    )
    bound = found.proven()[0]
    return found.model_copy(update={"bound": bound, "optimal": bound == steps})


def _by_round(plan: RoundsPlan, first: list[int], whole: bool) -> list[list[tuple[bool, Row]]]:
    """Rows of every round, part after part; `whole` lists those of all nodes."""
    total = sum(first[row[3] + row[4]] - first[row[3]] for _, row in plan.rows())
    if total * (len(plan.members) if plan.alike and whole else 1) > MOST_MOVES:
        raise SpecError.at("plan", f"more than {counted(MOST_MOVES, 'move')}", "it is kept as rounds")
    found: list[list[tuple[bool, Row]]] = [[] for _ in range(plan.rounds)]
    for adds, row in image_rows(plan) if plan.symmetries else plan.rows():
        for one in shifted(plan.ground, plan.pieces, row) if plan.alike and whole else (row,):
            found[row[0]].append((adds, one))
    # What is exchanged between several nodes is sent to all of them in the same step.
    return [sorted(rows, key=lambda row: row[1][3]) for rows in found]


def _orbits(plan: RoundsPlan, table: dict[str, list[Any]]) -> dict[str, Any]:
    """Rows of node 0 as orbits: parts by how far their owner is from who sends or gets them."""
    ground = plan.ground
    directions: list[list[int]] = []
    first: dict[int, int] = {}
    for end, count in ground.directions.items():
        first[ground.number(end)] = len(directions)
        directions += [list(end)] * count
    adds = [
        (step, first[end] + lane, list(ground.point(vector_sum(ground, 0, owner, -1))), chunk)
        for step, _, end, owner, chunk, lane in table["sums"]
    ]
    sends = [
        (step, first[end] + lane, list(ground.point(vector_sum(ground, end, owner, -1))), chunk)
        for step, _, end, owner, chunk, lane in table["moves"]
    ]
    return {"directions": directions, "adds": adds, "sends": sends}


def _proof(plan: RoundsPlan) -> dict[str, Any]:
    """All transfers or hops over all links, or what enters the node with the fewest of them."""
    if plan.operation == "all-to-all":
        return {"kind": "hops"}
    if plan.operation == "all-reduce":
        return {"kind": "transfers"}
    entering: defaultdict[int, int] = defaultdict(int)
    for (_, end), count in plan.ground.links.items():
        entering[end] += count
    return {"kind": "cut", "all_but": [min(plan.members, key=lambda node: (entering[node], node))]}
