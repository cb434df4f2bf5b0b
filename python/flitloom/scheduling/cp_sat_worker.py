"""The part of `cp_sat` that needs OR-Tools, run in a separate process.

OR-Tools brings a libhighs of the same name but another version than highspy, and one process can load only
one of them; so OR-Tools has a separate process, and this file imports nothing of flitloom.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

#: A job: how long it holds each resource, and per route its resources with offsets and its starts.
Job = tuple[int, list[tuple[list[tuple[int, int]], list[int]]]]


def decide(jobs: list[Job], seconds: float, workers: int = 2) -> list[tuple[int, int]] | bool | None:
    """Routes and start cycles without conflicts.

    Every job has a start and, where it has several routes, a literal for each of them. What it holds is an
    interval at an offset from its start, there only if one of the routes that hold it is taken. The
    intervals of a resource do not overlap; what follows from their lengths alone (all that is held must
    fit between the first and the last cycle in which anything could be held) is said once more for the
    linear relaxation.

    Parameters
    ----------
    jobs : list
        Per job its length in cycles and, per route, its resources with offsets and its starts.
    seconds : float
        Wall-clock limit.
    workers : int
        Threads of the solver.

    Returns
    -------
    list of (int, int), False or None
        A route and a start per job; False if there are none; None if no answer was found in time.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    held = defaultdict(list)
    starts, choices = [], []
    for number, (length, routes) in enumerate(jobs):
        own = sorted({start for _, allowed in routes for start in allowed})
        start = model.new_int_var_from_domain(cp_model.Domain.from_values(own), f"start{number}")
        taken = [model.new_bool_var(f"route{number}_{route}") for route in range(len(routes))]
        model.add_exactly_one(taken)
        holders = defaultdict(list)
        for route, (uses, allowed) in enumerate(routes):
            if not allowed:
                model.add(taken[route] == 0)
                continue
            if len(allowed) < len(own):
                domain = cp_model.Domain.from_values(allowed)
                model.add_linear_expression_in_domain(start, domain).only_enforce_if(taken[route])
            for resource, offset in uses:
                holders[resource, offset].append(route)
        available = [route for route, (_, allowed) in enumerate(routes) if allowed]
        literals: dict[tuple[int, ...], Any] = {}
        for (resource, offset), group in holders.items():
            name = f"use{number}_{resource}_{offset}"
            first, last = own[0] + offset, own[-1] + offset + length
            if group == available:
                interval = model.new_fixed_size_interval_var(start + offset, length, name)
                held[resource].append((interval, None, length, first, last))
                continue
            key = tuple(group)
            if key not in literals:
                literals[key] = taken[group[0]]
                if len(group) > 1:
                    literals[key] = model.new_bool_var(f"one_of{number}_{key}")
                    model.add(sum(taken[route] for route in group) == literals[key])
            literal = literals[key]
            interval = model.new_optional_fixed_size_interval_var(start + offset, length, literal, name)
            held[resource].append((interval, literal, length, first, last))
        starts.append(start)
        choices.append(taken)
    for users in held.values():
        _keep_apart(model, users)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        routes_taken = [
            next(route for route, literal in enumerate(taken) if solver.value(literal)) for taken in choices
        ]
        return [(route, solver.value(start)) for route, start in zip(routes_taken, starts, strict=True)]
    return False if status == cp_model.INFEASIBLE else None


def _keep_apart(model: Any, users: list[tuple[Any, Any, int, int, int]]) -> None:
    """The intervals of a resource do not overlap, and fit between the first and the last cycle."""
    if len(users) > 1:
        model.add_no_overlap([user[0] for user in users])
        if any(literal is not None for _, literal, _, _, _ in users):
            room = max(user[4] for user in users) - min(user[3] for user in users)
            flits = [length if literal is None else literal * length for _, literal, length, _, _ in users]
            model.add(sum(flits) <= room)
