"""What all parts of a spec share: strict fields, and errors with the path to the field."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Union, get_args, get_origin

import pydantic
from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError, core_schema

from flitloom.errors import SpecError, joined, nearest, show, unknown_parts
from flitloom.ground import limits
from flitloom.ground.fixed import unchangeable
from flitloom.ground.notebook import fields_html

__all__ = [
    "Checked",
    "Closed",
    "Frozen",
    "Problems",
    "SpecModel",
    "boolean",
    "each",
    "explain",
    "in_file",
    "listed",
    "name_of",
    "one_of",
    "parts_of",
    "path",
    "problem",
    "problems_of",
    "real",
    "real_number",
    "refusal",
    "require_whole",
    "show",
    "text",
    "whole",
    "whole_number",
]


def problem(message: str, advice: str = "", **context: Any) -> PydanticCustomError:
    """An error that says what is wrong and, if there is anything to say of it, what would be right."""
    parts = {"text": joined(message, advice), "problem": message, "advice": advice}
    return PydanticCustomError("problem", "{text}", {**parts, **context})


class Frozen(BaseModel):
    """Immutable: a field that is set or deleted is a SpecError, not an error of pydantic."""

    model_config = ConfigDict(frozen=True)

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            if not name.startswith("_"):
                raise unchangeable(self, name, name in type(self).model_fields)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            if not name.startswith("_"):
                raise unchangeable(self, name, name in type(self).model_fields)
            super().__delattr__(name)


class Closed(Frozen):
    """Immutable, and closed to unknown fields; only the first of them is named."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _know_all_fields(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for name in data:
            if name not in known and name not in cls.model_fields:
                places = {name: name for name in known}
                for field, place in _below(cls):
                    places.setdefault(field, place)
                near = places.get(str(nearest(name, places)))
                hint = f"did you mean {near}?" if near else f"the fields are {', '.join(known)}"
                raise PydanticCustomError(
                    "unknown_field", "unknown field; {hint}", {"field": str(name), "hint": hint}
                )
        return data


