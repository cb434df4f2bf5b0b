"""What ``flitloom place stream`` does."""

from __future__ import annotations

from flitloom.commands import options, screen
from flitloom.commands.actions.grids import sized
from flitloom.commands.job_streams import Asked
from flitloom.placing.streams import POLICIES, draw_stream, run_stream


def run(asked: Asked) -> None:
    """Run the stream by each policy and print a row for each."""
    topology = sized(options.topology_fields(asked.torus, asked.mesh, asked.wrap, asked.fail, False))
    mix, load = asked.mix, asked.load
    stream = draw_stream(topology, asked.count, mix, load, 1 if asked.seed is None else asked.seed)
    reports = []
    with screen.progress("streams of jobs") as progress:
        chosen = list(POLICIES) if asked.policy is None else [asked.policy]
        for done, name in enumerate(chosen):
            progress(done, len(chosen))
            reports.append(run_stream(topology, stream, name).facts())
    if asked.json:
        screen.print_json({"network": str(topology), "mix": mix, "load": load, "cases": reports})
    else:
        screen.print_rows(reports)
