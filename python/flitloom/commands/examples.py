"""``flitloom examples``: what comes with flitloom to begin with."""

from __future__ import annotations

import re
from json import loads
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options, screen
from flitloom.errors import SpecError, unknown_parts
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import make_folder, write_bytes

#: Where they lie.
FOLDER = Path(__file__).parents[1] / "examples"
#: Endings of examples.
KINDS = (".toml", ".csv", ".json", ".topo", ".cfg", ".goal")

app = typer.Typer(
    help="List the examples that come with flitloom, or copy them.\n\nExample: flitloom examples copy",
    no_args_is_help=True,
)


def names() -> list[str]:
    """All examples, as paths below their folder."""
    files = (file.relative_to(FOLDER) for file in FOLDER.rglob("*") if file.is_file())
    return sorted(file.as_posix() for file in files if file.suffix in KINDS)


@app.command("list")
def list_(json: options.Json = False) -> None:
    """List the examples, with their first line and how to run them.

    Example: flitloom examples list
    """
    texts = {name: (FOLDER / name).read_text(encoding="utf-8") for name in names()}
    rows = [{"name": name, "about": _about(text, name)} for name, text in texts.items()]
    if json:
        screen.print_json(rows)
        return
    screen.print_table(("name", "about"), [tuple(row.values()) for row in rows])


def _about(text: str, name: str) -> str:
    """What an example says of itself."""
    if name.endswith(".json"):
        return str(loads(text)["description"])
    lines = text.splitlines()
    words = [re.sub("^(#|//)", "", line).strip() for line in lines if re.match("#[^:]|//", line)]
    return words[0] if words else f"a table with the column {lines[0]}"


@app.command("copy")
def copy(
    wanted: Annotated[
        list[str] | None, typer.Argument(help="Which, as the list names them. [default: all]")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the copies.")] = Path("examples"),
) -> None:
    """Copy examples to a folder; an existing file that differs is not overwritten.

    Example: flitloom examples copy -o examples
    """
    known = names()
    for name in wanted or ():
        if name not in known:
            raise SpecError.at("examples", *unknown_parts(name, known))
    make_folder(out)
    copies = {out / name: (FOLDER / name).read_bytes() for name in wanted or known}
    for place, data in copies.items():
        if place.exists() and (not place.is_file() or place.read_bytes() != data):
            raise SpecError(f"{place}: is there already and differs; choose another folder with --out")
    for place, data in copies.items():
        make_folder(place.parent)
        write_bytes(place, data)
    screen.say(f"wrote {counted(len(copies), 'file')} to {out}")
