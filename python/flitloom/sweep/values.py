"""Values of a field as they are written: lists and ranges."""

from __future__ import annotations

from decimal import Decimal, DecimalException, InvalidOperation

from flitloom.errors import SpecError, show
from flitloom.ground.numerals import REAL, real, whole

#: Most values of a field, and most points of a sweep.
MOST_POINTS = 1_000_000

Value = int | float | str | bool


def read_values(text: str, place: str = "--grid") -> list[Value]:
    """Values written as a list, as ranges with a step, or both; the end of a range belongs to it.

    Messages begin with `place`.

    Raises
    ------
    SpecError
        A range does not rise in whole steps, or has too many values.

    Examples
    --------
    >>> from flitloom.sweep import read_values
    >>> read_values("4,8,16"), read_values("0.02:0.1:0.02"), read_values("shfl,torn")
    ([4, 8, 16], [0.02, 0.04, 0.06, 0.08, 0.1], ['shfl', 'torn'])
    """
    values: list[Value] = []
    for part in text.split(","):
        if part.count(":") == 2:
            values += _range(part, place)
        else:
            values.append(_value(part.strip()))
        if len(values) > MOST_POINTS:
            raise SpecError(f"{place}: more than {MOST_POINTS} values")
    return values


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (whole, real):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _range(text: str, place: str) -> list[Value]:
    try:
        parts = [part.strip() for part in text.split(":")]
        if not all(REAL.fullmatch(part) for part in parts):
            raise InvalidOperation
        first, last, step = map(Decimal, parts)
        if not (first.is_finite() and last.is_finite() and step > 0 and last >= first):
            raise InvalidOperation
        count = (last - first) / step
    except DecimalException:
        raise SpecError(
            f"{place}: {show(text)} is not a range; write first:last:step, like 0.02:0.4:0.02"
        ) from None
    if count > MOST_POINTS:
        raise SpecError(f"{place}: {show(text)} has more than {MOST_POINTS} values")
    numbers = [first + index * step for index in range(int(count) + 1)]
    whole = all(number == number.to_integral_value() for number in (first, step))
    return [int(number) if whole else float(number) for number in numbers]
