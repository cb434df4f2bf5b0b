"""Chosen routes and starts: CP-SAT and the bounds against an exhaustive search of its own."""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

import flitloom as fl
from flitloom import _core
from flitloom.scheduling import cp_sat
from flitloom.scheduling.cp_sat import WORKER, Job
from flitloom.scheduling.search import schedule

#: Sizes, and packets as (source, destination, length, slices).
Case = tuple[tuple[int, ...], list[tuple[int, int, int, int]]]


def steps_of(sizes: tuple[int, ...], source: int, destination: int) -> Iterator[list[tuple[int, int]]]:
    """All ways to write a minimal route as a list of (dimension, +1 or -1), whatever their order."""
    choices = []
    for dimension, size in enumerate(sizes):
        stride = int(np.prod(sizes[:dimension], dtype=int))
        forward = (destination // stride - source // stride) % size
        shortest = min(forward, size - forward)
        ways = {sign for sign, hops in ((1, forward), (-1, size - forward)) if hops == shortest and hops}
        choices.append([[(dimension, sign)] * shortest for sign in sorted(ways)] or [[]])
    for parts in itertools.product(*choices):
        yield [step for part in parts for step in part]


def routes_of(sizes: tuple[int, ...], source: int, destination: int, bends: int) -> set[tuple[int, ...]]:
    """The links of all minimal routes with up to so many bends."""
    found = set()
    for steps in steps_of(sizes, source, destination):
        for order in set(itertools.permutations(steps)):
            if sum(one[0] != other[0] for one, other in itertools.pairwise(order)) > bends:
                continue
            place = [
                source // int(np.prod(sizes[:each], dtype=int)) % size for each, size in enumerate(sizes)
            ]
            links = []
            for dimension, sign in order:
                node = sum(at * int(np.prod(sizes[:each], dtype=int)) for each, at in enumerate(place))
                links.append((node * len(sizes) + dimension) * 2 + (sign > 0))
                place[dimension] = (place[dimension] + sign) % sizes[dimension]
            found.add(tuple(links))
    return found


def is_possible(case: Case, bends: int, target: int) -> bool:
    """Exhaustive search for a schedule: what a packet holds is a set of bits, one per resource and cycle."""
    sizes, packets = case
    nodes = int(np.prod(sizes))
    width = target + 1
    choices = []
    for source, destination, length, slices in packets:
        flits = length * slices
        run = (1 << flits) - 1
        masks = []
        for links in routes_of(sizes, source, destination, bends):
            uses = [source, *(2 * nodes + link for link in links), nodes + destination]
            offsets = [0, *range(len(links)), len(links)]
            held = sum(run << (use * width + offset) for use, offset in zip(uses, offsets, strict=True))
            masks += [held << start for start in range(target - flits - len(links))]
        choices.append(masks)

    def place(left: list[list[int]]) -> bool:
        if not left:
            return True
        index = min(range(len(left)), key=lambda each: len(left[each]))
        others = left[:index] + left[index + 1 :]
        return any(
            place([[mask for mask in masks if not mask & chosen] for masks in others])
            for chosen in left[index]
        )

    return place(choices)


def random_cases() -> list[Case]:
    random = np.random.default_rng(4)
    cases: list[Case] = []
    for number in range(18):
        sizes = [(4, 4), (5, 3), (5,), (6,), (3, 3), (4,)][number % 6]
        nodes = int(np.prod(sizes))
        length, slices = int(random.integers(2, 5)), int(random.integers(1, 3))
        packets = []
        for _ in range(5):
            source, destination = random.choice(nodes, 2, replace=False).tolist()
            packets.append((source, destination, length, slices))
        cases.append((sizes, packets))
    # Rings whose links are all full: their phases decide.
    for size, hops in ((5, 2), (6, 2), (6, 3), (7, 3)):
        cases.append(((size,), [(node, (node + hops) % size, 3, 1) for node in range(size)]))
    return cases


@cache
def optima() -> list[tuple[Case, str, int]]:
    """Every case with each choice of routes, and its shortest duration by exhaustive search."""
    found = []
    for case in random_cases():
        for routes, bends in (("any-order", 1), ("minimal", 2)):
            durations = itertools.count(max(length * slices for _, _, length, slices in case[1]))
            found.append((case, routes, next(each for each in durations if is_possible(case, bends, each))))
    return found


def asked(case: Case, routes: str, target: int) -> list[Job] | None:
    sizes, packets = case
    network = fl.Network(fl.Torus(*sizes))
    return _core.ScheduleProblem(network.one_cycle("plans are for"), np.array(packets), routes).candidates(
        target
    )


def test_bounds_are_not_above_the_optimum() -> None:
    met = 0
    for (sizes, packets), routes, optimum in optima():
        network = fl.Network(fl.Torus(*sizes))
        bound = _core.ScheduleProblem(network.one_cycle("plans are for"), np.array(packets), routes).proof()[
            0
        ]
        assert bound <= optimum
        met += bound == optimum
    assert met > len(optima()) / 2


def test_cp_sat_decides_as_exhaustive_search() -> None:
    questions = []
    for case, routes, optimum in optima():
        possible = asked(case, routes, optimum)
        assert possible is not None
        questions += [possible, asked(case, routes, optimum - 1)]
    # Some are refuted before they are asked.
    assert sum(jobs is not None for jobs in questions[1::2]) > 5
    program = (
        f"import json, runpy, sys; decide = runpy.run_path({str(WORKER)!r})['decide'];"
        "json.dump([jobs is not None and decide(jobs, 60, 1) for jobs in json.load(sys.stdin)], sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = json.loads(done.stdout)
    assert answers[1::2] == [False] * len(optima())
    for ((sizes, packets), routes, optimum), answer in zip(optima(), answers[::2], strict=True):
        network = fl.Network(fl.Torus(*sizes))
        placements = [tuple(placement) for placement in answer]
        placed = _core.ScheduleProblem(network.one_cycle("plans are for"), np.array(packets), routes).packets(
            placements
        )
        assert placed["duration"] == optimum
        assert (
            _core.check_plan(network.one_cycle("plans are for"), placed["table"], placed["routes"]) == optimum
        )


@pytest.mark.parametrize("routes", ["any-order", "minimal"])
def test_a_weak_search_is_finished_and_proven(routes: str) -> None:
    network = fl.Network(fl.Torus(4, 4))
    collective = fl.Collective("brot", payload=14, slices=2)
    weak = schedule(network, collective, "greedy", routes=routes)
    assert not weak.optimal
    plan = schedule(network, collective, "greedy", routes=routes, cp_sat_seconds=60)
    assert plan.optimal
    assert plan.method == "greedy with cp-sat"
    assert plan.duration < weak.duration
    report = fl.plans.check(plan)
    assert report["passed"], report["problems"]
    assert {packet.route for packet in plan.packets} != {packet.route for packet in weak.packets}


def test_a_search_over_routes_that_lacks_symmetry_is_finished() -> None:
    network = fl.Network(fl.Torus(5, 3))
    random = np.random.default_rng(2)
    table = [(node, int(random.integers(15)), 5, 0, 0) for node in range(15)]
    rows = [row for row in table if row[0] != row[1]]
    plan = schedule(network, fl.Packets(rows), "greedy", routes="minimal", cp_sat_seconds=60)
    assert plan.optimal
    report = fl.plans.check(plan)
    assert report["passed"], report["problems"]


def test_interrupted_cp_sat_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    network = fl.Network(fl.Torus(4, 4))
    collective = fl.Collective("brot", payload=14, slices=2)

    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    weak = schedule(network, collective, "greedy", routes="any-order")
    monkeypatch.setattr(cp_sat, "decide", press)
    kept = schedule(network, collective, "greedy", routes="any-order", cp_sat_seconds=60)
    assert kept.packets == weak.packets
    assert not kept.reproducible
