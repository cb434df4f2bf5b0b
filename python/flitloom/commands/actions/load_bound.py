"""What ``flitloom load bound`` does."""

from __future__ import annotations

from pathlib import Path

from flitloom.analysis.load_bound import LoadBound, load_bound
from flitloom.commands import options, screen
from flitloom.commands.load_bound import Asked, Sizes
from flitloom.network import Network
from flitloom.spec import Collective, build_experiment


def run(sizes: Sizes, asked: Asked) -> None:
    """Bound the load and print what each routing can carry."""
    fields = {
        "topology": options.topology_fields(sizes.torus, sizes.mesh, sizes.wrap, None, sizes.twist),
        "traffic": {"kind": "collective", **asked.given()},
        **options.given(seed=asked.seed),
    }
    experiment = build_experiment({name: part for name, part in fields.items() if part}, Path())
    traffic = experiment.traffic
    assert isinstance(traffic, Collective)
    network = Network(experiment.topology, experiment.router)
    routings = list(dict.fromkeys(asked.routing.split(",")))
    bound = load_bound(network, traffic, routings, ties=asked.ties, seed=experiment.seed)
    if asked.json:
        screen.print_json({"network": str(network.topology), "pattern": traffic.pattern, **bound.as_dict()})
    else:
        _print(bound)


def _print(bound: LoadBound) -> None:
    rows: list[list[object]] = [
        [name, float(bound.throughput(name)), float(loads.largest), loads.fullest]
        for name, loads in bound.channel_loads.items()
    ]
    minimal = bound.minimal_routes
    rows.append(["any minimal", float(bound.minimal_throughput), float(minimal.least), None])
    screen.print_table(["routing", "ideal throughput", "largest load", "fullest link"], rows)
    screen.echo()
    found = "" if minimal.found is None else f"; a split with {minimal.found:.4g} was found"
    screen.print_fields(
        {
            "bound over minimal routes": f"by {minimal.proof}{found}",
            "most wanted node receives": f"up to {float(bound.receive):.4g} flits/node/cycle",
            "rule for uniform traffic": f"{float(bound.uniform):.4g} flits/node/cycle (8/N, on a mesh 4/N)",
        }
    )
