"""Exact simulation, scheduling and routing on torus and mesh interconnection networks."""

from flitloom._core import build as _build
from flitloom.errors import FlitloomError, SpecError

__version__: str = _build()[0]

__all__ = ["FlitloomError", "SpecError", "__version__"]
