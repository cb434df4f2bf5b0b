"""What the site shows of the code: reference of commands and of Python names, pictures of the gallery."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from typer.main import get_command

import flitloom
from flitloom.commands import VERBS
from flitloom.commands.assembly import build
from flitloom.view.page import write_live_page
from flitloom.view.text import ENGINE

DOCS = Path(__file__).parent
MADE = DOCS / "_made"
#: Files that lie beside the front page.
EXTRA = MADE / "extra"
#: Where the front page shows the live page, and what it shows there.
LIVE_HERE = "<!-- live -->"
LIVE = """```{raw} html
<iframe class="live" src="live.html#lesson=slices&amp;play=1" title="Simulate a network here"></iframe>
<p>The engine runs in this page. <a href="live.html#lesson=slices">Open it in a separate window</a>.</p>
```
"""
#: Modules whose public names are shown, with what they are for; those of flitloom itself come first.
MODULES = {
    "flitloom.load": "Loads",
    "flitloom.plans": "Plans of packets",
    "flitloom.tables": "Tables of routes",
    "flitloom.placing": "Placements",
    "flitloom.analysis": "Analysis of series and curves",
    "flitloom.collectives": "Collective operations",
    "flitloom.fabric": "Real fabrics",
    "flitloom.campaign": "Campaigns",
    "flitloom.sweep": "Sweeps",
    "flitloom.booksim": "Files of BookSim2",
    "flitloom.genetic": "The papers' genetic search",
    "flitloom.view": "Pages that move",
    "flitloom.plots": "Pictures",
    "flitloom.papers": "Papers",
    "flitloom.ground.linear": "Linear programs",
    "flitloom.errors": "Errors",
}


def make(_app: Any = None) -> None:
    """Write all parts below `MADE`."""
    (MADE / "gallery").mkdir(parents=True, exist_ok=True)
    _write("commands.md", commands_page())
    _write("python.rst", python_page())
    draw_gallery()
    write_notebooks()
    if ENGINE.exists():
        write_live_page(EXTRA / "live.html")


def write_notebooks() -> None:
    """Write every walk as a notebook, beside the front page."""
    (EXTRA / "notebooks").mkdir(parents=True, exist_ok=True)
    for page in sorted((DOCS / "walks").glob("*.md")):
        text = json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1)
        (EXTRA / "notebooks" / f"{page.stem}.ipynb").write_text(text, encoding="utf-8")


def notebook(text: str) -> dict[str, Any]:
    """A page as a notebook: commands and Python are cells, without what they print."""
    cells: list[dict[str, Any]] = []
    for part in re.split(r"^(```(?:sh|python|text)\n.*?^```\n)", text, flags=re.MULTILINE | re.DOTALL):
        found = re.fullmatch(r"```(sh|python|text)\n(.*)```\n", part, re.DOTALL)
        if found is None:
            # Pages that are linked to lie elsewhere.
            words = re.sub(r"\[([^\]]+)\]\([^)]*\.md[^)]*\)", r"\1", part).strip()
            if words:
                cells.append({"cell_type": "markdown", "metadata": {}, "source": words})
        elif found[1] != "text":
            source = ("%%bash\n" if found[1] == "sh" else "") + found[2].rstrip("\n")
            shell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
            cells.append({**shell, "source": source})
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def link_notebook(_app: Any, name: str, source: list[str]) -> None:
    """Let every walk end with itself as a notebook."""
    if name.startswith("walks/"):
        file = f"../notebooks/{name.removeprefix('walks/')}.ipynb"
        link = f'<p><a href="{file}" download>Download this page as a notebook</a></p>'
        source[0] += f"\n```{{raw}} html\n{link}\n```\n"


def show_live_page(_app: Any, name: str, source: list[str]) -> None:
    """Put the live page on the front page, if its engine is built."""
    if name == "index" and ENGINE.exists():
        source[0] = source[0].replace(LIVE_HERE, LIVE)


def _write(name: str, text: str) -> None:
    file = MADE / name
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def list_new_pages(_app: Any, name: str, source: list[str]) -> None:
    """Let pages that no list of the index names yet stand at the end of the how-to pages."""
    if name != "index":
        return
    pages = sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "index")
    lists = re.findall(r"^```{toctree}\n(.*?)^```", source[0], re.MULTILINE | re.DOTALL)
    named = {line for block in lists for line in block.splitlines()}
    how_to = next(block for block in lists if ":caption: How to" in block)
    more = "".join(f"{page}\n" for page in pages if page not in named)
    source[0] = source[0].replace(how_to, how_to + more)


def commands_page() -> str:
    """Every verb with its arguments and options, as its own help says them."""
    before = "Generated from the code. `-q` and `-v` may precede a verb ([settings](../settings.md))."
    lines = ["# Commands", "", before]
    for verb in VERBS:
        command: Any = get_command(build([verb])).commands[verb]  # type: ignore[attr-defined]
        lines += _command(f"flitloom {verb}", command)
    return "\n".join(lines) + "\n"


def _command(name: str, command: Any, level: int = 2) -> Iterator[str]:
    yield from ("", f"{'#' * level} {name}", "")
    yield from _paragraphs(command.help or "")
    if hasattr(command, "commands"):
        shown: dict[str, str] = {}
        for inner, part in command.commands.items():
            lines = list(_command(f"{name} {inner}", part, level + 1))
            # Commands that differ in nothing but their name are explained once.
            first = shown.setdefault("\n".join(lines[2:]), inner)
            yield from lines if first == inner else (*lines[:2], f"Like {name} {first}.")
        return
    rows = [parameter for parameter in command.params if "--help" not in parameter.opts]
    if not rows:
        return
    yield from ("", "| | |", "|---|---|")
    for parameter in rows:
        names = [*parameter.opts, *parameter.secondary_opts]
        shown = parameter.name.upper() if parameter.param_type_name == "argument" else ", ".join(names)
        if parameter.metavar and parameter.param_type_name == "option":
            shown += f" {parameter.metavar}"
        text = " ".join((parameter.help or "").split())
        if "[default" not in text and parameter.default not in (None, False, (), [], ""):
            text += f" [default: {parameter.default}]"
        if parameter.required:
            text += " [required]"
        yield "| `{}` | {} |".format(shown.replace("|", "\\|"), _escaped(text))


def _paragraphs(text: str) -> Iterator[str]:
    """The help of a command: examples as commands, the rest as it is."""
    for paragraph in re.split(r"\n\s*\n", text.replace("\b\n", "").strip()):
        head, _, rest = paragraph.partition("\n")
        if head.strip() == "For example:":
            yield from ("", "```sh", *(line.strip() for line in rest.splitlines()), "```")
        elif found := re.match(r"Example: (flitloom .*)", " ".join(paragraph.split())):
            yield from ("", "```sh", found[1], "```")
        else:
            yield from ("", _escaped(" ".join(paragraph.split())))


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_<>|\[\]])", r"\\\1", text)


def python_page() -> str:
    """Every public name with its docstring."""
    lines = [
        *_heading("Python", "="),
        "Generated from the code: the names of flitloom, then its modules.",
        "",
    ]
    lines += _heading("flitloom", "-")
    shown: set[Any] = set()
    for name in sorted(flitloom.__all__, key=lambda name: (name[0].islower(), name)):
        lines += _entry("flitloom", name, shown)
    for module, title in MODULES.items():
        try:
            names = import_module(module)
        except ModuleNotFoundError:
            continue
        lines += [*_heading(f"{title} - {module}", "-"), f".. automodule:: {module}", "   :no-index:", ""]
        public = getattr(names, "__all__", None) or [
            name for name, value in vars(names).items() if getattr(value, "__module__", "") == module
        ]
        for name in public:
            if not name.startswith("_"):
                lines += _entry(module, name, shown)
    return "\n".join(lines)


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def _entry(module: str, name: str, shown: set[Any]) -> list[str]:
    value = getattr(import_module(module), name)
    if not getattr(value, "__module__", "").startswith("flitloom") or value in shown:
        return []
    shown.add(value)
    if isinstance(value, type):
        # The fields of a description stand in its docstring.
        members = [] if hasattr(value, "model_fields") else ["   :members:"]
        return [f".. autoclass:: {module}.{name}", *members, ""]
    return [f".. autofunction:: {module}.{name}", ""] if callable(value) else []


def draw_gallery() -> None:
    """Run the commands of the gallery in the folder of its pictures; what is there is not drawn again."""
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    place = MADE / "gallery"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        pictures = [word for word in shlex.split(block) if word.endswith((".png", ".html"))]
        if all((place / picture).exists() for picture in pictures):
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", block], cwd=place, env=environment, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"gallery: {block}\n{done.stderr}")
