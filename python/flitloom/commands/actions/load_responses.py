"""What the verbs of responses have in common: they run, are written and are printed."""

from __future__ import annotations

from typing import Any

from flitloom.commands import pictures, screen
from flitloom.commands.actions import load_cases as shared
from flitloom.commands.actions import load_common
from flitloom.commands.load_options import Compared, Outputs, Packets, Router
from flitloom.errors import SpecError
from flitloom.load import Case, Response, bound_text, run_responses, told

#: What is compared.
Comparison = tuple[Compared, Packets, Router]


def run_tasks(
    kind: str,
    tasks: list[tuple[Case, dict[str, Any]]],
    settings: dict[str, Any],
    outputs: Outputs,
    columns: tuple[str, ...],
) -> None:
    """Run responses, write what is asked for, and print these columns of them."""
    out, plot = load_common.check_outputs(outputs.out, outputs.plot, (".nc",))
    workers, threads = shared.shared_out(outputs.threads, len(tasks))
    if outputs.checkpoint is not None and len(tasks) > 1:
        raise SpecError.at("--checkpoint", "of one run at a time", f"there are {len(tasks)}")
    settings = {**settings, "checkpoint": outputs.checkpoint, "threads": threads}
    shared.foretell_memory(((case, {"kind": "load", **traffic}) for case, traffic in tasks), workers)
    with load_common.progress(kind, len(tasks)) as show:
        made, interrupted = run_responses(kind, tasks, settings, workers=workers, progress=show)
    if out is not None and made:
        shared.write_series(out, made)
    # Nobody who presses Ctrl-C waits for a picture.
    if plot is not None and made and not interrupted:
        title = shared.common(kind.capitalize(), [case for case, _ in made])
        pictures.plot_responses(kind, _named(made), plot, title)
    rows = [{**case.labels, **found.row} for case, found in made]
    if outputs.json:
        screen.print_json(load_common.marked(rows, interrupted, len(tasks)))
    else:
        _print(rows, [*tasks[0][0].labels], () if interrupted else columns)
    load_common.end_interrupted(interrupted, len(made), len(tasks))


def _named(made: list[tuple[Case, Response]]) -> dict[str, Response]:
    """Responses by what tells them from the others."""
    rows = [{**case.labels, **found.row} for case, found in made]
    labels = [*made[0][0].labels, "rate", "packets"]
    differing = [name for name in labels if len({row.get(name) for row in rows}) > 1] or labels[:1]
    names = (", ".join(told(name, row[name]) for name in differing if name in row) for row in rows)
    return dict(zip(names, (found for _, found in made), strict=True))


def _print(rows: list[dict[str, Any]], labels: list[str], columns: tuple[str, ...]) -> None:
    if not rows:
        return
    names = [*labels, *columns]
    screen.print_table(names, [[row[name] for name in names] for row in rows])
    for row in rows:
        name = ", ".join(told(label, row[label]) for label in labels)
        if "router" in row:
            screen.echo(f"{name}: {row['router']}; {bound_text(row)}")
        if row["advice"]:
            screen.echo(f"{name}: {row['advice']}")
