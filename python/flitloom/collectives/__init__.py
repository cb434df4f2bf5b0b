"""Collective operations in which every link works: plans, bounds with proofs, checks."""

from flitloom.collectives.advising import advise
from flitloom.collectives.check import check_collective
from flitloom.collectives.plan import OPERATIONS, CollectivePlan
from flitloom.collectives.reading import read_collective
from flitloom.collectives.run import CollectiveRun, simulate_collective
from flitloom.collectives.search import collective

__all__ = [
    "OPERATIONS",
    "CollectivePlan",
    "CollectiveRun",
    "advise",
    "check_collective",
    "collective",
    "read_collective",
    "simulate_collective",
]
