"""Files of BookSim2 on the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flitloom.commands import screen

#: Columns of the table.
_COLUMNS = {
    "packets": "packets",
    "packet_latency": "packet latency [cycles]",
    "network_latency": "network latency [cycles]",
    "flit_latency": "flit latency [cycles]",
    "hops": "hops",
    "accepted": "accepted [flits/node/cycle]",
}


def simulate_booksim(file: Path, changes: Sequence[str], as_booksim: bool, json: bool) -> None:
    """Run a file of BookSim2, and print the result as ours or as BookSim2 does."""
    from flitloom.booksim import read_options, run
    from flitloom.booksim.printing import lines

    options = read_options(file, changes)
    for warning in options.warnings:
        screen.say(f"warning: {warning}")
    limit = int(options["max_samples"]) if options["max_samples"].isdigit() else 0
    samples = 0
    with screen.progress("samples") as told:

        def seen(event: dict[str, Any], _: int) -> None:
            nonlocal samples
            samples += event["kind"] == "sample"
            told(min(samples, limit), limit)

        outcome = run(options, seen=seen)
    if as_booksim:
        for line in lines(outcome.events):
            screen.echo(line)
    elif json:
        classes = [
            {name: None if math.isnan(value) else value for name, value in facts.items()}
            for facts in outcome.classes
        ]
        screen.print_json({"outcome": outcome.outcome, "cycles": outcome.cycles, "classes": classes})
    else:
        rows = [[int(facts["class"]), *(facts[name] for name in _COLUMNS)] for facts in outcome.classes]
        screen.print_fields({"outcome": outcome.outcome, "cycles": outcome.cycles})
        screen.print_table(["class", *_COLUMNS.values()], rows)
    if outcome.outcome == "unstable":
        screen.say(
            "the mean latency passed latency_thres: the offered load is beyond saturation; lower "
            "injection_rate, or raise latency_thres if the network is slow and not full"
        )
