"""A plan of a collective operation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from flitloom import view as pages
from flitloom.collectives import CollectivePlan
from flitloom.collectives import check as check_collective
from flitloom.collectives import read as read_collective
from flitloom.collectives import simulate as simulate_collective
from flitloom.collectives.rounds_hops import Hops
from flitloom.collectives.run import beside_model, simulate_hops
from flitloom.commands import options, screen
from flitloom.commands.check import Asked
from flitloom.commands.inputs.checked import CHECK, print_report
from flitloom.commands.inputs.converting import convert
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.showing import NOT_ANEW, show
from flitloom.commands.options import Grid, Router, Traffic
from flitloom.commands.options.simulation import Outputs, Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import SpecError, show_file
from flitloom.formats import format_of, read_plan
from flitloom.ground.numerals import counted
from flitloom.spec import Router as RouterSpec
from flitloom.spec import Topology
from flitloom.spec.ground import Ground
from flitloom.spec.machine import Machine
from flitloom.spec.speeds import require_speeds

_TITLE = "a plan of a collective operation"
_ITS_OWN = "brings its own traffic; give the network and its routers only"
REFUSALS = (
    Refusal(
        names_of(Outputs),
        "{option}",
        f"{_TITLE} is run without records",
        "flitloom view shows its steps, flitloom collective --picture how busy links are",
    ),
    Refusal(names_of("seed", "stop_at", "throttle", "cycle_limit"), "{option}", f"{_TITLE} {_ITS_OWN}"),
    Refusal(
        names_of(Traffic, "tables"),
        "{option}",
        f"{_TITLE} brings its own traffic",
        "give the router only",
    ),
    Refusal(names_of("threads"), "{option}", "belongs to simulations of one network in parts, not to plans"),
)
#: Options of a simulation that apply.
TAKES = names_of(Grid, Router, "settings", "chunk_flits", "ports", "machine", "json")


def sniff(file: Path) -> bool:
    """Whether a file is such a plan in the format of flitloom."""
    form = format_of(file)
    return form is not None and form.name == "plan"


def simulate(asked: Simulated) -> None:
    """Run the plan on routers and say who waited for whom."""
    assert asked.file is not None
    fields = asked.fields()
    plan = _read(asked.file)
    if "topology" in fields:
        require_network(plan.ground, options.part(Topology, fields))
    run(asked, plan, fields)


def run(asked: Simulated, plan: CollectivePlan | Hops, fields: dict[str, Any]) -> None:
    """Run a plan on the router of the fields."""
    for name in fields:
        if name not in ("topology", "router"):
            raise SpecError(f"{name!r:.60}: {_TITLE} {_ITS_OWN}")
    sizes, machine = asked.sizes, asked.machine
    flits = 16 if sizes.chunk_flits is None else sizes.chunk_flits
    ports = sizes.ports
    router = fields.setdefault("router", {})
    head = plan.plan if isinstance(plan, Hops) else plan
    if (head.ground.topology.grid is None or max(head.ground.width) > 1) and isinstance(router, dict):
        router.setdefault("model", "pipelined")
    if machine is not None:
        machine = require_speeds(head.ground, machine)
        ports = machine.ports if ports is None else ports
        if isinstance(router, dict):
            machine.set_clock(router)
        if isinstance(plan, Hops) and sizes.chunk_flits is None:
            flits = machine.chunk_flits(plan.plan.size / plan.plan.total / plan.unit)
    spec = options.part(RouterSpec, fields)
    facts: dict[str, Any] = {"operation": head.operation, "network": str(head.ground)}
    if isinstance(plan, Hops):
        made = simulate_hops(plan, spec, flits=flits, ports=ports)
        facts |= beside_model(plan, made)
    else:
        made = simulate_collective(plan, spec, flits=flits, ports=ports)
        # Every step is a round.
        facts |= {} if machine is None else {"model_cycles": plan.steps * made.step_cycles}
    tell_run(facts | made.summary(), machine, asked.printed.json)


def tell_run(facts: dict[str, Any], machine: Machine | None, as_json: bool) -> None:
    """Print what came of a run, on the clock of a machine if there is one."""
    if machine is not None:
        facts = facts | _in_microseconds(facts, machine)
    if as_json:
        screen.print_json(facts)
    else:
        _print(facts)


def _in_microseconds(facts: dict[str, Any], machine: Machine) -> dict[str, float]:
    """The cycles of a run, and of the model, on the clock of a machine."""
    names = {"cycles": "microseconds", "model_cycles": "model_microseconds"}
    return {name: machine.microseconds(facts[cycles]) for cycles, name in names.items() if cycles in facts}


def check(asked: Asked) -> None:
    """Check the plan; exit code 1 if it is not what it claims."""
    judged = asked.judged
    assert asked.file is not None
    found = read_collective(asked.file, checked=False)
    fields = options.topology_fields(judged.torus, judged.mesh, None, judged.fail, judged.twist)
    if fields:
        require_network(found.ground, Topology(**fields))
    with screen.progress(f"check of {show_file(asked.file)}", "moves") as told:
        report = check_collective(found, told)
    print_report(report, judged.as_json)


def _read(file: Path) -> CollectivePlan:
    with screen.progress(f"check of {show_file(file)}", "moves") as told:
        return read_plan(file, told=told)


def view(asked: Viewed) -> None:
    """Show the steps of the plan."""
    page = asked.page
    assert asked.file is not None
    plan = _read(asked.file)
    fields = options.topology_fields(page.torus, page.mesh, None, None, page.twist)
    if fields:
        require_network(plan.ground, Topology(**fields))
    show_steps(asked, plan)


def show_steps(asked: Viewed, plan: CollectivePlan) -> None:
    """Show the steps of a plan."""
    page = asked.page
    if page.stop_at is not None and page.stop_at < 1:
        raise SpecError.at("--stop-at", counted(page.stop_at, "step"), "it must be at least 1")
    show(asked, [pages.Steps(plan, page.stop_at)])


def require_network(ground: Ground, given: Topology) -> None:
    """Refuse a plan for another network than the one that options name."""
    mine = ground.topology
    if not mine.is_as(given):
        raise SpecError.at("plan.topology", f"the plan is for a {mine}, not for a {given}")


def _print(facts: dict[str, Any]) -> None:
    waits, chain = facts.pop("waits"), facts.pop("chain")
    named = {
        "rounds": "rounds",
        "model_cycles": "cycles in the model",
        "model_microseconds": "us in the model",
    }
    model = {title: facts[name] for name, title in named.items() if name in facts}
    for place, why in enumerate(facts.get("differences", ())):
        model[" " * place or "why not"] = why
    screen.print_fields(
        {
            "plan": f"{facts['operation']}, {facts['network']}",
            **model,
            "steps": facts["steps"],
            "cycles": f"{facts['cycles']}, {facts['cycles_per_step']} per step",
            **({"us": facts["microseconds"]} if "microseconds" in facts else {}),
            "a step alone": (
                f"{counted(facts['step_cycles'], 'cycle')} "
                f"({counted(facts['flits_per_chunk'], 'flit')} and the link)"
            ),
            "ports of a node": facts["ports"],
            "links waited for chunks": f"{counted(facts['waited_for_chunks'], 'cycle')} in all",
            "chunks waited for ports": f"{counted(facts['waited_for_ports'], 'cycle')} in all",
            "lost to contention": f"{counted(facts['lost_to_contention'], 'cycle')} in all",
            "longest chain": f"{counted(facts['chain_length'], 'chunk')}, one after the other",
        }
    )
    if waits:
        screen.echo()
        columns = ["node", "waits_for", "cycles"]
        screen.print_table(columns, [[row[name] for name in columns] for row in waits])
    if chain:
        screen.echo()
        columns = ["from", "to", "chunk", "step", "injected", "arrived"]
        rows = [[str(row[name]) if name == "chunk" else row[name] for name in columns] for row in chain]
        screen.print_table(columns, rows)


#: What is done with a plan, in steps or in rounds, that names its network.
USES = {
    "simulate": Use(simulate, TAKES, REFUSALS),
    "view": Use(view, names_of("out", "stop_at", "torus", "mesh", "twist", "as_json"), (NOT_ANEW,)),
    "convert": Use(
        convert,
        names_of("loader", "chunk_bytes", "size", "machine", "by_hop", "as_collective"),
        (
            Refusal(
                names_of("torus", "mesh", "twist", "fail"),
                "{option}",
                "the plan names its network",
                "leave it out",
            ),
        ),
    ),
}
INPUT = Input(
    title=_TITLE,
    given="give one that ends in .json",
    sniff=sniff,
    uses={**USES, "check": replace(CHECK, run=check)},
)
