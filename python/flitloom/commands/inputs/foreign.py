"""A plan of a collective operation in a third-party format."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.actions.grids import ground_of_options
from flitloom.commands.inputs import collective
from flitloom.commands.inputs.checked import CHECK
from flitloom.commands.inputs.converting import convert
from flitloom.commands.inputs.input import Input, Use, names_of
from flitloom.commands.inputs.showing import NOT_ANEW
from flitloom.commands.options.simulation import Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import SpecError, show_file
from flitloom.formats import format_of, read_plan


def sniff(file: Path) -> bool:
    """Whether a file is such a plan."""
    form = format_of(file)
    return form is not None and form.name not in ("plan", "rounds") and form.read_plan is not None


def simulate(asked: Simulated) -> None:
    """Run the plan, in the steps of its replay, on the routers of the network that options name."""
    assert asked.file is not None
    grid = asked.grid
    _require_named(asked.file, grid.torus, grid.mesh)
    ground = ground_of_options(grid.torus, grid.mesh, grid.fail, bool(grid.twist))
    collective.run(asked, read_plan(asked.file, ground), asked.fields())


def view(asked: Viewed) -> None:
    """Show the steps of the plan on the network that options name."""
    assert asked.file is not None
    page = asked.page
    _require_named(asked.file, page.torus, page.mesh)
    ground = ground_of_options(page.torus, page.mesh, page.fail, page.twist)
    collective.show_steps(asked, read_plan(asked.file, ground))


def _require_named(file: Path, torus: str | None, mesh: str | None) -> None:
    """Refuse a plan without a network, which third-party formats do not name."""
    if torus is None and mesh is None:
        raise SpecError.at(
            show_file(file), "does not say what network it is for", "name it with --torus 4x4 or --mesh 4x4"
        )


INPUT = Input(
    title="a plan in a third-party format",
    given="give one that ends in .xml or .json",
    sniff=sniff,
    uses={
        "simulate": Use(simulate, collective.TAKES - {"wrap"}, collective.REFUSALS),
        "check": CHECK,
        "view": Use(
            view,
            names_of("out", "stop_at", "torus", "mesh", "twist", "fail", "as_json"),
            (NOT_ANEW,),
        ),
        "convert": Use(convert),
    },
)
