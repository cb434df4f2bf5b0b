"""Tables of source routes, in a file."""

from __future__ import annotations

from pathlib import Path

import typer

from flitloom import view as pages
from flitloom.commands import screen
from flitloom.commands.actions.grids import named_topology
from flitloom.commands.check import Asked
from flitloom.commands.inputs.checked import OF_FABRICS, TAKES, check_operation
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.showing import NOT_ANEW, totals_after, write_tables_page
from flitloom.commands.inputs.verdicts import certify, print_verdict
from flitloom.commands.load_curve import Asked as Curve
from flitloom.commands.load_curve import Saturated
from flitloom.commands.options.simulation import Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import SpecError, show_file
from flitloom.ground.limits import TABLE_BYTES
from flitloom.ground.reading import opened
from flitloom.spec.topology import BY_DESTINATION
from flitloom.tables.by_source.checking import check as check_tables
from flitloom.tables.formats.reading import read_tables

#: Bytes that hold the beginning of any file of tables.
HEAD = 4096


def check(asked: Asked) -> None:
    """Check the tables and, if they cannot deadlock, write the certificate."""
    file, judged = asked.file, asked.judged
    if file is None:
        raise SpecError(
            "name the file to check, or a subnet with --fabric cluster.topo --lft opensm-lfts.dump"
        )
    if file.suffix == ".xml":
        # No tables are: what it lacks of a plan is said.
        check_operation(asked)
        return
    if judged.fail and judged.torus is None and judged.mesh is None:
        raise SpecError("--fail belongs to a network named with --torus or --mesh")
    if judged.twist:
        raise SpecError.at(
            "--twist",
            f"{show_file(file)}: tables of source routes know no twist",
            f"give --lft: {BY_DESTINATION}",
        )
    topology = named_topology(judged.torus, judged.mesh, judged.fail or [])
    with screen.progress(f"check of {show_file(file)}") as step:
        report = check_tables(file, topology, judged.rules, step)
    print_verdict(report, judged.as_json)
    if judged.certificate is not None:
        certify(report, judged.certificate)
    if not report.passed:
        raise typer.Exit(1)


def view(asked: Viewed) -> None:
    """Show the loads of the tables."""
    file, page = asked.file, asked.page
    assert file is not None
    tables = read_tables(file, named_topology(page.torus, page.mesh))
    verdict = tables.verdict()
    if not verdict["passed"]:
        wrong = f"{verdict['problem_count']} problems" if verdict["problem_count"] else "a possible deadlock"
        screen.say(f"note: {show_file(file)} has {wrong}; flitloom check says more")
    with totals_after([pages.Loads(tables, tables.bound)], page.as_json):
        write_tables_page([tables], page.out)


def sniff(file: Path) -> bool:
    """Whether a file is one that `flitloom route` wrote."""
    if file.suffix != ".json" or not file.is_file():
        return file.suffix == ".npz"
    with opened(file, TABLE_BYTES) as source:
        return b'"flitloom-routing-tables"' in source.start()[:HEAD]


def simulate(asked: Simulated) -> None:
    """Say how tables are given.

    Raises
    ------
    SpecError
        Always.
    """
    raise _as_option(asked.file)


def load(asked: Curve | Saturated) -> None:
    """The same.

    Raises
    ------
    SpecError
        Always.
    """
    raise _as_option(asked.measured.compared.spec)


def _as_option(file: Path | None) -> SpecError:
    name = show_file(file or "")
    return SpecError.at(name, "is a file of routing tables", f"write --tables {name}")


INPUT = Input(
    title="routing tables",
    given="give a file of tables",
    sniff=sniff,
    uses={
        "simulate": Use(simulate),
        "load curve": Use(load),
        "load saturation": Use(load),
        "check": Use(check, TAKES, OF_FABRICS),
        "view": Use(
            view,
            names_of("out", "torus", "mesh", "as_json"),
            (Refusal(names_of("stop_at"), "{option}", "tables do not move", "leave it out"), NOT_ANEW),
        ),
    },
)
