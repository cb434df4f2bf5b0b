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
from flitloom.commands.inputs.experiment import simulate_fields
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.running import check_threads
from flitloom.commands.inputs.showing import film_of_experiment, show
from flitloom.commands.load_curve import Points, Rows
from flitloom.commands.options.simulation import Kept, Outputs, Simulated
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import SpecError, show_file
from flitloom.ground import ranks
from flitloom.ground.numerals import counted
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
    if _wants_experiment(asked):
        _simulate_experiment(asked, asked.file)
        return
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


def _wants_experiment(asked: Simulated) -> bool:
    """Whether packets of one's own are given, or what only an experiment has."""
    given = (asked.kept.checkpoint, asked.traffic.matrix, asked.traffic.packet_table)
    return asked.records or any(one is not None for one in given)


def _simulate_experiment(asked: Simulated, file: Path) -> None:
    """Simulate the network of the file as an experiment, with its own packets if no others are given."""
    if others := [one for one in asked.overrules if "=" not in one]:
        raise SpecError.at(show_file(others[0]), "records and packets are of one file", "give one")
    if asked.printed.as_booksim:
        raise SpecError.at(
            "--booksim", "prints what BookSim2 measures of the packets of the file", "leave it out"
        )
    options = read(file, asked.overrules)
    own = asked.traffic.matrix is None and asked.traffic.packet_table is None
    if own:
        found = booksim.experiment(options)
        count = counted(found.traffic.count(found.topology.nodes), "packet")
        screen.say(f"note: {count} of the run of {show_file(file)}, in the same cycles")
        fields = found.model_dump(mode="json")
    else:
        topology, router = booksim.network(options)
        fields = {"topology": topology.model_dump(mode="json"), "router": router.model_dump(mode="json")}
    simulate_fields(asked, asked.fields(fields, kind=not own), Path())


def view(asked: Viewed) -> None:
    """Show the run of the file."""
    assert asked.file is not None
    found = booksim.experiment(read(asked.file, []))
    show(asked, [film_of_experiment(found, asked.page.stop_at)])


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
INPUT = Input(
    title="a file of BookSim2",
    given="give one that ends in .cfg",
    sniff=is_booksim,
    uses={
        "simulate": Use(
            simulate,
            names_of(Outputs, Kept, "json", "as_booksim", "overrules", "matrix", "packet_table"),
            otherwise="write NAME=VALUE behind the file",
            several_ranks=True,
        ),
        "convert": Use(convert),
        "view": Use(view, names_of("out", "stop_at", "as_json")),
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
