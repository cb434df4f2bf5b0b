"""What verbs do: a module each, which imports what it needs at its top and is imported when it is used.

Help and completion need the modules of the verbs only, which say what a verb takes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def perform(action: str, *asked: Any) -> None:
    """Do what a module of this package does with what the command line says.

    Parameters
    ----------
    action : str
        Name of the module, which has a function ``run``; of another function ``MODULE:FUNCTION``.
    *asked : object
        What the function takes: groups of options.
    """
    module, _, function = action.partition(":")
    getattr(import_module(f"{__name__}.{module}"), function or "run")(*asked)
