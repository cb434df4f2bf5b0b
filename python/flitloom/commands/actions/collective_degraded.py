"""What ``flitloom collective degraded`` does."""

from __future__ import annotations

from typing import Any

import typer

from flitloom.collectives.degraded import OPERATIONS, damaged, degraded_rows, plan_jobs
from flitloom.collectives.degraded import degraded as study
from flitloom.commands import options, screen
from flitloom.commands.actions.grids import sized
from flitloom.commands.collective import Damaged
from flitloom.errors import SpecError
from flitloom.ground import interrupts
from flitloom.ground.outputs import check_output
from flitloom.ground.workers import Workers
from flitloom.jobs import Store


def run(asked: Damaged) -> None:
    """Plan for all networks, and print what failures cost; Ctrl-C prints what there is."""
    fields = options.topology_fields(asked.torus, asked.mesh, None, None, network=asked.network)
    topology = sized(fields)
    limits, chosen = read_limits(asked.failures), asked.operation or OPERATIONS
    seed = 1 if asked.seed is None else asked.seed
    place = ":memory:" if asked.store is None else check_output(asked.store, place="--store").absolute()
    results, pool = Store(place), Workers(asked.workers)
    stopped = ""
    try:
        with interrupts.keeping(), screen.progress("plans") as progress:
            rows = study(
                topology,
                count=asked.count,
                failures=limits,
                operations=chosen,
                seed=seed,
                store=results,
                executor=pool,
                progress=progress,
            )
    except KeyboardInterrupt:
        interrupts.kept()
        jobs = plan_jobs(topology, damaged(topology, asked.count, limits, seed), chosen)
        kept = len(results.finished() & {job.id for job in jobs})
        stopped = f"{kept} of {len(jobs)} plans are finished"
        interrupts.tell(f"interrupted: {stopped}")
        rows = degraded_rows(jobs, results)
    finally:
        pool.stop()
        results.close()
    _report(rows, stopped, asked.json)


def _report(rows: list[dict[str, Any]], stopped: str, as_json: bool) -> None:
    if as_json:
        screen.print_json({"cases": rows, **({"stopped": stopped} if stopped else {})})
    else:
        screen.print_rows(rows)
    if stopped:
        raise typer.Exit(interrupts.INTERRUPTED)


def read_limits(text: str) -> tuple[int, int]:
    """The fewest and the most failures.

    >>> read_limits("1:6"), read_limits("3")
    ((1, 6), (3, 3))
    """
    low, _, high = text.partition(":")
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in (low, high or low)):
        raise SpecError(f"--failures {text}: write one number, or two as 1:6")
    return int(low), int(high or low)
