"""``flitloom campaign``: many genetic searches, stopped and resumed at will."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flitloom import interrupts
from flitloom.commands import screen
from flitloom.commands.options import Json, Preset, Workers
from flitloom.errors import SpecError, show_file
from flitloom.extras import need
from flitloom.outputs import (
    check_folder,
    check_output,
    folder_for,
    within,
    write_bytes,
    write_csv,
    write_files,
)

app = typer.Typer(
    help="Run many genetic searches over combinations of parameters; stop and resume at will.\n\n"
    "Example: flitloom campaign run examples/campaigns/small.toml",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="The campaign, a TOML file.")]
StoreFile = Annotated[
    Path | None, typer.Option("--store", help="SQLite file of finished searches. [default: FILE.sqlite]")
]


def _open(file: Path, store: Path | None, preset: str | None, *, read_only: bool = True) -> tuple[Any, Any]:
    from flitloom.campaign import Store, read_campaign

    campaign = read_campaign(file, preset=preset)
    # SQLite has names of its own for what is no file, as ":memory:".
    place = (store or file.with_suffix(".sqlite")).absolute()
    if not read_only:
        check_output(place, place="--store")
    elif not place.exists():
        screen.say(f"there is no store {show_file(store or place.name)} yet")
    return campaign.jobs(), Store(place, read_only=read_only)


@app.command("run")
def run(
    file: File,
    store: StoreFile = None,
    preset: Preset = None,
    workers: Workers = None,
    first: Annotated[
        int | None, typer.Option(min=1, help="Number of searches to run, the first ones, e.g. 10.")
    ] = None,
) -> None:
    """Run what is not finished yet; after Ctrl-C everything finished is kept.

    Example: flitloom campaign run examples/campaigns/small.toml

    Example: flitloom campaign run examples/campaigns/small.toml --preset cup-stacking
    """
    from flitloom.campaign import run_campaign

    jobs, results = _open(file, store, preset, read_only=False)
    jobs = jobs[:first]
    try:
        with interrupts.keeping(), screen.progress("searches") as show:
            count = run_campaign(jobs, results, workers=workers, progress=show)
        screen.say(f"{count} searches run, {len(jobs)} of {len(jobs)} finished")
    except KeyboardInterrupt:
        interrupts.kept()
        finished = results.finished()
        kept = sum(job.id in finished for job in jobs)
        interrupts.tell(f"interrupted: {kept} of {len(jobs)} searches are finished and kept")
        raise typer.Exit(interrupts.INTERRUPTED) from None
    finally:
        results.close()


@app.command("status")
def status(file: File, store: StoreFile = None, preset: Preset = None, json: Json = False) -> None:
    """Show how many searches are finished, by pattern.

    Example: flitloom campaign status examples/campaigns/small.toml
    """
    jobs, results = _open(file, store, preset)
    finished = results.finished()
    rows: dict[str, dict[str, Any]] = {}
    for job in jobs:
        pattern = job.spec["collective"]["pattern"]
        row = rows.setdefault(pattern, {"pattern": pattern, "finished": 0, "searches": 0})
        row["searches"] += 1
        row["finished"] += job.id in finished
    _print(list(rows.values()), json)


@app.command("best")
def best(
    file: File,
    store: StoreFile = None,
    preset: Preset = None,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the best chromosomes, as JSON.")
    ] = None,
) -> None:
    """Show the best search of every pattern and scheme.

    Example: flitloom campaign best examples/campaigns/small.toml
    """
    from flitloom.campaign import search_rows
    from flitloom.genetic.chromosome import chromosome_text
    from flitloom.genetic.reading import chromosome_of

    jobs, results = _open(file, store, preset)
    winners: dict[tuple[str, str], dict[str, Any]] = {}
    counts: dict[tuple[str, str], int] = {}
    specs = {job.id: job.spec for job in jobs}
    for row in search_rows(results, jobs):
        # What the campaign says, whatever is written beside the result.
        spec = specs[row["id"]]
        key = (spec["collective"]["pattern"], spec["router"]["arbitration"])
        row |= dict(zip(("pattern", "arbitration"), key, strict=True))
        counts[key] = counts.get(key, 0) + 1
        if key not in winners or row["duration"] < winners[key]["duration"]:
            winners[key] = row
    names = ("pattern", "arbitration", "genes", "duration", "score", "seed", "id")
    table = [
        {**{name: row[name] for name in names}, "searches": counts[key]}
        for key, row in sorted(winners.items())
    ]
    if out is not None:
        check_folder(out)
        files = {
            within(out, f"{pattern}-{scheme}.json"): chromosome_text(
                chromosome_of(results.result(row["id"]).get("chromosome"), f"the result of {row['id'][:12]}")
            )
            for (pattern, scheme), row in winners.items()
        }
        with folder_for(out):
            write_files(files)
    _print(table, json)


@app.command("export")
def export(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV or Parquet file to write.")],
    store: StoreFile = None,
    preset: Preset = None,
) -> None:
    """Write one row per finished search to a CSV or Parquet file.

    Example: flitloom campaign export examples/campaigns/small.toml --out small.parquet
    """
    check_output(out, (".csv", ".parquet"), "--out")
    if out.suffix == ".parquet":
        need("parquet", "--out *.parquet")
    from flitloom.campaign import search_rows

    jobs, results = _open(file, store, preset)
    rows = list(search_rows(results, jobs))
    if not rows:
        raise SpecError.at("campaign", "no search is finished yet", "start with: flitloom campaign run")
    if out.suffix == ".parquet":
        write_parquet(rows, out)
    else:
        write_csv(list(rows[0]), (row.values() for row in rows), out)
    screen.say(f"wrote {out}: {len(rows)} searches")


def write_parquet(rows: list[dict[str, Any]], out: Path) -> None:
    """Write rows to a Parquet file."""
    import io

    import pyarrow
    from pyarrow import parquet

    image = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), image)
    write_bytes(out, image.getbuffer())


def _print(rows: list[dict[str, Any]], json: bool) -> None:
    if json:
        screen.print_json(rows)
    elif rows:
        screen.print_table(list(rows[0]), [list(row.values()) for row in rows])
    else:
        screen.say("no search is finished yet")
