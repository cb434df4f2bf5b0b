"""What ``flitloom place --shape`` does: grids that must fit cable by cable."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from flitloom.commands import options, screen
from flitloom.commands.place import Asked, Where
from flitloom.errors import SpecError
from flitloom.fabric.names import read_hosts
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_text
from flitloom.networks.fabric import Fabric
from flitloom.placing import Fit, Ground, fit, ground_of, ground_of_fabric
from flitloom.placing.fitting import EFFORT, as_placement
from flitloom.spec import Product, Topology
from flitloom.spec.failed import read_failed
from flitloom.spec.families import is_family
from flitloom.spec.what import fields_of


def run(asked: Asked) -> None:
    """Place a grid cable by cable, or say why it does not fit and end with exit code 1."""
    where, effort, reported = asked.where, asked.sought.effort, asked.reported
    grid = _grid(str(asked.ranks.shape), where.wrap)
    ground = _ground(where)
    steps = EFFORT if effort is None else 1000 * effort
    if steps < 1:
        raise SpecError.at("--effort", f"{effort} is out of range", "it must be at least 1")
    names = list(ground.names) if _file(where) is not None else None
    if where.hosts is not None:
        names = list(read_hosts(where.hosts, len(ground.names)))
    begin = time.perf_counter()
    found = fit(grid, ground, steps)
    seconds = time.perf_counter() - begin
    if found.nodes is not None:
        _write(found, seconds, reported.out or [], names)
    facts = _facts(found, seconds)
    if reported.json:
        screen.print_json(facts)
    else:
        _print(found, facts)
    if found.nodes is None:
        raise typer.Exit(1)


def _write(found: Fit, seconds: float, out: Sequence[Path], names: list[str] | None) -> None:
    """Write the nodes of ranks."""
    ground, nodes = found.ground, found.nodes or []
    for file in out:
        if ground.network is None and file.suffix == ".hosts":
            called = ground.names if names is None else names
            write_text(file, "".join(f"{called[node]}\n" for node in nodes))
        else:
            as_placement(found, seconds).save(file, names)


def _grid(sizes: str, wrap: str | None) -> Topology:
    parsed = options.sizes_of_fabric(sizes, "--shape")
    if parsed is None:
        raise SpecError.at("--shape", "write the sizes of the grid, e.g. 8x4")
    answers = options.topology_fields(None, None, wrap, None).get("wrap", [True] * len(parsed))
    if len(answers) != len(parsed):
        advice = f"the shape has {counted(len(parsed), 'dimension')}"
        raise SpecError.at("--wrap", f"has {len(answers)} answers", advice)
    return Topology(kind="torus" if all(answers) else "mesh", sizes=parsed, wrap=answers)


def _file(where: Where) -> Path | str | None:
    """The file of cables that is named, with what is said of its hosts; none where another network is."""
    if where.network is None:
        return where.graph
    return where.network if "graph" in fields_of(where.network) else None


def _ground(where: Where) -> Ground:
    fail = where.fail or []
    if sum(one is not None for one in (where.torus, where.mesh, where.graph, where.network)) != 1:
        raise SpecError.at("topology", "give one of --torus, --mesh, --network and --graph")
    if (file := _file(where)) is not None:
        return ground_of_fabric(file, fail)
    if where.network is not None:
        if is_family(where.network):
            return ground_of(Fabric(network=where.network, failed=tuple(fail)))
        return ground_of(Product(where.network, **read_failed(fail)))
    return ground_of(Topology(**options.topology_fields(where.torus, where.mesh, None, list(fail))))


def _facts(found: Fit, seconds: float) -> dict[str, Any]:
    ground = found.ground
    network = str(ground.network or "graph")
    facts: dict[str, Any] = {
        "fits": found.nodes is not None,
        "placement": found.nodes,
        "found_by": found.found_by,
        "network": network,
        "nodes": len(ground.nodes),
        "cables": len(ground.cables),
        "missing": [ground.called(part) for part in ground.missing],
        "shape": str(found.shape),
        "seconds": round(seconds, 6),
    }
    if found.nodes is None:
        facts["reason"] = found.reason
    else:
        facts["names"] = [ground.names[node] for node in found.nodes]
    return facts


def _print(found: Fit, facts: dict[str, Any]) -> None:
    missing = facts["missing"]
    told = {
        "network": (
            f"{facts['network']}, {counted(facts['nodes'], 'node')} and {counted(facts['cables'], 'cable')}"
        ),
        "missing": ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else ""),
        "shape": facts["shape"],
        "fits": f"yes, found by a {found.found_by}" if found.nodes is not None else "no",
        "reason": found.reason.get("text", ""),
    }
    if found.reason.get("kind") == "undecided":
        told["fits"] = "not decided"
    screen.print_fields({name: value for name, value in told.items() if value})
    if found.nodes is not None:
        first = found.shape.sizes[0]
        screen.echo()
        screen.echo("nodes by rank, a row along the first dimension each")
        for row in range(0, len(found.nodes), first):
            screen.echo("  ".join(found.ground.names[node] for node in found.nodes[row : row + first]))
