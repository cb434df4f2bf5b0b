"""The text of a page, whatever it shows."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from flitloom.ground import provenance
from flitloom.view.pack import Packer


class Part(Protocol):
    """What a page can show."""

    @property
    def title(self) -> str:
        """What it shows, in a line."""

    def head(self, packer: Packer) -> dict[str, Any]:
        """What the page needs to know of it; its columns go to `packer`."""

    def all_facts(self) -> dict[str, Any]:
        """Numbers to show, by name."""


#: Where the page's own files lie.
PARTS = Path(__file__).with_name("page")
#: Modules of the page; each may import the others by their file names.
MODULES = ("data", "colours", "torus", "charts", "page")
#: Those that only a live page has.
LIVE_MODULES = ("bounds", "curves", "lessons", "links", "live")
#: The engine of live pages; ``make wasm`` builds it.
ENGINE = PARTS / "engine.wasm"
#: Height of a page in a notebook, in pixels.
FRAME_HEIGHT = 900


def origin() -> str:
    """Which flitloom made a page."""
    commit = provenance.commit()
    return f"flitloom {provenance.version()}" + (f" ({commit[:12]})" if commit else "")


def page_text(shown: Sequence[Part], title: str | None = None, live: str = "") -> str:
    """The text of a page; see `write_page`. With `live`, a form, it brings the engine along."""
    packer = Packer()
    heads = [part.head(packer) for part in shown]
    modules = (*MODULES, *LIVE_MODULES) if live else MODULES
    title = title or (heads[0]["title"] if heads else "flitloom")
    parts = {
        "TITLE": html.escape(title),
        "STYLE": (PARTS / "style.css").read_text(encoding="utf-8").strip(),
        "LIVE": live,
        "ORIGIN": html.escape(f"Made by {origin()}."),
        "HEAD": _script(json.dumps({"runs": heads}, separators=(",", ":"))),
        "COLUMNS": packer.text(),
        "MODULES": _script(json.dumps({"imports": {name: _module(name) for name in modules}})),
        "START": 'import { main } from "page"; await main();',
    }
    if live:
        engine = base64.b64encode(gzip.compress(ENGINE.read_bytes(), 9, mtime=0)).decode("ascii")
        parts["LIVE"] += f'<script type="text/plain" id="engine">{engine}</script>\n'
        parts["START"] += ' import { live } from "live"; await live();'
    text = (PARTS / "page.html").read_text(encoding="utf-8")
    # In one go: a title may look like one of the places.
    return re.sub("@([A-Z]+)@", lambda found: parts[found[1]], text)


def _script(text: str) -> str:
    """JSON that cannot end the script it stands in."""
    return text.replace("<", "\\u003c")


def _module(name: str) -> str:
    """A module as a data URL that finds the others through the import map."""
    source = (PARTS / f"{name}.js").read_text(encoding="utf-8")
    for other in (*MODULES, *LIVE_MODULES):
        source = source.replace(f'"./{other}.js"', f'"{other}"')
    # Lines of comments and indents are for those who read the files.
    source = re.sub(r"^ *(//.*\n|/\*\*.*\*/\n|\n)?", "", source, flags=re.MULTILINE)
    # Addresses lose line ends and read these two characters; all others stand as they are, which is shorter.
    for sign in "%#\n":
        source = source.replace(sign, f"%{ord(sign):02X}")
    return f"data:text/javascript;charset=utf-8,{source}"
