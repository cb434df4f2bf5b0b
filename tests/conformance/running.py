"""Stored cases: how their files are read, run and written down.

A case is ``cases/NAME.toml``, an experiment as ``flitloom simulate`` reads it, with ``NAME.tables.json``
beside it where its packets follow routing tables, or ``NAME.goal`` where it is a message graph (the TOML then
holds topology and router only). ``results.toml`` has what must come of every case, in a table of its name.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import flitloom as fl
from flitloom.networks.experiment import Experiment, build_experiment
from flitloom.networks.network import Network
from flitloom.run.simulation import Simulation, begin_experiment
from flitloom.spec import Router
from flitloom.tables.formats.reading import read_tables

FOLDER = Path(__file__).parent
CASES = FOLDER / "cases"
RESULTS = FOLDER / "results.toml"
#: Totals that every engine knows.
TOTALS = (
    "duration",
    "cycles",
    "packets_injected",
    "packets_delivered",
    "flits_delivered",
    "flit_hops",
    "age_sum",
    "fingerprint",
)
#: Networks of more links have a hash of their link rows instead of the rows.
LISTED_LINKS = 110
#: Cases that keep windows do so in such of this many cycles.
WINDOW = 50
#: Largest seed that JavaScript reads as it is.
MOST_EXACT = 2**53 - 1
#: Columns of windows that are written down.
WINDOWED = (
    "generated_flits",
    "injected_packets",
    "ejected_flits",
    "delivered_packets",
    "age_sum",
    "age_max",
    "network_age_sum",
    "network_age_max",
    "in_flight",
)


@dataclass(frozen=True)
class Case:
    """A stored case by its name."""

    name: str

    @cached_property
    def fields(self) -> dict[str, Any]:
        return tomllib.loads((CASES / f"{self.name}.toml").read_text())

    @property
    def is_graph(self) -> bool:
        """Whether its traffic is a message graph."""
        return (CASES / f"{self.name}.goal").exists()

    @cached_property
    def experiment(self) -> Experiment:
        graph = {"traffic": {"kind": "messages", "graph": f"{self.name}.goal"}} if self.is_graph else {}
        return build_experiment({**self.fields, **graph}, CASES)

    @property
    def network(self) -> Network:
        return Network(self.experiment.topology, self.experiment.router)

    @cached_property
    def tables(self) -> Any:
        file = CASES / f"{self.name}.tables.json"
        return read_tables(file) if file.exists() else None

    def begun(self, **options: Any) -> Simulation:
        """The case before its first cycle."""
        return begin_experiment(self.experiment, tables=self.tables, **options)


def names() -> list[str]:
    """The names of all cases."""
    return sorted(file.stem for file in CASES.glob("*.toml"))


def stored() -> dict[str, dict[str, Any]]:
    """What must come of every case."""
    return tomllib.loads(RESULTS.read_text())


def guarded(run: Any) -> dict[str, Any]:
    """What comes of a run, or how it fails."""
    try:
        found: dict[str, Any] = run()
        return found
    except fl.DeadlockError as error:
        ring = [
            f"{place['node']} {place['arrived_along'] or 'P'} {place['channel']} "
            f"{place['wants'] or 'P'} {place['wants_channel']}"
            for place in error.channels
        ]
        return {
            "outcome": "deadlock",
            "cycle": error.cycle,
            "stuck_flits": error.stuck_flits,
            "waiting": ring,
        }
    except fl.CycleLimitError:
        return {"outcome": "cycle limit"}
    except fl.UnreachableError as error:
        return {"outcome": "unreachable", "pairs": [list(pair) for pair in error.pairs]}


def totals(values: dict[str, Any]) -> dict[str, Any]:
    """The totals that are written down."""
    found = {"outcome": "ended", **{name: values[name] for name in TOTALS}}
    if isinstance(found["fingerprint"], int):
        found["fingerprint"] = f"{found['fingerprint']:016x}"
    return found


def of_result(result: fl.Result) -> dict[str, Any]:
    """Totals, bound and links of a result."""
    values = result.summary()
    found = totals(values)
    found["effective_thickness"] = values["effective_thickness"]
    if result.lower_bound is not None:
        found["lower_bound"] = result.lower_bound
    rows = [[row["link"], row["first"], row["last"], row["flits"]] for row in result.link_rows()]
    if len(result.network.directions) * result.network.nodes <= LISTED_LINKS:
        found["links"] = rows
    else:
        text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        found["links_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return found


def hashes(result: fl.Result, *, links: bool) -> dict[str, Any]:
    """Hashes of what is recorded of every packet and, where asked for, of every link and cycle.

    A packet is a line of its numbers in the order of the columns of `Result.packets`; of links and cycles
    every byte counts, cycle by cycle.
    """
    packets = result.packets
    columns = [packets[name].values for name in packets.data_vars]
    text = "".join(" ".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
    found = {"packets_sha256": hashlib.sha256(text.encode()).hexdigest()}
    if links:
        cells = np.ascontiguousarray(result.link_time.values)
        found["link_time_sha256"] = hashlib.sha256(cells.tobytes()).hexdigest()
    return found


def windows_of(simulation: Simulation) -> dict[str, Any]:
    """What happened in windows and what was measured."""
    series = simulation.windows()
    found: dict[str, Any] = {name: series[name].values.astype(int).tolist() for name in WINDOWED}
    found["delivered_by_source"] = series.delivered_by_source.values.ravel().tolist()
    for name in ("age_histogram", "network_age_histogram"):
        counts = series[name]
        least = counts[counts.dims[0]].values
        found[name] = [[int(at), int(count)] for at, count in zip(least, counts.values, strict=True) if count]
    return found


def on_page(case: Case) -> dict[str, Any] | None:
    """The case as live pages read it; nothing where they do not know all of it."""
    if case.is_graph or case.tables is not None:
        return None
    experiment = case.experiment
    topology, router, traffic = experiment.topology, experiment.router, experiment.traffic
    if router.model != "one-cycle":
        return None
    fields = ("channels", "buffer", "latency", "flow_control", "arbitration", "routing", "ties")
    said = {name: getattr(router, name) for name in fields}
    plain = not (topology.twist or topology.failed_nodes or topology.failed_links)
    if Router(**said) != router or not plain:
        return None
    known = {
        "collective": ("payload", "slices", "interval", "packets"),
        "load": ("rate", "length", "cycles"),
    }.get(traffic.kind, ())
    told = {"kind": traffic.kind, **{name: getattr(traffic, name) for name in known}}
    pattern = getattr(traffic, "pattern", None)
    if pattern is None or told.get("rate", 1) is None:
        return None
    if type(traffic)(pattern, **{name: told[name] for name in known}) != traffic:
        return None
    if not isinstance(router.arbitration, str) or experiment.cycle_limit is not None:
        return None
    if experiment.seed > MOST_EXACT:
        return None
    return {
        "sizes": list(topology.sizes),
        "wraps": list(topology.wraps),
        **said,
        "throttle": experiment.throttle,
        "pattern": pattern,
        "traffic": told,
        "seed": experiment.seed,
        "stop_at": experiment.stop_at,
    }
