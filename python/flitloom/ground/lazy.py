"""Packages that take long to import, or that only some answers need: each is imported when it is used first.

``from flitloom.ground.lazy import xr`` at the top of a module costs nothing, and functions import nothing.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tomllib
    from collections.abc import Callable
    from typing import Any

    import numpy as np
    import xarray as xr


class _Later(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


__all__ = ["names_of", "np", "tomllib", "xr"]

if not TYPE_CHECKING:
    np = _Later("numpy")
    tomllib = _Later("tomllib")
    xr = _Later("xarray")


def names_of(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``, which imports the module of a name when the name is used first.

    A module of the package then loads no other one of it but those that it uses.

    Parameters
    ----------
    package : str
        Its name.
    homes : dict
        The module of every name, without the package's; or, of a name from elsewhere, module and name there,
        as ``flitloom.scheduling.search:schedule``.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, there = homes[name].partition(":")
        return getattr(import_module(module if there else f"{package}.{module}"), there or name)

    return find
