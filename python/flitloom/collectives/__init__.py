"""Collective operations in which every link works: plans, bounds with proofs, checks.

Examples
--------
>>> import flitloom as fl
>>> plan = fl.collectives.plan(fl.Torus(8, 8), "all-gather")
>>> plan.steps, plan.bound, fl.collectives.check(plan)["passed"]
(16, 16, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flitloom.collectives.advising import advise
from flitloom.collectives.checking import check_collective as check
from flitloom.collectives.collective_plan import OPERATIONS, CollectivePlan
from flitloom.collectives.reading import read_collective as read
from flitloom.collectives.run import CollectiveRun
from flitloom.collectives.run import simulate_collective as simulate
from flitloom.collectives.search import collective as plan

__all__ = [
    "OPERATIONS",
    "CollectivePlan",
    "CollectiveRun",
    "advise",
    "check",
    "plan",
    "read",
    "simulate",
]
#: Names of before, which stay for one release with a warning that says the new one.
_MOVED = {
    "check_collective": "check",
    "collective": "plan",
    "read_collective": "read",
    "simulate_collective": "simulate",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A name of before."""
        from flitloom.errors.renamed import moved

        if name not in _MOVED:
            raise AttributeError(f"module 'flitloom.collectives' has no attribute {name!r}")
        return moved(f"flitloom.collectives.{name}", f"flitloom.collectives.{_MOVED[name]}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
