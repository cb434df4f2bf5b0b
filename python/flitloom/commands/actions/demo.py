"""What ``flitloom demo`` does."""

from __future__ import annotations

import json
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from flitloom._core import LISTS
from flitloom.commands import pictures, run, screen
from flitloom.errors import FlitloomError
from flitloom.ground.extras import need
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import make_folder
from flitloom.networks.network import Network
from flitloom.run.result import Result
from flitloom.scheduling.compared import Sliced, compare_sliced
from flitloom.spec import Torus
from flitloom.spec.base import require_whole

PATTERNS = LISTS["published_patterns"]
#: Questions, each with the command that answers it and the picture which that command draws.
QUESTIONS = {
    "Where does the network saturate?": (
        "load curve --torus 8x8 --pattern rand --rates 0.1:0.7:0.1",
        "curve.png",
    ),
    "When should each node send, so that no packet waits?": (
        "schedule --torus 16x16 --pattern shfl --payload 28 --slices 4",
        "plan.png",
    ),
    "Which routes avoid a dead node, balanced and deadlock-free?": (
        "route --torus 4x4x2 --fail node:3",
        "tables.png",
    ),
    "Which rank should run on which node?": (
        "place --torus 4x4x8 --axes expert=8:a2a:1,data=4:ring:8,pipe=4:line:1",
        "place.png",
    ),
}
LAST = "What do slices, and a start time per node, save in a collective operation?"


def answer_all(out: Path, as_json: bool, threads: int | None) -> None:
    """Answer every question by its command, and compare the three methods of sending for six patterns."""
    need("plots", "the demo")
    if threads is not None:
        require_whole("threads", threads, 1, 4096)
    make_folder(out)
    answers = []
    for question, (command, picture) in QUESTIONS.items():
        file = str(out / picture)
        words = [*shlex.split(command), "--picture", file]
        shown = shlex.join(["flitloom", *words])
        if not as_json:
            screen.echo(f"{question}\n\n$ {shown}\n")
        answer = _answer(words, as_json)
        if not as_json:
            screen.echo()
        answers.append({"question": question, "command": shown, "answer": answer, "pictures": [file]})
    rows, files = _compare(out, threads)
    command = shlex.join(["flitloom", "demo", "--out", str(out)])
    answers.append({"question": LAST, "command": command, "answer": rows, "pictures": files})
    if as_json:
        screen.print_json(answers)
    else:
        screen.echo(f"{LAST}\n")
        show(rows)
    screen.say(f"the pictures are in {out}")


def _answer(words: list[str], as_json: bool) -> Any:
    """What a command prints, as JSON; or let it print."""
    if not as_json:
        return _succeeded(words, run(words))
    printed = StringIO()
    with redirect_stdout(printed):
        _succeeded(words, run([*words, "--json"]))
    return json.loads(printed.getvalue())


def _succeeded(words: list[str], code: int) -> None:
    if code:
        raise FlitloomError(f"{shlex.join(['flitloom', *words])} ended with exit code {code}")


def _compare(out: Path, threads: int | None) -> tuple[list[dict[str, object]], list[str]]:
    """Rows of six patterns in three modes, and the pictures of them."""
    network = Network(Torus(16, 16))
    rows: list[dict[str, object]] = []
    curves = {}
    files = [str(out / "stacking.png")]
    with screen.progress("collectives") as progress:
        for done, pattern in enumerate(PATTERNS, start=1):
            found = compare_sliced(network, pattern, payload=28, slices=4, threads=threads)
            curves[f"{pattern} on {network.topology}, 28 payload flits"] = [("four slices", found.stacking)]
            chart = out / f"link-time-{pattern}.png"
            pictures.compare_link_time(_titled(pattern, found), chart)
            files.append(str(chart))
            rows.append({"pattern": pattern, **found.row()})
            progress(done, len(PATTERNS))
    pictures.plot_stackings(curves, files[0])
    return rows, files


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
    screen.echo("whole: one packet per node, all at once. four slices: all at once, at the best interval.")
    screen.echo("scheduled: every node at its own time. gain: whole / four slices.")
    screen.echo("No arbitration can beat a bound on the same routes.")
