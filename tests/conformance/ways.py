"""The ways in which a stored case runs: each gives what is written down of it, or a part of that.

A way is an engine or a form of one (planes, sets of channels, lists where every packet and link is
recorded), a number of parts, or a run that is saved, copied, pickled or made from objects half-way.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import flitloom as fl
from conformance.running import CASES, WINDOW, Case, guarded, hashes, of_result, totals, windows_of
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.run.simulation import Simulation

#: What comes of a case, and a cycle in the middle of it, in a folder for files.
Way = Callable[[Case, int, Path], dict[str, Any]]


def ended(case: Case, simulation: Simulation) -> dict[str, Any]:
    """What comes of a simulation that goes on to its end."""
    simulation.run(until=case.experiment.stop_at)
    return of_result(simulation.result())


def outcome(case: Case, **options: Any) -> dict[str, Any]:
    """What comes of a case, or how it fails."""
    return guarded(lambda: ended(case, case.begun(**options)))


def recorded(case: Case) -> dict[str, Any]:
    """With a record of every packet and, on grids, of every link and cycle."""
    links = case.experiment.topology.grid is not None

    def run() -> dict[str, Any]:
        simulation = case.begun(packets=True, link_time=links)
        return ended(case, simulation) | hashes(simulation.result(), links=links)

    return guarded(run)


def in_windows(case: Case, threads: int = 1) -> dict[str, Any]:
    """With windows, and something measured that neither begins nor ends with one."""

    def run() -> dict[str, Any]:
        simulation = case.begun(windows=WINDOW, threads=threads)
        end = case.experiment.stop_at
        simulation.measure(WINDOW // 2, None if end is None else end - WINDOW // 5)
        return ended(case, simulation) | {"windows": windows_of(simulation)}

    return guarded(run)


def half_way(
    case: Case, at: int, again: Callable[[Simulation], Simulation], threads: int = 1
) -> dict[str, Any]:
    """Up to a cycle, then what `again` makes of the simulation."""

    def run() -> dict[str, Any]:
        simulation = case.begun(threads=threads)
        simulation.run(until=at)
        return ended(case, again(simulation))

    return guarded(run)


def saved(case: Case, at: int, folder: Path, before: int = 1, after: int = 1) -> dict[str, Any]:
    """Written to a file and read, by other threads too."""
    file = folder / "run.flit"

    def again(simulation: Simulation) -> Simulation:
        simulation.save(file)
        return Simulation.load(file, tables=case.tables, threads=after)

    return half_way(case, at, again, before)


def copied(case: Case, at: int) -> dict[str, Any]:
    """The copy goes on first; the original does not notice."""

    def run() -> dict[str, Any]:
        first = case.begun()
        first.run(until=at)
        second = copy.copy(first)
        found = guarded(lambda: ended(case, second))
        assert (first.now, guarded(lambda: ended(case, first))) == (at, found)
        return found

    return guarded(run)


def from_objects(case: Case) -> dict[str, Any]:
    """By `flitloom.simulate`, or by the function of message graphs."""
    spec = case.experiment

    def run() -> dict[str, Any]:
        if case.is_graph:
            graph = MessageGraph.read(CASES / f"{case.name}.goal")
            result = simulate_messages(case.network, graph, tables=case.tables, cycle_limit=spec.cycle_limit)
            return totals({**result, "age_sum": result["latency_sum"] + 2 * result["packets_delivered"]})
        options = {"seed": spec.seed, "stop_at": spec.stop_at, "throttle": spec.throttle}
        limit = {} if spec.cycle_limit is None else {"cycle_limit": spec.cycle_limit}
        result = fl.simulate(case.network, spec.traffic, tables=case.tables, **options, **limit)
        return of_result(result)

    return guarded(run)


WAYS: dict[str, Way] = {
    "held": lambda case, _at, _folder: outcome(case),
    "recorded": lambda case, _at, _folder: recorded(case),
    "threads": lambda case, _at, _folder: outcome(case, threads=3),
    "windows": lambda case, _at, _folder: in_windows(case),
    "windows-threads": lambda case, _at, _folder: in_windows(case, threads=2),
    "saved": saved,
    "saved-threads": partial(saved, before=2, after=3),
    "copied": lambda case, at, _: copied(case, at),
    "pickled": lambda case, at, _: half_way(case, at, lambda run: pickle.loads(pickle.dumps(run))),
    "objects": lambda case, _at, _folder: from_objects(case),
}
