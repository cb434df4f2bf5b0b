"""Packages that only some answers need: extras of the installation, and what to say when one is missing."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from flitloom.errors import MissingExtraError
from flitloom.ground.outputs import check_output

#: Endings of pictures.
PICTURES = (".png", ".pdf", ".svg")

#: Extras of ``pip install "flitloom[EXTRA]"`` and the modules they bring.
EXTRAS = {
    "plots": ("matplotlib",),
    "plan": ("ortools",),
    "parquet": ("pyarrow",),
    "graphs": ("networkx", "yaml"),
    "notebook": ("anywidget",),
    "mpi": ("mpi4py",),
}


def need(extra: str, what: str) -> None:
    """Refuse to continue, before any work is done, if the packages of an extra are not installed.

    Parameters
    ----------
    extra : str
        Name of the extra, as in ``flitloom[plots]``.
    what : str
        What needs it, as the message says.

    Raises
    ------
    MissingExtraError
        A module of the extra is not installed.

    Examples
    --------
    >>> from flitloom.ground.extras import need
    >>> need("graphs", "to_networkx")
    """
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f'{what} needs {", ".join(missing)}, which is not installed; pip install "flitloom[{extra}]"'
        )


def check_picture(file: str | Path, place: str) -> Path:
    """Refuse a picture that cannot be drawn or written, before any work is done for it."""
    file = check_output(file, PICTURES, place)
    need("plots", place)
    return file
