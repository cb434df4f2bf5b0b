"""What ``flitloom papers run`` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from flitloom.commands import screen
from flitloom.commands.papers import Asked
from flitloom.ground import interrupts
from flitloom.ground.outputs import make_folder
from flitloom.papers import Context, Report, find, of_paper, options, reproduce
from flitloom.papers.page import write_page
from flitloom.papers.report import overall


def run(asked: Asked) -> None:
    """Compute a table or figure, or those of a whole paper, and print computed beside published values."""
    identifier = asked.identifier
    wanted = of_paper(identifier) or [identifier]
    whole = wanted != [identifier]
    for one in wanted:
        find(one, asked.column or ())
    _say_of_no_use(asked, wanted)
    folder = asked.out or (Path(identifier) if whole else Path() if "/figure" in identifier else None)
    if folder is not None and (asked.out is not None or whole):
        make_folder(folder)
    reports, interrupted = _reports(asked, wanted, folder)
    stopped = f"{len(reports)} of {len(wanted)} tables and figures are finished" if interrupted else ""
    if asked.json_:
        cells = {one.identifier: _cells(one) for one in reports}
        if whole or reports:
            screen.echo(json.dumps(cells if whole else cells[identifier], indent=2))
    for report in () if asked.json_ else reports:
        show(report, "a quick run: " if asked.quick and "quick" in options(report.identifier) else "")
    for file in (file for report in reports for file in report.files):
        screen.say(f"wrote {file}")
    if folder is not None and whole and reports:
        if not asked.json_ and (words := overall(reports)):
            screen.echo(words)
        screen.say(f"wrote {write_page(reports, folder / 'index.html', identifier, stopped)}")
    if interrupted:
        interrupts.tell(f"interrupted: {stopped}")
        raise typer.Exit(interrupts.INTERRUPTED)


def _say_of_no_use(asked: Asked, wanted: list[str]) -> None:
    """Say which options change nothing."""
    given = {
        "quick": asked.quick is True,
        "full": asked.quick is False,
        "searches": asked.searches is not None,
    }
    for option in [name for name in given if given[name]]:
        if not any(option in options(one) for one in wanted):
            screen.say(f"--{option} changes nothing in {asked.identifier}")


def _reports(asked: Asked, wanted: list[str], folder: Path | None) -> tuple[list[Report], bool]:
    """All reports, one after the other, or those before Ctrl-C, and whether it was pressed."""
    with screen.several_progresses({asked.identifier: "tables and figures"}) as progress:
        context = Context(
            folder,
            asked.threads,
            asked.seed,
            asked.quick,
            progress,
            asked.searches,
            tuple(asked.column or ()),
        )
        reports: list[Report] = []
        try:
            with interrupts.keeping():
                for number, one in enumerate(wanted):
                    if wanted != [asked.identifier]:
                        progress(asked.identifier, number, len(wanted))
                    reports.append(reproduce(one, context))
        except KeyboardInterrupt:
            interrupts.kept()
            return reports, True
    return reports, False


def _cells(report: Report) -> list[dict[str, Any]]:
    return [cell.as_dict() for cell in report.cells]


def show(report: Report, before: str = "") -> None:
    """Print a report as a table: computed values, with the published one in parentheses where it differs.

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
