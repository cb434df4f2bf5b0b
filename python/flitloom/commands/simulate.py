"""``flitloom simulate``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom.commands import options, screen
from flitloom.errors import SpecError, show, show_file
from flitloom.extras import check_picture
from flitloom.outputs import check_output

if TYPE_CHECKING:
    from flitloom.result import Result
    from flitloom.routing import Tables
    from flitloom.simulation import Simulation
    from flitloom.spec import Experiment, Router


@dataclass(frozen=True)
class Outputs:
    """Files to be written."""

    out: Path | None
    chart: Path | None
    space_time: Path | None
    space_time_cycles: str | None
    checkpoint: Path | None
    html: Path | None

    def check(self) -> None:
        """Refuse what cannot be written before anything is done."""
        if self.out is not None:
            check_output(self.out, (".nc",), "--out")
        if self.chart is not None:
            check_picture(self.chart, "--picture")
        if self.space_time is not None:
            read_span(self.space_time_cycles)
            check_picture(self.space_time, "--space-time")
        elif self.space_time_cycles is not None:
            raise SpecError.at("--space-time-cycles", "says what --space-time FILE draws", "give that, too")
        if self.checkpoint is not None:
            check_output(self.checkpoint, place="--checkpoint")
        if self.html is not None:
            check_output(self.html, (".html",), "--html")

    @property
    def span(self) -> tuple[int, int | None]:
        """First cycle of the space-time chart and the one behind its last."""
        return read_span(self.space_time_cycles)

    @property
    def records(self) -> bool:
        """Whether anything is to be written of what happened."""
        return any(file is not None for file in (self.out, self.chart, self.space_time, self.html))


def command(
    context: typer.Context,
    spec: Annotated[
        Path | None,
        typer.Argument(
            help="An experiment in TOML (options overrule it), a message graph (.goal, .bin, .et), a plan "
            "of a collective operation (.json), or a file of BookSim2 (.cfg, or without an ending)."
        ),
    ] = None,
    overrules: Annotated[
        list[str] | None,
        typer.Argument(
            help="What overrules a file of BookSim2, as injection_rate=0.3.", metavar="NAME=VALUE"
        ),
    ] = None,
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    wrap: options.Wrap = None,
    twist: options.Twist = False,
    graph: Annotated[
        Path | None,
        typer.Option(
            "--graph", "--fabric", help="Any graph of switches (ibnetdiscover, GraphML, CSV): all-to-all."
        ),
    ] = None,
    fail: options.Fail = None,
    pattern: options.Pattern = None,
    destinations: options.Destinations = None,
    hotspot_fraction: options.HotspotFraction = None,
    hotspot_target: options.HotspotTarget = None,
    payload: Annotated[int | None, typer.Option(help="Payload of a packet, in flits. [default: 7]")] = None,
    slices: Annotated[int | None, typer.Option(help="Slices per packet. [default: 1]")] = None,
    interval: Annotated[
        int | None, typer.Option(help="Cycles between the starts of slices. [default: 0]")
    ] = None,
    delays: options.Delays = None,
    packets: options.PacketsPerNode = None,
    rate: Annotated[
        float | None, typer.Option(help="Random load instead of a collective, in flits/node/cycle, e.g. 0.1.")
    ] = None,
    length: Annotated[
        int | None, typer.Option(help="Random load, matrix: flits per packet. [default: 8]")
    ] = None,
    cycles: Annotated[
        int | None, typer.Option(help="Random load: cycles in which packets are generated, e.g. 2000.")
    ] = None,
    matrix: Annotated[
        Path | None, typer.Option(help="CSV file: packets from every node (row) to every node (column).")
    ] = None,
    packet_table: Annotated[
        Path | None, typer.Option(help="CSV file: source,destination,length,start[,slice].")
    ] = None,
    preset: options.Preset = None,
    channels: options.Channels = None,
    buffer: options.Buffer = None,
    latency: options.Latency = None,
    flow_control: options.FlowControl = None,
    arbitration: options.Arbitration = None,
    routing: options.Routing = None,
    throttle: options.Throttle = None,
    seed: options.Seed = None,
    stop_at: Annotated[
        int | None, typer.Option(help="Look at the totals at the start of this cycle, e.g. 1000.")
    ] = None,
    cycle_limit: Annotated[
        int | None, typer.Option(help="Fail if not everything is delivered before this cycle, e.g. 100000.")
    ] = None,
    settings: options.Changes = None,
    tables: Annotated[
        Path | None,
        typer.Option(help="Routes of all packets: tables (.json) made by flitloom route for this network."),
    ] = None,
    placement: Annotated[
        Path | None,
        typer.Option(
            help="Ranks on their nodes: a placement made by flitloom place (.json). It brings the network "
            "and, without other traffic, its messages."
        ),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="A plan made by flitloom schedule (.json), instead of a spec.")
    ] = None,
    jitter: Annotated[
        int | None, typer.Option(help="With --plan: every node is late by 0 to this many cycles.")
    ] = None,
    trials: Annotated[int, typer.Option(help="With --jitter: simulations, each with its own delays.")] = 100,
    separate: Annotated[
        bool,
        typer.Option("--separate", help="With --jitter: virtual channels against deadlocks of late nodes."),
    ] = False,
    lead: Annotated[
        int,
        typer.Option(help="With --jitter: cycles by which nodes aim before their planned starts, e.g. 2."),
    ] = 0,
    chunk_flits: Annotated[
        int | None,
        typer.Option("--flits", help="Plan of a collective operation: flits of a chunk. [default: 16]"),
    ] = None,
    ports: Annotated[
        int | None,
        typer.Option(help="Plan of a collective operation: ports of a node. [default: one per link]"),
    ] = None,
    flit_bytes: Annotated[
        int | None, typer.Option(help="Message graph, placement: bytes of a flit. [default: 16]")
    ] = None,
    calc_cycles: Annotated[
        int | None,
        typer.Option(help="Message graph: cycles of a unit of computing, Chakra's microsecond. [default: 1]"),
    ] = None,
    json: options.Json = False,
    as_booksim: Annotated[
        bool, typer.Option("--booksim", help="File of BookSim2: print the lines that BookSim2 prints.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all records to this NetCDF file (.nc).")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the simulation to this file, as long.flit, now and then and at Ctrl-C."),
    ] = None,
    every: Annotated[str, typer.Option(help="Time between two checkpoints, e.g. 60s or 10m.")] = "60s",
    threads: Annotated[
        int, typer.Option(help="Threads, each with a part of the network; the result does not depend on it.")
    ] = 1,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on with the simulation in this file, as long.flit, instead of a spec."),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw the link-time chart to this file (.png, .pdf, .svg)."),
    ] = None,
    space_time: Annotated[
        Path | None,
        typer.Option(help="Draw the space-time chart of full buffers to this file (.png, .pdf, .svg)."),
    ] = None,
    space_time_cycles: Annotated[
        str | None,
        typer.Option(help="First and last cycle of the space-time chart. [default: all]", metavar="FROM:TO"),
    ] = None,
    html: options.Html = None,
) -> None:
    """Simulate traffic on a network, cycle by cycle.

    \b
    For example:
      flitloom simulate --torus 16x16 --pattern shfl --payload 14 --slices 2 --interval 76
      flitloom simulate experiment.toml --set router.buffer=8 --out result.nc --html page.html
      flitloom simulate --torus 32x32 --pattern bcmp --packets 10 --space-time chart.png
      flitloom simulate --torus 16x16 --pattern torn --routing valiant
      flitloom simulate --torus 8x4 --flow-control bubble --buffer 16 --pattern torn --tables tables.json
      flitloom simulate --preset t15 --torus 32x32 --pattern bcmp --packets 10 --throttle spth:margin=8
      flitloom simulate --plan plan.json --jitter 4 --trials 100
      flitloom simulate trace.goal --torus 4x4
      flitloom simulate --placement p.json
      flitloom simulate collective.json --flits 64 --flow-control cut-through --buffer 64
      flitloom simulate long.toml --checkpoint long.flit --every 10m
      flitloom simulate --resume long.flit --checkpoint long.flit
      flitloom simulate --torus 256x256 --pattern rand --rate 0.3 --cycles 2000 --threads 4
      flitloom simulate --torus 4x4x8 --twist --pattern bcmp
      flitloom simulate --graph cluster.topo --tables out/
      flitloom simulate mesh.cfg injection_rate=0.3 --booksim
    """
    from flitloom import formats, ranks
    from flitloom.booksim.options import is_booksim
    from flitloom.commands.schedule import read_time
    from flitloom.routing import read_tables
    from flitloom.simulation import Simulation, begin_experiment, experiment_memory
    from flitloom.spec.experiment import build_experiment, change, read_fields

    if spec is not None and is_booksim(spec):
        from flitloom.commands.booksim import simulate_booksim

        ignored = [name for name in options.typed(context) if name not in {"json", "as_booksim"}]
        options.refuse(
            context, ignored, "does not go with a file of BookSim2; write NAME=VALUE behind the file"
        )
        if json and as_booksim:
            raise SpecError("--booksim, --json: print different things; give one of them")
        simulate_booksim(spec, overrules or [], as_booksim, json)
        return
    if as_booksim or overrules:
        field = "--booksim" if as_booksim else (overrules or [""])[0]
        raise SpecError.at(field, "belongs to a file of BookSim2", "give one that ends in .cfg")
    by_destination = twist and tables is not None and (tables.is_dir() or tables.suffix == ".dump")
    if graph is not None or by_destination:
        from flitloom.commands.subnets import simulate_graph

        places = {"graph", "torus", "twist", "fail", "matrix", "length", "buffer", "latency"}
        places |= {"cycle_limit", "tables", "json"}
        ignored = [name for name in options.typed(context) if name not in places]
        options.refuse(context, ignored, "does not go with --graph or with tables by destination")
        simulate_graph(
            graph, torus, twist, fail or [], matrix, length, buffer, latency, cycle_limit, tables, json
        )
        return
    outputs = Outputs(out, chart, space_time, space_time_cycles, checkpoint, html)
    outputs.check()
    on_ranks = ranks.started() > 1
    goal = spec if spec is not None and formats.is_messages(spec) else None
    form = None if spec is None or goal is not None else formats.format_of(spec)
    if spec is not None and form is not None and form.name != "plan":
        raise SpecError.at(
            show_file(spec),
            "is a plan in a third-party format",
            f"flitloom convert {show_file(spec)} plan.json makes one that can be simulated",
        )
    chunks = spec if form is not None else None
    fields = read_fields(spec) if spec is not None and goal is None and chunks is None else {}
    traffic = options.given(
        pattern=pattern,
        destinations=destinations,
        hotspot_fraction=hotspot_fraction,
        hotspot_target=hotspot_target,
        payload=payload,
        slices=slices,
        interval=interval,
        delays=delays,
        packets=packets,
        rate=rate,
        length=length,
        cycles=cycles,
        matrix=matrix,
        table=packet_table,
    )
    if spec is None and placement is None:
        kinds = {"rate": "load", "matrix": "matrix", "table": "packets"}
        traffic["kind"] = next((kinds[name] for name in kinds if name in traffic), "collective")
    router = options.given(
        preset=preset,
        channels=channels,
        buffer=buffer,
        latency=latency,
        flow_control=flow_control,
        arbitration=arbitration,
        routing=routing,
    )
    topology = options.topology_fields(torus, mesh, wrap, fail, twist)
    changes = {"topology": topology, "router": router, "traffic": traffic}
    options.merge(fields, {name: part for name, part in changes.items() if part})
    limits = options.given(seed=seed, stop_at=stop_at, cycle_limit=cycle_limit, throttle=throttle)
    options.merge(fields, limits)
    for setting in settings or []:
        change(fields, setting)
    folder = spec.parent if spec is not None else Path()
    sitting = None
    if placement is not None:
        from flitloom.commands.placements import put_on_nodes

        if plan is not None or resume is not None or (spec is not None and goal is None):
            raise SpecError.at(
                "--placement", "goes with a message graph, --matrix, --packet-table, or no other traffic"
            )
        sitting = put_on_nodes(placement, fields, tables is not None, flit_bytes, goal is not None)
        flit_bytes = flit_bytes if goal is not None else None
    files = {"a message graph": goal, "a plan of a collective operation": chunks, "a plan": plan}
    what = next((name for name, file in files.items() if file is not None), None)
    beside = {"--checkpoint": checkpoint, "--resume": resume, "--plan": plan, "--jitter": jitter}
    refuse_together(
        what, fields, outputs, [name for name, value in beside.items() if value is not None], threads
    )
    if goal is not None:
        from flitloom.commands.messages import simulate_goal

        if traffic or outputs.records:
            raise SpecError(
                "a message graph brings its own traffic and has no records; give the network only"
            )
        size, cycle = 16 if flit_bytes is None else flit_bytes, 1 if calc_cycles is None else calc_cycles
        simulate_goal(goal, fields, cycle_limit, tables, size, cycle, json, threads, sitting)
        return
    if flit_bytes is not None or calc_cycles is not None:
        raise SpecError(
            "--flit-bytes, --calc-cycles: belong to a message graph (--flit-bytes to a placement)"
        )
    if chunks is not None:
        from flitloom.commands.messages import simulate_collective_file

        if traffic or outputs.records or tables is not None:
            raise SpecError("a plan of a collective operation brings its own traffic; give the router only")
        simulate_collective_file(chunks, fields, chunk_flits, ports, json)
        return
    if chunk_flits is not None or ports is not None:
        raise SpecError("--flits, --ports: belong to a plan of a collective operation")
    if plan is not None:
        if tables is not None:
            raise SpecError.at("--tables", "a plan brings its own routes", "leave one of them out")
        from flitloom.commands.plans import simulate_plan

        simulate_plan(plan, fields, folder, jitter, trials, separate, lead, json, out, chart, html)
        return
    if resume is not None:
        if spec is not None or fields != {"traffic": {"kind": "collective"}}:
            raise SpecError.at("--resume", "brings its own network and traffic", "give no others")
        simulation = Simulation.load(
            resume,
            tables=None if tables is None else read_tables(tables),
            threads=threads,
            _on_ranks=on_ranks,
        )
    else:
        if tables is not None and "sizes" not in fields.get("topology", {}):
            _take_network(fields, tables)
        experiment = _among_working(build_experiment(fields, folder))
        routes = None if tables is None else read_tables(tables, experiment.topology)
        if sitting is not None and routes is None:
            routes = sitting.tables
        if routes is not None:
            say_of_rules(routes, experiment.router)
        screen.foretell_memory([experiment_memory(experiment)])
        simulation = begin_experiment(
            experiment,
            # Ranks keep no records of single packets.
            packets=out is not None and not on_ranks,
            link_time=chart is not None,
            tables=routes,
            threads=threads,
            on_ranks=on_ranks,
        )
    _run(simulation, outputs, read_time(every, "--every"), json)


def say_of_rules(tables: Tables, router: Router) -> None:
    """Say where the rules of tables do not keep free of deadlock in a router."""
    bubble, rules = router.flow_control == "bubble", tables.rules
    lanes = rules.virtual_channels
    if bubble != (lanes is None) and not rules.any_walk:
        needed = "bubble flow control" if lanes is None else f"{lanes} virtual channels and no bubbles"
        screen.say(
            f"note: tables of rules {rules.name} are free of deadlock with {needed}; with "
            f"{router.flow_control} flow control packets may get stuck (a deadlock is reported)"
        )


def _among_working(experiment: Experiment) -> Experiment:
    """The experiment with a pattern of a network with failed nodes sent among those that work."""
    from flitloom.network import Network
    from flitloom.spec import Collective
    from flitloom.workload import among_working

    traffic, topology = experiment.traffic, experiment.topology
    if not topology.failed_nodes or not isinstance(traffic, Collective) or traffic.pattern is None:
        return experiment
    network = Network(topology, experiment.router)
    left = among_working(network, traffic, experiment.seed)
    working = topology.nodes - len(topology.failed_nodes)
    omitted = working * traffic.packets - len(left.table) // traffic.slices
    screen.say(
        f"{traffic.pattern} among the {working} nodes that work"
        + (f"; {omitted} packets to failed nodes are left out" if omitted else "")
    )
    return experiment.model_copy(update={"traffic": left})


def _take_network(fields: dict[str, Any], tables: Path) -> None:
    """Give an experiment the network that tables are for, and a router in which they are free of deadlock.

    Raises
    ------
    SpecError
        The file is damaged, or does not name its network.
    """
    from flitloom.routing import read_tables
    from flitloom.routing.given import network_fields, router_fields

    read = read_tables(tables)
    fields["topology"] = {**network_fields(read), **fields.get("topology", {})}
    router, traffic = fields.get("router", {}), fields.get("traffic", {})
    if not isinstance(router, dict) or not isinstance(traffic, dict):
        return
    length = traffic.get("length", traffic.get("payload", 7) + 1)
    needed = router_fields(read, length) if isinstance(length, int) else {}
    if needed and not {"flow_control", "channels", "preset"} & set(router):
        fields["router"] = {**needed, **router}
        named = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in needed.items())
        screen.say(f"{read.topology}, as the tables say, with {named}")


def refuse_together(
    what: str | None, fields: dict[str, Any], outputs: Outputs, beside: list[str], threads: int
) -> None:
    """Refuse what does not go together with a kind of file, if one is given, or with several ranks."""
    from flitloom import ranks

    on_ranks = ranks.started() > 1
    if on_ranks:
        alone = {"--picture": outputs.chart is not None, "--plan": what == "a plan"}
        for name in (name for name, given in alone.items() if given):
            raise SpecError(f"{name}: is not for several ranks (mpiexec); start one, with --threads")
        if threads != 1:
            raise SpecError.at("--threads", "every rank (mpiexec) is one thread", "start more ranks")
    if what is None:
        return
    if what == "a plan":
        if outputs.space_time is not None:
            raise SpecError.at("--space-time", "is drawn of simulations, not of plans", "leave --plan out")
        if {"--checkpoint", "--resume"} & set(beside):
            raise SpecError("--checkpoint, --resume: belong to simulations, not to plans; leave them out")
    else:
        for name in beside:
            raise SpecError(f"{name}: does not go with {what}; leave it out")
        known = {"topology", "router"} | ({"cycle_limit"} if what == "a message graph" else set())
        for name in (name for name in fields if name not in known):
            raise SpecError(
                f"{name!r:.60}: {what} brings its own traffic; give the network and its routers only"
            )
    if what != "a message graph":
        if threads != 1:
            raise SpecError.at("--threads", "belongs to simulations of one network in parts, not to plans")
        if on_ranks:
            raise SpecError("a plan of a collective operation is not for several ranks (mpiexec); start one")


def _run(simulation: Simulation, outputs: Outputs, every: float, json: bool) -> None:
    """Run a simulation to its end, write what is asked for and print what came of it."""
    from flitloom import ranks

    refused: SpecError | None = None
    if outputs.html is not None and ranks.speaks():
        # Before the simulation that may end in an error: a deadlock is to be seen, too.
        try:
            write_html(simulation.spec, outputs.html)
        except SpecError as error:
            # The numbers are worth printing without the page.
            refused = error
    stop_at = simulation.spec.stop_at
    with screen.progress("simulating", simulation.unit(stop_at)) as show:
        if outputs.space_time is not None:
            draw_space_time(simulation, outputs.space_time, outputs.span, show)
        simulation.run(stop_at, checkpoint=outputs.checkpoint, every=every, progress=show)
    result = simulation.result()
    if outputs.chart is not None:
        result.plot_link_time(outputs.chart)
    if outputs.out is not None and ranks.speaks():
        result.to_netcdf(outputs.out)
    _print(result, json)
    if refused is not None:
        raise refused


def _print(result: Result, json: bool) -> None:
    """Print what came of a simulation."""
    if json:
        screen.print_json({**result.to_dict(), "links": result.link_rows()})
        return
    units = {
        "mean_latency": "cycles from start to ejection, h + L + 1 unhindered",
        "age_sum": "cycles",
        "duration": "cycles, h + L + 1 for an unhindered packet",
        "throughput": "flits/node/cycle",
    }
    for name in ("height", "effective_thickness", "lower_bound", "cycles"):
        units[name] = "cycles"
    screen.print_fields(
        {
            "network": repr(result.network)[len("Network(") : -1],
            **{name: _with_unit(value, units.get(name, "")) for name, value in result.summary().items()},
        }
    )
    if result.flit_hops:
        used = result.link_rows()
        occupation = [row["occupation"] for row in used]
        flits = [row["flits"] for row in used]
        screen.echo()
        screen.print_fields(
            {
                "links used": f"{len(used)} of {sum(result.network._core.working_links())}",
                "occupation": f"mean {sum(occupation) / len(used):.1f}, longest {max(occupation)} cycles",
                "flits per link": f"mean {sum(flits) / len(used):.1f}, most {max(flits)}",
            }
        )


def read_span(text: str | None) -> tuple[int, int | None]:
    """First cycle and the one behind the last of ``FROM:TO``; all cycles without.

    >>> read_span("100:250"), read_span(None)
    ((100, 251), (0, None))
    """
    if text is None:
        return 0, None
    parts = text.split(":")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= 15 for part in parts):
        raise SpecError(
            f"--space-time-cycles {show(text)}: write the first and the last cycle, e.g. 1000:1400"
        )
    first, last = map(int, parts)
    if last < first:
        raise SpecError(f"--space-time-cycles {text}: the last cycle is before the first")
    return first, last + 1


def draw_space_time(
    simulation: Simulation, file: Path, span: tuple[int, int | None], progress: Callable[[int, int], None]
) -> None:
    """Run a simulation through a span of cycles and draw its space-time chart."""
    from flitloom import ranks
    from flitloom.plots.space_time import plot_space_time
    from flitloom.space_time import record_space_time
    from flitloom.workload import describe

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
    busy = record_space_time(simulation, None if end is None else end - simulation.now)
    if ranks.speaks():
        plot_space_time(busy, file, describe(simulation.network, simulation.spec.traffic))


def write_html(experiment: Experiment, html: Path) -> None:
    """Write the page of an experiment."""
    from flitloom.network import Network
    from flitloom.view import film, write_page

    made = film(
        Network(experiment.topology, experiment.router),
        experiment.traffic,
        seed=experiment.seed,
        stop_at=experiment.stop_at,
        cycle_limit=experiment.cycle_limit,
        throttle=experiment.throttle,
    )
    write_page([made], html)


def _with_unit(value: object, unit: str) -> object:
    if value is None or not unit:
        return value
    return f"{value:.4g} {unit}" if isinstance(value, float) else f"{value} {unit}"
