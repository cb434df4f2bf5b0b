"""One HTML file with everything in it."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flitloom.errors import SpecError
from flitloom.outputs import check_output, write_text
from flitloom.view.film import Film, origin
from flitloom.view.pack import Packer

if TYPE_CHECKING:
    from flitloom.view.tables import Loads

#: Largest page, in bytes.
LARGEST = 3_000_000
#: Where the page's own files lie.
PARTS = Path(__file__).with_name("page")
#: Modules of the page; each may import the others by their file names.
MODULES = ("data", "colours", "torus", "charts", "page")


def write_page(shown: Sequence[Film | Loads], file: str | Path, title: str | None = None) -> None:
    """Write a page that shows films, or tables, side by side.

    Parameters
    ----------
    shown : sequence of Film or Loads
        What it shows; all films, or all tables.
    file : path
        The page (.html).
    title : str, optional
        Its title; by default that of the first.

    Raises
    ------
    SpecError
        The page would have more than 3 MB, or cannot be written.
    """
    check_output(file, (".html",), "--html")
    text = page_text(shown, title)
    if len(text) > LARGEST:
        raise SpecError(
            f"{file}: the page would have {len(text) / 1e6:.1f} MB, and {LARGEST / 1e6:g} MB are allowed; "
            "show a smaller network, or fewer cycles (--stop-at)"
        )
    write_text(file, text)


def page_text(shown: Sequence[Film | Loads], title: str | None = None) -> str:
    """The text of a page; see `write_page`."""
    packer = Packer()
    heads = [part.head(packer) for part in shown]
    title = title or (heads[0]["title"] if heads else "flitloom")
    parts = {
        "TITLE": html.escape(title),
        "STYLE": (PARTS / "style.css").read_text(encoding="utf-8").strip(),
        "LIVE": "",
        "ORIGIN": html.escape(f"Made by {origin()}."),
        "HEAD": _script(json.dumps({"runs": heads}, separators=(",", ":"))),
        "COLUMNS": packer.text(),
        "MODULES": _script(json.dumps({"imports": {name: _module(name) for name in MODULES}})),
        "START": 'import { main } from "page"; main();',
    }
    text = (PARTS / "page.html").read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace(f"@{name}@", value)
    return text


def _script(text: str) -> str:
    """JSON that cannot end the script it stands in."""
    return text.replace("<", "\\u003c")


def _module(name: str) -> str:
    """A module as a data URL that finds the others through the import map."""
    source = (PARTS / f"{name}.js").read_text(encoding="utf-8")
    for other in MODULES:
        source = source.replace(f'"./{other}.js"', f'"{other}"')
    return "data:text/javascript;base64," + base64.b64encode(source.encode()).decode("ascii")
