"""A campaign of genetic searches, which has verbs of its own."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.inputs.input import Input
from flitloom.errors import SpecError
from flitloom.ground.reading import read_toml

#: Fields of campaigns alone.
FIELDS = {"patterns", "arbitrations", "genes", "genetic", "grid", "restarts", "repeats", "extrapolate"}


def sniff(file: Path) -> bool:
    """Whether a file is a campaign: it says who searches, and no traffic."""
    try:
        fields = read_toml(file)
    except SpecError:
        return False
    return "traffic" not in fields and bool(FIELDS & fields.keys())


INPUT = Input(
    title="a campaign",
    given="give one that ends in .toml",
    uses={},
    sniff=sniff,
    takers=("flitloom campaign",),
)
