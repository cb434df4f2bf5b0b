"""Names that stay for one release beside their new ones."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any


def moved(old: str, new: str) -> Any:
    """What an old name means, with a warning that says the new one.

    The new name is looked up when it is asked for, so that a value knows nothing of what is made of it.

    Parameters
    ----------
    old : str
        The name that was used.
    new : str
        Module and name, as ``flitloom.collectives.msccl.msccl_text``.
    """
    module, _, name = new.rpartition(".")
    warnings.warn(f"{old} is now {new}; the old name goes with the next release", FutureWarning, stacklevel=3)
    return getattr(import_module(module), name)
