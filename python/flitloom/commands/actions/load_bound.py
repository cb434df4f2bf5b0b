"""What ``flitloom load bound`` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.analysis.load_bound import LoadBound, load_bound
from flitloom.commands import options, screen
from flitloom.commands.load_bound import Asked, Where
from flitloom.errors import SpecError
from flitloom.networks.experiment import build_experiment
from flitloom.networks.network import Network
from flitloom.spec import Collective

#: Routings whose loads the traffic fixes.
ROUTINGS = "do,o1turn,valiant"


def run(where: Where, asked: Asked) -> None:
    """Bound the load and print what each routing allows."""
    experiment = build_experiment(
        {name: part for name, part in _fields(where, asked).items() if part}, Path()
    )
    traffic, topology = Collective.of(experiment.traffic), experiment.topology
    if topology.grid is None and asked.routing is not None:
        raise SpecError.at("--routing", "switches with hosts go by their tables", "leave it out")
    network = Network(topology, experiment.router)
    routings = list(dict.fromkeys((asked.routing or ROUTINGS).split(",")))
    bound = load_bound(network, traffic, routings, ties=asked.ties, seed=experiment.seed)
    if asked.json:
        screen.print_json({"network": str(topology), "pattern": traffic.pattern, **bound.as_dict()})
    else:
        _print(bound, asked.ties)


def _fields(where: Where, asked: Asked) -> dict[str, Any]:
    """The experiment that the options describe."""
    router = options.given(model=where.model)
    if options.has_switches(where.graph, where.network, None, where.model):
        router["model"] = "pipelined"
        grid = {"torus": where.torus, "mesh": where.mesh, "wrap": where.wrap, "twist": where.twist}
        topology = options.switches_fields(where.graph, where.network, where.fail, None, **grid)
    else:
        topology = options.topology_fields(
            where.torus, where.mesh, where.wrap, where.fail, where.twist, where.network
        )
    given = {name: value for name, value in asked.given().items() if value is not None}
    return {
        "topology": topology,
        "router": router,
        "traffic": {"kind": "collective", **given},
        **options.given(seed=asked.seed),
    }


def _print(bound: LoadBound, ties: str) -> None:
    rows: list[list[object]] = [
        [name, float(bound.throughput(name)), float(loads.largest), loads.busiest]
        for name, loads in bound.channel_loads.items()
    ]
    minimal = bound.minimal_routes
    all_routes = "any" if bound.uniform is None else "any minimal"
    rows.append([all_routes, float(bound.minimal_throughput), float(minimal.least), None])
    screen.print_table(["routing", "ideal throughput", "largest load", "busiest link"], rows)
    screen.echo()
    found = "" if minimal.found is None else f"; a split with {minimal.found:.4g} was found"
    fields: dict[str, object] = {
        **({} if bound.uniform is None else {"ties at half a ring": ties}),
        f"bound over {'any' if bound.uniform is None else 'minimal'} routes": f"by {minimal.proof}{found}",
        "most wanted node receives": f"up to {float(bound.receive):.4g} flits/node/cycle",
    }
    if bound.uniform is not None:
        rule = f"{float(bound.uniform):.4g} flits/node/cycle (8/N, on a mesh 4/N, on a full mesh N)"
        fields["rule for uniform traffic"] = rule
    screen.print_fields(fields)
