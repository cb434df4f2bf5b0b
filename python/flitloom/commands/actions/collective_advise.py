"""What ``flitloom collective advise`` does."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flitloom.collectives.advice import Advice, compare, in_words, powers, weigh
from flitloom.collectives.grouped_advice import weigh_groups
from flitloom.commands import pictures, screen
from flitloom.commands.actions.collective_plan import ADDS, read_groups, root_of, say_who_takes_part
from flitloom.commands.actions.collective_rounds import equal_links
from flitloom.commands.collective import Weighed, Where, costs
from flitloom.errors import SpecError
from flitloom.ground.extras import check_picture
from flitloom.ground.numerals import counted
from flitloom.ground.units import read_size, show_size
from flitloom.placing.hosts import names_of
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.machine import Machine
from flitloom.spec.product import network_of


def run(where: Where, weighed: Weighed) -> None:
    """Compare the algorithms, and print the best for every size."""
    if weighed.chart is not None:
        check_picture(weighed.chart, "--picture")
    fields = where.fields("give --torus 8x8x8, --mesh 6x6, --network or --graph")
    topology = network_of(fields)
    say_who_takes_part(topology, ADDS if weighed.operation == "reduce" else "only forward")
    root = root_of(weighed.root, topology, where)
    low, _, high = weighed.size.partition(":")
    sizes = powers(read_size(low, "--size"), read_size(high or low, "--size"))
    machine = costs(weighed)
    unequal = bool(machine.links)
    topology, machine, latencies = equal_links(topology, machine)
    machine.require_ports(Ground(topology).most_links)
    if weighed.groups is not None:
        _in_groups(topology, where, weighed, machine, sizes, latencies, unequal)
        return
    with screen.progress("comparison of algorithms", "percent") as told:
        advice = weigh(
            topology,
            sizes,
            machine.round,
            machine.bandwidth,
            operation=weighed.operation,
            root=root,
            message=machine.message,
            latencies=latencies,
            told=told,
        )
        compared = compare(topology, advice.plan)
    if weighed.chart is not None:
        pictures.draw_advice(advice, f"{weighed.operation}, {topology}", weighed.chart)
    if weighed.json:
        screen.print_json({**advice.facts(str(topology)), "compared": compared})
    else:
        command = _command(where, weighed, show_size(sizes[-1]))
        _print(advice, compared, command, topology)


def _in_groups(
    topology: AnyNetwork,
    where: Where,
    weighed: Weighed,
    machine: Machine,
    sizes: list[float],
    latencies: Mapping[tuple[int, int], float],
    unequal: bool,
) -> None:
    """Compare the algorithms of all groups, and print the slowest one for every size."""
    if weighed.chart is not None or weighed.root is not None:
        raise SpecError.at("--groups", "does not go with --picture and --root")
    groups = read_groups(topology, str(weighed.groups), names_of(topology, where.hosts))
    with screen.progress("comparison of algorithms", "percent") as told:
        advice = weigh_groups(
            topology,
            groups,
            sizes,
            machine.round,
            machine.bandwidth,
            operation=weighed.operation,
            message=machine.message,
            latencies=latencies,
            told=told,
        )
    if weighed.json:
        screen.print_json(advice.facts(str(topology)))
        return
    screen.print_table(
        ["groups", "nodes", "network of a group", "first one"],
        [
            [len(one.groups), one.advice.members, str(one.network), _listed(one.groups[0])]
            for one in advice.kinds
        ],
    )
    screen.echo()
    rows = []
    for row in range(len(sizes)):
        slowest = advice.slowest(row)
        size, *said = _row(replace(slowest.advice, halved=()), row)
        bound = advice.bound(row)
        taken = slowest.advice.seconds[row][slowest.advice.best(row)]
        said[2:4] = [round(1e6 * bound, 2), round(100 * bound / taken, 1)]
        rows.append([size, str(slowest.network), *said])
    screen.print_table(
        ["size", "slowest group", "best", "us", "bound us", "% of bound", "algbw GB/s", "busbw GB/s"], rows
    )
    screen.echo("every group uses the links between its own nodes only; all end with the slowest one")
    if slowest.network.grid is not None and not unequal:
        size = show_size(sizes[-1])
        command = _command(Where(network=str(slowest.network)), weighed, size)
        screen.echo(f"plan of one of the slowest groups for {size}: {command}")


def _listed(nodes: Sequence[int]) -> str:
    return " ".join(map(str, nodes[:4])) + " ..." * (len(nodes) > 4)


def _command(where: Where, weighed: Weighed, size: str) -> str:
    """The command that makes the best plan for a size."""
    words: list[str] = ["flitloom", "collective", weighed.operation]
    named: list[tuple[str, str | None]] = [
        ("torus", where.torus),
        ("mesh", where.mesh),
        ("network", where.network),
    ]
    named += [("graph", None if where.graph is None else str(where.graph)), ("wrap", where.wrap)]
    named += [("fail", one) for one in where.fail or []]
    named += [("hosts", where.hosts), ("root", weighed.root)]
    named += [("algorithm", "best"), ("size", size)]
    # Without a machine these are what is meant if nothing is said.
    usual = ("1us", "50GB/s") if weighed.machine is None else ()
    named += [
        ("machine", None if weighed.machine is None else str(weighed.machine)),
        ("alpha", None if weighed.alpha in usual else weighed.alpha),
        ("bandwidth", None if weighed.bandwidth in usual else weighed.bandwidth),
        ("message_cost", weighed.message_cost),
    ]
    for name, value in named:
        words += [f"--{name.replace('_', '-')}", value] if value else []
        words += ["--twist"] * (name == "mesh" and where.twist)
    return shlex.join([*words, "-o", "plan.json"])


def _print(advice: Advice, compared: list[dict[str, Any]], command: str, topology: AnyNetwork) -> None:
    every = [
        (one, "yes" if advice.is_made(number) else "estimate") for number, one in enumerate(advice.algorithms)
    ]
    every += [(one, "with --message-cost") for one in advice.crowded]
    columns = ["algorithm", "rounds", "bytes on a link", "least", "messages", "plan", "source"]
    columns[2:2] = [] if advice.slow is None else ["latency us"]
    screen.print_table(
        columns,
        [
            [
                one.name,
                one.rounds,
                *([] if advice.slow is None else [round(1e6 * sum(one.delays), 4)]),
                round(one.factor, 4),
                round(advice.least(one), 4),
                1 + max(one.crowd, default=0),
                made,
                one.source,
            ]
            for one, made in every
        ],
    )
    screen.echo()
    columns = ["size", "best", "us", "bound us", "% of bound", "algbw GB/s", "busbw GB/s"]
    columns[4:4] = ["in halves us"] if advice.halved else []
    screen.print_table(columns, [_row(advice, row) for row in range(len(advice.sizes))])
    rounds = counted(advice.rounds, "round")
    rounds += " at least, or fewer with more messages" if advice.message is not None else " at least"
    screen.echo(f"bound: {rounds}, and the bytes that some link must transfer in as many rounds")
    if advice.halved:
        screen.echo("in halves: the bound of schedules that scatter, then gather")
    _print_free(advice)
    screen.echo(f"plan of the best for {show_size(advice.sizes[-1])}: {command}")
    if compared:
        screen.echo()
        screen.print_table(
            ["operation", "steps", "bound", "without", "ratio"],
            [[row[name] for name in ("operation", "steps", "bound", "without", "ratio")] for row in compared],
        )
        screen.echo()
        for change in compared:
            screen.echo(in_words(change, topology))


def _print_free(advice: Advice) -> None:
    """Where more messages than links would be faster, if these cost nothing."""
    found = ((size, advice.best_free(row)) for row, size in enumerate(advice.sizes))
    rows = [[show_size(size), one[0], round(1e6 * one[1], 2)] for size, one in found if one]
    if rows:
        screen.echo()
        screen.echo("faster if a node may send more messages than it has links, and they cost nothing:")
        screen.print_table(["size", "--message-cost 0ns", "us"], rows)
        screen.echo()


def _row(advice: Advice, row: int) -> list[object]:
    """What is printed of a size."""
    best = advice.best(row)
    taken, bound = advice.seconds[row][best], advice.bounds[row]
    return [
        show_size(advice.sizes[row]),
        advice.algorithms[best].name,
        round(1e6 * taken, 2),
        round(1e6 * bound, 2),
        *(round(1e6 * halved, 2) for halved in advice.halved[row : row + 1]),
        round(100 * bound / taken, 1),
        *(round(rate / 1e9, 1) for rate in advice.bandwidths(row)),
    ]
