"""Who must wait before injecting."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.spec.base import problem, text


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
        raise problem(str(error).removeprefix("throttle: ")) from None


Throttle = Annotated[str, BeforeValidator(read_throttle)]
