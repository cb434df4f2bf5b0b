"""Plans as text and as JSON."""

from __future__ import annotations

from typing import Any

from flitloom._core import LISTS
from flitloom.commands import screen
from flitloom.commands.schedule import Asked
from flitloom.ground.numerals import counted
from flitloom.plans.plan import Plan
from flitloom.scheduling.checking import late_dependencies
from flitloom.scheduling.compared import Beside
from flitloom.scheduling.planning import Planned, premises


def print_plan(asked: Asked, found: Planned, simulated: int | None, compared: Beside | None) -> None:
    """Print how good a plan is; `simulated` is its duration in the engine, unless it was interrupted."""
    facts = found.facts(simulated) | ({} if compared is None else compared.durations())
    with screen.report():
        if asked.reported.json:
            screen.print_json(facts)
        else:
            screen.print_fields(_rows(asked, found, facts))


def _rows(asked: Asked, found: Planned, facts: dict[str, Any]) -> dict[str, object]:
    plan, simulated = found.plan, facts["simulated"]
    verdict = _optimal_text(plan) if plan.optimal else f"at most {100 * facts['gap']:.1f} % above the optimum"
    rows: dict[str, object] = {
        "duration": f"{counted(plan.duration, 'cycle')}, {verdict}",
        **({} if simulated is None else {"simulated": counted(simulated, "cycle")}),
        "lower bound": counted(plan.bound, "cycle"),
        "found in": f"{found.seconds:.2f} s",
    }
    if plan.algorithm_bound is not None:
        rows["any algorithm"] = f"at least {counted(plan.algorithm_bound, 'cycle')}"
    if found.is_for_late_nodes:
        rows[f"late by 0-{asked.sought.jitter}"] = _late_text(found)
    if plan.channels is not None:
        rows["late nodes"] = f"no deadlock possible on {counted(plan.channels, 'virtual channel')}"
    elif plan.routes in ("any-order", "minimal") and simulated is not None:
        rows["late nodes"] = _deadlock_text(plan)
    for name in ("unison", "stacked"):
        if name in facts:
            rows[name] = f"{counted(facts[name], 'cycle')}, {_saved(plan.duration, facts[name])}"
    grid, operation = asked.grid, asked.sent.operation
    if operation in LISTS["collectives"] and asked.sought.nodes is None and not grid.fail:
        shape = f"--torus {grid.torus}" if grid.torus is not None else f"--mesh {grid.mesh}"
        rows["over all ports"] = f"flitloom collective {operation} {shape}"
    return rows


def _late_text(found: Planned) -> str:
    """How late nodes are provided for, and what becomes of the plan then."""
    plan, mean = found.plan, found.mean
    kind = (
        f"spare time spread against {plan.spread}"
        if plan.spread
        else f"guard of {counted(plan.guard, 'cycle')}"
    )
    if found.lead:
        kind += f", aiming {found.lead} early"
    told = "a trial ended in a deadlock" if mean is None else f"{mean:.1f} cycles on average"
    return f"{told}, {kind}"


def _optimal_text(plan: Plan) -> str:
    """What the plan is optimal of, and who says so."""
    proof = "optimal by CP-SAT's word" if plan.rests_on_cp_sat else "proven optimal"
    return f"{proof} for {premises(plan)}"


def _saved(duration: int, other: int) -> str:
    return f"{100 * (1 - duration / other):.1f} % saved"


def _deadlock_text(plan: Plan) -> str:
    """What can happen to a plan without separate channels when nodes are late."""
    channels, cycle, _ = late_dependencies(plan)
    if cycle:
        return f"on time no channels are needed; late, {channels} can deadlock: take --separate"
    return (
        "on time no channels are needed; late, no deadlock possible on "
        f"{counted(channels, 'virtual channel')}"
    )
