"""A simulation in a file, to continue with."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.running import check, run
from flitloom.commands.options import Grid, Router, Run, Traffic
from flitloom.commands.options.simulation import Kept, Outputs, Simulated
from flitloom.errors import SpecError
from flitloom.ground import ranks
from flitloom.ground.limits import STATE_BYTES
from flitloom.ground.reading import opened
from flitloom.run.simulation import Simulation
from flitloom.spec.written import SIMULATION
from flitloom.tables.formats.reading import read_tables

_ITS_OWN = Refusal(
    names_of(Grid, Traffic, Router, Run, "placement", "graph"),
    "--resume",
    "brings its own network and traffic",
    "leave {option} out",
)


def sniff(file: Path) -> bool:
    """Whether a file is a saved simulation."""
    with opened(file, STATE_BYTES) as source:
        return source.start().startswith(SIMULATION)


def simulate(asked: Simulated) -> None:
    """Continue with the simulation."""
    check(asked)
    file, tables = asked.brought.resume or asked.file, asked.brought.tables
    if file is not asked.file and asked.file is not None:
        raise SpecError.at("--resume", "brings its own network and traffic", "give no others")
    assert file is not None
    routes = None if tables is None else read_tables(tables)
    simulation = Simulation.load(
        file,
        tables=routes,
        threads=asked.kept.threads,
        _on_ranks=ranks.started() > 1,
    )
    run(simulation, asked, tables=routes)


INPUT = Input(
    title="a simulation in a file",
    given="name one with --resume",
    sniff=sniff,
    asked=lambda given: "resume" in given,
    uses={
        "simulate": Use(
            simulate, names_of(Kept, Outputs, "resume", "tables", "json"), (_ITS_OWN,), several_ranks=True
        ),
    },
)
