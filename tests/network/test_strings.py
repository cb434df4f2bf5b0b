"""Every public function that takes a network takes what names it, with the same answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom import fabric, genetic, messages, placing, tables, view
from flitloom.campaign import read_campaign
from flitloom.traces.graph import MessageGraph

ROOMS = (
    *("", ".analysis", ".booksim", ".campaign", ".collectives", ".fabric", ".genetic", ".load", ".messages"),
    *(".papers", ".placing", ".plans", ".sweep", ".tables", ".view"),
)
#: What a parameter that takes a network is called.
NAMES = ("network", "networks", "topology")
NEXT = fl.Collective("next")
FEW = genetic.GeneticSettings(generations=1, training=1)
RING = placing.axes_traffic(placing.parse_axes("all=4:ring:8"))


def plan(network: Any) -> fl.Plan:
    return fl.plans.search(network, NEXT, method="greedy")


def x_first(node: int, destination: int) -> str:
    """Along the rows of a 4x4 mesh, then along its columns."""
    (y, x), (to_y, to_x) = divmod(node, 4), divmod(destination, 4)
    return ("+x", "-x")[to_x < x] if x != to_x else ("+y", "-y")[to_y < y]


def routes(folder: Path) -> Path:
    """Routes of a 4x4 mesh in a file that does not name it."""
    tables.make(fl.Mesh(4, 4)).to_csv(folder / "routes.csv")
    return folder / "routes.csv"


def chromosome(folder: Path) -> Path:
    """The best of a search on a 4x4 mesh."""
    found = genetic.search(fl.Network(fl.Mesh(4, 4)), NEXT, FEW, genes="timing")
    genetic.save_chromosome(found.chromosome, folder / "best.json")
    return folder / "best.json"


def jobs(folder: Path) -> Path:
    (folder / "jobs.toml").write_text('[[job]]\nname = "a"\nshape = "2x2"\naxes = "all=4:ring:8"\n')
    return folder / "jobs.toml"


def campaign(folder: Path) -> Path:
    (folder / "c.toml").write_text('patterns = ["next"]\ngenes = "timing"\n[topology]\nsizes = "8x8"\n')
    return folder / "c.toml"


def repaired(network: Any, folder: Path) -> int:
    """The load of tables of a fabric that are made anew for the same fabric."""
    tables.make(tables.fabric("mesh 4x4")).write(folder / "out")
    return tables.repair(folder / "out", network).report.max_load


def ran(network: Any) -> int:
    simulation = fl.Simulation(network, NEXT)
    simulation.run()
    return simulation.result().duration


def sent(network: Any) -> int:
    return messages.simulate_messages(network, MessageGraph.steps(16, [([(0, 5, 160)], 10)]))["duration"]


#: By function: what it answers for a network, with the folder of a test.
CALLS: dict[str, Callable[[Any, Path], Any]] = {
    "Network": lambda network, _: fl.Network(network).topology.model_dump(),
    "Simulation": lambda network, _: ran(network),
    "lower_bound": lambda network, _: fl.lower_bound(network, NEXT),
    "simulate": lambda network, _: fl.simulate(network, NEXT).duration,
    "stack": lambda network, _: fl.stack(network, NEXT, intervals=[0]).durations,
    "campaign.read_campaign": lambda network, at: read_campaign(campaign(at), topology=network).topology,
    "collectives.advise": lambda network, _: fl.collectives.advise(network, [1024]).seconds.values.tolist(),
    "collectives.plan": lambda network, _: fl.collectives.plan(network, "all-gather").steps,
    "genetic.load_chromosome": lambda network, at: (
        genetic.load_chromosome(chromosome(at), network=network).duration
    ),
    "genetic.search": lambda network, _: genetic.search(network, NEXT, FEW, genes="timing").duration,
    "load.bound": lambda network, _: float(fl.load.bound(network, "next").bound),
    "load.burst": lambda network, _: float(fl.load.burst(network, "next", 1, workers=1).duration),
    "load.curve": lambda network, _: float(
        fl.load.curve(network, "next", [0.1], refine=0, measure=200, workers=1).accepted[0]
    ),
    "load.ramp": lambda network, _: float(
        fl.load.ramp(network, "next", 0.0, 0.1, cycles=400).ejected_flits.sum()
    ),
    "load.saturation": lambda network, _: float(
        fl.load.saturation(network, "next", within=0.5, measure=200, workers=1).below
    ),
    "load.step": lambda network, _: float(fl.load.step(network, "next", 0.1, cycles=200).ejected_flits.sum()),
    "messages.simulate_messages": lambda network, _: sent(network),
    "placing.boxes_for": lambda network, _: placing.boxes_for([4, 2], network),
    "placing.draw_stream": lambda network, _: placing.draw_stream(network, 5),
    "placing.ground_of": lambda network, _: placing.ground_of(network),
    "placing.is_closed": lambda network, _: placing.is_closed([3, 3], network),
    "placing.place": lambda network, _: placing.place(network, RING, effort=1).nodes.tolist(),
    "placing.read_jobs": lambda network, at: [job.shape for job in placing.read_jobs(jobs(at), network)],
    "placing.run_stream": lambda network, _: (
        placing.run_stream(network, placing.draw_stream(fl.Mesh(4, 4), 5), "as-asked").starts
    ),
    "placing.seat": lambda network, _: [
        job.box for job in placing.seat(network, [placing.Job("a", (2, 2), RING)], effort=1).jobs
    ],
    "plans.guarded": lambda network, _: len(fl.plans.guarded(network, NEXT, 0, trials=1, method="greedy")),
    "plans.search": lambda network, _: plan(network).duration,
    "plans.study_jitter": lambda network, _: (
        fl.plans.study_jitter(network, plan(fl.Network(fl.Mesh(4, 4))), 0, 1).plan
    ),
    "tables.check": lambda network, at: tables.check(routes(at), network).max_load,
    "tables.fabric": lambda network, _: len(tables.fabric(network).cables),
    "tables.from_rule": lambda network, _: tables.from_rule(network, x_first).max_load,
    "tables.make": lambda network, _: tables.make(network).bound,
    "tables.read": lambda network, at: tables.read(routes(at), network).max_load,
    "tables.repair": repaired,
    "view.film": lambda network, _: view.film(network, NEXT).raw["totals"],
    "plans.films": lambda network, _: [
        one.title for one in fl.plans.films(network, plan(fl.Network(fl.Mesh(4, 4))))
    ],
}
#: Functions whose networks are values that others made, or names of BookSim2.
OTHERS = {"booksim.run", "load.ideal_loads"}
#: What wants routers at its nodes, where a topology alone has none; names have those of a machine there.
LOADED = tuple(name for name in CALLS if name.startswith("load."))
#: What takes a network with routers.
ROUTERS = {
    *("Simulation", "lower_bound", "simulate", "stack", "genetic.load_chromosome", "genetic.search"),
    *("messages.simulate_messages", "plans.guarded", "plans.search", "plans.study_jitter"),
    *("plans.films", "view.film"),
}


def test_every_public_function_of_a_network_is_here() -> None:
    found = set()
    for room in ROOMS:
        module = import_module(f"flitloom{room}")
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isfunction(member) and {*inspect.signature(member).parameters} & {*NAMES}:
                found.add(f"{room}.{name}"[1:] if room else name)
    # Their parameters are called otherwise, or they are classes.
    assert found - OTHERS == CALLS.keys() - {"Network", "Simulation", "tables.check", "tables.read"}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A file that is about a 4x4 mesh."""
    fl.collectives.plan(fl.Mesh(4, 4), "all-gather").save(tmp_path / "plan.json")
    return tmp_path / "plan.json"


