"""Chromosomes as files: what a genetic search chose, for which network and traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ValidationInfo

from flitloom.errors import show
from flitloom.ground import provenance
from flitloom.ground.outputs import write_text
from flitloom.networks.network import Network
from flitloom.spec import Collective, Router, Topology
from flitloom.spec.base import SpecModel, problem, whole, whole_number

#: Names of what is counted of a search's simulations.
PROPERTIES = ("ir", "or", "ib", "ob", "lb")


def _properties(value: Any, info: ValidationInfo) -> dict[str, int]:
    if not isinstance(value, dict) or not set(value) <= set(PROPERTIES):
        raise problem(f"{show(value)} is not a table of {', '.join(PROPERTIES)}")
    check = whole_number(0, 2**63 - 1)
    return {name: check(count, info) for name, count in value.items()}


class Chromosome(SpecModel):
    """What a genetic search chose (cup-stacking-extended-2023, 5.3 and A.4).

    Attributes
    ----------
    topology, router, collective
        The network and the traffic it is for; the collective has its interval and delays, the router
        its channel schemes and port lists.
    seed : int
        Seed of random patterns.
    duration, thickness : int
        What its simulation showed, in cycles.
    properties : dict
        Lost arbitrations ir, or, ib, ob and blocked links lb (6.3).
    generation : int
        Generation in which it was found.
    reinitialise_slices, interlock_slices : bool
        Rules it was found under (7.2).
    """

    place: ClassVar[str] = "chromosome"
    positional: ClassVar[str] = ""

    format: Literal["flitloom-chromosome-1"] = "flitloom-chromosome-1"
    version: str = ""
    topology: Topology
    router: Router
    collective: Collective
    seed: Annotated[int, whole(0, 2**64 - 1)] = 1
    duration: Annotated[int, whole(0, 2**63 - 1, "cycles")]
    thickness: Annotated[int, whole(0, 2**63 - 1, "cycles")]
    properties: Annotated[dict[str, int], BeforeValidator(_properties)]
    generation: Annotated[int, whole(0, 2**63 - 1)] = 0
    reinitialise_slices: bool = False
    interlock_slices: bool = False

    @property
    def network(self) -> Network:
        """The network with the arbitration the search chose."""
        return Network(self.topology, self.router)


def save_chromosome(chromosome: Chromosome, file: str | Path) -> None:
    """Write a chromosome to a JSON file."""
    write_text(file, chromosome_text(chromosome))


def chromosome_text(chromosome: Chromosome) -> str:
    """A chromosome as the JSON of its file."""
    content = chromosome.model_copy(update={"version": provenance.version()})
    return content.model_dump_json(indent=1) + "\n"
