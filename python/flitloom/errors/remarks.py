"""What is remarked while something is read, for any listener: the command line prints each remark once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Who listens, and in which process: workers are copies of one that has a listener.
_listeners: list[tuple[int, Callable[[str], None]]] = []


def tell(remark: str) -> None:
    """Let the listeners of this process know a remark.

    >>> with heard(print):
    ...     tell("3 hosts without a cable left out")
    3 hosts without a cable left out
    """
    for process, listener in _listeners:
        if process == os.getpid():
            listener(remark)


@contextmanager
def heard(listener: Callable[[str], None]) -> Iterator[None]:
    """Let a function have the remarks of what is read meanwhile."""
    _listeners.append((os.getpid(), listener))
    try:
        yield
    finally:
        _listeners.pop()
