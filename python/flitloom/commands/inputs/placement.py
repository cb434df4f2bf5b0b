"""A placement of ranks on nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from flitloom.commands import screen
from flitloom.commands.check import Asked
from flitloom.commands.inputs import experiment
from flitloom.commands.inputs.checked import OF_FABRICS
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.seating import put_on_nodes
from flitloom.commands.inputs.showing import NOT_ANEW, show
from flitloom.commands.options.simulation import Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import SpecError
from flitloom.ground.limits import TABLE_BYTES
from flitloom.ground.reading import opened
from flitloom.placing.checking import check_placement
from flitloom.placing.placement import read_placement
from flitloom.placing.seats import seats_of

#: Bytes that hold the beginning of any placement.
HEAD = 4096


def is_placement(file: Path) -> bool:
    """Whether a file is a placement of ranks."""
    if file.suffix != ".json" or not file.is_file():
        return False
    with opened(file, TABLE_BYTES) as source:
        return b'"flitloom placement' in source.start()[:HEAD]


def check(asked: Asked) -> None:
    """Check a placement, and end with exit code 1 if something does not hold."""
    as_json = asked.judged.as_json
    assert asked.file is not None
    report = check_placement(asked.file)
    if as_json:
        problems = [] if report.problem is None else [report.problem]
        screen.print_json({"passed": report.passed, "problems": problems, **report.facts})
    else:
        if report.passed:
            screen.print_fields(
                {name.replace("_", " "): _in_words(value) for name, value in report.facts.items()}
            )
        else:
            screen.echo(f"problem  {report.problem}")
        screen.echo("passed" if report.passed else "FAILED")
    if not report.passed:
        raise typer.Exit(1)


def _in_words(value: Any) -> str:
    """A number, or numbers by their names."""
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name.replace('_', ' ')} {each}" for name, each in value.items())


def simulate(asked: Simulated) -> None:
    """Simulate the traffic of ranks on their nodes: that of the placement where there is no other."""
    brought = asked.brought
    file = brought.placement or asked.file
    if brought.placement is not None and asked.file is not None:
        raise SpecError.at(
            "--placement", "goes with a message graph, --matrix, --packet-table, or no other traffic"
        )
    assert file is not None
    fields, flit_bytes, machine = asked.fields(), asked.sizes.flit_bytes, asked.machine
    if machine is not None:
        if flit_bytes is not None:
            raise SpecError.at("--flit-bytes", "the machine says it, too", "leave one of them out")
        machine.require_equal_links("placements are")
        flit_bytes = machine.flit_bytes
        machine.set_clock(fields.setdefault("router", {}))
        if machine.ports != 1:
            screen.say("note: nodes have one port here")
    sitting = put_on_nodes(file, fields, brought.tables is not None, flit_bytes)
    experiment.simulate_fields(asked, fields, Path(), sitting, None if machine is None else machine.cycle)


def view(asked: Viewed) -> None:
    """Show the node of every rank."""
    assert asked.file is not None
    document = read_placement(asked.file)
    title = f"{document.get('network', 'placement')}: ranks on nodes"
    show(asked, list(seats_of(document)), title)


_CHECK = Use(
    check,
    names_of("_threads", "as_json"),
    (
        *OF_FABRICS,
        Refusal.plain(
            names_of("torus", "mesh", "twist", "fail", "rules", "certificate"),
            "{option} does not go with a placement",
        ),
    ),
)
INPUT = Input(
    title="a placement",
    given="name one with --placement",
    sniff=is_placement,
    asked=lambda given: "placement" in given,
    uses={
        "simulate": Use(
            simulate, experiment.TAKES | names_of("placement", "flit_bytes", "machine"), several_ranks=True
        ),
        "check": _CHECK,
        "view": Use(
            view,
            names_of("out", "as_json"),
            (Refusal(names_of("stop_at"), "{option}", "a placement does not move", "leave it out"), NOT_ANEW),
        ),
    },
)
