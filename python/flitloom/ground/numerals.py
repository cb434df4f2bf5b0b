"""Numbers as users write them in options and variables: one rule for all."""

from __future__ import annotations

import math
import re

WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
REAL = re.compile(r"[+-]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][+-]?[0-9]{1,9})?")


def counted(number: int, noun: str) -> str:
    """A number of things, the noun given as for one.

    >>> counted(1, "service level"), counted(2, "switch"), counted(0, "entry")
    ('1 service level', '2 switches', '0 entries')
    """
    if number == 1:
        return f"{number} {noun}"
    if noun.endswith("y"):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def whole(text: str) -> int:
    """A whole number in decimal digits; Python alone would take blanks, underscores and digits of any script.

    Raises
    ------
    ValueError
        The text is none.

    Examples
    --------
    >>> from flitloom.ground.numerals import whole
    >>> whole("-12")
    -12
    >>> whole("1_000")
    Traceback (most recent call last):
    ...
    ValueError: '1_000' is not a whole number like 12
    """
    if not WHOLE.fullmatch(text):
        raise ValueError(f"{text[:60]!r} is not a whole number like 12")
    return int(text)


def real(text: str) -> float:
    """A number in decimal digits, with a point or an exponent; neither ``nan`` nor ``inf``.

    Raises
    ------
    ValueError
        The text is none.

    Examples
    --------
    >>> from flitloom.ground.numerals import real
    >>> real("0.25"), real("1e3")
    (0.25, 1000.0)
    >>> real("nan")
    Traceback (most recent call last):
    ...
    ValueError: 'nan' is not a number like 0.5
    """
    if not REAL.fullmatch(text):
        raise ValueError(f"{text[:60]!r} is not a number like 0.5")
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:60]!r} is too large")
    return number