def _below(kind: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Fields of the parts of a kind of table, and where they are: ``buffer`` at ``router.buffer``."""
    for field, about in kind.model_fields.items():
        # A list of kinds says them itself.
        listed = [part for more in about.metadata if hasattr(more, "parts") for part in more.parts()]
        for part in (about.annotation, *get_args(about.annotation), *listed):
            for one in (part, *get_args(part)):
                if isinstance(one, type) and issubclass(one, BaseModel):
                    yield from ((name, f"{field}.{name}") for name in one.model_fields)


class SpecModel(Closed):
    """A part of a spec.

    A part that is built by hand raises a `SpecError`; parts of what is read are filled by pydantic itself,
    so that errors of the whole keep the paths to their fields. What type checkers and editors know of the
    constructors stands in the parts (compared with the fields by a test).
    """

    #: Path to the part in an experiment, for error messages.
    place: ClassVar[str] = ""
    #: Field that may be given without its name, if any.
    positional: ClassVar[str] = ""

    if not TYPE_CHECKING:

        def __init__(self, /, *values: Any, **fields: Any) -> None:
            kind = type(self)
            if values and kind.positional and kind.positional not in fields:
                fields = {kind.positional: values[0], **fields}
                values = values[1:]
            if values:
                others = [name for name in kind.model_fields if name not in (kind.positional, "kind")]
                raise SpecError.at(
                    kind.place or kind.__name__,
                    f"{show(values[0])} is given without a name",
                    f"write NAME={show(values[0])}, with a name of {', '.join(others)}",
                )
            try:
                super().__init__(**fields)
            except pydantic.ValidationError as error:
                raise refusal(error, kind.place) from None

        # As pydantic's own, which it does without where it fills parts itself.
        __init__.__pydantic_base_init__ = True

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Let the signature say what a person gives: plain types, and what may come without a name first."""
        super().__pydantic_init_subclass__(**kwargs)
        if cls.__init__ is not SpecModel.__init__:
            return
        parameters = [
            inspect.Parameter(
                field.alias or name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD
                if name == cls.positional
                else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty
                if field.is_required()
                else field.get_default(call_default_factory=True),
                annotation=_plain(field.annotation),
            )
            for name, field in cls.model_fields.items()
            if name != "kind"
        ]
        parameters.sort(key=lambda parameter: parameter.kind)
        cls.__signature__ = inspect.Signature(parameters)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What differs from the defaults, so that representations stay short."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if field.is_required() or value != field.get_default(call_default_factory=True):
                yield name, value

    def _repr_html_(self) -> str:
        """What a notebook shows: all fields, defaults included."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "kind"}
        return fields_html(type(self).__name__, fields)


def _plain(annotation: Any) -> Any:
    """A type without what checks it."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return Union[tuple(_plain(part) for part in get_args(annotation))]  # noqa: UP007
    return annotation


@dataclass(frozen=True, eq=False)
class Checked:
    """How a field of a spec is checked, and how a JSON schema says what may stand there.

    Attributes
    ----------
    check : callable
        Takes what is given, returns the value of the field or raises a `problem`.
    schema : dict
        JSON schema of what may be given in a file.
    """

    check: Callable[[Any, ValidationInfo], Any]
    schema: dict[str, Any]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.with_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return dict(self.schema)


def whole(low: int, high: int, unit: str = "") -> Checked:
    """Accept whole numbers (of any integer type, never booleans) from `low` to `high`."""
    return Checked(whole_number(low, high, unit), {"type": "integer", "minimum": low, "maximum": high})


def whole_number(low: int, high: int, unit: str = "") -> Callable[[Any, Any], int]:
    """The check of `whole` as a function."""
    bounds = f"it must be {low} to {high}{' ' * bool(unit)}{unit}"

    def check(value: Any, _: Any = None) -> int:
        if type(value) is int and low <= value <= high:
            return value
        try:
            number = operator.index(value)
        except TypeError:
            number = None
        if number is None or isinstance(value, bool):
            raise problem(f"{show(value)} is not a whole number", bounds)
        if not low <= number <= high:
            raise problem(f"{show(number)} is out of range", bounds)
        return number

    return check


def real(low: float, high: float, unit: str = "", *, above: bool = False) -> Checked:
    """Accept numbers from `low` (only above it, if so asked) to `high`; NaN is refused."""
    least = {"exclusiveMinimum" if above else "minimum": low}
    return Checked(real_number(low, high, unit, above=above), {"type": "number", **least, "maximum": high})


def real_number(
    low: float, high: float, unit: str = "", *, above: bool = False
) -> Callable[[Any, Any], float]:
    """The check of `real` as a function."""

    def check(value: Any, _: Any = None) -> float:
        bound = f"above {low:g} and at most {high:g}" if above else f"{low:g} to {high:g}"
        bounds = f"it must be {bound}{' ' * bool(unit)}{unit}"
        if isinstance(value, bool | str) or (
            not isinstance(value, float | int) and not hasattr(value, "__float__")
        ):
            raise problem(f"{show(value)} is not a number", bounds)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not (low < number if above else low <= number) or not number <= high:
            raise problem(f"{show(value)} is out of range", bounds)
        return number

    return check


def each(
    check: Callable[[Any, ValidationInfo], Any], most: int = limits.ENTRIES, least: int = 0
) -> Callable[[Any, ValidationInfo], tuple[Any, ...]]:
    """A check of lists of at most `most` entries, each of which must pass `check`.

    Raises one error with the first `limits.PROBLEMS` problems and the number of the others, however many
    entries are wrong. The others are only counted, since the words for a million take their time.
    """

    def read(value: Any, info: ValidationInfo) -> tuple[Any, ...]:
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | list | tuple):
            # One more than there may be is too many.
            value = list(islice(value, most + 1))
        if not isinstance(value, list | tuple):
            raise problem(f"{show(value)} is not a list")
        if len(value) < least:
            raise problem("too few entries", f"at least {least} needed")
        if len(value) > most:
            raise problem("too many entries", f"at most {most} are supported")
        entries: list[Any] = []
        problems = Problems()
        for index, entry in enumerate(value):
            try:
                entries.append(check(entry, info))
            except PydanticCustomError as error:
                problems.add(index, error)
            except pydantic.ValidationError as error:
                problems.add_all(index, error)
        problems.end()
        return tuple(entries)

    return read


def text(value: Any, _: Any = None) -> str:
    """Accept texts."""
    if not isinstance(value, str):
        raise problem(f"{show(value)} is not a text")
    return value


def boolean(value: Any, _: Any = None) -> bool:
    """Accept true and false."""
    if not isinstance(value, bool):
        raise problem(f"{show(value)} is neither true nor false")
    return value


class Problems:
    """The first problems of a list by their places in it, and how many more there are."""

    def __init__(self) -> None:
        self.first: list[tuple[list[str | int], str]] = []
        self.more = 0

    def add(self, index: str | int, error: PydanticCustomError) -> None:
        """Note a problem of an entry, or all those within it."""
        context: dict[str, Any] = dict(error.context or {})
        inner = context.get("problems", [([], error.message())])
        room = max(0, limits.PROBLEMS - len(self.first))
        self.first += [([index, *location], text) for location, text in inner[:room]]
        self.more += context.get("more", 0) + max(0, len(inner) - room)

    def add_all(self, index: str | int, error: pydantic.ValidationError) -> None:
        """Note all problems of an entry."""
        if len(self.first) >= limits.PROBLEMS:
            self.more += error.error_count()
            return
        first, more = problems_of(error)
        self.add(index, problem("several problems", problems=first, more=more))

    def add_field(self, index: str | int, error: SpecError) -> None:
        """Note what is wrong with a field of an entry."""
        text = problem(error.problem, error.advice).message()
        self.add(index, problem("several problems", problems=[([error.field], text)]))

    def text(self) -> str:
        """The problems of one thing as a message."""
        lines = [text for _, text in self.first]
        return "\n".join([*lines, f"and {self.more} more problems"] if self.more else lines)

    def end(self) -> None:
        """Raise what was noted, if anything was."""
        if self.first:
            raise problem("several problems", problems=self.first, more=self.more)


