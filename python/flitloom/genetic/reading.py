"""Reads chromosomes, and believes only what they replay to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pydantic

from flitloom.errors import SpecError, show_file
from flitloom.genetic.chromosome import Chromosome
from flitloom.genetic.search import replay
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_json
from flitloom.networks.network import Network, network_of
from flitloom.run.simulation import lower_bound
from flitloom.spec.base import explain


def load_chromosome(
    file: str | Path, *, network: Network | str | Path | None = None, pattern: str | None = None
) -> Chromosome:
    """Read a chromosome and refuse one that is damaged or for something else.

    Parameters
    ----------
    file : path
        A file written by `save_chromosome`.
    network : Network, str or path, optional
        The network it must be for, or what names it; arbitration settings may differ.
    pattern : str, optional
        The pattern it must be for.

    Raises
    ------
    SpecError
        The file is damaged, or for another network or pattern, or does not replay to the cycle.
    """
    data = read_json(file)
    if data.get("format") != "flitloom-chromosome-1":
        raise SpecError(f"{show_file(file)}: is not a chromosome; its format must be flitloom-chromosome-1")
    chromosome = chromosome_of(data, show_file(file))
    wanted = chromosome.topology if network is None else network_of(network).topology
    if wanted.model_dump() != chromosome.topology.model_dump():
        raise SpecError(f"{file}: is for the {chromosome.topology}, not the {wanted}")
    if pattern is not None and pattern != chromosome.collective.pattern:
        raise SpecError(f"{file}: is for pattern {chromosome.collective.pattern}, not {pattern}")
    # Cheaper than a replay, which takes long where the packets are many.
    least = lower_bound(chromosome.network, chromosome.collective, seed=chromosome.seed)
    if chromosome.duration < least:
        raise SpecError(
            f"{show_file(file)}: says a duration of {counted(chromosome.duration, 'cycle')}; none "
            f"is below {least}"
        )
    shown = replay(chromosome)
    if shown["duration"] != chromosome.duration:
        raise SpecError(
            f"{file}: says a duration of {counted(chromosome.duration, 'cycle')}, but replays in "
            f"{shown['duration']}"
        )
    return chromosome


def chromosome_of(data: Any, place: str) -> Chromosome:
    """The chromosome of fields that somebody wrote down.

    Raises
    ------
    SpecError
        They are damaged; the message begins with `place` and names the fields.
    """
    try:
        return Chromosome.model_validate(data)
    except pydantic.ValidationError as error:
        raise SpecError(f"{place}: {explain(error, 'chromosome')}") from None
