"""The check of a placement's file, by a program that shares no code with the search."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from flitloom.errors import SpecError, show_file
from flitloom.ground.fixed import explained
from flitloom.ground.notebook import fields_html
from flitloom.placing.placement import is_wired_as, network_of, read_placement, written_topology
from flitloom.placing.traffic import Traffic
from flitloom.spec.any_network import AnyNetwork

#: The program; it imports nothing of flitloom.
PROGRAM = Path(__file__).parents[1] / "programs" / "recheck.py"


@explained
@dataclass(frozen=True)
class PlacementReport:
    """What a check of a placement found.

    Attributes
    ----------
    passed : bool
        Whether loads, port loads, hop-bytes and bounds are what the file says.
    problem : str or None
        The first thing that is not.
    facts : dict
        What was counted anew, and the bounds that hold.
    """

    passed: bool
    problem: str | None
    facts: dict[str, Any]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return fields_html(
            "check of a placement", {"passed": self.passed, "problem": self.problem, **self.facts}
        )


def check_placement(file: str | Path) -> PlacementReport:
    """Replay the loads of a placement's file and go through its certificates.

    Raises
    ------
    SpecError
        The file is not a placement.
    """
    document = read_placement(file)
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAM), str(Path(file).absolute()), "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        told = json.loads(done.stdout)
    except ValueError:
        raise SpecError.at(show_file(Path(file)), "could not be checked") from None
    passed, problem = told.pop("passed"), next(iter(told.pop("problems")), None)
    told = {name: value for name, value in told.items() if name not in ("file", "kind")}
    if passed and "wiring" in document and "network" in document["topology"]:
        named = network_of(document)
        if named.subnet is None or not is_wired_as(document, named.subnet, named.failed_nodes):
            passed, problem, told = False, f"wiring: is not that of the {named}", {}
    return PlacementReport(passed, problem, told)


@cache
def _program() -> ModuleType:
    """The program that checks files, as a module."""
    spec = importlib.util.spec_from_file_location("recheck", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def proven_by(
    certificate: dict[str, Any], topology: AnyNetwork, traffic: Traffic, hops: bool, ordered: bool = False
) -> int:
    """What a certificate proves of one rank per node at most, counted by the program that checks files.

    `ordered` says that routes are by dimension order.
    """
    program = _program()
    bytes_of = {
        (source, destination): amount
        for source, destination, amount in zip(
            traffic.sources.tolist(), traffic.destinations.tolist(), traffic.bytes.tolist(), strict=True
        )
    }
    network = program.Board(written_topology(topology))
    value: int = program.proven(certificate, network, traffic.ranks, bytes_of, [], 1, hops, 0, ordered)
    return value
