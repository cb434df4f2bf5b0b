"""What ``flitloom route`` does: tables of source routes; of fabrics, `route_fabric` makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import typer
from numpy.typing import NDArray

from flitloom.commands import pictures
from flitloom.commands.actions import resilience, route_fabric
from flitloom.commands.actions.grids import grid_topology
from flitloom.commands.actions.matrices import read_matrix
from flitloom.commands.actions.tables_text import print_comparison, print_report
from flitloom.commands.inputs.seating import placement_weights
from flitloom.commands.inputs.showing import write_tables_page
from flitloom.commands.inputs.verdicts import certify
from flitloom.commands.options import check_files, refuse
from flitloom.commands.options.network import resolved
from flitloom.commands.route import Asked, Written
from flitloom.commands.screen import progress, say
from flitloom.errors import SpecError
from flitloom.ground.limits import LISTED_NODES
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_output
from flitloom.placing.hosts import names_of
from flitloom.placing.placement import written_topology
from flitloom.spec import Topology
from flitloom.tables.by_source.checking import check
from flitloom.tables.by_source.compared import MethodTables, danger, make_tables
from flitloom.tables.by_source.making import METHODS, without_others
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.known import endings, written_as
from flitloom.tables.pairs import pairs_among
from flitloom.tables.verdict import circle

Weights = NDArray[np.int64] | None

#: Options that do not go with --resilience.
NOT_OF_RESILIENCE = (
    "nodes", "method", "turns", "traffic", "placement", "out", "certificate", "loads", "compare", "picture",
    "effort", "html",
)  # fmt: skip


def run(context: typer.Context, asked: Asked) -> None:
    """Make tables, or say what failures a network survives."""
    named, sought, written = asked.named, asked.sought, asked.written
    if named.twist and (named.torus is None or named.fabric is not None):
        raise SpecError("--twist belongs to --torus, with sizes like 4x4x8 or 4x8x8")
    elsewhere = named.fabric is not None or named.torus is not None or named.mesh is not None
    if named.network is not None and elsewhere:
        raise SpecError.at("--network", "names the whole network", "leave --torus, --mesh and --fabric out")
    if named.network is not None:
        named, failed = resolved(named, "fabric")
        sought = replace(cast(Any, sought), fail=[*failed, *(sought.fail or [])] or None)
        asked = replace(asked, named=named, sought=sought)
    if sought.placement is not None and not (elsewhere or named.twist or named.network):
        given = written_topology(placement_weights(sought.placement, None)[0])
        if {"network", "graph"} & given.keys():
            whole = "hosts" in given
            changed = replace(
                cast(Any, named),
                network=str(sought.placement) if whole else given.get("network"),
                fabric=Path(given["graph"]) if "graph" in given and not whole else None,
            )
            failed = replace(cast(Any, sought), fail=None if whole else given.get("failed"))
            asked = replace(asked, named=changed, sought=failed)
    if asked.named.fabric is not None or asked.named.network is not None or named.twist:
        route_fabric.run(context, asked)
        return
    _refuse(context, asked)
    topology, weights = _network(asked)
    _check_outputs(written, topology)
    if written.resilience:
        resilience.run(topology, sought.rules or "angara", written.sample, written.seed, written.as_json)
        return
    if sought.traffic is not None:
        weights = read_matrix(sought.traffic, topology.nodes)
    if sought.through and sought.nodes is not None:
        members = names_of(topology, named.hosts).listed(sought.nodes, "--nodes")
        weights = pairs_among(topology, members, "--nodes")
    made = _make(asked, topology, weights)
    _report(made, written)


def _refuse(context: typer.Context, asked: Asked) -> None:
    """Refuse options that would be ignored."""
    sought, written = asked.sought, asked.written
    of_fabrics = ["critical", "old", "mode", "hca", "lanes", "spare_lanes", "sizes", *route_fabric.COVERING]
    refuse(context, of_fabrics, "belongs to --fabric and --network")
    if asked.named.words:
        raise SpecError("diff OLD NEW belongs to a fabric named with --fabric")
    if written.resilience:
        refuse(context, NOT_OF_RESILIENCE, "does not go with --resilience")
    else:
        refuse(context, ["sample"], "belongs to --resilience")
    if written.compare:
        refuse(context, ["method"], "does not go with --compare")
    if sought.through and (sought.nodes is None or sought.traffic is not None or written.resilience):
        raise SpecError("--through goes with --nodes, and not with --traffic or --resilience")
    if sought.placement is not None:
        others = ["traffic", "nodes", "through"]
        refuse(context, others, "does not go with --placement, which says both")


def _network(asked: Asked) -> tuple[Topology, Weights]:
    """The network, and what a placement sends on it."""
    named, sought = asked.named, asked.sought
    fail = sought.fail or []
    if sought.placement is None:
        topology = grid_topology(named.torus, named.mesh, fail, named.hosts)
        if sought.nodes is not None and not sought.through:
            called = names_of(topology, named.hosts)
            topology = without_others(topology, called.listed(sought.nodes, "--nodes"))
        return topology, None
    given = None
    if named.torus is not None or named.mesh is not None or fail:
        given = grid_topology(named.torus, named.mesh, fail)
    placed, weights = placement_weights(sought.placement, given)
    return placed.torus("tables for a placement"), weights


def _check_outputs(written: Written, topology: Topology) -> None:
    """Refuse what cannot be written before anything is done."""
    out = written.out
    if out is not None:
        check_output(out, endings(), "--out")
        if written_as(out.suffix).lists and topology.nodes > LISTED_NODES:
            raise SpecError.at(
                "--out",
                f"{out.suffix} lists every route and is for at most {LISTED_NODES} nodes",
                f"write {counted(topology.nodes, 'node')} to an .npz file",
            )
    if written.certificate is not None:
        check_output(written.certificate, (".json",), "--certificate")
        if out is None or out.suffix != ".json":
            raise SpecError.at(
                "--certificate", "is verified against tables in a .json file", "write -o tables.json"
            )
    if written.loads is not None:
        check_output(written.loads, (".csv",), "--loads")
    check_files(picture=written.picture, html=written.html)


def _make(asked: Asked, topology: Topology, weights: Weights) -> MethodTables:
    """The tables, with remarks on those that are missing."""
    sought, written = asked.sought, asked.written
    made = make_tables(
        topology,
        METHODS[:-1] if written.compare else (sought.method or "balanced",),
        rules=sought.rules,
        shown=lambda name: _hundredths(f"{name} tables of the {topology}"),
        turns=sought.turns,
        traffic=weights,
        seed=written.seed,
        effort=written.effort,
    )
    if made.exchanged:
        _say_exchanged(made.tables[0])
    for name, error in made.failures.items():
        say(f"note: method {name}: {error}")
    return made


@contextmanager
def _hundredths(label: str) -> Iterator[Callable[[float], None]]:
    with progress(label) as step:
        yield lambda done: step(int(100 * done), 100)


def _say_exchanged(tables: Tables) -> None:
    axes = tables.rules.name.partition("-")[2]
    say(
        "note: the order of angara leaves pairs without a route; these tables are for "
        f"{tables.rules.describe()}: + and - are exchanged along {', '.join(axes)}, as if its coordinates "
        "were counted from the other end. With --rules angara, the pairs and what else would serve them are "
        "named."
    )


def _report(found: MethodTables, written: Written) -> None:
    """Print the tables and write what is asked for."""
    made = list(found.tables)
    cycles = [danger(tables) for tables in made]
    for tables, cycle in zip(made, cycles, strict=True):
        if cycle:
            say(f"note: {tables.method} tables can deadlock under rules {tables.rules.name}: {circle(cycle)}")
    if written.compare:
        print_comparison(made, cycles, written.as_json)
    else:
        print_report(made[0], cycles[0], written.as_json)
    if written.picture is not None:
        pictures.draw_comparison(made, written.picture)
    if written.html is not None:
        write_tables_page(made, written.html)
    if written.loads is not None:
        made[0].loads_to_csv(written.loads)
    if written.out is not None:
        written_as(written.out.suffix).write(made[0], written.out)
    if written.certificate is not None:
        certify(check(made[0]), written.certificate)
