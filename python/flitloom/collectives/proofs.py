"""Lower bounds on the steps of collective operations, counted anew from what a plan names as its proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError, nearest, show
from flitloom.ground.numerals import counted
from flitloom.spec.ground import Ground

#: Operations that run backwards, and what they are then.
BACKWARDS = {"reduce-scatter": "all-gather", "reduce": "broadcast", "gather": "scatter"}

#: Length of the shortest path where there is none; far above all others.
UNREACHED = 1 << 62


def up(numerator: int, denominator: int) -> int:
    """A quotient of whole numbers, rounded up."""
    return -(-numerator // max(denominator, 1))


@dataclass(frozen=True)
class Premises:
    """What the proof of a plan is about.

    Attributes
    ----------
    ground : Ground
        The network.
    operation : str
        The operation.
    members : tuple of int
        Nodes that take part.
    all_take_part : bool
        Whether these are all that work.
    chunks, latency : int
        Chunks of a node, and steps on a link besides the one in which it is busy.
    root : int or None
        The root, where the operation has one.
    demands : list or None
        Source, destination and number of chunks, of an all-to-all-v.
    """

    ground: Ground
    operation: str
    members: tuple[int, ...]
    all_take_part: bool
    chunks: int
    latency: int
    root: int | None
    demands: list[tuple[int, int, int]] | None


class _View:
    """A plan's operation as its proof sees it: sums and gathers run backwards over reversed links."""

    def __init__(self, premises: Premises) -> None:
        self.ground = premises.ground
        self.backwards = premises.operation in BACKWARDS
        self.operation = BACKWARDS.get(premises.operation, premises.operation)
        self.members = premises.members
        self.chunks, self.latency = premises.chunks, premises.latency
        self.root = premises.root if premises.root is not None else -1
        self.premises = premises
        self.enters, self.over = ("leaves", "from") if self.backwards else ("enters", "into")

    def called(self, node: int) -> str:
        """A node by its name, or by its number where the network has no names."""
        names = self.ground.topology.node_names
        return show(names[node])[1:-1] if 0 <= node < len(names) else str(node)

    def leaving(self, inside: set[int]) -> int:
        """Links out of a set; into it if the operation runs backwards."""
        ends = ((to, start) for start, to in self.ground.links) if self.backwards else self.ground.links
        counts = self.ground.links.values()
        return sum(
            n for (start, to), n in zip(ends, counts, strict=True) if start in inside and to not in inside
        )

    def degree(self, node: int, outgoing: bool) -> int:
        """Links that leave or enter a node."""
        side = 0 if outgoing != self.backwards else 1
        return sum(count for ends, count in self.ground.links.items() if ends[side] == node)

    def distances(self, node: int) -> dict[int, int]:
        return self.ground.distances(node, self.backwards)

    def over_links(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Links by their ends, and how many there are; reversed if the operation runs backwards."""
        for (start, end), count in self.ground.links.items():
            yield ((end, start) if self.backwards else (start, end)), count

    def demands(self) -> Counter[tuple[int, int]]:
        """Chunks from node to node."""
        if self.premises.demands is not None:
            wanted: Counter[tuple[int, int]] = Counter()
            for source, target, count in self.premises.demands:
                wanted[source, target] += count
            return wanted
        pairs = ((a, b) for a in self.members for b in self.members if a != b)
        return Counter(dict.fromkeys(pairs, self.chunks))


def evaluate(premises: Premises, proof: dict[str, Any]) -> tuple[int, str]:
    """The steps that the proof of a plan proves, and the proof as text.

    Raises
    ------
    SpecError
        The proof is none for this operation.
    """
    kind = proof.get("kind")
    if kind == "nothing":
        return 0, "nothing has to move"
    rule = RULES.get(str(kind))
    if rule is None:
        raise SpecError.at("plan.proof.kind", f"{kind!r} is unknown", f"it is {', '.join(RULES)} or nothing")
    known = ("kind", *FIELDS.get(str(kind), ()))
    for name in (name for name in proof if name not in known):
        near = nearest(name, known)
        hint = f"did you mean {near}?" if near else f"a {kind} has {', '.join(known)}"
        raise SpecError.at(f"plan.proof.{show(name)[1:-1]}", "unknown field", hint)
    try:
        return rule(_View(premises), proof)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise SpecError.at("plan.proof", f"is not a complete {kind} proof for {premises.operation}") from None


def nodes_of(ground: Ground, proof: dict[str, Any]) -> set[int]:
    """The nodes that the proof of a cut or a crossing names.

    >>> import flitloom as fl
    >>> nodes_of(Ground(fl.Mesh(4)), {"kind": "cut", "all_but": [3]})
    {0, 1, 2}
    """
    if "all_but" in proof:
        return set(ground.working) - {int(node) for node in proof["all_but"]}
    return {int(node) for node in proof["nodes"]}


def _cut(view: _View, proof: dict[str, Any]) -> tuple[int, str]:
    inside = nodes_of(view.ground, proof)
    links = view.leaving(inside)
    members = set(view.members)
    within, outside = members & inside, members - inside
    if not within or not outside or not links:
        raise SpecError.at("plan.proof.nodes", "some nodes that take part must be inside and some outside")
    if view.operation in ("all-to-all", "all-to-all-v"):
        if view.premises.demands is None:
            crossing = len(within) * len(outside) * view.chunks
        else:
            crossing = sum(
                count for (a, b), count in view.demands().items() if a in inside and b not in inside
            )
        what = f"{crossing} chunks leave {_set(inside, view)}"
    elif view.operation == "all-reduce":
        crossing = view.chunks * len(members)
        what = f"something of each of {crossing} sums leaves {_set(inside, view)}"
    elif view.operation == "all-gather":
        crossing = view.chunks * len(within)
        one = "s" * (crossing == 1)
        if len(inside) + 1 == len(view.ground.working):
            (alone,) = set(view.ground.working) - inside
            verb = "leave" if view.backwards else "enter"
            what = f"{counted(crossing, 'chunk')} {verb}{one} node {view.called(alone)}"
        else:
            verb = "enter" if view.backwards else "leave"
            what = f"{counted(crossing, 'chunk')} {verb}{one} {_set(inside, view)}"
    else:
        raise KeyError(view.operation)
    steps = up(crossing, links) + view.latency
    return steps, f"{what} over {counted(links, 'link')}: at least {counted(steps, 'step')}"


def _set(nodes: Iterable[int], view: _View) -> str:
    ordered = sorted(nodes)
    rest = sorted(set(view.ground.working) - set(ordered))
    if len(rest) < len(ordered) and len(rest) <= 8:
        return f"all nodes but {', '.join(map(view.called, rest))}"
    if len(ordered) == 1:
        return f"node {view.called(ordered[0])}"
    names = ", ".join(map(view.called, ordered[:8])) + (", ..." if len(ordered) > 8 else "")
    return f"the {counted(len(ordered), 'node')} {names}"


def _distance(view: _View, proof: dict[str, Any]) -> tuple[int, str]:
    start, end = int(proof["from"]), int(proof["to"])
    if view.premises.demands is None and not {start, end} <= set(view.members):
        raise KeyError("members")
    if view.operation in ("broadcast", "scatter") and start != view.root:
        raise KeyError("root")
    if view.premises.demands is not None and not view.demands()[start, end]:
        raise KeyError("demands")
    distance = view.distances(start)[end]
    steps = distance * (1 + view.latency)
    return (
        steps,
        f"node {view.called(end)} is {counted(distance, 'hop')} from node {view.called(start)}: at least "
        f"{counted(steps, 'step')}",
    )


def _all_distances(view: _View, total: Callable[[int, dict[int, int]], int], demands: bool) -> int:
    """A sum over all sources; on a healthy torus every node sees the same."""
    if demands or not view.ground.whole or not view.premises.all_take_part:
        return sum(total(node, view.distances(node)) for node in view.members)
    return total(view.members[0], view.distances(view.members[0])) * len(view.members)


def _hops(view: _View, _proof: dict[str, Any]) -> tuple[int, str]:
    if view.operation not in ("all-to-all", "all-to-all-v"):
        raise KeyError(view.operation)
    if view.premises.demands is None:
        members = set(view.members)
        hops = view.chunks * _all_distances(
            view, lambda _, far: sum(d for node, d in far.items() if node in members), False
        )
    else:
        wanted: dict[int, list[tuple[int, int]]] = {}
        for (source, target), count in view.demands().items():
            wanted.setdefault(source, []).append((target, count))
        hops = sum(
            sum(count * far[target] for target, count in targets)
            for source, targets in wanted.items()
            for far in [view.distances(source)]
        )
    links = sum(view.ground.links.values()) if not view.ground.whole else _whole_links(view)
    steps = up(hops, links) + (view.latency if hops else 0)
    return (
        steps,
        f"all chunks together need {counted(hops, 'hop')} over {counted(links, 'link')}: at least "
        f"{counted(steps, 'step')}",
    )


def _whole_links(view: _View) -> int:
    return view.ground.nodes * sum(view.ground.directions.values())


def _lengths(view: _View, proof: dict[str, Any]) -> tuple[int, str]:
    if view.operation not in ("all-to-all", "all-to-all-v"):
        raise KeyError(view.operation)
    crossing, total = over_lengths(view.ground, proof["lengths"], view.demands())
    steps = up(crossing, total) + view.latency
    return (
        steps,
        f"lengths of {counted(len(view.ground.links), 'link')}: {crossing} in all, {total} a step: at least "
        f"{counted(steps, 'step')}",
    )


def over_lengths(
    ground: Ground, listed: Iterable[Sequence[int]], demands: Mapping[tuple[int, int], int]
) -> tuple[int, int]:
    """The lengths of the shortest paths of all chunks, and those of all links, which take one each at once.

    Raises
    ------
    SpecError
        A row is not a link with a length.

    Examples
    --------
    >>> import flitloom as fl
    >>> over_lengths(Ground(fl.Mesh(3)), [[0, 1, 1], [1, 2, 1]], {(0, 2): 3, (0, 1): 1, (2, 0): 9})
    (7, 2)
    """
    lengths: dict[tuple[int, int], list[int]] = {}
    for start, end, length in listed:
        if (start, end) not in ground.links or not 0 <= length <= 10**7:
            raise SpecError.at("lengths", f"{[start, end, length]} is not a link with a length")
        lengths.setdefault((start, end), []).append(int(length))
    # A pair of nodes with several links counts once per link, at its shortest.
    ends = list(ground.links)
    shortest = [min(lengths.get(pair, [0])) for pair in ends]
    total = sum(length * count for length, count in zip(shortest, ground.links.values(), strict=True))
    sources = sorted({source for source, _ in demands})
    rows = {node: row for row, node in enumerate(sources)}
    far = _shortest(np.array(ends).reshape(-1, 2), np.array(shortest), sources, ground.nodes)
    if any(far[rows[pair[0]], pair[1]] == UNREACHED for pair in demands):
        raise KeyError("demands")
    return sum(int(far[rows[a], b]) * count for (a, b), count in demands.items()), total


def _shortest(
    ends: NDArray[np.int64], lengths: NDArray[np.int64], sources: list[int], nodes: int
) -> NDArray[np.int64]:
    """Lengths of shortest paths from some nodes to all: links are tried until none shortens a path."""
    order = np.argsort(ends[:, 1], kind="stable")
    starts, lengths = ends[order, 0], lengths[order]
    stops, first = np.unique(ends[order, 1], return_index=True)
    far = np.full((len(sources), nodes), UNREACHED)
    far[np.arange(len(sources)), sources] = 0
    # As many sources at once as keep the table of all their links small.
    size = max(1, (1 << 22) // max(len(ends), 1))
    for block in (far[start : start + size] for start in range(0, len(sources), size)):
        while True:
            through = np.minimum.reduceat(block[:, starts] + lengths, first, axis=1)
            shorter = np.minimum(block[:, stops], through)
            if (shorter == block[:, stops]).all():
                break
            block[:, stops] = shorter
    return far


def _root(view: _View, proof: dict[str, Any]) -> tuple[int, str]:
    node = int(proof["node"])
    if view.operation != "broadcast" or node not in view.members:
        raise KeyError(view.operation)
    links, distance = view.degree(view.root, True), view.distances(view.root)[node]
    steps = up(view.chunks, links) - 1 + distance * (1 + view.latency)
    verb = "enters" if view.backwards else "leaves"
    return steps, (
        f"the last of {counted(view.chunks, 'chunk')} {verb} root {view.called(view.root)} by one of "
        f"{counted(links, 'link')} in step "
        f"{up(view.chunks, links) - 1} of the algorithm and has {counted(distance, 'hop')}: at least "
        f"{counted(steps, 'step')}"
    )


def _arrival(view: _View, proof: dict[str, Any]) -> tuple[int, str]:
    node = int(proof["node"])
    if view.operation not in ("broadcast", "scatter") or node not in view.members:
        raise KeyError(view.operation)
    links, distance = view.degree(node, False), view.distances(view.root)[node]
    steps = up(view.chunks, links) - 1 + distance * (1 + view.latency)
    return steps, (
        f"node {view.called(node)} is {counted(distance, 'hop')} from root {view.called(view.root)} and has "
        f"{counted(view.chunks, 'chunk')} on {counted(links, 'link')}: at least {counted(steps, 'step')}"
    )


def _farthest(view: _View, proof: dict[str, Any]) -> tuple[int, str]:
    least = int(proof["distance"])
    if view.operation != "scatter":
        raise KeyError(view.operation)
    far = view.distances(view.root)
    count = sum(far[node] >= least for node in view.members if node != view.root) * view.chunks
    if not count:
        raise KeyError("distance")
    links = view.degree(view.root, True)
    steps = up(count, links) - 1 + least * (1 + view.latency)
    verb = "enter" if view.backwards else "leave"
    return steps, (
        f"{counted(count, 'chunk')} {verb}{'s' * (count == 1)} root {view.called(view.root)} over "
        f"{counted(links, 'link')} and {'has' if count == 1 else 'have'} at least "
        f"{counted(least, 'hop')}: at least {counted(steps, 'step')}"
    )


def _transfers(view: _View, _proof: dict[str, Any]) -> tuple[int, str]:
    if view.operation != "all-reduce":
        raise KeyError(view.operation)
    count = len(view.members)
    transfers = 2 * view.chunks * count * (count - 1)
    links = _whole_links(view) if view.ground.whole else sum(view.ground.links.values())
    steps = up(transfers, links) + view.latency
    return (
        steps,
        f"{counted(transfers, 'transfer')} over {counted(links, 'link')}: at least {counted(steps, 'step')}",
    )


def _parts(view: _View, proof: dict[str, Any]) -> tuple[int, str]:
    listed = [int(node) for part in proof["parts"] for node in part]
    if (
        view.operation != "all-reduce"
        or len({*listed}) < len(listed)
        or not {*listed} <= {*view.ground.working}
    ):
        raise KeyError("parts")
    count, needed, links = transfers(view.ground, view.members, proof["parts"])
    crossing = needed * view.chunks * len(view.members)
    steps = up(crossing, links) + view.latency
    return steps, (
        f"{counted(crossing, 'transfer')} between {counted(count, 'part')} over {counted(links, 'link')}: at "
        f"least {counted(steps, 'step')}"
    )


def transfers(ground: Ground, members: Sequence[int], parts: Iterable[Sequence[int]]) -> tuple[int, int, int]:
    """Parts with nodes that take part, nodes alone included; transfers of a sum, and links between parts.

    Before a part knows a sum every other one has sent something, and after that every other one receives
    something.

    >>> import flitloom as fl
    >>> transfers(Ground(fl.Mesh(4)), [0, 1, 2, 3], [[0, 1], [2, 3]])
    (2, 2, 2)
    """
    where = {node: node for node in ground.working}
    for part in parts:
        where.update(dict.fromkeys(part, part[0]))
    count = len({where[node] for node in members})
    links = sum(several for (start, end), several in ground.links.items() if where[start] != where[end])
    return count, 2 * (count - 1), links


def _crossing(view: _View, proof: dict[str, Any]) -> tuple[int, str]:
    inside = nodes_of(view.ground, proof)
    members, scatters = set(view.members), view.operation == "scatter"
    exchange = view.operation in ("all-to-all", "all-to-all-v")
    gathers, spreads = view.operation == "all-gather", view.operation == "broadcast"
    if not (exchange or gathers or spreads or scatters or view.operation == "all-reduce"):
        raise KeyError(view.operation)
    # Of an exchange that names no start or no end all nodes on that side count that have chunks for others.
    every = {side: exchange and side not in proof for side in ("from", "to")}
    if any(every.values()) and view.premises.demands is not None:
        members = {node for pair in view.demands() for node in pair}
    # Chunks of a scatter go to all members outside.
    ends = members - inside if scatters or every["to"] else {int(proof["to"])}
    # Chunks of an all-gather come from all members inside.
    starts = members & inside if gathers or every["from"] else {int(proof["from"])}
    if not starts or not starts <= members & inside or not ends or not ends <= members - inside:
        raise KeyError("members")
    if (spreads or scatters) and starts != {view.root}:
        raise KeyError("root")
    before = view.ground.nearest(starts, view.backwards)
    behind = view.ground.nearest(ends, backwards=not view.backwards)
    ways = sorted(
        (before[tail] + 1 + behind[head]) * (1 + view.latency)
        for (tail, head), count in view.over_links()
        if tail in inside and head not in inside and tail in before and head in behind
        for _ in range(count)
    )
    if exchange and len(starts) + len(ends) > 2:
        count = _wanted(view, starts, ends)
        text = f"each of {counted(count, 'chunk')} {_ways_of(view, starts, ends)} leaves"
    elif gathers or scatters:
        count = view.chunks * len(starts) * len(ends)
        (node,) = ends if gathers else starts
        verb = "comes from" if gathers is view.backwards else "goes to"
        other = "enters" if view.backwards else "leaves"
        text = f"each of {counted(count, 'chunk')} {verb} node {view.called(node)} and {other}"
    else:
        (end,) = ends
        (start,) = starts
        count = view.chunks if spreads else view.chunks * len(members)
        count = view.demands()[start, end] if exchange else count
        what = f"something of each of {counted(count, 'sum')}"
        if exchange or (spreads and not view.backwards):
            what = f"each of {counted(count, 'chunk')}"
        named = view.called(start), view.called(end)
        named = named[::-1] if view.backwards else named
        verb = "enters" if view.backwards else "leaves"
        text = f"{what} goes from node {named[0]} to node {named[1]} and {verb}"
    steps = next(steps for steps in range(count + max(ways)) if _crossed(ways, steps) >= count)
    return steps, (
        f"{text} {_set(inside, view)} by one of {counted(len(ways), 'link')}: at least "
        f"{counted(steps, 'step')}"
    )


def _wanted(view: _View, starts: set[int], ends: set[int]) -> int:
    """Chunks of an exchange from some nodes to others."""
    if view.premises.demands is None:
        return view.chunks * len(starts) * len(ends)
    return sum(count for (a, b), count in view.demands().items() if a in starts and b in ends)


def _ways_of(view: _View, starts: set[int], ends: set[int]) -> str:
    """Between which nodes chunks go."""
    named = [f"node {view.called(min(some))}" if len(some) == 1 else "" for some in (starts, ends)]
    parts = [f"from {named[0]}" * bool(named[0]), f"to {named[1]}" * bool(named[1])]
    return " ".join(part for part in parts if part) or "for nodes outside"


def _crossed(ways: Iterable[int], steps: int) -> int:
    return sum(max(0, steps + 1 - way) for way in ways)


RULES: dict[str, Callable[[_View, dict[str, Any]], tuple[int, str]]] = {
    "cut": _cut,
    "distance": _distance,
    "hops": _hops,
    "lengths": _lengths,
    "root": _root,
    "arrival": _arrival,
    "farthest": _farthest,
    "crossing": _crossing,
    "parts": _parts,
    "transfers": _transfers,
}

#: Fields of proofs by their kind, besides it.
FIELDS = {
    "cut": ("nodes", "all_but"),
    "distance": ("from", "to"),
    "lengths": ("lengths",),
    "root": ("node",),
    "arrival": ("node",),
    "farthest": ("distance",),
    "crossing": ("nodes", "all_but", "from", "to"),
    "parts": ("parts",),
}
