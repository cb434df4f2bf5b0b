"""A file of BookSim2, or a spec for its router."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flitloom import booksim
from flitloom.booksim import Options, Outcome, is_booksim, run
from flitloom.booksim.printing import lines
from flitloom.booksim.results import results
from flitloom.commands import load_options, screen
from flitloom.commands.actions import perform
from flitloom.commands.convert import Asked as Converted
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.running import check_threads
from flitloom.commands.load_curve import Points, Rows
from flitloom.commands.options.simulation import Outputs, Simulated
from flitloom.errors import SpecError, show_file
from flitloom.ground import ranks
from flitloom.ground.outputs import check_output, write_text

#: Columns of tables.
COLUMNS = {
    "packets": "packets",
    "packet_latency": "packet latency [cycles]",
    "network_latency": "network latency [cycles]",
    "flit_latency": "flit latency [cycles]",
    "hops": "hops",
    "accepted": "accepted [flits/node/cycle]",
}


def simulate(asked: Simulated) -> None:
    """Run the file or several, and print the results as flitloom or as BookSim2 does."""
    assert asked.file is not None
    if asked.printed.json and asked.printed.as_booksim:
        raise SpecError("--booksim, --json: print different things; give one of them")
    threads = asked.kept.threads
    check_threads(threads)
    others = [Path(one) for one in asked.overrules if "=" not in one]
    for one in others:
        if not is_booksim(one):
            raise SpecError.at(show_file(one), "is not a file of BookSim2", "write changes as NAME=VALUE")
    changes = [one for one in asked.overrules if "=" in one]
    files = {file: read(file, changes) for file in (asked.file, *others)}
    found = {}
    for number, (file, options) in enumerate(files.items()):
        found[file] = outcome = _run(options, (number, len(files)), threads)
        if asked.printed.as_booksim:
            if others:
                screen.say(show_file(file))
            for line in lines(outcome.events):
                screen.echo(line)
            for line in results(outcome.events, options) if options.prints_results else ():
                screen.echo(line)
    if asked.printed.json:
        told = [_told(outcome) for outcome in found.values()]
        screen.print_json(
            [{"file": show_file(file), **one} for file, one in zip(found, told, strict=True)]
            if others
            else told[0]
        )
    elif not asked.printed.as_booksim:
        _print(found)
    if threads > 1 and all(outcome.parts == 1 for outcome in found.values()):
        screen.say(
            "note: it ran on one thread: bit planes need one, as do options that go by the order of all "
            "routers, and a part has at least 320 ports"
        )
    if any(outcome.outcome == "unstable" for outcome in found.values()):
        screen.say(
            "the mean latency passed latency_thres: the offered load is beyond saturation; lower "
            "injection_rate, or raise latency_thres if the network is slow and not full"
        )


def _run(options: Options, place: tuple[int, int], threads: int) -> Outcome:
    """Run a file, the so-and-so-manieth of some."""
    number, files = place
    limit = int(options["max_samples"]) if options["max_samples"].isdigit() else 0
    samples = 0
    with screen.progress("samples") as told:

        def seen(event: dict[str, Any], _: int) -> None:
            nonlocal samples
            samples += event["kind"] == "sample"
            told(number * limit + min(samples, limit), files * limit)

        return run(options, seen=seen, threads=threads, _on_ranks=ranks.started() > 1)


def _told(outcome: Outcome) -> dict[str, Any]:
    """A result as JSON has it."""
    classes = [
        {name: None if math.isnan(value) else value for name, value in facts.items()}
        for facts in outcome.classes
    ]
    return {"outcome": outcome.outcome, "cycles": outcome.cycles, "classes": classes}


def _print(found: Mapping[Path, Outcome]) -> None:
    """Print the results of one file or several."""

    def rows(outcome: Outcome) -> list[list[Any]]:
        return [[int(facts["class"]), *(facts[name] for name in COLUMNS)] for facts in outcome.classes]

    if len(found) == 1:
        (outcome,) = found.values()
        screen.print_fields({"outcome": outcome.outcome, "cycles": outcome.cycles})
        screen.print_table(["class", *COLUMNS.values()], rows(outcome))
        return
    table = [
        [show_file(file), outcome.outcome, outcome.cycles, *row]
        for file, outcome in found.items()
        for row in rows(outcome)
    ]
    screen.print_table(["file", "outcome", "cycles", "class", *COLUMNS.values()], table)


def read(file: Path, changes: Sequence[str]) -> Options:
    """Read a file, and say what surprises in it."""
    options = booksim.read(file, changes)
    for warning in options.warnings:
        screen.say(f"warning: {warning}")
    return options


def convert(asked: Converted) -> None:
    """Write a file of BookSim2 as a spec, or a spec as such a file."""
    source, target = asked.source, asked.target
    check_output(target, (".toml", ".cfg"), "TARGET")
    options = read(source, [])
    write_text(target, options.spec() if target.suffix == ".toml" else options.text())


_CURVED = names_of(Points, "rates", "threads", "overrules") - names_of("store", "full_start")
_SATURATED = names_of(Rows, "within", "threads", "overrules") - names_of("store", "full_start")
_JUDGED = Refusal(
    names_of("level", "full_start"),
    "{option}",
    "files of BookSim2 are judged by BookSim2's own verdict",
    "leave it out",
)
_STORED = Refusal(
    names_of("store"),
    "{option}",
    "does not go with a file of BookSim2",
    "flitloom sweep FILE --grid injection_rate=0.01,0.02 keeps finished runs",
)
_WRITTEN_BEHIND = Refusal.plain(
    names_of(load_options.Compared, load_options.Packets, load_options.Router, load_options.Measured)
    - names_of("threads"),
    "{option} does not go with a file of BookSim2; write NAME=VALUE behind the file",
)
_OWN = "a spec of flitloom's own has it (router.model = pipelined)"
#: Why a file is not simulated with all options of the verb.
_REFUSED = (
    Refusal(
        names_of("checkpoint", "every"),
        "{option}",
        "a file of BookSim2 is run without a saved state, in one go",
        "leave it out; flitloom sweep keeps what is finished",
    ),
    Refusal(
        names_of("matrix", "packet_table"),
        "{option}",
        "packets of a file of BookSim2 are drawn by its option traffic",
        f"write traffic=NAME behind the file; {_OWN}",
    ),
    Refusal(
        names_of(Outputs),
        "{option}",
        "a file of BookSim2 is run without records",
        f"leave it out; {_OWN}, and flitloom load curve draws a picture of the file",
    ),
)
INPUT = Input(
    title="a file of BookSim2",
    given="give one that ends in .cfg",
    sniff=is_booksim,
    uses={
        "simulate": Use(
            simulate,
            names_of("json", "as_booksim", "overrules", "threads"),
            _REFUSED,
            otherwise="write NAME=VALUE behind the file",
            several_ranks=True,
        ),
        "convert": Use(convert),
        "load curve": Use(
            partial(perform, "load_curve_booksim"), _CURVED, (_JUDGED, _STORED, _WRITTEN_BEHIND)
        ),
        "load saturation": Use(
            partial(perform, "load_saturation_booksim"),
            _SATURATED,
            (_JUDGED, _STORED, _WRITTEN_BEHIND),
        ),
    },
)
