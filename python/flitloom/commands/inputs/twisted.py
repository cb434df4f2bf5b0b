"""A twisted torus with tables by destination."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flitloom import view as pages
from flitloom.commands.actions.subnets import twisted
from flitloom.commands.check import Asked, OfFabric
from flitloom.commands.inputs.fabric import dump_of, judge_tables
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.showing import NOT_ANEW, show
from flitloom.commands.view import Asked as Viewed
from flitloom.tables.by_destination.checking import judge
from flitloom.tables.by_destination.tables import read_tables


def asked(given: Mapping[str, Any]) -> bool:
    """Whether a torus is twisted, with a dump or a folder of tables."""
    file: Path | None = given.get("file")
    dumped = file is not None and "out" in given and (file.is_dir() or file.suffix == ".dump")
    return {"twist", "torus"} <= set(given) and (dumped or bool({"lft", "fdbs"} & set(given)))


def check(asked: Asked) -> None:
    """Judge the tables; exit code 1 for danger."""
    judge_tables(twisted(str(asked.judged.torus), asked.judged.fail or []), dump_of(asked.of_fabric), asked)


def view(asked: Viewed) -> None:
    """Show the torus with the loads of its tables."""
    assert asked.file is not None
    forwarding = read_tables(twisted(str(asked.page.torus), asked.page.fail or []), asked.file)
    show(asked, [pages.Cables(forwarding.subnet, judge(forwarding))])


INPUT = Input(
    title="a twisted torus with tables by destination",
    given="name one with --torus --twist",
    asked=asked,
    uses={
        "check": Use(
            check,
            names_of(OfFabric, "torus", "twist", "fail", "certificate", "_threads", "as_json")
            - {"nodes", "hca"},
            (
                Refusal.plain(names_of("nodes", "hca"), "{option} belongs to --fabric"),
                Refusal.plain(names_of("mesh", "rules"), "{option} does not go with --twist and --lft"),
            ),
        ),
        "view": Use(view, names_of("out", "torus", "twist", "fail", "as_json"), (NOT_ANEW,)),
    },
)