@pytest.mark.parametrize("name", CALLS)
def test_names_answer_as_what_they_name(name: str, written: Path) -> None:
    call = CALLS[name]
    answer = call("mesh 4x4", written.parent)
    assert call(written, written.parent) == answer
    assert call(str(written), written.parent) == answer
    if name not in LOADED and name != "tables.fabric" and name != "tables.repair":
        mesh = fl.Mesh(4, 4)
        assert call(fl.Network(mesh) if name in ROUTERS else mesh, written.parent) == answer


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("what", ["nosuch.csv", "8x", "", "mesh 4x4 full"])
def test_what_names_nothing_is_refused_with_its_place(name: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(fl.SpecError) as refused:
        CALLS[name](what, tmp_path)
    said = str(refused.value)
    assert said.startswith(("network: ", "topology: ", "networks: ")), said
    assert "\n" not in said


@pytest.mark.parametrize("what", ["dragonfly(3,1,2)", "full4 x ring3", "slimfly(5)", "twisted 2x4"])
@pytest.mark.parametrize("name", CALLS)
def test_other_networks_are_known_or_refused_by_name(name: str, what: str, tmp_path: Path) -> None:
    refused = ""
    try:
        CALLS[name](what, tmp_path)
    except fl.SpecError as error:
        refused = str(error)
    assert "\n" not in refused


@pytest.mark.parametrize("name", ["check_subnet", "recognise", "route_subnet"])
def test_functions_of_fabrics_say_what_makes_one(name: str) -> None:
    more = ("out",) if name == "check_subnet" else ()
    with pytest.raises(fl.SpecError, match=r"'slimfly\(5\)' is not a fabric; give fl.tables.fabric"):
        getattr(fabric, name)("slimfly(5)", *more)
