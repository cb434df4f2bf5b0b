"""Matrices in files, told of on the screen while they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitloom.commands.screen import progress
from flitloom.errors import SpecError, show_file
from flitloom.ground.numerals import counted
from flitloom.spec.tables import weights


def read_matrix(file: Path, nodes: int) -> NDArray[np.int64]:
    """Read a CSV matrix of whole numbers, one row per source."""
    with progress(f"bytes of {show_file(file)}") as step:
        rows = weights(file, nodes, step)
    if len(rows) != nodes:
        raise SpecError(f"{show_file(file)}: {counted(len(rows), 'row')}; one per node ({nodes}) is needed")
    return np.stack(rows)
