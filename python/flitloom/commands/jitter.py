"""``flitloom jitter``."""

from __future__ import annotations

from typing import Annotated

import typer

from flitloom.commands import options, screen
from flitloom.errors import SpecError


def command(
    torus: options.Torus = None,
    mesh: options.Mesh = None,
    wrap: options.Wrap = None,
    twist: options.Twist = False,
    fail: options.Fail = None,
    patterns: Annotated[
        str, typer.Option(help="Patterns to take the mean over.", metavar="NAME,...")
    ] = "bcmp,brev,brot,shfl,torn,trns",
    jitter: Annotated[
        str, typer.Option(help="Largest delays: every node is late by 0 to J cycles.", metavar="J,...")
    ] = "0,1,2,4,8,16",
    guards: Annotated[
        str, typer.Option(help="Cycles kept free behind every packet.", metavar="G,...")
    ] = "1,2,3,4",
    payload: Annotated[int, options.shown("payload", default=False)] = 7,
    slices: Annotated[int, options.shown("slices", default=False)] = 1,
    trials: Annotated[int, typer.Option(help="Simulations per entry, each with its own delays.")] = 30,
    routes: Annotated[str, typer.Option(help=f"{options.one_of('routes')}.", metavar="NAME")] = "dor",
    separate: Annotated[
        bool, typer.Option("--separate", help="Virtual channels that keep late nodes from a deadlock.")
    ] = False,
    moves: Annotated[int | None, typer.Option(help="Placements to try per schedule, e.g. 100000.")] = None,
    preset: options.Preset = None,
    channels: options.Channels = None,
    buffer: options.Buffer = None,
    arbitration: options.Arbitration = None,
    seed: Annotated[int, typer.Option(help="Seed of the searches and the delays.")] = 1,
    chosen: Annotated[
        bool, typer.Option("--chosen", help="Also show the guard and spare time chosen by pattern and delay.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Compare methods of sending when nodes are late: mean durations over patterns and trials, in cycles.

    \b
    For example:
      flitloom jitter --torus 16x16
      flitloom jitter --torus 16x16 --payload 14 --slices 2 --jitter 0,4,8
      flitloom jitter --torus 8x8 --patterns brot,shfl --routes any-order --separate
    """
    from flitloom.network import Network
    from flitloom.scheduling.jitter_table import jitter_table
    from flitloom.spec import Collective, Router, Topology

    fields = options.topology_fields(torus, mesh, wrap, fail, twist)
    if not fields:
        raise SpecError.at("topology", "is missing", "give --torus 16x16 or --mesh 16x16")
    router = Router(**options.given(preset=preset, channels=channels, buffer=buffer, arbitration=arbitration))
    network = Network(Topology(**fields), router)
    collectives = [Collective(name, payload=payload, slices=slices) for name in patterns.split(",")]
    with screen.progress("patterns and delays") as progress:
        table = jitter_table(
            network,
            collectives,
            options.whole_numbers(jitter, "--jitter"),
            guards=options.whole_numbers(guards, "--guards"),
            trials=trials,
            seed=seed,
            routes=routes,
            separate=separate,
            moves=moves,
            progress=progress,
        )
    if json:
        screen.print_json({"cases": table.rows(), "chosen": table.chosen})
        return
    rows = table.rows()
    screen.print_table(list(rows[0]), [list(row.values()) for row in rows])
    if chosen:
        screen.echo()
        screen.print_table(list(table.chosen[0]), [list(row.values()) for row in table.chosen])
