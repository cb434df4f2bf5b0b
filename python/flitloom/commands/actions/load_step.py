"""What ``flitloom load step`` does."""

from __future__ import annotations

from typing import Any

from flitloom.commands.actions.load_cases import cases
from flitloom.commands.actions.load_common import read_rates
from flitloom.commands.actions.load_responses import Comparison, run_tasks
from flitloom.commands.load_options import Outputs
from flitloom.commands.load_responses import Step
from flitloom.errors import SpecError


def run(compared: Comparison, change: Step, window: int, outputs: Outputs) -> None:
    """Put the loads on empty networks."""
    cycles, then, at = change.cycles, change.then, change.at
    if at is not None and then is None:
        raise SpecError.at("--at", "says when the pattern changes", "add --then")
    changed: dict[str, Any] = {}
    if then is not None:
        changed = {"changes": [{"pattern": then, "at": cycles // 2 if at is None else at}]}
    made = cases(*compared, **changed)
    rates = read_rates(change.rate, "--rate")
    tasks = [(case, {"rate": value, "cycles": cycles, **changed}) for case in made for value in rates]
    columns = ("rate", "settling_time", "outcome", *(("before", "lowest") if then else ()), "peak", "final")
    run_tasks("step", tasks, {"window": window}, outputs, columns)
