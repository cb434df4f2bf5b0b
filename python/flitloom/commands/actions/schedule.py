"""What ``flitloom schedule`` does."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import typer

from flitloom import view as pages
from flitloom.commands import options, pictures, screen
from flitloom.commands.actions.schedule_text import print_plan
from flitloom.commands.options import refuse
from flitloom.commands.schedule import Asked
from flitloom.errors import SpecError, UnreachableError
from flitloom.genetic import GeneticSettings
from flitloom.ground import interrupts, settings
from flitloom.ground.numerals import counted
from flitloom.networks.experiment import build_experiment
from flitloom.networks.network import Network
from flitloom.placing.hosts import names_of
from flitloom.plans.operation import Operation
from flitloom.run.simulation import simulate
from flitloom.scheduling.compared import Beside, beside
from flitloom.scheduling.films import plan_films, plan_title
from flitloom.scheduling.planning import Planned, best_known, guarded
from flitloom.scheduling.search import MOVES, schedule
from flitloom.spec import Collective
from flitloom.spec.any_traffic import PlannedTraffic
from flitloom.spec.traffic.collective import among_text

Sendable = PlannedTraffic | Operation


def run(context: typer.Context, asked: Asked) -> None:
    """Search for a plan, print how good it is, and write what is asked for."""
    reported = asked.reported
    options.check_files(reported.out, (".json",), reported.chart, reported.html)
    topology = asked.grid.required(asked.sent.network)
    _refuse(context, asked)
    network, traffic, seed = _problem(asked, topology)
    _say_who_sends(network, traffic, seed)
    found = _search(asked, network, traffic)
    interrupted = interrupts.pressed()
    if interrupted:
        interrupts.kept()
        interrupts.tell("interrupted: the best schedule found so far is kept")
    elif not (found.plan.reproducible or found.plan.optimal):
        screen.say("ended by time or Ctrl-C: this is the best found so far, another run may differ")
    outcome = _Outcome(asked, network, traffic, seed, found, interrupted)
    if reported.out is not None:
        found.plan.save(reported.out)
    compared = outcome.compare()
    refused = outcome.write_page()
    simulated = None if interrupted else simulate(network, found.plan).duration
    print_plan(asked, found, simulated, compared)
    if refused is not None:
        raise refused
    raise typer.Exit(interrupts.INTERRUPTED if interrupted else 0)


def _refuse(context: typer.Context, asked: Asked) -> None:
    """Refuse options that would be ignored, and values that are none."""
    sent, sought = asked.sent, asked.sought
    if sent.operation is None and (sought.nodes is not None or sought.root is not None or sought.as_one):
        raise SpecError("--nodes, --root and --as-one belong to --operation")
    if sent.operation != "broadcast":
        refuse(context, ["root"], "belongs to --operation broadcast")
    if sought.method == "genetic":
        refuse(context, ["jitter", "separate", "moves"], "does not go with a genetic search")
    else:
        refuse(context, ["generations", "genes"], "belongs to --method genetic")
    if sent.matrix is None:
        refuse(context, ["length"], "belongs to --matrix")
    else:
        refuse(context, ["payload", "slices", "packets"], "does not go with --matrix")
    guard = sought.guard
    if (guard == "auto") != (sought.jitter is not None):
        raise SpecError("--guard auto and --jitter J go together")
    if guard != "auto" and not (guard.isascii() and guard.isdigit() and len(guard) <= 9):
        raise SpecError(f"--guard {guard}: write a number of cycles, or auto")
    if sought.moves is not None and sought.seconds is not None:
        raise SpecError("give either --moves or --seconds")


def _problem(asked: Asked, topology: dict[str, Any]) -> tuple[Network, Sendable, int]:
    """The network, what is sent on it, and the seed."""
    sent, sought = asked.sent, asked.sought
    kind = "matrix" if sent.matrix is not None else "collective"
    fields = options.given(
        kind=kind, pattern=sent.pattern, destinations=sent.destinations, matrix=sent.matrix
    )
    if sent.matrix is not None:
        fields["length"] = sent.length
    elif sent.operation is None:
        fields |= {"payload": sent.payload, "slices": sent.slices, "packets": sent.packets}
    else:
        if sent.pattern is not None or sent.destinations is not None:
            raise SpecError("give either --operation or a pattern")
        if sent.slices != 1 or sent.packets != 1:
            raise SpecError("--slices and --packets belong to a pattern; an operation sends whole messages")
        fields["pattern"] = "next"
    experiment = build_experiment({"topology": topology, "traffic": fields, "seed": sought.seed})
    network = Network(experiment.topology)
    if sent.operation is not None:
        called = names_of(network.topology, sought.hosts)
        members = None if sought.nodes is None else tuple(called.listed(sought.nodes, "--nodes"))
        root = None if sought.root is None else called.number(sought.root, "--root")
        return network, Operation(sent.operation, sent.payload, root, members), sought.seed
    if sought.interval is not None and sent.matrix is None and sent.slices == 1:
        raise SpecError("--interval is the time between slices; give --slices 2 or more")
    return network, PlannedTraffic.of(experiment.traffic), sought.seed


def _say_who_sends(network: Network, traffic: Sendable, seed: int) -> None:
    """Say where nodes have failed who sends what is planned."""
    if not network.topology.failed_nodes:
        return
    if not isinstance(traffic, Operation):
        _, text = traffic.left_working(network, seed)
    else:
        text = among_text(network.topology, traffic.name) if traffic.nodes is None else ""
    if text:
        screen.say(text)


def _search(asked: Asked, network: Network, traffic: Sendable) -> Planned:
    """The plan, or what is known of it when Ctrl-C is pressed."""
    sought = asked.sought
    begin = time.perf_counter()
    search: dict[str, Any] = {
        "method": sought.method,
        "routes": sought.routes,
        "free_slices": sought.free_slices,
        "interval": sought.interval,
        "as_one": sought.as_one,
        "seed": sought.seed,
        "moves": MOVES if sought.moves is None else sought.moves,
        "seconds": None if sought.seconds is None else options.read_time(sought.seconds, "--seconds"),
        "cp_sat_seconds": 0.0 if sought.cp_sat is None else options.read_time(sought.cp_sat, "--cp-sat"),
    }
    watcher = _watcher(begin) if screen.shows_progress() else None
    with interrupts.keeping():
        if sought.method == "genetic":
            count = sought.generations
            search["genetic"] = GeneticSettings(generations=count, training=min(100, count // 10))
            search["genes"] = sought.genes
            with screen.progress("generations") as told:
                plan = schedule(
                    network,
                    traffic,
                    guard=int(sought.guard),
                    progress=lambda *seen: told(*seen[2:]),
                    **search,
                )
            found = Planned(plan)
        elif sought.jitter is None:
            plan = best_known(network, traffic, guard=int(sought.guard), progress=watcher, **search)
            found = Planned(plan.separated() if sought.separate else plan)
        else:
            with screen.progress("guards") as progress:
                found = guarded(
                    network, traffic, sought.jitter, separate=sought.separate, progress=progress, **search
                )
    elapsed = time.perf_counter() - begin
    if watcher is not None and elapsed > settings.get("progress_after"):
        screen.say("")
    return found.after(elapsed)


def _watcher(begin: float) -> Callable[[int, int, int, int], None]:
    """A line on the terminal that follows the search."""

    def show(best: int, bound: int, target: int, unplaced: int) -> None:
        if time.perf_counter() - begin > settings.get("progress_after"):
            found = f"best {best}" if best else "nothing found yet"
            screen.follow(f"{found}, bound {bound}, trying {target}: {counted(unplaced, 'packet')} left over")

    return show


@dataclass(frozen=True)
class _Outcome:
    """A plan with what it is compared with, and drawn."""

    asked: Asked
    network: Network
    traffic: Sendable
    seed: int
    found: Planned
    interrupted: bool

    @property
    def collective(self) -> Collective | None:
        """What is sent, where the options say a pattern."""
        sent = self.asked.sent
        return Collective.of(self.traffic) if sent.matrix is None and sent.operation is None else None

    def compare(self) -> Beside | None:
        """Other methods of sending the same, and the charts; nobody who presses Ctrl-C waits for them."""
        chart, plan = self.asked.reported.chart, self.found.plan
        if self.interrupted:
            return None
        found = self.beside(chart is not None)
        if found is not None:
            if chart is not None:
                planned = (f"planned: {plan.traffic}", simulate(self.network, plan, link_time=True))
                pictures.compare_link_time(
                    [("unison", found.unison), ("stacked", found.stacked), planned], chart
                )
            return found
        if chart is not None:
            planned = (f"planned: {plan.traffic}", simulate(self.network, plan, link_time=True))
            pictures.compare_link_time([planned], chart)
        return None

    def beside(self, link_time: bool) -> Beside | None:
        """Methods that need no plan, unless failed parts cut the routes that these take."""
        if self.collective is not None and not self.network.topology.failed_nodes:
            with suppress(UnreachableError):
                return beside(self.network, self.collective, seed=self.seed, link_time=link_time)
        return None

    def write_page(self) -> SpecError | None:
        """The page; what it is refused for is said after the plan, which is worth printing without it."""
        html, plan = self.asked.reported.html, self.found.plan
        if html is None:
            return None
        try:
            pages.write_page(
                plan_films(self.network, plan, self.collective, self.seed), html, plan_title(plan)
            )
        except SpecError as error:
            return error
        return None
