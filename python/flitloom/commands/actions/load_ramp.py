"""What ``flitloom load ramp`` does."""

from __future__ import annotations

from flitloom.commands.actions.load_cases import cases
from flitloom.commands.actions.load_responses import Comparison, run_tasks
from flitloom.commands.load_options import Outputs
from flitloom.commands.load_responses import Averages, Ramp
from flitloom.errors import SpecError
from flitloom.load import ramp_end, ramp_profile


def run(compared: Comparison, rising: Ramp, averages: Averages, outputs: Outputs) -> None:
    """Let the loads of all cases rise."""
    tasks = []
    for case in cases(*compared):
        first, last = (0.0, None) if rising.rates is None else _ends(rising.rates)
        if last is None:
            last = ramp_end(case.experiment(kind="load", rate=1.0, cycles=1), case.routes())
        profile, length_of_run = ramp_profile(first, last, rising.cycles, rising.warm_up, rising.hold)
        tasks.append((case, {"profile": profile, "cycles": length_of_run}))
    columns = ("critical_load", "resolution", "outcome", "bound", "accepted_at_end")
    run_tasks("ramp", tasks, vars(averages), outputs, columns)


def _ends(text: str) -> tuple[float, float]:
    """First and last rate of a ramp."""
    try:
        first, last = map(float, text.split(":"))
    except ValueError:
        raise SpecError(f"--rates {text[:40]}: write the first and the last load, like 0:0.275") from None
    return first, last
