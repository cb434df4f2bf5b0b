"""A plan of packets, as ``flitloom schedule`` makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from flitloom import view as pages
from flitloom.commands import screen
from flitloom.commands.check import Asked
from flitloom.commands.inputs.checked import OF_FABRICS, TAKES
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.showing import NOT_ANEW, head_of, show
from flitloom.commands.options import Grid, Router, Run, Traffic, topology_fields
from flitloom.commands.options.simulation import Late, Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import SpecError
from flitloom.ground.claims import Claims
from flitloom.ground.limits import TABLE_BYTES
from flitloom.ground.numerals import counted
from flitloom.ground.reading import opened
from flitloom.networks.experiment import Experiment, build_experiment, read_fields
from flitloom.networks.network import Network
from flitloom.run.simulation import simulate as simulate_once
from flitloom.scheduling import Plan, check_plan, read_plan, study_jitter
from flitloom.scheduling.checking import write_certificate
from flitloom.scheduling.films import plan_films, plan_title
from flitloom.scheduling.jitter import with_channels
from flitloom.spec import Topology
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.tables.verdict import circle

#: Bytes that hold the head of any plan; tables can be far larger.
HEAD = 1 << 20
#: Stands for the traffic that a plan brings.
NO_TRAFFIC = {"kind": "collective", "pattern": "next"}


def is_plan(file: Path) -> bool:
    """Whether a file is, or once was, a plan."""
    if file.suffix != ".json":
        return False
    with opened(file, TABLE_BYTES) as source:
        start = source.stream.read(HEAD)
    return b'"flitloom plan' in start or b'"packets"' in start


def check(asked: Asked) -> None:
    """Check a plan and, if its channels can not deadlock, write the certificate."""
    judged = asked.judged
    assert asked.file is not None
    topology = topology_fields(judged.torus, judged.mesh, None, judged.fail, judged.twist)
    plan = read_plan(asked.file)
    if topology:
        mine, given = plan.network().topology, Network(Topology(**topology)).topology
        if not mine.is_as(given):
            raise SpecError.at("plan.topology", f"the plan is for {mine}, the network is {given}")
    report = check_plan(plan)
    with screen.report():
        if judged.as_json:
            screen.print_json(report)
        else:
            _print(report)
    if judged.certificate is not None and report["cycle"] is not None:
        write_certificate(plan, judged.certificate)
    if not report["passed"]:
        raise typer.Exit(1)


def _print(report: dict[str, Any]) -> None:
    for scheme, duration in report["simulated"].items():
        screen.echo(f"simulated  {counted(duration, 'cycle')} with {scheme}")
    screen.echo(f"duration   {report['duration']}")
    screen.echo(f"bound      {report['bound']}")
    screen.echo(f"optimal    {report['optimal']}")
    if report["cycle"] is not None:
        danger = (
            f"deadlock possible: {circle(report['cycle'])}" if report["cycle"] else "no deadlock possible"
        )
        screen.echo(f"late       {danger}")
        rules = f"{counted(report['channels'], 'virtual channel')}, datelines, no bubble rule"
        screen.echo(f"rules      {rules} ({report['rules_from']})")
    for heading, text in Claims([*report["verified"]], report["not_verified"]).lines():
        screen.echo(f"{heading}  {text}")
    for line in report["problems"]:
        screen.echo(f"  {line}")
    screen.echo("passed" if report["passed"] else "FAILED")


def view(asked: Viewed) -> None:
    """Show the plan beside sending in unison."""
    assert asked.file is not None
    plan, stop_at = read_plan(asked.file), asked.page.stop_at
    films = plan_films(plan.network(), plan)
    show(asked, films if stop_at is None else [one.cut(stop_at) for one in films], plan_title(plan))


def simulate(asked: Simulated) -> None:
    """Simulate a plan as it is, or with late nodes; what else is said of it must agree with it."""
    file = asked.brought.plan or asked.file
    spec = asked.file if asked.brought.plan is not None else None
    assert file is not None
    asked.check_outputs()
    fields = asked.fields({} if spec is None else read_fields(spec), kind=spec is None)
    plan = read_plan(file)
    said = fields.get("traffic", {})
    no_traffic = isinstance(said, dict) and not set(said) - {"kind"}
    whole = {"topology": plan.topology, "router": plan.router or {}, **fields}
    folder = Path() if spec is None else spec.parent
    # What is not said needs a form, too.
    experiment = build_experiment({**whole, "traffic": NO_TRAFFIC if no_traffic else said}, folder)
    network = Network(experiment.topology, experiment.router)
    plan.require(network)
    if "throttle" in fields:
        raise SpecError.at("throttle", "a plan says when every packet starts", "leave it out")
    if not no_traffic:
        if not isinstance(experiment.traffic, PlannedTraffic):
            raise SpecError.at("plan", f"{experiment.traffic.noun} has no plan")
        plan.require_traffic(network, experiment.traffic, experiment.seed)
    if asked.late.jitter is not None:
        summary = _late(asked, plan, network, experiment.seed, fields, asked.late.jitter)
    else:
        if "channels" not in whole["router"]:
            network = with_channels(network, plan)
        summary = _once(asked, plan, network, experiment)
    head = {"network": head_of(network), "traffic": plan.traffic, "routes": plan.routes}
    if asked.printed.json:
        screen.print_json({**head, **summary})
    else:
        screen.print_fields({**head, **{name: _in_cycles(name, value) for name, value in summary.items()}})


def _in_cycles(name: str, value: object) -> object:
    """A quantity of a summary with its unit."""
    in_cycles = name in _CYCLES or name.partition("_")[2] in _CYCLES
    if in_cycles and isinstance(value, int):
        return counted(value, "cycle")
    return f"{value:.4g} cycles" if in_cycles and isinstance(value, float) else value


#: What is measured in cycles: of a plan, and in trials with late nodes.
_CYCLES = ("duration", "planned", "bound", "jitter", "mean", "worst")


def _late(
    asked: Simulated, plan: Plan, network: Network, seed: int, fields: dict[str, Any], jitter: int
) -> dict[str, Any]:
    """What comes of a plan in many simulations with late nodes."""
    late = asked.late
    for name in ("stop_at", "cycle_limit"):
        if name in fields:
            raise SpecError(f"{name}: belongs to one simulation; leave it or --jitter out")
    if asked.records:
        raise SpecError("--out, --picture and --html show one simulation; leave out --jitter")
    study = study_jitter(network, plan, jitter, late.trials, seed, separate=late.separate, lead=late.lead)
    found: dict[str, Any] = study.summary()
    return found


def _once(asked: Simulated, plan: Plan, network: Network, experiment: Experiment) -> dict[str, Any]:
    """What comes of a plan that is kept to."""
    outputs = asked.outputs
    result = simulate_once(
        network,
        plan,
        stop_at=experiment.stop_at,
        cycle_limit=experiment.cycle_limit,
        packets=outputs.out is not None,
        link_time=outputs.chart is not None,
    )
    if outputs.html is not None:
        pages.write_page(plan_films(network, plan), outputs.html, plan_title(plan))
    if outputs.chart is not None:
        result.plot_link_time(outputs.chart)
    if outputs.out is not None:
        result.to_netcdf(outputs.out)
    summary: dict[str, Any] = {"duration": result.duration, "planned": plan.duration, "bound": plan.bound}
    if plan.rests_on_cp_sat:
        summary["not_verified"] = f"bound {plan.claimed_bound}: CP-SAT's word"
    return summary


_REFUSALS = (
    Refusal(names_of("tables"), "{option}", "a plan brings its own routes", "leave one of them out"),
    Refusal(
        names_of("space_time", "space_time_cycles", "space_time_at"),
        "{option}",
        "is drawn of simulations, not of plans",
        "leave --plan out",
    ),
    Refusal(
        names_of("checkpoint", "every", "resume"),
        "--checkpoint, --resume",
        "belong to simulations, not to plans",
        "leave them out",
    ),
    Refusal(names_of("threads"), "{option}", "belongs to simulations of one network in parts, not to plans"),
    Refusal(
        names_of("placement"),
        "{option}",
        "goes with a message graph, --matrix, --packet-table, or no other traffic",
    ),
)
INPUT = Input(
    title="a plan",
    given="name one with --plan",
    sniff=is_plan,
    asked=lambda given: "plan" in given,
    uses={
        "simulate": Use(
            simulate,
            names_of(Grid, Traffic, Router, Run, Late, "plan", "out", "chart", "html", "json"),
            _REFUSALS,
        ),
        "check": Use(
            check,
            TAKES - {"rules"},
            (
                *OF_FABRICS,
                Refusal.plain(
                    names_of("rules"),
                    "{option} belongs to routing tables; a plan brings its virtual channels",
                ),
            ),
        ),
        "view": Use(view, names_of("out", "stop_at", "as_json"), (NOT_ANEW,)),
    },
)
