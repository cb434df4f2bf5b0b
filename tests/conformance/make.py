"""Write the stored cases anew: ``python tests/conformance/make.py``.

Without arguments it runs the cases there are and writes ``results.toml``; names of cases limit it to those.
``--cases`` writes the files of the cases first, as ``stored_cases.py`` describes them. What ``git diff`` then
shows has changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import flitloom as fl
from conformance import pipelined_cases, running, stored_cases, ways
from conformance.toml_text import dump
from flitloom.networks.experiment import build_experiment

#: Mixtures that are written.
MIXTURES = 20


def write_cases() -> None:
    """Write the files of all cases."""
    for file in running.CASES.iterdir():
        file.unlink()
    plain = [case for group in (*stored_cases.PLAIN, pipelined_cases.pipelined) for case in group()]
    for name, fields in plain:
        write(name, fields)
    for name, fields, made in stored_cases.tables():
        write(name, fields)
        topology = build_experiment(fields).topology
        fl.tables.make(topology, **made).to_json(running.CASES / f"{name}.tables.json")
    for name, fields, goal in stored_cases.graphs():
        write(name, fields)
        (running.CASES / f"{name}.goal").write_text(goal)
    written = 0
    for name, fields in stored_cases.mixtures(10 * MIXTURES):
        if written < MIXTURES and accepted(fields):
            write(name, fields)
            written += 1


def accepted(fields: dict[str, Any]) -> bool:
    """Whether a mixture is one that routers have."""
    try:
        experiment = build_experiment(fields)
        fl.Simulation(
            fl.Network(experiment.topology, experiment.router),
            experiment.traffic,
            throttle=experiment.throttle,
        )
    except fl.SpecError:
        return False
    return True


def write(name: str, fields: dict[str, Any]) -> None:
    """Write one spec."""
    (running.CASES / f"{name}.toml").write_text(dump(fields))


def keeps_windows(name: str, fields: dict[str, Any]) -> bool:
    """Whether what happens in windows is written down of a case."""
    return fields.get("traffic", {}).get("kind") == "load" and name.startswith(
        ("load", "throttle", "twist-4x8")
    )


def everything(case: running.Case, kept: bool) -> dict[str, Any]:
    """All that is written down of a case; windows only where they are kept."""
    found = ways.outcome(case)
    if case.is_graph:
        return {field: found[field] for field in found if field in ("outcome", *running.TOTALS)}
    if found["outcome"] == "ended":
        found |= ways.recorded(case)
        if kept:
            found |= ways.in_windows(case)
    return found


def main(words: list[str]) -> None:
    """Write what is asked for."""
    if "--cases" in words:
        write_cases()
    chosen = [word for word in words if word != "--cases"] or running.names()
    results = running.stored() if running.RESULTS.exists() else {}
    for name in chosen:
        case = running.Case(name)
        results[name] = everything(case, keeps_windows(name, case.fields))
    running.RESULTS.write_text(dump({name: results[name] for name in running.names()}))


if __name__ == "__main__":
    main(sys.argv[1:])
