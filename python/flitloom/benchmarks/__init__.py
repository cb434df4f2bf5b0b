"""Benchmarks: one file each, one line each in `BENCHMARKS`.

The module of a benchmark has a function ``run(context)`` that returns rows, all with the same names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, unknown_parts

#: Benchmarks by name; the first is the usual one.
BENCHMARKS = (
    "network",
    "route",
    "schedule",
    "methods",
    "scale",
    "collective",
    "families",
    "products",
    "start",
    "fabric",
    "failures",
    "traffic",
    "verdict",
    "twist",
    "advise",
    "parallel",
    "throttles",
    "place",
    "place_hops",
    "place_order",
    "place_jax",
    "booksim",
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Context:
    """How a benchmark runs.

    Attributes
    ----------
    seconds : float
        CPU time to spend on every row, at least.
    everything : bool
        Rows beyond those that have a goal.
    progress : callable
        Told how many rows of how many are done.
    binary : Path, optional
        A program to compare with.
    """

    seconds: float = 0.5
    everything: bool = False
    progress: Callable[[int, int], None] = lambda _done, _total: None
    binary: Path | None = None


def run(name: str, context: Context) -> list[Row]:
    """Run one benchmark.

    Raises
    ------
    SpecError
        There is no such benchmark.
    """
    if name not in BENCHMARKS:
        raise SpecError.at("benchmark", *unknown_parts(name, BENCHMARKS))
    rows: list[Row] = import_module(f"flitloom.benchmarks.{name}").run(context)
    return rows
