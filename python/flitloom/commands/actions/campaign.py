"""What the verbs of ``flitloom campaign`` do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.campaign import Store, read_campaign, run_campaign, search_rows
from flitloom.commands import options, screen
from flitloom.commands.actions.grids import sized
from flitloom.commands.actions.rows import check_rows, kept, write_rows
from flitloom.commands.campaign import Searches
from flitloom.errors import SpecError, show_file
from flitloom.genetic.chromosome import chromosome_text
from flitloom.genetic.reading import chromosome_of
from flitloom.ground.outputs import check_folder, check_output, folder_for, within, write_files
from flitloom.ground.reading import read_toml
from flitloom.jobs import Job


def _open(searches: Searches, *, read_only: bool = True) -> tuple[list[Job], Store]:
    """The searches of a campaign and the store of those that are finished."""
    file, store = searches.file, searches.store
    topology = None
    if searches.network is not None:
        topology = sized(options.topology_fields(None, None, None, None, network=searches.network))
    campaign = read_campaign(file, preset=searches.preset, topology=topology)
    options.remarked_in(read_toml(file))
    # SQLite has names of its own for what is no file, as ":memory:".
    place = (store or file.with_suffix(".sqlite")).absolute()
    if not read_only:
        check_output(place, place="--store")
    elif not place.exists():
        screen.say(f"there is no store {show_file(store or place.name)} yet")
    return list(campaign.jobs()), Store(place, read_only=read_only)


def run(searches: Searches, workers: int | None, first: int | None) -> None:
    """Run what is not finished yet."""
    jobs, results = _open(searches, read_only=False)
    jobs = jobs[:first]
    try:
        with kept(results, [job.id for job in jobs], "searches") as show:
            count = run_campaign(jobs, results, workers=workers, progress=show)
        screen.say(f"{count} searches run, {len(jobs)} of {len(jobs)} finished")
    finally:
        results.close()


def status(searches: Searches, as_json: bool) -> None:
    """Print how many searches are finished, by pattern."""
    jobs, results = _open(searches)
    finished = results.finished()
    rows: dict[str, dict[str, Any]] = {}
    for job in jobs:
        pattern = job.spec["collective"]["pattern"]
        row = rows.setdefault(pattern, {"pattern": pattern, "finished": 0, "searches": 0})
        row["searches"] += 1
        row["finished"] += job.id in finished
    _print(list(rows.values()), as_json)


def best(searches: Searches, out: Path | None, as_json: bool) -> None:
    """Print the best search of every pattern and scheme, and write its chromosome."""
    jobs, results = _open(searches)
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
        _write(winners, results, out)
    _print(table, as_json)


def _write(winners: dict[tuple[str, str], dict[str, Any]], results: Store, out: Path) -> None:
    """Write the best chromosomes to a folder."""
    check_folder(out)
    files = {
        within(out, f"{pattern}-{scheme}.json"): chromosome_text(
            chromosome_of(results.result(row["id"]).get("chromosome"), f"the result of {row['id'][:12]}")
        )
        for (pattern, scheme), row in winners.items()
    }
    with folder_for(out):
        write_files(files)


def export(searches: Searches, out: Path) -> None:
    """Write a row per finished search."""
    check_rows(out)
    jobs, results = _open(searches)
    rows = list(search_rows(results, jobs))
    if not rows:
        raise SpecError.at("campaign", "no search is finished yet", "start with: flitloom campaign run")
    write_rows(rows, out)
    screen.say(f"wrote {out}: {len(rows)} searches")


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if rows or as_json:
        screen.print_rows(rows, as_json)
    else:
        screen.say("no search is finished yet")
