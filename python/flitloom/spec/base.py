"""What all parts of a spec share: strict fields, and errors that carry the path to the field."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from flitloom.errors import SpecError


def problem(message: str, **context: Any) -> PydanticCustomError:
    """An error whose text is `message` as it stands."""
    return PydanticCustomError("problem", "{text}", {"text": message, **context})


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _SpecMeta(ModelMetaclass):
    """Turns pydantic's errors of a part that is built by hand into a `SpecError`."""

    #: Path to the part in an experiment, for error messages.
    place: str
    #: Field that may be given without its name, if any.
    positional: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if args and cls.positional and cls.positional not in kwargs:
            first, *rest = args
            args, kwargs = tuple(rest), {cls.positional: first, **kwargs}
        try:
            return super().__call__(*args, **kwargs)
        except pydantic.ValidationError as error:
            raise SpecError(explain(error, cls.place)) from None


class SpecModel(BaseModel, metaclass=_SpecMeta):
    """A part of a spec: immutable, and closed to unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    place: ClassVar[str] = ""
    positional: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _know_all_fields(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = list(cls.model_fields)
        for name in data:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known)}"
                raise PydanticCustomError(
                    "unknown_field", "unknown field; {hint}", {"field": str(name), "hint": hint}
                )
        return data


def whole(low: int, high: int, unit: str = "") -> BeforeValidator:
    """Accept whole numbers (of any integer type, never booleans) from `low` to `high`."""

    def check(value: Any) -> int:
        limits = f"it must be {low} to {high}{' ' * bool(unit)}{unit}"
        try:
            number = operator.index(value)
        except TypeError:
            number = None
        if number is None or isinstance(value, bool):
            raise problem(f"{show(value)} is not a whole number; {limits}")
        if not low <= number <= high:
            raise problem(f"{show(number)} is out of range; {limits}")
        return number

    return BeforeValidator(check)


def real(low: float, high: float, unit: str = "", *, above: bool = False) -> BeforeValidator:
    """Accept numbers from `low` (only above it, if so asked) to `high`; NaN is refused."""

    def check(value: Any) -> float:
        bound = f"above {low:g} and at most {high:g}" if above else f"{low:g} to {high:g}"
        limits = f"it must be {bound}{' ' * bool(unit)}{unit}"
        if isinstance(value, bool | str) or (
            not isinstance(value, float | int) and not hasattr(value, "__float__")
        ):
            raise problem(f"{show(value)} is not a number; {limits}")
        number = float(value)
        if not (low < number if above else low <= number) or not number <= high:
            raise problem(f"{show(value)} is out of range; {limits}")
        return number

    return BeforeValidator(check)


def one_of(*names: str) -> BeforeValidator:
    """Accept one of the given names."""

    def check(value: Any) -> str:
        if value not in names or not isinstance(value, str):
            raise problem(f"{show(value)} is unknown; it must be one of {', '.join(names)}")
        return value

    return BeforeValidator(check)


def show(value: object) -> str:
    """Show a value in a message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def path(place: str, location: Sequence[str | int]) -> str:
    """Write the path to a field: ``traffic.delays[3]``."""
    text = place
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else ("." * bool(text)) + part
    return text


def explain(error: pydantic.ValidationError, place: str = "") -> str:
    """One message for all problems of a part of a spec, each with the path to its field."""
    lines = (f"{path(place, _location(problem))}: {_message(problem)}" for problem in error.errors())
    return "\n".join(dict.fromkeys(lines))


def _location(problem: ErrorDetails) -> list[str | int]:
    location = list(problem["loc"])
    if location[:1] == ["traffic"]:
        # Pydantic names the kind of traffic it tried, which is no field.
        del location[1:2]
    match problem["type"]:
        case "unknown_field":
            location.append(problem["ctx"]["field"])
        case "union_tag_not_found" | "union_tag_invalid":
            location.append("kind")
    return location


def _message(problem: ErrorDetails) -> str:
    match problem["type"]:
        case "missing":
            return "is missing"
        case "union_tag_not_found":
            return "is missing; it must be collective, load, packets or matrix"
        case "union_tag_invalid":
            return f"{show(problem['ctx']['tag'])} is unknown; it must be collective, load, packets or matrix"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{show(problem['input'])} is not a table of fields"
        case "tuple_type" | "list_type":
            return f"{show(problem['input'])} is not a list"
        case "string_type":
            return f"{show(problem['input'])} is not a text"
        case "too_short":
            return f"too few entries; at least {problem['ctx']['min_length']} needed"
        case "too_long":
            return f"too many entries; at most {problem['ctx']['max_length']} are supported"
        case "value_error":
            return str(problem["ctx"]["error"])
        case _:
            return problem["msg"]
