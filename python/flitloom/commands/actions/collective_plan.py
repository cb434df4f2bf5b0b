"""What ``flitloom collective all-gather`` and the other operations do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom import collectives
from flitloom.collectives import CollectivePlan
from flitloom.collectives.collective_plan import facts_of
from flitloom.collectives.groups import along_axes, plan_groups
from flitloom.commands import options, pictures, screen
from flitloom.commands.collective import Planned, Where
from flitloom.errors import SpecError
from flitloom.fabric.names import Names
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_text
from flitloom.placing.hosts import names_of
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.product import network_of, with_beside

#: What switches do in plans of sums in steps.
ADDS = "forward, and add what they forward"
ADVICE = "give --torus 8x8x8, --mesh 6x6, --network 'full8 x ring16' or --graph cluster.topo"


def run(operation: str, where: Where, planned: Planned) -> None:
    """Plan an operation, print its steps, and write what is asked for."""
    options.check_files(planned.out, (".json",), planned.chart)
    fields = where.fields(ADVICE)
    topology = network_of(fields)
    members = topology.members
    if where.graph is not None and not members:
        name = where.graph.name
        screen.say(f"note: the nodes are the {counted(topology.nodes, 'switch')} of {name}, with their hosts")
    elif members:
        sums = operation in ("all-reduce", "reduce-scatter", "reduce")
        does = "only forward"
        if sums:
            does = ADDS
            does += "; --algorithm best --size BYTES plans without that" * (operation != "reduce")
        say_who_takes_part(topology, does)
    matrix, called = planned.matrix, names_of(topology, where.hosts)
    if planned.groups is not None:
        found = _in_groups(topology, operation, planned, called)
        _finish(found, planned)
        return
    if planned.width is not None:
        topology = with_beside(topology, width=options.whole_numbers(planned.width, "--width"))
    with screen.progress("plan in steps", "percent") as told:
        found = collectives.plan(
            topology,
            operation,
            chunks=planned.chunks,
            root=root_of(planned.root, topology, where),
            latency=planned.latency,
            nodes=None if planned.nodes is None else called.listed(planned.nodes, "--nodes"),
            matrix=None if matrix is None else _read_matrix(matrix),
            seed=1 if planned.seed is None else planned.seed,
            told=told,
        )
    _finish(found, planned)


def root_of(named: str | None, topology: AnyNetwork, where: Where) -> int | None:
    """The node that is named as root, by its number or as the file of the network or of hosts calls it."""
    return None if named is None else names_of(topology, where.hosts).number(named, "--root")


def say_who_takes_part(topology: AnyNetwork, does: str = "only forward") -> None:
    """Say that switches take no part, where there are any, and what they do."""
    if topology.members:
        screen.say(f"note: hosts that take part: {len(topology.members)}; switches {does}")


def _finish(found: CollectivePlan, planned: Planned) -> None:
    """Write and print a plan."""
    if planned.out is not None:
        found.save(planned.out)
    if planned.chart is not None:
        pictures.draw_busy(found, planned.chart)
    facts = facts_of(found, planned.chunks)
    if planned.json:
        screen.print_json(facts)
    else:
        _print(found, facts)


def _in_groups(topology: AnyNetwork, operation: str, planned: Planned, called: Names) -> CollectivePlan:
    """The plan of all groups."""
    if any(one is not None for one in (planned.nodes, planned.root, planned.matrix, planned.width)):
        raise SpecError.at("--groups", "does not go with --nodes, --root, --matrix and --width")
    groups = read_groups(topology, str(planned.groups), called)
    seed = 1 if planned.seed is None else planned.seed
    with screen.progress("groups") as told:
        return plan_groups(
            topology,
            operation,
            groups,
            chunks=planned.chunks,
            latency=planned.latency,
            seed=seed,
            told=told,
        )


def read_groups(topology: AnyNetwork, asked: str, called: Names) -> list[list[int]]:
    """The nodes of all groups, along axes or from a file."""
    kind, _, given = asked.partition("axis:")
    if not kind:
        return along_axes(topology, options.whole_numbers(given, "--groups axis:"))
    lines = read_text(Path(kind), limits.MATRIX_BYTES).splitlines()
    return [called.listed(line, f"--groups {kind}") for line in lines if line.strip()]


def _print(found: CollectivePlan, facts: dict[str, Any]) -> None:
    gap = f"at most {100 * (found.steps / max(found.bound, 1) - 1):.1f} % above the optimum"
    verdict = "proven optimal" if found.optimal else gap
    screen.print_fields(
        {
            "network": facts["network"],
            "steps": f"{found.steps}, {verdict}",
            "bound": found.proof_text,
            "links busy": f"{100 * facts['busy']:.1f} % of all link steps",
            "found in": f"{1000 * found.seconds:.1f} ms",
        }
    )


def _read_matrix(file: Path) -> list[list[int]]:
    """Whole numbers of a CSV file, a row a line."""
    lines = read_text(file, limits.MATRIX_BYTES).split()
    rows = [
        options.whole_numbers(line, f"--matrix {file}: line {number}:")
        for number, line in enumerate(lines, 1)
    ]
    if len({len(row) for row in rows}) != 1:
        raise SpecError(f"--matrix {file}: all lines need equally many numbers")
    return rows
