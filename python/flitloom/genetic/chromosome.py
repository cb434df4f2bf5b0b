"""Chromosomes as files: what a genetic search chose, for which network and traffic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Literal

import pydantic

from flitloom import provenance
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.outputs import write_text
from flitloom.spec import Collective, Router, Topology
from flitloom.spec.base import SpecModel, explain


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
    seed: int = 1
    duration: int
    thickness: int
    properties: dict[str, int]
    generation: int = 0
    reinitialise_slices: bool = False
    interlock_slices: bool = False

    @property
    def network(self) -> Network:
        """The network with the arbitration the search chose."""
        return Network(self.topology, self.router)


def save_chromosome(chromosome: Chromosome, file: str | Path) -> None:
    """Write a chromosome to a JSON file."""
    content = chromosome.model_copy(update={"version": provenance.version()})
    write_text(file, content.model_dump_json(indent=1) + "\n")


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
    try:
        data: Any = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SpecError(f"{file}: is damaged: {error}") from None
    if not isinstance(data, dict) or data.get("format") != "flitloom-chromosome-1":
        raise SpecError(f"{file}: is no chromosome; its format must be flitloom-chromosome-1")
    try:
        chromosome = Chromosome.model_validate(data)
    except pydantic.ValidationError as error:
        raise SpecError(f"{file}: {explain(error, 'chromosome')}") from None
    if network is not None and network.topology.model_dump() != chromosome.topology.model_dump():
        raise SpecError(f"{file}: is for the {chromosome.topology}, not the {network.topology}")
    if pattern is not None and pattern != chromosome.collective.pattern:
        raise SpecError(f"{file}: is for pattern {chromosome.collective.pattern}, not {pattern}")
    from flitloom.genetic.search import replay

    shown = replay(chromosome)
    if shown["duration"] != chromosome.duration:
        raise SpecError(
            f"{file}: says a duration of {chromosome.duration} cycles, but replays in {shown['duration']}"
        )
    return chromosome
