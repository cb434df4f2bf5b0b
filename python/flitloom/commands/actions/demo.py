"""What ``flitloom demo`` does."""

from __future__ import annotations

from pathlib import Path

from flitloom._core import LISTS
from flitloom.commands import pictures, screen
from flitloom.extras import need
from flitloom.network import Network
from flitloom.numerals import counted
from flitloom.outputs import make_folder
from flitloom.result import Result
from flitloom.scheduling.compared import Sliced, compare_sliced
from flitloom.spec import Torus
from flitloom.spec.base import require_whole

PATTERNS = LISTS["published_patterns"]


def run(out: Path, as_json: bool, threads: int | None) -> None:
    """Compare the three methods of sending for six patterns, and draw them."""
    need("plots", "the demo")
    if threads is not None:
        require_whole("threads", threads, 1, 4096)
    make_folder(out)
    network = Network(Torus(16, 16))
    rows: list[dict[str, object]] = []
    curves = {}
    with screen.progress("collectives") as progress:
        for done, pattern in enumerate(PATTERNS, start=1):
            found = compare_sliced(network, pattern, payload=28, slices=4, threads=threads)
            curves[f"{pattern} on {network.topology}, 28 payload flits"] = [("four slices", found.stacking)]
            chart = out / f"link-time-{pattern}.png"
            pictures.compare_link_time(_titled(pattern, found), chart)
            rows.append({"pattern": pattern, **found.row(), "chart": str(chart)})
            progress(done, len(PATTERNS))
    pictures.plot_stackings(curves, out / "stacking.png")
    if as_json:
        screen.print_json(rows)
    else:
        show(rows)
    screen.say(f"wrote {out / 'stacking.png'} and a link-time chart per pattern to {out}")


def _titled(pattern: str, found: Sliced) -> list[tuple[str, Result]]:
    """The three simulations with their titles."""
    proof = ", proven optimal" if found.plan.optimal else ""
    return [
        (f"{pattern}: whole packets in unison", found.whole),
        (
            f"{pattern}: four slices in unison, every {counted(found.stacking.interval, 'cycle')}",
            found.stacked,
        ),
        (f"{pattern}: four slices, every node at its own time{proof}", found.scheduled),
    ]


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