def require_whole(place: str, value: object, low: int, high: int, unit: str = "") -> None:
    """Refuse what is not a whole number from `low` to `high`.

    Examples
    --------
    >>> require_whole("seed", -1, 0, 9)
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: seed: -1 is out of range; it must be 0 to 9
    """
    try:
        whole_number(low, high, unit)(value, None)
    except PydanticCustomError as error:
        raise SpecError.at(place, *parts_of(error)) from None


def parts_of(error: PydanticCustomError) -> tuple[str, str]:
    """What is wrong, and what would be right."""
    context = error.context or {}
    return context.get("problem", error.message()), context.get("advice", "")


def one_of(*names: str, others: Mapping[str, str] | None = None) -> Checked:
    """Accept one of the given names, and other names for them."""
    return Checked(name_of(*names, others=others), {"enum": [*names, *(others or ())]})


def listed(entry: dict[str, Any], most: int = limits.ENTRIES, least: int = 0) -> dict[str, Any]:
    """JSON schema of a list of `least` to `most` entries."""
    return {"type": "array", "items": entry, "minItems": least, "maxItems": most}


def in_file(schema: dict[str, Any]) -> dict[str, Any]:
    """JSON schema of what may also be the name of a file that holds it."""
    return {"anyOf": [{"type": "string", "description": "a CSV file"}, schema]}


def name_of(*names: str, others: Mapping[str, str] | None = None) -> Callable[[Any, Any], str]:
    """The check of `one_of` as a function."""
    others = others or {}

    def check(value: Any, _: Any = None) -> str:
        if isinstance(value, str):
            value = others.get(value, value)
        if not isinstance(value, str) or value not in names:
            raise problem(*unknown_parts(value, names, others))
        return value

    return check


def path(place: str, location: Sequence[str | int]) -> str:
    """Write the path to a field: ``traffic.delays[3]``."""
    text = place
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = part.isprintable() and len(part) <= 60
            text += "." * bool(text) + (part if plain else show(part))
    return text


def explain(error: pydantic.ValidationError, place: str = "") -> str:
    """One message for the problems of a part of a spec, each with the path to its field.

    The first `limits.PROBLEMS` are named, the others counted.
    """
    first, more = problems_of(error)
    named = [(path(place, location), message) for location, message in first]
    lines = [f"{where}: {message}" if where else message for where, message in named]
    return "\n".join([*lines, f"and {more} more problems"] if more else lines)


def refusal(error: pydantic.ValidationError, place: str = "") -> SpecError:
    """The error to raise for the problems of a part of a spec: all in its message, the first in parts."""
    found = error.errors(include_url=False)[0]
    location, context = _location(found), dict(found.get("ctx", {}))
    if several := context.get("problems"):
        location, context = [*location, *several[0][0]], {"problem": several[0][1]}
    said = context.get("problem", _message(found)), context.get("advice", "")
    return SpecError(explain(error, place), path(place, location), *said)


def problems_of(error: pydantic.ValidationError) -> tuple[list[tuple[list[str | int], str]], int]:
    """The first problems with their places, each once, and the number of the others."""
    first: list[tuple[list[str | int], str]] = []
    more = 0
    for found in error.errors(include_url=False):
        where = _location(found)
        context = found.get("ctx", {})
        more += context.get("more", 0)
        for location, message in context.get("problems", [([], _message(found))]):
            entry = ([*where, *location], message)
            if len(first) >= limits.PROBLEMS:
                more += 1
            elif entry not in first:
                first.append(entry)
    return first, more


def _location(problem: ErrorDetails) -> list[str | int]:
    location = list(problem["loc"])
    if location[:1] == ["traffic"]:
        # Pydantic names the kind of traffic it tried, which is no field.
        del location[1:2]
    match problem["type"]:
        case "unknown_field":
            location.append(problem["ctx"]["field"])
        case "unknown_kind":
            location.append("kind")
    return location


def _message(problem: ErrorDetails) -> str:
    match problem["type"]:
        case "missing":
            return "is missing"
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
