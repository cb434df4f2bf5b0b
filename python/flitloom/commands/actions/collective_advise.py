"""What ``flitloom collective advise`` does."""

from __future__ import annotations

import shlex
from typing import Any

from flitloom.collectives.advice import (
    Advice,
    compare,
    in_words,
    powers,
    read_bandwidth,
    read_seconds,
    read_size,
    show_size,
    weigh,
)
from flitloom.commands import pictures, screen
from flitloom.commands.collective import Weighed, Where
from flitloom.ground.extras import check_picture
from flitloom.ground.numerals import counted
from flitloom.spec.ground import Ground
from flitloom.spec.product import network_of


def run(where: Where, weighed: Weighed) -> None:
    """Compare the algorithms, and print the best for every size."""
    if weighed.chart is not None:
        check_picture(weighed.chart, "--picture")
    fields = where.fields("give --torus 8x8x8, --mesh 6x6, --network or --graph")
    topology = network_of(fields)
    twist = where.twist or topology.twist
    low, _, high = weighed.size.partition(":")
    sizes = powers(read_size(low, "--size"), read_size(high or low, "--size"))
    times = read_seconds(weighed.alpha, "--alpha"), read_bandwidth(weighed.bandwidth, "--bandwidth")
    advice = weigh(topology, sizes, *times, operation=weighed.operation, twist=twist)
    if weighed.chart is not None:
        title = f"{weighed.operation}, {topology}{', twisted' if twist and not topology.twist else ''}"
        pictures.draw_advice(advice, title, weighed.chart)
    compared = compare(topology, twist, advice.plan)
    if weighed.json:
        screen.print_json({**advice.facts(str(Ground(topology, twist))), "compared": compared})
    else:
        failed = bool(topology.failed_nodes or topology.failed_links)
        command = _command(where, weighed, show_size(sizes[-1]))
        _print(advice, compared, command, failed, twist)


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
    named += [("algorithm", "best"), ("size", size)]
    default = Weighed()
    named += [
        (name, value)
        for name, value in (("alpha", weighed.alpha), ("bandwidth", weighed.bandwidth))
        if value != getattr(default, name)
    ]
    for name, value in named:
        words += [f"--{name}", value] if value else []
        words += ["--twist"] * (name == "mesh" and where.twist)
    return shlex.join([*words, "-o", "plan.json"])


def _print(advice: Advice, compared: list[dict[str, Any]], command: str, failed: bool, twist: bool) -> None:
    screen.print_table(
        ["algorithm", "rounds", "bytes on a link", "plan", "source"],
        [
            [
                one.name,
                one.rounds,
                round(one.factor, 4),
                "yes" if advice.is_made(number) else "estimate",
                one.source,
            ]
            for number, one in enumerate(advice.algorithms)
        ],
    )
    screen.echo()
    columns = ["size", "best", "us", "bound us", "% of bound", "algbw GB/s", "busbw GB/s"]
    screen.print_table(columns, [_row(advice, row) for row in range(len(advice.sizes))])
    screen.echo(
        f"bound: {counted(advice.rounds, 'round')} at least, and the bytes that some link must transfer"
    )
    screen.echo(f"plan of the best for {show_size(advice.sizes[-1])}: {command}")
    if compared:
        screen.echo()
        screen.print_table(
            ["operation", "steps", "bound", "without", "ratio"],
            [[row[name] for name in ("operation", "steps", "bound", "without", "ratio")] for row in compared],
        )
        screen.echo()
        for change in compared:
            screen.echo(in_words(change, failed, twist))


def _row(advice: Advice, row: int) -> list[object]:
    """What is printed of a size."""
    best = advice.best(row)
    taken, bound = advice.seconds[row][best], advice.bounds[row]
    return [
        show_size(advice.sizes[row]),
        advice.algorithms[best].name,
        round(1e6 * taken, 2),
        round(1e6 * bound, 2),
        round(100 * bound / taken, 1),
        *(round(rate / 1e9, 1) for rate in advice.bandwidths(row)),
    ]
