"""An experiment: a spec in TOML, or what options describe without any file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom.commands import load_options, screen
from flitloom.commands.actions import perform
from flitloom.commands.check import Asked
from flitloom.commands.inputs.input import Input, Use, names_of
from flitloom.commands.inputs.running import check, run, say_of_rules
from flitloom.commands.inputs.showing import film_of_experiment, show
from flitloom.commands.load_curve import Points, Rows
from flitloom.commands.options import Grid, Router, Run, Traffic, remarked_in
from flitloom.commands.options.simulation import Kept, Outputs, Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.ground import ranks
from flitloom.load.finite import window_of
from flitloom.load.given import network_fields, router_fields
from flitloom.networks.escape import escape_order
from flitloom.networks.experiment import Experiment, build_experiment, read_experiment, read_fields
from flitloom.run.simulation import begin_experiment, experiment_memory, left_working
from flitloom.spec import Collective, Packets
from flitloom.spec.traffic.known import kind_of
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.reading import read_tables

if TYPE_CHECKING:
    from flitloom.commands.inputs.seating import Sitting, Table

#: Options that describe an experiment, and what is done with one.
TAKES = names_of(
    *(Grid, Traffic, Router, Run, Kept, Outputs, "graph", "network", "hosts", "no_hosts", "tables", "json")
)
_STEADY = (load_options.Compared, load_options.Packets, load_options.Router, load_options.Measured)
#: The same of a curve, and of a saturation.
CURVED = names_of(*_STEADY, Points, "rates")
SATURATED = names_of(*_STEADY, Rows, "within", "level")


def simulate(asked: Simulated) -> None:
    """Simulate the experiment."""
    file = asked.file
    read = {} if file is None else read_fields(file)
    remarked_in(read)
    fields = asked.fields(read, kind=file is None)
    simulate_fields(asked, fields, Path() if file is None else file.parent)


def simulate_fields(
    asked: Simulated,
    fields: dict[str, Any],
    folder: Path,
    sitting: Sitting | None = None,
    seconds: float | None = None,
) -> None:
    """Simulate the experiment of fields; `sitting` has its ranks, and a cycle takes `seconds`."""
    check(asked)
    # Tables of switches are part of their network.
    tables, on_ranks = None if asked.has_switches else asked.brought.tables, ranks.started() > 1
    if tables is not None and "sizes" not in fields.get("topology", {}):
        _take_network(fields, tables)
    experiment, text = left_working(build_experiment(fields, folder))
    if text:
        screen.say(text)
    routes = None if tables is None else read_tables(tables, experiment.topology)
    if sitting is not None and routes is None:
        routes = sitting.tables
    if routes is not None:
        say_of_rules(routes, experiment.router)
    if sitting is not None and sitting.phases:
        experiment = _in_turn(experiment, sitting.phases, routes, asked.kept.threads)
    screen.foretell_memory([experiment_memory(experiment)])
    simulation = begin_experiment(
        experiment,
        # Ranks keep no records of single packets.
        packets=asked.outputs.out is not None and not on_ranks,
        link_time=asked.outputs.chart is not None,
        tables=routes,
        threads=asked.kept.threads,
        on_ranks=on_ranks,
        windows=_windows(experiment, asked),
    )
    run(simulation, asked, seconds, routes)


def _windows(experiment: Experiment, asked: Simulated) -> int | None:
    """Windows by which a load is judged; none beside records of packets and links."""
    outputs = asked.outputs
    if outputs.out is not None or outputs.chart is not None or outputs.space_time is not None:
        return None
    return window_of(experiment)


def _in_turn(
    experiment: Experiment, phases: Sequence[Table], routes: Tables | None, threads: int
) -> Experiment:
    """The experiment with all phases, each of which begins when the one before has been delivered."""
    packets, begins = list[tuple[int, ...]](), [0]
    for number, table in enumerate(phases):
        packets += [(*row[:3], begins[-1]) for row in table]
        if number + 1 < len(phases):
            alone = experiment.model_copy(update={"traffic": Packets(table)})
            simulation = begin_experiment(alone, links=False, tables=routes, threads=threads)
            simulation.run()
            begins.append(begins[-1] + simulation.totals.duration)
    screen.say(f"phases begin at cycles {', '.join(map(str, begins))}")
    return experiment.model_copy(update={"traffic": Packets(packets)})


def certify(asked: Asked) -> None:
    """Say whether the adaptive routing of an experiment can deadlock, and write the certificate."""
    assert asked.file is not None
    order = escape_order(read_experiment(asked.file))
    with screen.report():
        if asked.judged.as_json:
            screen.print_json(order.facts())
        else:
            screen.echo(str(order))
    if asked.judged.certificate is not None:
        order.write(asked.judged.certificate)


def _take_network(fields: dict[str, Any], tables: Path) -> None:
    """Give an experiment the network that tables are for, and a router in which they are deadlock-free.

    Raises
    ------
    SpecError
        The file is damaged, or does not name its network.
    """
    read = read_tables(tables)
    fields["topology"] = {**network_fields(read), **fields.get("topology", {})}
    router, traffic = fields.get("router", {}), fields.get("traffic", {})
    if not isinstance(router, dict) or not isinstance(traffic, dict):
        return
    length = (kind_of(traffic) or Collective).longest_said(traffic)
    needed = router_fields(read, length) if isinstance(length, int) else {}
    if needed and not {"flow_control", "channels", "preset"} & set(router):
        fields["router"] = {**needed, **router}
        named = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in needed.items())
        screen.say(f"{read.topology}, as the tables say, with {named}")


def view(asked: Viewed) -> None:
    """Simulate the experiment and show it."""
    file, page = asked.file, asked.page
    assert file is not None
    changes = [] if page.preset is None else [f'router.preset="{page.preset}"']
    show(asked, [film_of_experiment(read_experiment(file, changes), page.stop_at)])


def sniff(file: Path) -> bool:
    """Whether a file is an experiment, by its name."""
    return file.suffix == ".toml"


INPUT = Input(
    title="an experiment",
    given="give one that ends in .toml, or --torus and --pattern",
    sniff=sniff,
    uses={
        "simulate": Use(simulate, TAKES, several_ranks=True),
        "check": Use(certify, names_of("certificate", "_threads", "as_json")),
        "view": Use(view, names_of("out", "stop_at", "preset", "as_json")),
        "load curve": Use(partial(perform, "load_curve"), CURVED, several_ranks=True),
        "load saturation": Use(partial(perform, "load_saturation"), SATURATED, several_ranks=True),
    },
)
