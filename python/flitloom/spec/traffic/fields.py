"""Fields that several kinds of traffic have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from numpy.typing import ArrayLike

from flitloom._core import LIMITS
from flitloom.ground.limits import MATRIX_ROWS
from flitloom.spec.base import in_file, listed, whole, whole_number

Length = Annotated[int, whole(1, LIMITS["length"], "flits")]
Cycle = Annotated[int, whole(0, LIMITS["start"], "cycles")]
#: The check of a cycle as a function.
cycle_number = whole_number(0, LIMITS["start"], "cycles")
#: What columns of whole numbers may be given as: the numbers, or a CSV file.
Column = ArrayLike | str | Path

#: JSON schemas of a cycle, and of a matrix of packets.
CYCLE = {"type": "integer", "minimum": 0, "maximum": LIMITS["start"]}
_COUNT = {"type": "integer", "minimum": 0, "maximum": LIMITS["packets"]}
MATRIX = in_file(listed(listed(_COUNT, MATRIX_ROWS), MATRIX_ROWS, 1))
