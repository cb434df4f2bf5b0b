"""Reads plans of collective operations, and believes nothing that they say of themselves."""

from __future__ import annotations

from pathlib import Path

import pydantic

from flitloom.collectives.checking import require_right
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.telling import Told, untold
from flitloom.errors import show_file
from flitloom.ground import limits
from flitloom.ground.reading import opened
from flitloom.spec.from_file import refused


def read_collective(file: str | Path, *, checked: bool = True, told: Told = untold) -> CollectivePlan:
    """Read a plan of a collective operation, and replay it: nothing it says of itself is believed.

    Parameters
    ----------
    file : path
        What `CollectivePlan.save` wrote.
    checked : bool
        Without it the plan is as the file says, for `flitloom.collectives.check` to judge.
    told : function
        Told now and then how many of how many moves are replayed.

    Raises
    ------
    SpecError
        The file cannot be read, is not such a plan, or does not do what it claims.

    Examples
    --------
    >>> import tempfile
    >>> import flitloom as fl
    >>> file = tempfile.mkdtemp() + "/plan.json"
    >>> fl.collectives.plan(fl.Torus(4, 4), "all-gather").save(file)
    >>> fl.collectives.read(file).optimal
    True
    """
    place = show_file(file)
    with opened(file, limits.COLLECTIVE_BYTES) as source:
        text = source.content()
    try:
        plan = CollectivePlan.model_validate_json(text)
    except pydantic.ValidationError as error:
        advice = "a plan as flitloom collective OPERATION writes it is needed"
        raise refused(error, CollectivePlan, place, advice) from None
    if checked:
        require_right(plan, place, told)
    return plan
