"""Check plans of collective operations by replaying them; independent of the code that makes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.telling import Told, telling, untold
from flitloom.errors import SpecError, require_kind
from flitloom.ground.numerals import counted

#: Problems that are reported before the replay gives up.
MOST = 20
#: Chunks at nodes that a replay follows.
MOST_PLACES = 1 << 23


class _Problems(list[str]):
    """Messages, up to a number that can be read."""

    def add(self, message: str) -> None:
        if len(self) < MOST:
            self.append(message)
        elif len(self) == MOST:
            self.append("and more")


def check_collective(plan: CollectivePlan, told: Told = untold) -> dict[str, Any]:
    """Replay a plan chunk by chunk and count its bound anew.

    Parameters
    ----------
    plan : CollectivePlan
        The plan.
    told : function
        Told now and then how many of how many moves are replayed; of orbits, and of groups, not.

    Returns
    -------
    dict
        ``passed``, ``steps`` (as replayed), ``problems`` (a list of messages), ``bound`` (as proven anew,
        ``None`` if its proof is none), ``optimal``, ``proof`` as text, and ``not_verified``: what the file
        says of itself that cannot be computed anew, with the reason.

    Examples
    --------
    >>> import flitloom as fl
    >>> report = fl.collectives.check(fl.collectives.plan(fl.Mesh(6, 6), "all-gather"))
    >>> report["passed"], report["steps"], report["bound"]
    (True, 18, 18)
    """
    advice = "fl.collectives.plan(...) or fl.collectives.read(...)"
    require_kind("plan", plan, CollectivePlan, "plan of a collective operation", advice)
    _size(plan)
    problems = _Problems()
    steps, bound, proof = 0, None, ""
    try:
        steps = _replayed(plan, problems, told)
    except SpecError as error:
        problems.add(str(error))
    if steps != plan.steps:
        problems.add(f"steps: the file says {plan.steps}, the replay takes {steps}")
    try:
        bound, proof = plan.proven()
        if bound < plan.bound:
            problems.add(f"bound: the file says {plan.bound}, its proof shows only {bound}")
    except SpecError as error:
        problems.add(str(error))
    if plan.optimal != (plan.steps == plan.bound):
        problems.add("optimal: does not agree with steps and bound")
    valid = not problems
    return {
        "passed": valid,
        "steps": steps,
        "problems": list(problems),
        "bound": bound,
        "optimal": valid and steps == bound,
        "bound_proof": proof,
        "not_verified": dict.fromkeys(("seed", "version"), "nothing in the moves says so"),
    }


def _replayed(plan: CollectivePlan, problems: _Problems, told: Told = untold) -> int:
    """Steps until the last chunk has arrived; of several groups, that of the last of them."""
    if plan.groups is not None:
        return max((_replayed(one, problems) for one in plan.by_group()), default=0)
    _head(plan)
    return _orbits(plan, problems) if plan.is_orbit else _moves(plan, problems, told)


def require_right(plan: CollectivePlan, place: str, told: Told = untold) -> None:
    """Refuse a plan from a file that does not do what it claims; `told` is as of `check_collective`.

    Raises
    ------
    SpecError
        What is wrong first; or the plan is too large to be followed.
    """
    problems = check_collective(plan, told)["problems"]
    if problems:
        raise wrong_plan(place, problems)


def wrong_plan(place: str, problems: Sequence[str]) -> SpecError:
    """The refusal of a plan from a file, with the first of its problems."""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return SpecError.at(
        "plan",
        f"{place} does not do what it claims: {problems[0]}{more}",
        "flitloom check says what does not hold",
    )


def _size(plan: CollectivePlan) -> None:
    """Refuse what would take too long or too much memory to follow."""
    nodes = plan.ground.nodes
    if plan.demands is not None:
        places = sum(count for _, _, count in plan.demands)
    else:
        places = plan.chunks * (nodes if plan.is_orbit else len(plan.members) ** 2)
        if plan.operation in ("broadcast", "reduce"):
            places = plan.chunks * nodes
    if places > MOST_PLACES:
        raise SpecError.at(
            "plan", f"{counted(places, 'chunk')} at nodes", f"at most {MOST_PLACES} are followed"
        )


def _head(plan: CollectivePlan) -> None:
    working = set(plan.ground.working)
    for node in plan.members:
        if node not in working:
            raise SpecError.at("nodes", f"node {node} does not exist or has failed")
    rooted = plan.operation in ("broadcast", "reduce", "scatter", "gather")
    if rooted and plan.root not in plan.members:
        raise SpecError.at("root", "is not among the nodes that take part")
    if not rooted and plan.root is not None:
        raise SpecError.at("root", f"{plan.operation} has none")
    if (plan.operation == "all-to-all-v") != (plan.demands is not None):
        raise SpecError.at("demands", "belong to all-to-all-v, and to nothing else")
    for source, target, _ in plan.demands or []:
        if not {source, target} <= working:
            raise SpecError.at("demands", f"node {source} or {target} does not exist or has failed")


#: Which rows an operation may have.
_PARTS = {
    "all-gather": "sends",
    "reduce-scatter": "adds",
    "all-to-all": "paths",
    "all-reduce": "adds sends",
}


def _orbits(plan: CollectivePlan, problems: _Problems) -> int:
    ground = plan.ground
    if not ground.whole or plan.nodes is not None or plan.demands is not None:
        raise SpecError.at("directions", "orbits need a healthy torus on which all nodes take part")
    if plan.sums or plan.moves:
        raise SpecError.at("moves", "a plan is either orbits or moves")
    orbits = _Orbits(plan, problems)
    allowed = _PARTS.get(plan.operation)
    if allowed is None:
        raise SpecError.at("operation", f"{plan.operation} has no orbits")
    for name in ("adds", "sends", "paths"):
        if getattr(plan, name) and name not in allowed:
            raise SpecError(f"{name}: have no part in {plan.operation}")
    complete = orbits.follow_adds() if "adds" in allowed else 0
    if "sends" in allowed:
        orbits.follow_sends(complete)
    if "paths" in allowed:
        orbits.follow_paths()
    return orbits.last + orbits.wait if orbits.used else 0


class _Orbits:
    """A replay of what all nodes do, shifted, as the node at the origin sees it."""

    def __init__(self, plan: CollectivePlan, problems: _Problems) -> None:
        self.plan, self.problems, self.ground = plan, problems, plan.ground
        self.size = len(self.ground.sizes)
        self.origin: tuple[int, ...] = (0,) * self.size
        self.wait = 1 + plan.latency
        self.used: set[tuple[int, int]] = set()
        self.last = -1
        self.ways = []
        for place, vector in enumerate(plan.directions):
            if len(vector) != self.size:
                raise SpecError(f"directions[{place}]: {self.size} numbers are needed")
            self.ways.append(self.ground.normal(vector))
        for end, count in Counter(self.ways).items():
            known = self.ground.directions[end]
            if count > known:
                raise SpecError.at(
                    "directions", f"{counted(count, 'link')} to {list(end)}, there are {known}"
                )

    def uses(self, step: int, way: int, where: str) -> tuple[int, ...] | None:
        """The vector of a direction, which is busy in a step from now on."""
        if way >= len(self.ways):
            self.problems.add(f"{where}: direction {way} does not exist")
            return None
        if (step, way) in self.used:
            self.problems.add(f"{where}: direction {way} is busy twice in step {step}")
        self.used.add((step, way))
        self.last = max(self.last, step)
        return self.ways[way]

    def plus(self, a: Any, b: Any, sign: int = 1) -> tuple[int, ...]:
        """The sum of two vectors, on the torus."""
        return self.ground.normal([one + sign * other for one, other in zip(a, b, strict=True)])

    def offset_of(self, vector: list[int], chunk: int, where: str) -> tuple[int, ...] | None:
        """The offset that a row names, if there is one and the chunk exists."""
        sizes = self.ground.sizes
        if len(vector) != self.size or any(
            value >= bound for value, bound in zip(vector, sizes, strict=True)
        ):
            self.problems.add(f"{where}: {vector} is not an offset")
            return None
        if chunk >= self.plan.chunks:
            self.problems.add(f"{where}: chunk {chunk} does not exist")
            return None
        return tuple(vector)

    def follow_adds(self) -> int:
        """Add up the partial sums; the step in which the last sum is complete."""
        plan, ground, complete = self.plan, self.ground, 0
        # Who has contributed to the sum at an offset from its owner, as bits, and since when.
        mask = {
            (ground.point(node), chunk): 1 << node
            for node in range(ground.nodes)
            for chunk in range(plan.chunks)
        }
        landing: list[tuple[int, tuple[int, ...], int, int, str]] = []
        for number, (step, way, vector, chunk) in sorted(enumerate(plan.adds), key=lambda row: row[1][0]):
            where = f"adds[{number}]"
            landing = _land(mask, landing, step, self.problems)
            start, along = self.offset_of(vector, chunk, where), self.uses(step, way, where)
            if start is None or along is None:
                continue
            landing.append((step + self.wait, self.plus(start, along), chunk, mask[start, chunk], where))
            complete = max(complete, step + self.wait)
        _land(mask, landing, None, self.problems)
        full = (1 << ground.nodes) - 1
        missing = sum(mask[self.origin, chunk] != full for chunk in range(plan.chunks))
        if missing:
            self.problems.add(f"adds: {missing} of {plan.chunks} sums of every node lack contributions")
        return complete

    def follow_sends(self, complete: int) -> None:
        """Forward the chunks that a node has from step `complete` on, until all nodes have them."""
        plan = self.plan
        have = {(self.origin, chunk): complete for chunk in range(plan.chunks)}
        for number, (step, way, vector, chunk) in sorted(enumerate(plan.sends), key=lambda row: row[1][0]):
            where = f"sends[{number}]"
            goal, by = self.offset_of(vector, chunk, where), self.uses(step, way, where)
            if goal is None or by is None:
                continue
            since = have.get((self.plus(goal, by, -1), chunk))
            if since is None or since > step:
                self.problems.add(f"{where}: the sender does not have the chunk in step {step}")
            have[goal, chunk] = min(have.get((goal, chunk), step + self.wait), step + self.wait)
        missing = self.ground.nodes * plan.chunks - len(have)
        if missing:
            self.problems.add(f"sends: {missing} chunks never arrive at a node")

    def follow_paths(self) -> None:
        """Follow every chunk from its source to its destination."""
        plan = self.plan
        arrived = set()
        for number, (vector, chunk, hops) in enumerate(plan.paths):
            where = f"paths[{number}]"
            target = self.offset_of(vector, chunk, where)
            if target is None:
                continue
            here, ready = self.origin, 0
            for step, way in hops:
                hop = self.uses(step, way, where)
                if hop is None:
                    break
                if step < ready:
                    self.problems.add(f"{where}: leaves in step {step} before it has arrived")
                here, ready = self.plus(here, hop), step + self.wait
            if here != target:
                self.problems.add(f"{where}: ends at {list(here)} instead of {vector}")
            if (target, chunk) in arrived:
                self.problems.add(f"{where}: comes twice")
            arrived.add((target, chunk))
        own = {(self.origin, chunk) for chunk in range(plan.chunks)}
        missing = (self.ground.nodes - 1) * plan.chunks - len(arrived - own)
        if missing:
            self.problems.add(f"paths: {missing} chunks never leave a node")


def _land(mask: Any, landing: Any, step: int | None, problems: _Problems) -> Any:
    """Add up the partial sums that have arrived by a step (all of them by no step)."""
    later = []
    for row in landing:
        time, place, chunk, bits, where = row
        if step is not None and time > step:
            later.append(row)
            continue
        if mask[place, chunk] & bits:
            problems.add(f"{where}: something is added twice")
        mask[place, chunk] |= bits
    return later


def _moves(plan: CollectivePlan, problems: _Problems, told: Told) -> int:
    if plan.adds or plan.sends or plan.paths:
        raise SpecError.at("directions", "are missing", "orbits need them")
    exchange = plan.operation in ("all-to-all", "all-to-all-v")
    summing = plan.operation in ("reduce-scatter", "reduce", "all-reduce")
    width = 6 if exchange else 5
    if plan.sums and not summing:
        raise SpecError.at("sums", f"have no part in {plan.operation}")
    if plan.moves and plan.operation in ("reduce-scatter", "reduce"):
        raise SpecError.at("moves", f"have no part in {plan.operation}", "it moves sums")
    members = plan.members
    bit = {node: 1 << place for place, node in enumerate(members)}
    full = (1 << len(members)) - 1
    state, wanted = _needs(plan, bit, full)
    rows = [(row[0], False, number, row) for number, row in enumerate(plan.moves)]
    rows += [(row[0], True, number, row) for number, row in enumerate(plan.sums)]
    rows.sort(key=lambda row: (row[0], row[2]))
    links = plan.ground.links
    wait = 1 + plan.latency
    landing: list[tuple[int, Any, int, bool, str]] = []
    busy: Counter[tuple[int, int]] = Counter()
    now = last = -1
    head = 0
    for step, adds, number, row in telling(rows, told):
        where = f"{'sums' if adds else 'moves'}[{number}]"
        if len(row) != width:
            raise SpecError(f"{where}: {width} numbers are needed")
        start, end, block = row[1], row[2], tuple(row[3:])
        if step != now:
            now, busy = step, Counter()
            while head < len(landing) and landing[head][0] <= step:
                _arrive(state, landing[head], problems)
                head += 1
        if (start, end) not in links:
            problems.add(f"{where}: there is no working link from node {start} to node {end}")
        busy[start, end] += 1
        if busy[start, end] > links.get((start, end), 1):
            problems.add(f"{where}: the link from node {start} to node {end} is busy twice in step {step}")
        value = state.get((start, block))
        if value is None:
            problems.add(f"{where}: node {start} does not have the chunk in step {step}")
            value = 0
        landing.append((step + wait, (end, block), value, adds, where))
        last = max(last, step)
    for late in landing[head:]:
        _arrive(state, late, problems)
    for (node, block), value in wanted.items():
        found = state.get((node, block))
        if found is None:
            problems.add(f"moves: chunk {list(block)} never arrives at node {node}")
        elif found != value:
            problems.add(f"sums: the sum {list(block)} at node {node} lacks contributions")
    return last + wait if rows else 0


def _arrive(state: Any, arrival: tuple[int, Any, int, bool, str], problems: _Problems) -> None:
    _, place, value, adds, where = arrival
    if adds:
        if state.get(place, 0) & value:
            problems.add(f"{where}: something is added twice")
        state[place] = state.get(place, 0) | value
    else:
        state[place] = value


def _needs(plan: CollectivePlan, bit: dict[int, int], full: int) -> tuple[Any, Any]:
    """What nodes have at first and need at last: (node, block) to its contributions."""
    members, chunks, root = plan.members, range(plan.chunks), plan.root
    state: dict[tuple[int, tuple[int, ...]], int] = {}
    wanted: dict[tuple[int, tuple[int, ...]], int] = {}
    name = plan.operation
    if name in ("broadcast", "reduce"):
        for chunk in chunks:
            block = (int(root or 0), chunk)
            for node in members:
                if name == "reduce":
                    state[node, block] = bit[node]
                else:
                    wanted[node, block] = full
            if name == "reduce":
                wanted[int(root or 0), block] = full
            else:
                state[int(root or 0), block] = full
    elif name in ("all-to-all", "all-to-all-v"):
        demands = plan.demands
        if demands is None:
            demands = [(a, b, plan.chunks) for a in members for b in members if a != b]
        given: Counter[tuple[int, int]] = Counter()
        for source, target, count in demands:
            for chunk in range(given[source, target], given[source, target] + count):
                state[source, (source, target, chunk)] = full
                wanted[target, (source, target, chunk)] = full
            given[source, target] += count
    else:
        for owner in members:
            for chunk in chunks:
                block = (owner, chunk)
                if name in ("reduce-scatter", "all-reduce"):
                    for node in members:
                        state[node, block] = bit[node]
                else:
                    state[int(root or 0) if name == "scatter" else owner, block] = full
                if name in ("scatter", "reduce-scatter"):
                    wanted[owner, block] = full
                elif name == "gather":
                    wanted[int(root or 0), block] = full
                else:
                    wanted.update(((node, block), full) for node in members)
    return state, wanted
