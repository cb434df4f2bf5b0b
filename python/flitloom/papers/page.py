"""One HTML page of many reports: tables, remarks and pictures, with nothing to load from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from flitloom.ground import provenance
from flitloom.ground.outputs import check_output, write_text
from flitloom.papers.report import Cell, Report, overall

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222
} table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto } th, td { border: 1px
solid #ccc; padding: .2rem .6rem; text-align: right; white-space: nowrap } th { background: #f4f4f4 } tbody th
{ text-align: left } .differs { background: #fdeed9 } .agrees { background: #e3f3e6 } img { max-width: 100%;
height: auto } .note { color: #555 }
"""
#: How a cell is coloured, by its status.
KINDS = {
    "reproduced": "agrees",
    "reached": "agrees",
    "beaten": "agrees",
    "holds": "agrees",
    "not reproduced": "differs",
    "not reached": "differs",
    "does not hold": "differs",
}


def write_page(reports: Sequence[Report], file: str | Path, title: str, stopped: str = "") -> Path:
    """Write reports as one page: computed values, with the published one in parentheses where it differs.

    Parameters
    ----------
    reports : sequence of Report
        What it shows, in this order.
    file : path
        The page (.html).
    title : str
        Its title.
    stopped : str
        How much of it was finished, where it was ended before.

    Examples
    --------
    >>> import tempfile
    >>> report = Report("cup-stacking-2022/table-2", "Durations", [Cell("bcmp", "t_d0", 65, 65)])
    >>> page = write_page([report], Path(tempfile.mkdtemp()) / "page.html", "cup-stacking-2022")
    >>> "1 of 1 published values reproduced" in page.read_text()
    True
    """
    check_output(file, (".html",))
    body = [f"<h1>{escape(title)}</h1>"]
    if reports:
        body.append(f"<p>{escape(reports[0].source)}</p>")
    body.append(
        f"<p class=note>Computed by flitloom {escape(provenance.version())} "
        f"({escape(provenance.commit())}). Cells "
        "show the computed value, and in parentheses the published one where it differs.</p>"
    )
    if stopped:
        body.append(f"<p><strong>Interrupted: {escape(stopped)}.</strong></p>")
    if words := overall(reports):
        body.append(f"<p><strong>{escape(words)}</strong></p>")
    links = [f'<li><a href="#{_anchor(report)}">{escape(report.identifier)}</a></li>' for report in reports]
    body.append(f"<ul>{''.join(links)}</ul>")
    for report in reports:
        body += _section(report)
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )
    write_text(file, text)
    return Path(file)


def _anchor(report: Report) -> str:
    return report.identifier.replace("/", "-")


def _section(report: Report) -> list[str]:
    lines = [f'<h2 id="{_anchor(report)}">{escape(report.identifier)}: {escape(report.title)}</h2>']
    if report.verdict:
        lines.append(f"<p><strong>{escape(report.verdict)}</strong></p>")
    lines += [f"<p class=note>{escape(remark)}</p>" for remark in report.remarks]
    if report.cells:
        lines.append(_table(report.cells))
    for file in report.files:
        if file.suffix == ".png":
            picture = base64.b64encode(file.read_bytes()).decode()
            lines.append(f'<p><img alt="{escape(file.stem)}" src="data:image/png;base64,{picture}"></p>')
        else:
            lines.append(f'<p class=note>Data: <a href="{escape(file.name)}">{escape(file.name)}</a></p>')
    return lines


def _table(cells: Sequence[Cell]) -> str:
    rows = list(dict.fromkeys(cell.row for cell in cells))
    columns = list(dict.fromkeys(cell.column for cell in cells))
    by_place = {(cell.row, cell.column): cell for cell in cells}
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = [f"<table><thead><tr><th></th>{head}</tr></thead><tbody>"]
    for row in rows:
        data = "".join(_cell(by_place.get((row, column))) for column in columns)
        lines.append(f"<tr><th>{escape(row)}</th>{data}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "<td></td>"
    kind = KINDS.get(cell.status, "")
    return f'<td class="{kind}">{escape(cell.text)}</td>' if kind else f"<td>{escape(cell.text)}</td>"
