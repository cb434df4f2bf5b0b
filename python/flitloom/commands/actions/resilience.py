"""What ``flitloom route --resilience`` does."""

from __future__ import annotations

from flitloom.commands.screen import echo, print_json, print_table
from flitloom.errors import SpecError
from flitloom.spec import Topology
from flitloom.tables.by_source.resilience import REGIMES, survive


def run(topology: Topology, rules: str, sample: int, seed: int, as_json: bool) -> None:
    """Print in how many failed systems every healthy pair keeps a route."""
    if sample < 1:
        raise SpecError.at("--sample", f"{sample} is out of range", "it must be at least 1")
    if topology.failed_nodes or topology.failed_links:
        raise SpecError("--resilience starts from a healthy network; leave --fail and --nodes out")
    rows = [
        survive(topology, nodes, links, rules=rules, sample=sample, seed=seed)
        for nodes, links in ((0, 1), (1, 0), (0, 2), (2, 0))
    ]
    if as_json:
        entries = [
            {"failures": row.failures, "systems": row.systems, "exhaustive": row.exhaustive}
            | dict(zip(map(_key, REGIMES), row.fractions, strict=True))
            for row in rows
        ]
        print_json(entries)
        return
    echo(f"{topology}: fraction of failed systems in which every healthy pair keeps a route")
    print_table(
        ("failures", "systems", "", *REGIMES),
        [(row.failures, row.systems, "all" if row.exhaustive else "drawn", *row.fractions) for row in rows],
    )


def _key(heading: str) -> str:
    """A heading of a table as a name in JSON, e.g. ``no_first_last_steps``."""
    return heading.replace("/", " ").replace(" ", "_")
