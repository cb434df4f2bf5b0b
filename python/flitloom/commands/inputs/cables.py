"""A file that describes a network, as the first argument: shown; all other verbs say what it is."""

from __future__ import annotations

from dataclasses import replace

from flitloom.commands.inputs.fabric import INPUT as FABRIC
from flitloom.commands.inputs.input import Input, Use
from flitloom.commands.view import Asked
from flitloom.fabric.reading import describes_fabric


def view(asked: Asked) -> None:
    """Show the network."""
    asked.page.network = str(asked.file)
    FABRIC.uses["view"].run(replace(asked, file=None))


_SHOWN = FABRIC.uses["view"]
INPUT = Input(
    title="a file that describes a network",
    given="give one",
    sniff=lambda file: file.is_file() and describes_fabric(file),
    uses={"view": Use(view, _SHOWN.takes, _SHOWN.refusals)},
    takers=("option --network of other verbs",),
)
