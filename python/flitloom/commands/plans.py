"""The part of ``check`` and ``simulate`` that deals with plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from flitloom.commands import screen
from flitloom.errors import SpecError
from flitloom.limits import TABLE_BYTES
from flitloom.reading import opened

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


def check_plan_file(file: Path, topology: dict[str, Any], certificate: Path | None, as_json: bool) -> None:
    """Check a plan and, if its channels can not deadlock, write the certificate."""
    from flitloom.claims import Claims
    from flitloom.network import Network
    from flitloom.scheduling import check_plan, read_plan
    from flitloom.scheduling.checking import write_certificate
    from flitloom.spec import Topology

    plan = read_plan(file)
    if topology:
        mine, given = plan.network().topology, Network(Topology(**topology)).topology
        if not mine.is_as(given):
            raise SpecError.at("plan.topology", f"the plan is for {mine}, the network is {given}")
    report = check_plan(plan)
    with screen.report():
        if as_json:
            screen.print_json(report)
        else:
            for scheme, duration in report["simulated"].items():
                screen.echo(f"simulated  {duration} cycles with {scheme}")
            screen.echo(f"duration   {report['duration']}")
            screen.echo(f"bound      {report['bound']}")
            screen.echo(f"optimal    {report['optimal']}")
            if report["cycle"] is not None:
                danger = (
                    f"deadlock possible: {report['cycle']}" if report["cycle"] else "no deadlock possible"
                )
                screen.echo(f"late       {danger}")
                rules = f"{report['channels']} virtual channels, datelines, no bubble rule"
                screen.echo(f"rules      {rules} ({report['rules_from']})")
            for heading, text in Claims([*report["verified"]], report["not_verified"]).lines():
                screen.echo(f"{heading}  {text}")
            for line in report["problems"]:
                screen.echo(f"  {line}")
            screen.echo("passed" if report["passed"] else "FAILED")
    if certificate is not None and report["cycle"] is not None:
        write_certificate(plan, certificate)
    if not report["passed"]:
        raise typer.Exit(1)


def simulate_plan(
    file: Path,
    fields: dict[str, Any],
    folder: Path,
    jitter: int | None,
    trials: int,
    separate: bool,
    lead: int,
    as_json: bool,
    out: Path | None,
    chart: Path | None,
    html: Path | None,
) -> None:
    """Simulate a plan as it is, or with late nodes; what else `fields` say of it must agree with it."""
    from flitloom.network import Network
    from flitloom.scheduling import read_plan, study_jitter
    from flitloom.scheduling.jitter import with_channels
    from flitloom.simulation import simulate
    from flitloom.spec import Load
    from flitloom.spec.experiment import build_experiment

    plan = read_plan(file)
    said = fields.get("traffic", {})
    no_traffic = isinstance(said, dict) and not set(said) - {"kind"}
    whole = {"topology": plan.topology, "router": plan.router or {}, **fields}
    # What is not said needs a form, too.
    experiment = build_experiment({**whole, "traffic": NO_TRAFFIC if no_traffic else said}, folder)
    network = Network(experiment.topology, experiment.router)
    plan.require(network)
    seed = experiment.seed
    if "throttle" in fields:
        raise SpecError.at("throttle", "a plan says when every packet starts", "leave it out")
    if not no_traffic:
        if isinstance(experiment.traffic, Load):
            raise SpecError.at("plan", "a random load has no plan")
        plan.require_traffic(network, experiment.traffic, seed)
    if jitter is not None:
        for name in ("stop_at", "cycle_limit"):
            if name in fields:
                raise SpecError(f"{name}: belongs to one simulation; leave it or --jitter out")
        if out is not None or chart is not None or html is not None:
            raise SpecError("--out, --picture and --html show one simulation; leave out --jitter")
        summary: dict[str, Any] = study_jitter(
            network, plan, jitter, trials, seed, separate=separate, lead=lead
        ).summary()
    else:
        if "channels" not in whole["router"]:
            network = with_channels(network, plan)
        result = simulate(
            network,
            plan,
            stop_at=experiment.stop_at,
            cycle_limit=experiment.cycle_limit,
            packets=out is not None,
            link_time=chart is not None,
        )
        if html is not None:
            from flitloom.commands.view import plan_films, plan_title
            from flitloom.view import write_page

            write_page(plan_films(network, plan), html, plan_title(plan))
        if chart is not None:
            result.plot_link_time(chart)
        if out is not None:
            result.to_netcdf(out)
        summary = {"duration": result.duration, "planned": plan.duration, "bound": plan.bound}
        if plan.rests_on_cp_sat:
            summary["not_verified"] = f"bound {plan.claimed_bound}: CP-SAT's word"
    if as_json:
        screen.print_json(summary)
    else:
        screen.print_fields(summary)
