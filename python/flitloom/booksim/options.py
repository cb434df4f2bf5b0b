"""Files of BookSim2, ``name = value;`` with comments behind ``//``, or the same as a spec in TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flitloom import _core
from flitloom.booksim.specs import FRACTION, WHOLE, is_spec, number, spec_text, values_of
from flitloom.errors import SpecError, nearest, show, show_file
from flitloom.ground import limits
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_text, read_toml

#: Options that say how BookSim2 writes something that another option asks for.
SILENT = frozenset(
    "fail_seed power_output_file tech_file channel_width channel_sweep watch_out".split()  # noqa: SIM905 - as it stands in files
)
_RECORD = "flitloom.booksim.run(options, packets=True) has every packet with its times"
_LINKS = 'a spec of flitloom\'s own (router.model = "pipelined") shows every link (--picture, --html)'
#: What BookSim2 writes beside its lines and flitloom does not, with what flitloom has instead.
UNWRITTEN = {
    "stats_out": "flitloom simulate FILE --json has the means per class",
    "pair_stats": _RECORD,
    "print_activity": _LINKS,
    "viewer_trace": _LINKS,
    "watch_file": _RECORD,
    "watch_flits": _RECORD,
    "watch_packets": _RECORD,
    "sent_packets_out": _RECORD,
    "sim_power": "flitloom has no model of power",
    **dict.fromkeys(
        ("injected_flits_out", "ejected_flits_out"), "flitloom simulate FILE --booksim has the rates of nodes"
    ),
    **dict.fromkeys(
        ("received_flits_out", "sent_flits_out", "stored_flits_out", "active_packets_out"), _LINKS
    ),
    **dict.fromkeys(
        ("outstanding_credits_out", "used_credits_out", "free_credits_out", "max_credits_out"), _LINKS
    ),
}
#: The option that adds a line of results per class to what BookSim2 prints.
_RESULTS = "print_csv_results"
#: Options that BookSim2 takes and nothing in it reads, with what has their effect.
UNREAD = {
    "alloc_iters": "iterations are given with the allocator, e.g. islip(2)",
    "output_delay": "links have the latencies of the topology",
    "arb_type": "the arbiter is given with the allocator, e.g. separable_input_first(matrix)",
    "channel_file": "links have the latencies of the topology",
    "in_ports": "routers have the ports of the topology",
    "out_ports": "routers have the ports of the topology",
    "vct": "it belongs to router = event",
    "watch_transactions": "flitloom has every packet of a request and its reply in flitloom.booksim.run",
}
#: Options of other versions and branches of BookSim, with what has their effect in this one.
RENAMED = {
    "const_flits_per_packet": "packet_size",
    "physical_subnetworks": "subnets",
    "vc_alloc_iters": "vc_allocator, e.g. islip(2)",
    "sw_alloc_iters": "sw_allocator, e.g. islip(2)",
    "vc_alloc_arb_type": "vc_allocator, e.g. separable_input_first(matrix)",
    "sw_alloc_arb_type": "sw_allocator, e.g. separable_input_first(matrix)",
    "spec_use_prio": "spec_sw_allocator = prio",
    "shared_buf_size": "buf_size",
    "sharing_policy": "buffer_policy",
    "hotspot_nodes": "traffic, e.g. hotspot({{3,5}})",
    "hotspot_rates": "traffic, e.g. hotspot({{3,5},{1,2}})",
    "background_excludes": "traffic, e.g. background({{3,5}})",
    "combined_patterns": "classes and a list in traffic",
    "combined_rates": "classes and a list in injection_rate",
    "workload": "a message graph in a separate file (flitloom simulate trace.goal)",
    "trace_file": "a message graph in a separate file (flitloom simulate trace.goal)",
    "voq": "noq",
    "start_vc": "read_request_begin_vc and the like",
    "end_vc": "read_request_end_vc and the like",
    "print_vc_stats": "print_csv_results",
    "threads": "flitloom load curve --threads",
}
#: What looks like two nodes and is one with its weight.
_SPOT = re.compile(r"hotspot\(\{(\d+),(\d+)\}\)")
#: The option that names a file with a network.
NETWORK_FILE = "network_file"
_ITEM = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)\s*", re.DOTALL)


@explained
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
        _check_names(values, [*defaults, _RESULTS, *UNWRITTEN, *UNREAD, *SILENT], place)
        for name, value in values.items():
            where = f"{place}: {name}" if place else name
            if name in UNREAD:
                warnings.append(f"{name}: BookSim2 reads it nowhere; {UNREAD[name]}")
            if name in UNWRITTEN and value not in ("", "0"):
                warnings.append(
                    f"{name}: flitloom does not write what BookSim2 writes here; {UNWRITTEN[name]}"
                )
            if name not in defaults and name != _RESULTS:
                continue
            if name == _RESULTS:
                _check_kind(where, value, "0")
                if not WHOLE.fullmatch(value):
                    raise SpecError.at(where, f'"{value}" is not a whole number', "write 1 or 0")
                prints_results = int(value) != 0
                continue
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


def _check_names(values: Mapping[str, str], known: Sequence[str], place: str) -> None:
    """Refuse options that BookSim2 does not know, all of them at once."""
    unknown = [name for name in values if name not in known]
    if not unknown:
        return

    def said(name: str) -> str:
        if name in RENAMED:
            return f"{show(name)} (write {RENAMED[name]})"
        near = nearest(name, known)
        return f"{show(name)} (did you mean {near}?)" if near else show(name)

    where = f"{place}: {unknown[0]}" if place else unknown[0]
    if len(unknown) > 1:
        where = place or "options"
    verb = "is unknown" if len(unknown) == 1 else "are unknown"
    hint = f"BookSim2 takes {', '.join(known)}"
    raise SpecError.at(where, f"{', '.join(map(said, unknown))} {verb}", hint)


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


def read(file: str | Path, changes: Iterable[str] = ()) -> Options:
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
    >>> read(file, ["k=5"]).text()
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
