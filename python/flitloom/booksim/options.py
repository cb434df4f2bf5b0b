"""Files of BookSim2, ``name = value;`` with comments behind ``//``, or the same as a spec in TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flitloom import _core, limits
from flitloom.booksim.specs import FRACTION, WHOLE, is_spec, number, spec_text, values_of
from flitloom.errors import SpecError, show, show_file, unknown_parts
from flitloom.numerals import counted
from flitloom.reading import read_text, read_toml

#: Options that change what is written or drawn, never what happens.
SILENT = frozenset(
    """
    channel_file fail_seed in_ports out_ports vct print_activity
    viewer_trace watch_file watch_flits watch_packets watch_transactions watch_out stats_out pair_stats
    injected_flits_out received_flits_out stored_flits_out sent_flits_out outstanding_credits_out
    ejected_flits_out active_packets_out used_credits_out free_credits_out max_credits_out sent_packets_out
    sim_power power_output_file tech_file channel_width channel_sweep
    """.split()  # noqa: SIM905 - fifty quotes are harder to read
)
#: The option that adds a line of results per class to what BookSim2 prints.
_RESULTS = "print_csv_results"
#: Options that BookSim2 takes and nothing in it reads, with what has their effect.
UNREAD = {
    "alloc_iters": "iterations are given with the allocator, e.g. islip(2)",
    "output_delay": "links have the latencies of the topology",
    "arb_type": "the arbiter is given with the allocator, e.g. separable_input_first(matrix)",
}
#: What looks like two nodes and is one with its weight.
_SPOT = re.compile(r"hotspot\(\{(\d+),(\d+)\}\)")
#: The option that names a file with a network.
NETWORK_FILE = "network_file"
_ITEM = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)\s*", re.DOTALL)


@dataclass(frozen=True)
class Options:
    """What a file of BookSim2 says.

    Attributes
    ----------
    values : dict
        Values by name, as text; what is not given has BookSim2's default.
    warnings : tuple of str
        What the file says and nothing reads, and what surprises.
    prints_results : bool
        Whether a line of results per class is printed behind the statistics (``print_csv_results``).

    Examples
    --------
    >>> options = Options.of({"topology": "mesh", "routing_function": "dor", "alloc_iters": "2"})
    >>> options["k"], options.warnings
    ('8', ('alloc_iters: BookSim2 reads it nowhere; iterations are given with the allocator, e.g. islip(2)',))
    """

    values: Mapping[str, str]
    warnings: tuple[str, ...] = field(default=())
    prints_results: bool = False

    @classmethod
    def of(cls, values: Mapping[str, str], place: str = "") -> Options:
        """Check names and kinds of values; `place` is where they stand."""
        defaults = dict(_core.pipelined_options())
        kept: dict[str, str] = {}
        warnings, prints_results = [], False
        for name, value in values.items():
            where = f"{place}: {name}" if place else name
            if name in UNREAD:
                warnings.append(f"{name}: BookSim2 reads it nowhere; {UNREAD[name]}")
            if name in SILENT:
                continue
            if name == _RESULTS:
                _check_kind(where, value, "0")
                if not WHOLE.fullmatch(value):
                    raise SpecError.at(where, f'"{value}" is not a whole number', "write 1 or 0")
                prints_results = int(value) != 0
                continue
            if name not in defaults:
                raise SpecError.at(where, *unknown_parts(name, [*defaults, _RESULTS, *sorted(SILENT)]))
            _check_kind(where, value, defaults[name])
            if name == NETWORK_FILE:
                value = str(Path(value).absolute())
            kept[name] = value
        options = cls(kept)
        return cls(kept, (*warnings, *_surprises(options)), prints_results)

    def __getitem__(self, name: str) -> str:
        """The value of an option, or its default."""
        value = self.values.get(name)
        return dict(_core.pipelined_options())[name] if value is None else value

    def at(self, **changes: float) -> Options:
        """The same with other numbers.

        >>> Options.of({"k": "4"}).at(injection_rate=0.3).text()
        'k = 4;\\ninjection_rate = 0.3;\\n'
        """
        return Options({**self.values, **{name: number(value) for name, value in changes.items()}})

    def text(self) -> str:
        """A file that says the same.

        >>> print(Options.of({"k": "4"}).text(), end="")
        k = 4;
        """
        return "".join(f"{name} = {value};\n" for name, value in self.values.items())

    def spec(self) -> str:
        """A spec in TOML that says the same.

        >>> print(Options.of({"k": "4"}).spec(), end="")
        [topology]
        k = 4
        <BLANKLINE>
        [router]
        model = "pipelined"
        """
        return spec_text(self.values)


def _check_kind(where: str, value: str, default: str) -> None:
    """Refuse a whole number where BookSim2 reads fractions, and a fraction where it reads whole numbers."""
    if WHOLE.fullmatch(value) and FRACTION.fullmatch(default):
        raise SpecError.at(where, f"is {value}, and BookSim2 ends at a whole number here", f"write {value}.0")
    if FRACTION.fullmatch(value) and WHOLE.fullmatch(default):
        raise SpecError.at(where, f"is {value}, and BookSim2 ends at a fraction here", "write a whole number")


def _surprises(options: Options) -> list[str]:
    """What a file asks for and does not get."""
    found = []
    delay = options["routing_delay"]
    if WHOLE.fullmatch(delay) and int(delay) > 1:
        found.append(
            f"routing_delay: {delay} cycles are not a pipeline of {delay} stages; new headers enter when all "
            "before them are done"
        )
    stages = [options["st_prepare_delay"], options["st_final_delay"]]
    if all(WHOLE.fullmatch(stage) for stage in stages) and sum(map(int, stages)) > 1:
        found.append(
            "st_prepare_delay, st_final_delay: a crossbar of "
            f"{counted(sum(map(int, stages)), 'cycle')} takes flits in "
            "only when it is empty, which is a part of the rate"
        )
    channels = options["num_vcs"]
    if options["topology"] == "torus" and WHOLE.fullmatch(channels) and int(channels) % 2:
        found.append(
            f"num_vcs: of an odd number of channels, {channels}, both halves share one; on a torus packets "
            "can wait for each other in a circle"
        )
    if spot := _SPOT.search(options["traffic"]):
        node, weight = spot.groups()
        found.append(
            f"traffic: {spot[0]} is node {node} alone, with the weight {weight}; both nodes are "
            f"hotspot({{{{{node},{weight}}}}})"
        )
    if options["injection_rate_uses_flits"] == "0" and options["packet_size"] != "1":
        found.append("injection_rate: counts packets, not flits (injection_rate_uses_flits = 1 counts flits)")
    return found


def is_booksim(file: str | Path) -> bool:
    """Whether a file is one of BookSim2: by its name, ``.cfg``, or all of it is ``name = value;``.

    A spec in TOML is one by its field ``router.model = "pipelined"``.

    >>> is_booksim("mesh.cfg"), is_booksim("experiment.toml")
    (True, False)
    """
    path = Path(file)
    if path.suffix not in ("", ".toml"):
        return path.suffix == ".cfg"
    try:
        if path.suffix:
            return is_spec(read_toml(path))
        parse(read_text(path, limits.SPEC_BYTES), "")
    except (SpecError, OSError):
        return False
    return True


def parse(text: str, place: str) -> dict[str, str]:
    """The items of a text.

    >>> parse("k = 4; // nodes\\ntraffic = {uniform,tornado};", "")
    {'k': '4', 'traffic': '{uniform,tornado}'}
    """
    plain = "\n".join(line.split("//", 1)[0] for line in text.splitlines())
    *items, rest = plain.split(";")
    if rest.strip():
        raise SpecError.at(
            place or "file", f"{show(rest.strip()[:40])} does not end in ;", "write name = value;"
        )
    values: dict[str, str] = {}
    for item in items:
        if not item.strip():
            continue
        found = _ITEM.fullmatch(item)
        if found is None or not found[2].strip():
            raise SpecError.at(
                place or "file", f"{show(item.strip()[:40])} is not an option", "write name = value;"
            )
        values[found[1]] = "".join(found[2].split()).strip('"')
    return values


def read_options(file: str | Path, changes: Iterable[str] = ()) -> Options:
    """Read a file of BookSim2, or a spec in TOML with ``router.model = "pipelined"``.

    Parameters
    ----------
    file : path
        The file.
    changes : iterable of str
        What overrules it, as ``injection_rate=0.3``.

    Raises
    ------
    SpecError
        If an option is unknown, or a value is not of its kind.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "mesh.cfg")
    >>> _ = file.write_text("topology = mesh; k = 4;")
    >>> read_options(file, ["k=5"]).text()
    'topology = mesh;\\nk = 5;\\n'
    """
    place = show_file(file)
    if Path(file).suffix == ".toml":
        values = values_of(read_toml(file), place)
    else:
        values = parse(read_text(file, limits.SPEC_BYTES), place)
    for change in changes:
        name, sign, value = change.partition("=")
        if not sign or not value:
            raise SpecError.at(show(change), "is not a change of an option", "write name=value, e.g. k=4")
        values[name.strip()] = value.strip()
    return Options.of(values, place)
