"""``flitloom demo``: the main job in one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import flitloom as fl
from flitloom.outputs import make_folder
from flitloom.plots.link_time import compare_link_time
from flitloom.plots.stacking import plot_stackings

PATTERNS = ("bcmp", "brev", "brot", "shfl", "torn", "trns")


def command(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("demo-output"),
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    threads: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
) -> None:
    """Six collectives on a 16x16 torus: whole packets, slices at the best interval, and the best schedule.

    Every node sends 28 payload flits, as one packet or as four slices of 8 flits - in unison at the best
    interval, or each node at its own time so that nothing ever waits. Prints durations, the best interval,
    the gain and the lower bound, and draws what every link does over time.

    Example: flitloom demo --out demo-output
    """
    make_folder(out)
    net = fl.Network(fl.Torus(16, 16))
    rows, curves = [], {}
    for pattern in PATTERNS:
        stacking = fl.stack(net, fl.Collective(pattern, payload=28, slices=4), threads=threads)
        curves[pattern] = [("four slices", stacking)]
        whole = fl.simulate(net, fl.Collective(pattern, payload=28))
        stacked = fl.simulate(net, stacking.best)
        plan = fl.schedule(net, stacking.collective)
        scheduled = fl.simulate(net, plan)
        chart = out / f"link-time-{pattern}.png"
        proof = ", proven optimal" if plan.optimal else ""
        titles = (
            "whole packets in unison",
            f"four slices in unison, every {stacking.interval} cycles",
            f"four slices, every node at its own time{proof}",
        )
        compare_link_time(list(zip(titles, (whole, stacked, scheduled), strict=True)), chart)
        rows.append(
            {
                "pattern": pattern,
                "whole": whole.duration,
                "whole_bound": whole.lower_bound,
                "sliced": stacked.duration,
                "interval": stacking.interval,
                "gain": round(whole.duration / stacked.duration, 3),
                "sliced_bound": stacking.lower_bound,
                "scheduled": scheduled.duration,
                "scheduled_bound": plan.bound,
                "optimal": plan.optimal,
                "chart": str(chart),
            }
        )
    plot_stackings(curves, out / "stacking.png")
    if json_:
        typer.echo(json.dumps(rows, indent=2))
    else:
        show(rows)
    typer.echo(f"wrote {out / 'stacking.png'} and a link-time chart per pattern to {out}", err=True)


def show(rows: list[dict[str, object]]) -> None:
    """Print the table."""
    table = Table(title="28 payload flits per node on a 16x16 torus, durations in cycles")
    headings = ("whole packet", "(bound)", "four slices", "(bound)", "best interval", "gain", "scheduled")
    table.add_column("pattern")
    for heading in headings:
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        names = ("pattern", "whole", "whole_bound", "sliced", "sliced_bound", "interval")
        proof = "proven optimal" if row["optimal"] else f"bound {row['scheduled_bound']}"
        table.add_row(
            *(str(row[name]) for name in names), f"{row['gain']:.2f}x", str(row["scheduled"]), proof
        )
    Console(width=120).print(table)
    typer.echo("Bounds: no arbitration can be faster on the same routes (flits and slice headers included).")
