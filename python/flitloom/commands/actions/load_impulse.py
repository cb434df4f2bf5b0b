"""What ``flitloom load impulse`` does."""

from __future__ import annotations

from flitloom.commands import options
from flitloom.commands.actions.load_cases import cases
from flitloom.commands.actions.load_common import read_rates
from flitloom.commands.actions.load_responses import run_tasks
from flitloom.commands.load_options import Outputs, Packets, Router
from flitloom.commands.load_responses import Background, Disturbance


def run(compared: Background, added: Disturbance, router: Router, window: int, outputs: Outputs) -> None:
    """Disturb the steady loads of all cases."""
    rates = read_rates(added.rate, "--rate")
    counts = options.whole_numbers(added.packets, "--packets")
    share = options.given(hotspot_fraction=added.hotspot_fraction)
    impulses = [
        {"pattern": added.impulse_pattern, "at": added.at, "packets": count, **share} for count in counts
    ]
    sent = Packets(length=added.length, process=added.process)
    made = cases(compared, sent, router, impulse=impulses[0])
    tasks = [
        (case, {"rate": value, "cycles": added.cycles, "impulse": impulse})
        for case in made
        for value in rates
        for impulse in impulses
    ]
    columns = ("rate", "packets", "duration", "outcome", "before", "peak", "delivered_share")
    run_tasks("impulse", tasks, {"window": window}, outputs, columns)
