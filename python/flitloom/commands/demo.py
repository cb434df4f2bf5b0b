"""``flitloom demo``: the main job in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flitloom as fl
from flitloom._core import LISTS
from flitloom.commands import options, screen
from flitloom.extras import need
from flitloom.outputs import make_folder

PATTERNS = LISTS["published_patterns"]


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path("demo-output"),
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    threads: options.Threads = None,
) -> None:
    """Six collectives on a 16x16 torus: whole packets, slices at the best interval, and the best schedule.

    Every node sends 28 payload flits, as one packet or as four slices of 8 flits - in unison at the best
    interval, or each node at its own time so that nothing ever waits. Prints durations, the best interval,
    the gain and the lower bound, and draws what every link does over time.

    Example: flitloom demo --out demo-output
    """
    need("plots", "the demo")
    from flitloom.plots.link_time import compare_link_time
    from flitloom.plots.stacking import plot_stackings
    from flitloom.spec.base import require_whole

    if threads is not None:
        require_whole("threads", threads, 1, 4096)
    make_folder(out)
    net = fl.Network(fl.Torus(16, 16))
    rows, curves = [], {}
    with screen.progress("collectives") as progress:
        for done, pattern in enumerate(PATTERNS, start=1):
            stacking = fl.stack(net, fl.Collective(pattern, payload=28, slices=4), threads=threads)
            curves[f"{pattern} on {net.topology}, 28 payload flits"] = [("four slices", stacking)]
            whole = fl.simulate(net, fl.Collective(pattern, payload=28))
            stacked = fl.simulate(net, stacking.best)
            plan = fl.schedule(net, stacking.collective)
            scheduled = fl.simulate(net, plan)
            chart = out / f"link-time-{pattern}.png"
            proof = ", proven optimal" if plan.optimal else ""
            titles = (
                f"{pattern}: whole packets in unison",
                f"{pattern}: four slices in unison, every {stacking.interval} cycles",
                f"{pattern}: four slices, every node at its own time{proof}",
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
            progress(done, len(PATTERNS))
    plot_stackings(curves, out / "stacking.png")
    if json_:
        screen.print_json(rows)
    else:
        show(rows)
    screen.say(f"wrote {out / 'stacking.png'} and a link-time chart per pattern to {out}")


def show(rows: list[dict[str, object]]) -> None:
    """Print the table."""
    screen.echo("28 payload flits per node on a 16x16 torus, durations in cycles")
    screen.echo()
    headings = ("pattern", "whole", "bound", "four slices", "bound", "interval", "gain", "scheduled", "")
    table = []
    for row in rows:
        names = ("pattern", "whole", "whole_bound", "sliced", "sliced_bound", "interval", "gain", "scheduled")
        proof = "proven optimal" if row["optimal"] else f"bound {row['scheduled_bound']}"
        table.append([*(row[name] for name in names), proof])
    screen.print_table(headings, table)
    screen.echo()
    screen.echo(
        "whole: one packet in unison; four slices: in unison at the best interval; scheduled: every node"
    )
    screen.echo(
        "at its own time. gain: whole / four slices. No arbitration can beat a bound on the same routes."
    )
