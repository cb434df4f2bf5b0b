"""Pages of what a file says, and the totals of what they show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom import view as pages
from flitloom.commands import screen
from flitloom.commands.inputs.input import Refusal, names_of
from flitloom.commands.view import Asked
from flitloom.errors import SpecError
from flitloom.networks.experiment import Experiment
from flitloom.networks.network import Network
from flitloom.tables.by_source.tables import Tables

if TYPE_CHECKING:
    from flitloom.view.text import Part

#: What is said of an option that only experiments take.
NOT_ANEW = Refusal(
    names_of("preset"), "{option}", "only experiments (.toml) are simulated anew", "leave it out"
)


def write_tables_page(made: list[Tables], file: Path) -> None:
    """Tables of one network side by side, against their best bound."""
    bound = max(tables.bound for tables in made)
    pages.write_page(
        [pages.Loads(tables, bound) for tables in made], file, f"Routing tables of the {made[0].topology}"
    )


def film_of_experiment(spec: Experiment, stop_at: int | None = None) -> pages.Film:
    """The simulation of an experiment, up to a cycle or as it says itself."""
    return pages.film(
        Network(spec.topology, spec.router),
        spec.traffic,
        seed=spec.seed,
        stop_at=spec.stop_at if stop_at is None else stop_at,
        cycle_limit=spec.cycle_limit,
        throttle=spec.throttle,
    )


def head_of(network: Network) -> str:
    """What a simulation prints of its network.

    >>> import flitloom as fl
    >>> head_of(fl.Network(fl.Torus(4, 4)))
    '4x4 torus, 3 channels, 4-flit buffers'
    """
    return repr(network)[len("Network(") : -1]


def show(asked: Asked, shown: Sequence[Part], title: str | None = None) -> None:
    """Write a page, and print the totals of what it shows."""
    with totals_after(shown, asked.page.as_json):
        pages.write_page(shown, asked.page.out, title)


@contextmanager
def totals_after(shown: Sequence[Part], as_json: bool) -> Iterator[None]:
    """Print the totals of what a page shows once it is written, or refused.

    The page is there, even if nobody reads the totals to their end.
    """
    try:
        yield
    except SpecError:
        print_totals(shown, as_json)
        raise
    print_totals(shown, as_json)


def print_totals(shown: Sequence[Part], as_json: bool) -> None:
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
