"""Injection throttle."""

from __future__ import annotations

from typing import Annotated, Any

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.spec.base import Checked, problem, text


def read_throttle(value: Any, _: Any = None) -> str:
    """Check a throttle, and write it with its parameters.

    Examples
    --------
    >>> read_throttle("spth:8")
    'spth:margin=8,watch=any,link=dedicated'
    """
    try:
        return _core.throttle_text(text(value))
    except SpecError as error:
        raise problem(error.problem, error.advice) from None


#: Begins with the name of a throttle; parameters may follow.
_NAMES = "|".join(name for name, _, _ in _core.throttles())
_SCHEMA = {"type": "string", "pattern": f"^({_NAMES})\\b"}
Throttle = Annotated[str, Checked(read_throttle, _SCHEMA)]
