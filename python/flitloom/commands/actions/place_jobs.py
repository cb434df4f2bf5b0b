"""What ``flitloom place --jobs`` does."""

from __future__ import annotations

from typing import Any

import typer

from flitloom.commands import screen
from flitloom.commands.place import Asked
from flitloom.placing import Seating
from flitloom.placing.jobs import EFFORT, read_jobs, seat
from flitloom.placing.running import FLIT_BYTES
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.machine import Machine


def run(asked: Asked, topology: AnyNetwork, machine: Machine | None) -> None:
    """Give the jobs of a file their nodes, and print what they cost each other; exit code 1 if one waits."""
    sought = asked.sought
    assert asked.ranks.jobs is not None
    with screen.progress("jobs on their nodes") as progress:
        found = seat(
            topology,
            read_jobs(asked.ranks.jobs, topology),
            fit=asked.ranks.fit or "first",
            seed=1 if sought.seed is None else sought.seed,
            effort=EFFORT if sought.effort is None else sought.effort,
            flit_bytes=FLIT_BYTES if sought.flit_bytes is None else sought.flit_bytes,
            machine=machine,
            progress=progress,
        )
    if asked.reported.json:
        screen.print_json(_facts(found, machine))
    else:
        _print(found, machine)
    if found.waiting:
        raise typer.Exit(1)


def _facts(found: Seating, machine: Machine | None) -> dict[str, Any]:
    """What is printed as JSON, with microseconds beside cycles."""
    facts = found.facts()
    if machine is not None:
        for job in facts["jobs"]:
            job["on_machine"] = {name: _microseconds(job[name], machine) for name in ("alone", "shared")}
    return facts


def _microseconds(cycles: int | None, machine: Machine) -> float | None:
    return None if cycles is None else machine.microseconds(cycles)


def _print(found: Seating, machine: Machine | None) -> None:
    on_switches = found.topology.grid is None
    second, third = ("hosts", "one switch") if on_switches else ("box", "closed")
    heading = ["job", second, third, "busiest", "shared channels", "alone", "shared"]
    heading += ["us alone", "us shared"] if machine is not None else []
    screen.print_table(
        heading,
        [
            [
                one.job.name,
                len(one.nodes) if on_switches else "x".join(map(str, one.box)) or "given",
                "yes" if one.closed else "no",
                one.busiest_channel,
                one.shared_channels,
                one.alone,
                one.shared,
                *(
                    []
                    if machine is None
                    else [_microseconds(one.alone, machine), _microseconds(one.shared, machine)]
                ),
            ]
            for one in found.jobs
        ],
    )
    screen.echo()
    if found.apart:
        screen.echo("no channel has bytes of two jobs: none slows another one down")
    else:
        screen.echo("jobs meet on channels; alone and shared are cycles of the simulator")
    for name in found.waiting:
        screen.echo(f"job {name} waits: {'too few hosts are' if on_switches else 'no box for it is'} free")
