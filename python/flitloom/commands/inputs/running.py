"""Simulations run to their end: charts, pages, records and totals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flitloom import view as pages
from flitloom.commands import options, pictures, screen
from flitloom.commands.inputs.showing import film_of_experiment, head_of
from flitloom.commands.options.simulation import Simulated, read_places
from flitloom.errors import CycleLimitError, DeadlockError, SpecError, show_file
from flitloom.ground import ranks
from flitloom.ground.numerals import counted
from flitloom.load.bounds import router_text
from flitloom.load.finite import Finite, run_judged, window_of
from flitloom.networks.experiment import Experiment
from flitloom.run.result import Result
from flitloom.run.simulation import Simulation
from flitloom.run.space_time import record_space_time
from flitloom.spec import Router
from flitloom.tables.by_source.tables import Tables


def say_of_rules(tables: Tables, router: Router) -> None:
    """Say where tables are not deadlock-free in a router."""
    bubble, rules = router.flow_control == "bubble", tables.rules
    lanes = rules.virtual_channels
    if bubble != (lanes is None) and not rules.any_walk:
        needed = (
            "bubble flow control" if lanes is None else f"{counted(lanes, 'virtual channel')} and no bubbles"
        )
        screen.say(
            f"note: tables of rules {rules.name} are deadlock-free with {needed}; with "
            f"{router.flow_control} flow control packets may get stuck (a deadlock is reported)"
        )


def check(asked: Simulated) -> None:
    """Refuse what cannot be written, or not on several ranks, before anything is done."""
    asked.check_outputs()
    if ranks.started() > 1:
        if asked.outputs.chart is not None:
            raise SpecError.at("--picture", "is not for several ranks (mpiexec)", "start one, with --threads")
        check_threads(asked.kept.threads)


def check_threads(threads: int) -> None:
    """Refuse several threads on several ranks."""
    if ranks.started() > 1 and threads != 1:
        raise SpecError.at("--threads", "every rank (mpiexec) is one thread", "start more ranks")


def run(
    simulation: Simulation, asked: Simulated, seconds: float | None = None, tables: Tables | None = None
) -> None:
    """Run a simulation to its end, write what is asked for and print what came of it.

    A cycle takes this many seconds, if that is known. A load with windows is judged.
    """
    outputs, every = asked.outputs, options.read_time(asked.kept.every, "--every")
    html = outputs.html
    if html is not None:
        simulation.network.topology.require_rings("pages that move are")
    stop_at = simulation.spec.stop_at
    judged = None
    with screen.progress("simulating", simulation.unit(stop_at)) as show:
        try:
            if simulation.keeps_windows and window_of(simulation.spec) is not None:
                judged = run_judged(
                    simulation, tables, checkpoint=asked.kept.checkpoint, every=every, progress=show
                )
            if outputs.space_time is not None:
                places = read_places(outputs.space_time_at)
                draw_space_time(simulation, outputs.space_time, outputs.span, show, places)
            simulation.run(stop_at, checkpoint=asked.kept.checkpoint, every=every, progress=show)
        except (DeadlockError, CycleLimitError) as error:
            if html is not None and ranks.speaks():
                # How it ends is to be seen, too.
                write_html(simulation.spec, html)
                if isinstance(error, DeadlockError):
                    screen.say(f"{show_file(html)} shows the deadlock")
            raise
    result = simulation.result()
    if outputs.chart is not None:
        result.plot_link_time(outputs.chart)
    if outputs.out is not None and ranks.speaks():
        result.to_netcdf(outputs.out)
    _print(result, asked.printed.json, seconds, judged)
    if html is not None and ranks.speaks():
        # It may be too large, which takes a while to find.
        write_html(simulation.spec, html)


def _print(result: Result, json: bool, seconds: float | None, judged: Finite | None) -> None:
    """Print what came of a simulation."""
    found: dict[str, Any] = {}
    if judged is not None:
        router = router_text(result.spec, result.tables)
        found = {"throughput": judged.throughput, "verdict": judged.verdict, "router": router}
        if judged.saturated:
            # It grows with the length of the run.
            found |= {"latency": None}
    # Of messages, as of plans, until the last flit has arrived.
    time = {} if seconds is None else {"time": seconds * (result.makespan or result.duration)}
    if json:
        named = {"network": head_of(result.network)} if result.spec.traffic.names_network else {}
        screen.print_json({**named, **result.to_dict(), **found, **time, "links": result.link_rows()})
        return
    units = {
        "latency": "cycles from start to ejection, h + L + 1 unhindered",
        "duration": "cycles, h + L + 1 for an unhindered packet",
        "throughput": "flits/node/cycle",
    }
    if result.network.router.model == "pipelined":
        units |= {"latency": "cycles from generation to arrival", "duration": "cycles"}
    in_cycles = (
        "height",
        "effective_thickness",
        "bound",
        "cycles",
        "age_sum",
        "network_latency",
        "reply_latency",
        "makespan",
    )
    units |= dict.fromkeys(in_cycles, "cycles")
    screen.print_fields(
        {
            "network": head_of(result.network),
            **{
                name: _with_unit(value, units.get(name, ""))
                for name, value in {**result.summary(), **found}.items()
            },
            **{
                name: f"{1e6 * value:.4g} us; a cycle is {1e9 * (seconds or 0):.4g} ns"
                for name, value in time.items()
            },
        }
    )
    if result.flit_hops:
        used = result.link_rows()
        occupation = [row["occupation"] for row in used]
        flits = [row["flits"] for row in used]
        screen.echo()
        screen.print_fields(
            {
                "links used": f"{len(used)} of {result.working_links}",
                "occupation": (
                    f"mean {sum(occupation) / len(used):.1f}, longest {counted(max(occupation), 'cycle')}"
                ),
                "flits per link": f"mean {sum(flits) / len(used):.1f}, most {max(flits)}",
            }
        )


def draw_space_time(
    simulation: Simulation,
    file: Path,
    span: tuple[int, int | None],
    progress: Callable[[int, int], None],
    places: dict[str, int],
) -> None:
    """Run a simulation through a span of cycles and draw its space-time chart."""
    first, end = span
    stop_at = simulation.spec.stop_at
    if stop_at is not None:
        end = stop_at if end is None else min(end, stop_at)
    if 0 < first < simulation.now:
        raise SpecError.at("--space-time-cycles", f"the simulation is in cycle {simulation.now} already")
    if first > simulation.now:
        simulation.run(until=first if end is None else min(first, end), progress=progress)
    if simulation.finished or simulation.now < first:
        raise SpecError.at(
            "--space-time-cycles", f"the run ends with cycle {simulation.now}", "give earlier ones"
        )
    try:
        busy = record_space_time(simulation, None if end is None else end - simulation.now, at=places)
    except SpecError as error:
        if error.field != "at":
            raise
        raise SpecError.at("--space-time-at", error.problem, error.advice) from None
    if not ranks.speaks():
        return
    pictures.plot_space_time(busy, file, simulation.spec.traffic.describe(simulation.network))
    if not any(bool(buffers.any()) for buffers in busy.values()):
        lines = busy.attrs["lines"]
        nothing = f"no buffer is ever full along {lines}; --space-time-at names other lines"
        screen.say(f"{show_file(file)} is empty: {nothing}")


def write_html(experiment: Experiment, html: Path) -> None:
    """Write the page of an experiment."""
    pages.write_page([film_of_experiment(experiment)], html)


def _with_unit(value: object, unit: str) -> object:
    if value is None or not unit:
        return value
    return f"{value:.4g} {unit}" if isinstance(value, float) else f"{value} {unit}"
