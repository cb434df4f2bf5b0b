"""What ``view`` shows: a page's parts from a file, whatever it holds, and their totals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom.commands import screen
from flitloom.errors import SpecError

if TYPE_CHECKING:
    from flitloom.collectives.ground import Ground
    from flitloom.view.page import Shown


def shown_fabric(
    named: Path | str, tables: Path | None, parts: list[str], stop_at: int | None
) -> list[Shown]:
    """A fabric, or a named network, with the loads of tables if they are given."""
    from flitloom.commands.subnets import failing
    from flitloom.fabric.checking import judge
    from flitloom.fabric.tables import read_folder
    from flitloom.view import Cables

    if stop_at is not None:
        raise SpecError.at("--stop-at", "belongs to what moves", "leave it out")
    subnet = failing(named, parts)
    if tables is None:
        return [Cables(subnet, title=named if isinstance(named, str) else "")]
    forwarding = read_folder(subnet, tables)
    return [Cables(forwarding.subnet, judge(forwarding))]


def shown_twisted(sizes: str, tables: Path, parts: list[str]) -> list[Shown]:
    """A twisted torus with the loads of its tables by destination."""
    from flitloom.commands.subnets import twisted
    from flitloom.fabric.checking import judge
    from flitloom.fabric.tables import read_folder
    from flitloom.view import Cables

    forwarding = read_folder(twisted(sizes, parts), tables)
    return [Cables(forwarding.subnet, judge(forwarding))]


def shown_file(
    file: Path, stop_at: int | None, ground: Ground | None
) -> tuple[list[Shown], str | None] | None:
    """The parts of a page and its title, of a plan of a collective operation or a placement; None of others.

    `ground` is the network of a plan in a third-party format.
    """
    from flitloom import formats
    from flitloom.commands.inputs.placement import is_placement
    from flitloom.view import Steps, seats_of

    form = formats.format_of(file)
    if form is not None and form.read_plan is not None:
        plan = formats.read_plan(file, ground)
        if stop_at is not None and stop_at < 1:
            raise SpecError.at("--stop-at", f"{stop_at} steps", "it must be at least 1")
        return [Steps(plan, stop_at)], None
    if is_placement(file):
        from flitloom.placing.placement import read_placement

        if stop_at is not None:
            raise SpecError.at("--stop-at", "a placement does not move", "leave it out")
        document = read_placement(file)
        return list(seats_of(document)), f"{document.get('network', 'placement')}: ranks on nodes"
    return None


def print_totals(shown: Sequence[Shown], as_json: bool) -> None:
    """Print the totals of what a page shows; of several parts beside each other."""
    facts = [part.all_facts() for part in shown]
    if as_json:
        screen.print_json([{"title": part.title, **one} for part, one in zip(shown, facts, strict=True)])
    elif len(shown) == 1:
        screen.print_fields(facts[0])
    else:
        names = list(dict.fromkeys(name for one in facts for name in one))
        rows: list[list[Any]] = [[name, *(one.get(name, "-") for one in facts)] for name in names]
        screen.print_table(["", *(part.title for part in shown)], rows)
