"""A result in a file, which says how it was simulated."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.showing import film_of_experiment, show
from flitloom.commands.view import Asked
from flitloom.view.stored import read_result


def view(asked: Asked) -> None:
    """Simulate it anew and show that."""
    file, page = asked.file, asked.page
    assert file is not None
    spec, fingerprint = read_result(file)
    made = film_of_experiment(spec, page.stop_at)
    if page.stop_at is None and fingerprint is not None:
        made.require(fingerprint, file)
    show(asked, [made])


def sniff(file: Path) -> bool:
    """Whether a file is a result, by its name."""
    return file.suffix == ".nc"


INPUT = Input(
    title="a result",
    given="give one that ends in .nc",
    sniff=sniff,
    uses={
        "view": Use(
            view,
            names_of("out", "stop_at", "as_json"),
            (
                Refusal(
                    names_of("preset"), "{option}", "a result has its router", "give an experiment (.toml)"
                ),
            ),
        )
    },
)
