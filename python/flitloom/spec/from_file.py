"""One message for what is wrong with a file that is to be a model of pydantic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pydantic

from flitloom.errors import SpecError, joined, nearest, show
from flitloom.ground.numerals import counted
from flitloom.spec.base import explain, problems_of


def refused(
    error: pydantic.ValidationError, kind: type[pydantic.BaseModel], place: str, advice: str = ""
) -> SpecError:
    """The error to raise for a file, in one line: another form, fields it lacks, or else its first problem.

    Parameters
    ----------
    error : pydantic.ValidationError
        What is wrong.
    kind : type
        The model that the file was to be.
    place : str
        The file, as messages name it.
    advice : str
        What would be right where fields are missing.

    Examples
    --------
    >>> from flitloom.collectives import CollectivePlan
    >>> def told(**fields):
    ...     try:
    ...         CollectivePlan(**fields)
    ...     except pydantic.ValidationError as error:
    ...         print(refused(error, CollectivePlan, "plan.json", "flitloom collective writes one"))
    >>> told(chunks=1, steps=1)
    plan: plan.json lacks operation, topology, bound, optimal and proof; flitloom collective writes one
    >>> told(form="flitloom collective 2", operation="broadcast")
    plan: plan.json: form: unknown field; did you mean format?
    >>> told(format="flitloom collective 2")
    plan: plan.json: format: 'flitloom collective 2' is another one; it must be 'flitloom collective 1'
    """
    found = error.errors(include_url=False)
    for one in found:
        if one["type"] == "literal_error" and one["loc"] == ("format",):
            problem = f"format: {show(one['input'])} is another one"
            return SpecError.at("plan", f"{place}: {problem}", f"it must be {one['ctx']['expected']}")
    for one in found:
        if one["type"] == "extra_forbidden":
            *path, name = one["loc"]
            where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in (*path, name))
            near = nearest(name, _known(kind, path))
            hint = f"did you mean {near}?" if near else "nothing like it belongs there"
            return SpecError.at("plan", f"{place}: {where.removeprefix('.')}: unknown field", hint)
    lacking = [str(one["loc"][0]) for one in found if one["type"] == "missing" and len(one["loc"]) == 1]
    if lacking:
        *before, last = lacking
        listed = f"{', '.join(before)} and {last}" if before else last
        return SpecError.at("plan", f"{place} lacks {listed}", advice)
    first, more = problems_of(error)
    said = explain(error, "").split("\n")[0]
    left = len(first) - 1 + more
    others = f"and {counted(left, 'more problem')}" if left else ""
    return SpecError.at("plan", joined(f"{place}: {said}", others))


def _known(kind: type[pydantic.BaseModel], path: list[str | int]) -> list[str]:
    """The fields of a model, or of the one at a path in it."""
    for name in path:
        if name in kind.model_fields:
            kind = next(_models(kind.model_fields[str(name)].annotation), kind)
    return [*kind.model_fields]


def _models(annotation: Any) -> Iterator[type[pydantic.BaseModel]]:
    """The models in an annotation."""
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, pydantic.BaseModel):
            yield part
