"""``flitloom papers``: published tables and figures, ours beside theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from flitloom.commands import screen
from flitloom.commands.options import Threads, shown
from flitloom.outputs import make_folder
from flitloom.papers import Context, Report, find, identifiers, of_paper, options, reproduce
from flitloom.papers.page import write_page
from flitloom.papers.report import overall

app = typer.Typer(
    help="Reproduce published tables and figures, ours beside theirs.\n\n"
    "Example: flitloom papers run cup-stacking-2022/table-2",
    no_args_is_help=True,
)


@app.command("list")
def list_(json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List what can be reproduced.

    Example: flitloom papers list
    """
    entries = [{"identifier": name, "title": find(name).TITLE} for name in identifiers()]
    if json_:
        screen.echo(json.dumps(entries, indent=2))
        return
    width = max(len(entry["identifier"]) for entry in entries)
    for entry in entries:
        screen.echo(f"{entry['identifier']:{width}}  {entry['title']}")


@app.command("run")
def run(
    identifier: Annotated[
        str,
        typer.Argument(help="Which one, as 'flitloom papers list' names it; without /..., a whole paper."),
    ],
    json_: Annotated[bool, typer.Option("--json", help="Print the cells as JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for pictures and data, e.g. figures. [default: .]"),
    ] = None,
    threads: Threads = None,
    seed: Annotated[int, shown("seed", default=False)] = 1,
    searches: Annotated[
        int | None, typer.Option(min=1, max=1440, help="Genetic searches per value, at most. [default: 4]")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Tables of searches: a column to compute, e.g. 'p=14 s=1'. May be repeated. [default: all]"
        ),
    ] = None,
    quick: Annotated[
        bool | None, typer.Option("--quick/--full", help="A smaller budget, or the paper's.")
    ] = None,
) -> None:
    """Compute a published table or figure anew, or a whole paper, with a page that shows all of it.

    \b
    For example:
      flitloom papers run cup-stacking-2022/table-2 --json
      flitloom papers run state-propagation-throttling-2015 --quick --out folder
    """
    wanted = of_paper(identifier) or [identifier]
    whole = wanted != [identifier]
    for one in wanted:
        find(one, column or ())
    asked = {"quick": quick is True, "full": quick is False, "searches": searches is not None}
    for option in [name for name in asked if asked[name]]:
        if not any(option in options(one) for one in wanted):
            screen.say(f"--{option} changes nothing in {identifier}")
    folder = out or (Path(identifier) if whole else Path() if "/figure" in identifier else None)
    if out is not None or whole:
        assert folder is not None
        make_folder(folder)
    with screen.several_progresses({identifier: "tables and figures"}) as progress:
        context = Context(folder, threads, seed, quick, progress, searches, tuple(column or ()))
        reports = []
        for number, one in enumerate(wanted):
            if whole:
                progress(identifier, number, len(wanted))
            reports.append(reproduce(one, context))
    if json_ and whole:
        screen.echo(json.dumps({one.identifier: _cells(one) for one in reports}, indent=2))
    elif json_:
        screen.echo(json.dumps(_cells(reports[0]), indent=2))
    for report in () if json_ else reports:
        show(report, "a quick run: " if quick and "quick" in options(report.identifier) else "")
    for file in (file for report in reports for file in report.files):
        screen.say(f"wrote {file}")
    if whole:
        assert folder is not None
        if not json_ and (words := overall(reports)):
            screen.echo(words)
        screen.say(f"wrote {write_page(reports, folder / 'index.html', identifier)}")


def _cells(report: Report) -> list[dict[str, Any]]:
    return [cell.as_dict() for cell in report.cells]


def show(report: Report, before: str = "") -> None:
    """Print a report as a table: ours, and in parentheses the published value where it differs.

    The verdict is one line, with words `before` it.
    """
    rows = list(dict.fromkeys(cell.row for cell in report.cells))
    columns = list(dict.fromkeys(cell.column for cell in report.cells))
    by_place = {(cell.row, cell.column): cell for cell in report.cells}
    lines: list[list[str]] = []
    for row in rows:
        found = [by_place.get((row, column)) for column in columns]
        lines.append([row, *("" if cell is None else cell.text for cell in found)])
        others = [None if cell is None else cell.plain for cell in found]
        if any(value is not None for value in others):
            lines.append(["  plain", *("" if value is None else str(value) for value in others)])
    screen.echo(f"{report.identifier}: {report.title}")
    if lines:
        screen.print_table(["", *columns], lines, [False, *(True for _ in columns)])
    if report.verdict:
        screen.echo(before + report.verdict)
    for remark in report.remarks:
        screen.echo(f"Note: {remark}")
    screen.echo(f"Source: {report.source}")
