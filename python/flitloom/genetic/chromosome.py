"""Chromosomes as files: what a genetic search chose, for which network and traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import BeforeValidator, ValidationInfo

from flitloom import provenance
from flitloom.errors import SpecError, show, show_file
from flitloom.network import Network
from flitloom.outputs import write_text
from flitloom.reading import read_json
from flitloom.spec import Collective, Router, Topology
from flitloom.spec.base import SpecModel, explain, problem, whole, whole_number

#: Names of what is counted of a search's simulations.
PROPERTIES = ("ir", "or", "ib", "ob", "lb")


def _properties(value: Any, info: ValidationInfo) -> dict[str, int]:
    if not isinstance(value, dict) or not set(value) <= set(PROPERTIES):
        raise problem(f"{show(value)} is no table of {', '.join(PROPERTIES)}")
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


def load_chromosome(
    file: str | Path, *, network: Network | None = None, pattern: str | None = None
) -> Chromosome:
    """Read a chromosome and refuse one that is damaged or for something else.

    Parameters
    ----------
    file : path
        A file written by `save_chromosome`.
    network : Network, optional
        The network it must be for; arbitration settings may differ.
    pattern : str, optional
        The pattern it must be for.

    Raises
    ------
    SpecError
        The file is damaged, or for another network or pattern, or does not replay to the cycle.
    """
    data = read_json(file)
    if data.get("format") != "flitloom-chromosome-1":
        raise SpecError(f"{show_file(file)}: is no chromosome; its format must be flitloom-chromosome-1")
    try:
        chromosome = Chromosome.model_validate(data)
    except pydantic.ValidationError as error:
        raise SpecError(f"{show_file(file)}: {explain(error, 'chromosome')}") from None
    if network is not None and network.topology.model_dump() != chromosome.topology.model_dump():
        raise SpecError(f"{file}: is for the {chromosome.topology}, not the {network.topology}")
    if pattern is not None and pattern != chromosome.collective.pattern:
        raise SpecError(f"{file}: is for pattern {chromosome.collective.pattern}, not {pattern}")
    from flitloom.genetic.search import replay
    from flitloom.simulation import lower_bound

    # Cheaper than a replay, which takes long where the packets are many.
    least = lower_bound(chromosome.network, chromosome.collective, seed=chromosome.seed)
    if chromosome.duration < least:
        raise SpecError(
            f"{show_file(file)}: says a duration of {chromosome.duration} cycles; none is below {least}"
        )
    shown = replay(chromosome)
    if shown["duration"] != chromosome.duration:
        raise SpecError(
            f"{file}: says a duration of {chromosome.duration} cycles, but replays in {shown['duration']}"
        )
    return chromosome
