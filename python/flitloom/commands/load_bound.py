"""``flitloom load bound``."""

from __future__ import annotations

from typing import Annotated

import typer

from flitloom.commands import options, screen


def command(
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    wrap: options.Wrap = None,
    twist: options.Twist = False,
    pattern: options.Pattern = None,
    destinations: options.Destinations = None,
    hotspot_fraction: options.HotspotFraction = None,
    hotspot_target: options.HotspotTarget = None,
    routing: Annotated[
        str, typer.Option(help="Routings whose loads are fixed: do, o1turn, valiant.", metavar="NAME,...")
    ] = "do,o1turn,valiant",
    ties: Annotated[
        str, typer.Option(help="At half of a ring: wrap, as the router goes, or split.", metavar="WAY")
    ] = "wrap",
    seed: options.Seed = None,
    json: options.Json = False,
) -> None:
    """Print the highest load that a network can carry, without simulating it: exact loads and bounds.

    Loads are in flits per node and cycle. Dimension order, O1TURN and Valiant have loads that the traffic
    fixes; the bound over minimal routes holds for every minimal routing, adaptive ones included.

    \b
    For example:
      flitloom load bound --torus 32x32 --pattern bcmp
      flitloom load bound --torus 32x32 --pattern hots --hotspot-fraction 0.01 --json
    """
    from pathlib import Path

    from flitloom.analysis.load_bound import load_bound
    from flitloom.network import Network
    from flitloom.spec import Collective, build_experiment

    traffic = options.given(
        pattern=pattern,
        destinations=destinations,
        hotspot_fraction=hotspot_fraction,
        hotspot_target=hotspot_target,
    )
    fields = {
        "topology": options.topology_fields(torus, mesh, wrap, None, twist),
        "traffic": {"kind": "collective", **traffic},
        **options.given(seed=seed),
    }
    experiment = build_experiment({name: part for name, part in fields.items() if part}, Path())
    network = Network(experiment.topology, experiment.router)
    routings = list(dict.fromkeys(routing.split(",")))
    assert isinstance(experiment.traffic, Collective)
    bound = load_bound(network, experiment.traffic, routings, ties=ties, seed=experiment.seed)
    if json:
        screen.print_json(
            {"network": str(network.topology), "pattern": experiment.traffic.pattern, **bound.as_dict()}
        )
        return
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
