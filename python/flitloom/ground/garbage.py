"""Many objects at once, without a search for cycles among them again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection of cycles within: of objects that are many and stay, each would look at all.

    Examples
    --------
    >>> import gc
    >>> from flitloom.ground.garbage import uncollected
    >>> with uncollected():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
