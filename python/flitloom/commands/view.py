"""``flitloom view``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flitloom.commands import options
from flitloom.commands.screen import say
from flitloom.errors import SpecError, show_file
from flitloom.outputs import check_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flitloom.collectives.ground import Ground
    from flitloom.view.page import Shown


def command(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A result (.nc), an experiment (.toml), a plan of schedule or collective, a placement "
            "(.json), routing tables (.json, .csv, .npz, an OpenSM dump), or with --fabric its tables."
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write (.html).")],
    stop_at: Annotated[
        int | None,
        typer.Option(help="Show a simulation up to the start of this cycle, a plan up to this step: 500."),
    ] = None,
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    twist: Annotated[
        bool, typer.Option("--twist", help="The torus is twisted, for files that do not say it.")
    ] = False,
    fabric: Annotated[
        Path | None, typer.Option(help="A fabric: what ibnetdiscover prints, a netlist, GraphML, a CSV.")
    ] = None,
    network: options.Network = None,
    fail: options.Fail = None,
    preset: options.Preset = None,
    live: Annotated[
        bool, typer.Option("--live", help="No file: a page with the engine inside, to try anything.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show a result, a plan, tables, a placement or a fabric as one HTML page that needs no network.

    Every link is coloured by what it does, or by load. A slider goes through the cycles, or the steps of a
    plan. The link under the pointer tells its packet or chunk, with its route. Idle links of a plan are
    dashed. Bounds and bottlenecks are marked, and the cycle of a deadlock. The totals are printed.

    \b
    For example:
      flitloom view result.nc -o page.html
      flitloom view experiment.toml --preset cup-stacking -o page.html
      flitloom view plan.json -o page.html
      flitloom view tables.json -o page.html
      flitloom view collective.json -o page.html
      flitloom view p.json -o page.html
      flitloom view --fabric cluster.topo out/ -o page.html
      flitloom view --network "dragonfly(6,3)" -o page.html
      flitloom view --live -o live.html
    """
    from flitloom.commands.inputs.plan import is_plan
    from flitloom.commands.inputs.showing import plan_films, plan_title, write_tables_page
    from flitloom.commands.shown import print_totals, shown_fabric, shown_file, shown_twisted
    from flitloom.view import Loads, film, write_live_page, write_page

    check_output(out, (".html",), "--out")
    named = fabric if network is None else network
    if fabric is not None and network is not None:
        raise SpecError("give either --fabric or --network")
    if live == (file is not None or named is not None) or (file is None and fail and named is None):
        raise SpecError("name a file to show, or give --live for a page with the engine inside")
    if twist and torus is None:
        raise SpecError.at("--twist", "no torus is named", "write --torus 4x4x8 --twist")
    if fail and named is None and not twist:
        raise SpecError.at("--fail", "belongs to --fabric or --torus --twist", "other files say what failed")
    if preset is not None and (file is None or file.suffix not in (".nc", ".toml")):
        raise SpecError.at("--preset", "only experiments (.toml) are simulated anew")
    if live:
        write_live_page(out)
        return

    def show(shown: Sequence[Shown], title: str | None = None) -> None:
        print_totals(shown, as_json)
        write_page(shown, out, title)

    if named is not None:
        show(shown_fabric(named, file, fail or [], stop_at))
        return
    assert file is not None
    if twist and torus is not None and (file.is_dir() or file.suffix == ".dump"):
        show(shown_twisted(torus, file, fail or []))
        return
    if file.suffix in (".nc", ".toml"):
        from flitloom.network import Network
        from flitloom.spec import read_experiment
        from flitloom.view.stored import read_result

        changes = [] if preset is None else [f'router.preset="{preset}"']
        if changes and file.suffix == ".nc":
            raise SpecError.at("--preset", "a result has its router", "give an experiment (.toml)")
        spec, fingerprint = (
            read_result(file) if file.suffix == ".nc" else (read_experiment(file, changes), None)
        )
        made = film(
            Network(spec.topology, spec.router),
            spec.traffic,
            seed=spec.seed,
            stop_at=stop_at if stop_at is not None else spec.stop_at,
            cycle_limit=spec.cycle_limit,
            throttle=spec.throttle,
        )
        if stop_at is None and fingerprint is not None:
            made.require(fingerprint, file)
        show([made])
    elif is_plan(file):
        from flitloom.scheduling import read_plan

        plan = read_plan(file)
        films = plan_films(plan.network(), plan)
        show(films if stop_at is None else [one.cut(stop_at) for one in films], plan_title(plan))
    elif found := shown_file(file, stop_at, _ground(torus, mesh, twist)):
        show(*found)
    else:
        from flitloom.commands.route import read_topology
        from flitloom.routing import read_tables

        topology = None if torus is None and mesh is None else read_topology(torus, mesh, [], None)
        tables = read_tables(file, topology)
        verdict = tables.verdict()
        if not verdict["passed"]:
            wrong = (
                f"{verdict['problem_count']} problems" if verdict["problem_count"] else "a possible deadlock"
            )
            say(f"note: {show_file(file)} has {wrong}; flitloom check says more")
        print_totals([Loads(tables, tables.bound)], as_json)
        write_tables_page([tables], out)


def _ground(torus: str | None, mesh: str | None, twist: bool) -> Ground | None:
    """The network that the options name."""
    from flitloom.collectives.ground import Ground
    from flitloom.spec import Topology

    fields = options.topology_fields(torus, mesh, None, None)
    return Ground(Topology(**fields), twist) if "sizes" in fields else None
