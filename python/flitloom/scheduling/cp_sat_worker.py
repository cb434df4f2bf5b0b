"""The part of `cp_sat` that needs OR-Tools, run as a program of its own.

OR-Tools and highspy each bring a libhighs of the same name but another version, and one process can load
only one of them; so this file imports nothing of flitloom.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from typing import Any


def decide(jobs: list[Any], seconds: float) -> list[int] | bool | None:
    """Start cycles without conflicts, False if there are none, None if no answer was found in time."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    held = defaultdict(list)
    variables = []
    for number, (uses, length, starts) in enumerate(jobs):
        start = model.new_int_var_from_domain(cp_model.Domain.from_values(starts), f"start{number}")
        variables.append(start)
        for resource, offset in uses:
            name = f"use{number}_{resource}_{offset}"
            held[resource].append(model.new_fixed_size_interval_var(start + offset, length, name))
    for intervals in held.values():
        if len(intervals) > 1:
            model.add_no_overlap(intervals)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return [solver.value(start) for start in variables]
    return False if status == cp_model.INFEASIBLE else None


if __name__ == "__main__":
    question = json.load(sys.stdin)
    json.dump(decide(question["jobs"], question["seconds"]), sys.stdout)
