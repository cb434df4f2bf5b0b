"""``flitloom schedule``."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom import _core, interrupts, provenance, settings
from flitloom.commands import options, screen
from flitloom.commands.screen import follow
from flitloom.errors import SpecError
from flitloom.extras import check_picture
from flitloom.outputs import check_output

if TYPE_CHECKING:
    from flitloom.network import Network
    from flitloom.scheduling import Plan
    from flitloom.spec import Collective


def command(
    context: typer.Context,
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    wrap: options.Wrap = None,
    twist: options.Twist = False,
    fail: options.Fail = None,
    pattern: options.Pattern = None,
    destinations: options.Destinations = None,
    matrix: Annotated[Path | None, options.shown("matrix", default=False)] = None,
    operation: Annotated[
        str | None,
        typer.Option(help=f"{options.one_of('operations')}.", metavar="NAME"),
    ] = None,
    payload: Annotated[int, options.shown("payload", default=False)] = 7,
    slices: Annotated[int, options.shown("slices", default=False)] = 1,
    packets: Annotated[int, options.shown("packets", default=False)] = 1,
    length: Annotated[int, typer.Option(help="Matrix: flits per packet.")] = 8,
    method: Annotated[
        str,
        typer.Option(
            help="exact, greedy or genetic; or names of methods with shares: few-bends:0.3,joint:0.7."
        ),
    ] = "exact",
    generations: Annotated[int, typer.Option(help="Genetic: generations of 50 chromosomes.")] = 1000,
    genes: Annotated[
        str, typer.Option(help="Genetic: what may vary, full, timing or without-timing.", metavar="NAME")
    ] = "full",
    routes: Annotated[
        str | None,
        typer.Option(
            help="dor, balanced-ties, any-order (XY or YX), minimal (two bends) or, for all-to-all, "
            "staircase (any bends). [default: dor; all-to-all: staircase where there is one, else "
            "balanced-ties]",
            metavar="NAME",
        ),
    ] = None,
    free_slices: Annotated[
        bool, typer.Option("--free-slices", help="Every slice at its own time, not at one interval.")
    ] = False,
    interval: Annotated[
        int | None, typer.Option(help="A given interval between slices. [default: the best]")
    ] = None,
    root: Annotated[
        int | None, typer.Option(help="Operation broadcast: the sender. [default: first]")
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(
            help="Operation: only these nodes, e.g. 0-7,12 or node[0-7,12], or a file.", metavar="LIST"
        ),
    ] = None,
    as_one: Annotated[
        bool, typer.Option("--as-one", help="Operation: no barriers; a node continues when it can.")
    ] = False,
    guard: Annotated[
        str,
        typer.Option(help="Cycles kept free behind every packet, or auto (with --jitter).", metavar="G"),
    ] = "0",
    jitter: Annotated[
        int | None, typer.Option(help="With --guard auto: every node is late by 0 to this many cycles.")
    ] = None,
    separate: Annotated[
        bool,
        typer.Option("--separate", help="Virtual channels that keep late nodes from a deadlock, certified."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 1,
    moves: Annotated[
        int | None, typer.Option(help="Placements to try. [default: 2000000, unless --seconds is given]")
    ] = None,
    seconds: Annotated[
        str | None, typer.Option("--seconds", help="Wall-clock limit, e.g. 60 or 2m; then not reproducible.")
    ] = None,
    cp_sat: Annotated[
        str | None, typer.Option("--cp-sat", help="Time for CP-SAT to finish or refute, e.g. 30s.")
    ] = None,
    _threads: options.CommonThreads = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the plan to this file (.json).")
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            "--picture", help="Draw unison, stacked and planned link-time charts (.png, .pdf, .svg)."
        ),
    ] = None,
    html: options.Html = None,
    json: options.Json = False,
) -> None:
    """Find when every packet should start so that none ever waits, and prove how good that is.

    \b
    For example:
      flitloom schedule --torus 16x16 --pattern shfl --payload 14 --slices 2 -o plan.json
      flitloom schedule --torus 16x16 --pattern brot --payload 14 --slices 2 --routes minimal --seconds 20
      flitloom schedule --torus 4x4x4 --operation all-to-all --seconds 10
      flitloom schedule --torus 8x8 --operation all-to-all --routes staircase
      flitloom schedule --torus 8x8 --operation all-reduce --nodes 0-15,20 --as-one
      flitloom schedule --torus 16x16 --pattern bcmp --payload 14 --slices 2 --method genetic
      flitloom schedule --torus 16x16 --pattern brev --guard auto --jitter 8 -o plan.json
    """
    import math

    from flitloom.genetic import GeneticSettings
    from flitloom.network import Network
    from flitloom.scheduling import Operation, guarded_plans, schedule
    from flitloom.scheduling.search import MOVES
    from flitloom.simulation import simulate
    from flitloom.spec import Collective, TrafficMatrix
    from flitloom.spec.experiment import build_experiment

    if out is not None:
        check_output(out, (".json",), "--out")
    if chart is not None:
        check_picture(chart, "--picture")
    if html is not None:
        check_output(html, (".html",), "--html")
    topology = options.topology_fields(torus, mesh, wrap, fail, twist)
    if not topology:
        raise SpecError.at("topology", "is missing", "give --torus 16x16 or --mesh 16x16")
    if operation is None and (nodes is not None or root is not None or as_one):
        raise SpecError("--nodes, --root and --as-one belong to --operation")
    if operation != "broadcast":
        options.refuse(context, ["root"], "belongs to --operation broadcast")
    if method == "genetic":
        options.refuse(context, ["jitter", "separate", "moves"], "does not go with a genetic search")
    else:
        options.refuse(context, ["generations", "genes"], "belongs to --method genetic")
    if matrix is None:
        options.refuse(context, ["length"], "belongs to --matrix")
    else:
        options.refuse(context, ["payload", "slices", "packets"], "does not go with --matrix")
    if (guard == "auto") != (jitter is not None):
        raise SpecError("--guard auto and --jitter J go together")
    if guard != "auto" and not (guard.isascii() and guard.isdigit() and len(guard) <= 9):
        raise SpecError(f"--guard {guard}: write a number of cycles, or auto")
    if moves is not None and seconds is not None:
        raise SpecError("give either --moves or --seconds")
    kind = "matrix" if matrix is not None else "collective"
    traffic_fields = options.given(kind=kind, pattern=pattern, destinations=destinations, matrix=matrix)
    if matrix is not None:
        traffic_fields["length"] = length
    elif operation is None:
        traffic_fields |= {"payload": payload, "slices": slices, "packets": packets}
    else:
        if pattern is not None or destinations is not None:
            raise SpecError("give either --operation or a pattern")
        if slices != 1 or packets != 1:
            raise SpecError("--slices and --packets belong to a pattern; an operation sends whole messages")
        traffic_fields["pattern"] = "next"
    experiment = build_experiment({"topology": topology, "traffic": traffic_fields, "seed": seed})
    network = Network(experiment.topology)
    if fail:
        _say_of_failures(operation)
    traffic: Collective | TrafficMatrix | Operation
    if operation is not None:
        members = None if nodes is None else tuple(_parse_nodes(nodes, network.nodes))
        traffic = Operation(operation, payload, root, members)
    else:
        assert isinstance(experiment.traffic, Collective | TrafficMatrix)
        traffic = experiment.traffic
    if interval is not None and isinstance(traffic, Collective) and slices == 1:
        raise SpecError("--interval is the time between slices; give --slices 2 or more")
    begin = time.perf_counter()
    watcher = _watcher(begin) if screen.shows_progress() else None
    search: dict[str, Any] = {
        "method": method,
        "routes": routes,
        "free_slices": free_slices,
        "interval": interval,
        "as_one": as_one,
        "seed": seed,
        "moves": MOVES if moves is None else moves,
        "seconds": None if seconds is None else options.read_time(seconds, "--seconds"),
        "cp_sat_seconds": 0.0 if cp_sat is None else options.read_time(cp_sat, "--cp-sat"),
    }
    late: dict[str, Any] = {}
    with interrupts.keeping():
        if method == "genetic":
            search["genetic"] = GeneticSettings(generations=generations, training=min(100, generations // 10))
            search["genes"] = genes
            with screen.progress("generations") as told:
                plan = schedule(
                    network, traffic, guard=int(guard), progress=lambda *seen: told(*seen[2:]), **search
                )
        elif jitter is None:
            plan = _best_known(network, traffic, guard=int(guard), progress=watcher, **search)
            if separate:
                plan = plan.separated()
        else:
            with screen.progress("guards") as progress:
                tried = guarded_plans(
                    network, traffic, jitter, separate=separate, progress=progress, **search
                )
            plan = tried[0].plan
            late = {"guard": plan.guard, "spread": plan.spread, "lead": tried[0].lead}
            late["late"] = tried[0].mean if math.isfinite(tried[0].mean) else None
    elapsed = time.perf_counter() - begin
    if watcher is not None and elapsed > settings.get("progress_after"):
        screen.say("")
    interrupted = interrupts.pressed()
    if interrupted:
        interrupts.kept()
        # Simulations and charts take longer than a user waits.
        chart = None
        interrupts.tell("interrupted: the best schedule found so far is kept")
    elif not (plan.reproducible or plan.optimal):
        screen.say("ended by time or Ctrl-C: this is the best found so far, another run may differ")
    if out is not None:
        plan.save(out)
    fields: dict[str, Any] = {
        "duration": plan.duration,
        "simulated": None if interrupted else simulate(network, plan).duration,
        "bound": plan.bound,
        "gap": round(plan.duration / plan.bound - 1, 4) if plan.bound else 0.0,
        "bound_proof": plan.bound_proof if plan.rests_on_cp_sat else "filter",
        "optimal": plan.optimal,
        "optimal_of": _premises(plan),
        "seconds": round(elapsed, 2),
        "packets": len(plan.packets),
        "routes": plan.routes,
        "reproducible": plan.reproducible,
        **late,
        "algorithm_bound": plan.algorithm_bound,
        "channels": plan.channels,
        "version": provenance.version(),
    }
    if isinstance(traffic, Collective) and not interrupted:
        fields |= _savings(network, traffic, plan, chart, seed)
    elif chart is not None:
        from flitloom.plots.link_time import compare_link_time

        compare_link_time([(f"planned: {plan.traffic}", simulate(network, plan, link_time=True))], chart)
    if html is not None:
        from flitloom.commands.inputs.showing import plan_films, plan_title
        from flitloom.view import write_page

        before = traffic if isinstance(traffic, Collective) else None
        write_page(plan_films(network, plan, before, seed), html, plan_title(plan))
    code = interrupts.INTERRUPTED if interrupted else 0
    if json:
        with screen.report():
            screen.print_json(fields)
        raise typer.Exit(code)
    verdict = (
        _optimal_text(plan) if plan.optimal else f"at most {100 * fields['gap']:.1f} % above the optimum"
    )
    rows: dict[str, object] = {
        "duration": f"{plan.duration} cycles, {verdict}",
        **({} if interrupted else {"simulated": f"{fields['simulated']} cycles"}),
        "lower bound": f"{plan.bound} cycles",
        "found in": f"{elapsed:.2f} s",
    }
    if plan.algorithm_bound is not None:
        rows["any algorithm"] = f"at least {plan.algorithm_bound} cycles"
    if late:
        kind = f"spare time spread against {plan.spread}" if plan.spread else f"guard of {plan.guard} cycles"
        if late["lead"]:
            kind += f", aiming {late['lead']} early"
        mean = (
            "a trial ended in a deadlock" if late["late"] is None else f"{late['late']:.1f} cycles on average"
        )
        rows[f"late by 0-{jitter}"] = f"{mean}, {kind}"
    if plan.channels is not None:
        rows["late nodes"] = f"no deadlock possible on {plan.channels} virtual channels"
    elif plan.routes in ("any-order", "minimal") and not interrupted:
        rows["late nodes"] = _deadlock_text(plan)
    if "unison" in fields:
        rows["unison"] = f"{fields['unison']} cycles, {_saved(plan.duration, fields['unison'])}"
        rows["stacked"] = f"{fields['stacked']} cycles, {_saved(plan.duration, fields['stacked'])}"
    if operation in _core.LISTS["collectives"] and nodes is None and not fail:
        shape = f"--torus {torus}" if torus is not None else f"--mesh {mesh}"
        rows["over all ports"] = f"flitloom collective {operation} {shape}"
    with screen.report():
        screen.print_fields(rows)
    raise typer.Exit(code)


def _say_of_failures(operation: str | None) -> None:
    """Say what goes around failed parts, which the shortest routes of a schedule do not."""
    other = (
        "flitloom collective --fail goes" if operation else "flitloom route --fail and simulate --tables go"
    )
    screen.say(f"note: packets keep to minimal routes, which failed parts may cut; {other} around them")


def _best_known(network: Network, traffic: Any, **search: Any) -> Plan:
    """The plan over the routes that are known to be best: staircases for all-to-all where there are any."""
    from flitloom.scheduling import Operation, schedule
    from flitloom.scheduling.search import STAIRCASE

    kept = {"guard", "as_one", "free_slices", "interval", "cp_sat_seconds"}
    all_to_all = isinstance(traffic, Operation) and traffic.name == "all-to-all" and traffic.nodes is None
    plain = search["routes"] is None and search["method"] == "exact"
    if all_to_all and plain and not any(search[name] for name in kept):
        # Sizes without such routes are refused before anything is searched.
        with suppress(SpecError):
            return schedule(network, traffic, **{**search, "routes": STAIRCASE})
    return schedule(network, traffic, **search)


def _optimal_text(plan: Plan) -> str:
    """What the plan is optimal of, and who says so."""
    proof = "optimal by CP-SAT's word" if plan.rests_on_cp_sat else "proven optimal"
    return f"{proof} for {_premises(plan)}"


def _premises(plan: Plan) -> str:
    """Among which plans the bound and optimality are meant."""
    order = "" if plan.operation is None else " in this order"
    return f"these messages{order} and {plan.routes} routes"


def _saved(duration: int, other: Any) -> str:
    return f"{100 * (1 - duration / other):.1f} % saved"


def _deadlock_text(plan: Plan) -> str:
    """What can happen to a plan without channels of its own when nodes are late."""
    from flitloom.scheduling.checking import late_dependencies

    channels, cycle, _ = late_dependencies(plan)
    if cycle:
        return f"on time no channels are needed; late, {channels} can deadlock: take --separate"
    return f"on time no channels are needed; late, no deadlock possible on {channels} virtual channels"


def _parse_nodes(text: str, nodes: int) -> list[int]:
    """Nodes in Slurm notation, or a file of them; bare numbers and ranges may stand without brackets."""
    from flitloom.routing.nodes import parse_nodes, read_nodes

    bare = text and set(text) <= set("0123456789,-")
    # No file has a name as long as a list may be.
    if len(text) < 4096 and os.path.isfile(text):
        return read_nodes(text, nodes)
    return parse_nodes(f"node[{text}]" if bare else text, nodes, "--nodes")


def _savings(
    network: Network, traffic: Collective, plan: Plan, chart: Path | None, seed: int
) -> dict[str, int]:
    """Durations of unison sending and of the best simple stacking, and the three charts."""
    from flitloom.simulation import simulate
    from flitloom.stacking import stack

    unison = simulate(network, traffic, seed=seed, link_time=chart is not None)
    best = traffic
    if traffic.slices > 1:
        best = stack(network, traffic, seed=seed).best
    stacked = simulate(network, best, seed=seed, link_time=chart is not None)
    if chart is not None:
        from flitloom.plots.link_time import compare_link_time

        planned = simulate(network, plan, link_time=True)
        compare_link_time(
            [("unison", unison), ("stacked", stacked), (f"planned: {plan.traffic}", planned)], chart
        )
    return {"unison": unison.duration, "stacked": stacked.duration}


def _watcher(begin: float) -> Any:
    """A line on the terminal that follows the search."""

    def show(best: int, bound: int, target: int, unplaced: int) -> None:
        if time.perf_counter() - begin > settings.get("progress_after"):
            found = f"best {best}" if best else "nothing found yet"
            follow(f"{found}, bound {bound}, trying {target}: {unplaced} packets left over")

    return show
