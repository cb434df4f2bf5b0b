"""Linear programs, solved by HiGHS in a separate process.

OR-Tools brings a libhighs of the same name but another version than highspy, and one process can load only
one of them; so highspy is only ever imported in a worker.
"""

from __future__ import annotations

import atexit
import os
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom.errors import SpecError
from flitloom.ground.workers import Workers

#: Algorithms of HiGHS that may be asked for.
METHODS = ("choose", "simplex", "ipm")
_guard = threading.Lock()
#: The worker that solves, once one was needed.
_solver: Workers | None = None


@dataclass(frozen=True)
class Optimum:
    """The optimum of a linear program.

    Attributes
    ----------
    value : float
        Least value of the objective.
    variables : array of float
        Where it is taken, one number per variable.
    duals : array of float
        Per row, by how much the least value changes for each unit by which the row's active bound rises: at
        least 0 where a lower bound holds, at most 0 where an upper bound does.
    """

    value: float
    variables: NDArray[np.float64]
    duals: NDArray[np.float64]


def solve(
    cost: ArrayLike,
    entries: tuple[ArrayLike, ArrayLike, ArrayLike],
    lower: ArrayLike,
    upper: ArrayLike,
    method: str = "choose",
) -> Optimum | None:
    """Minimise ``cost @ x`` over all ``x >= 0`` with ``lower <= A @ x <= upper``.

    Parameters
    ----------
    cost : array of float
        One number per variable.
    entries : tuple of three arrays
        The numbers of the matrix that are not 0: their rows, their columns, the numbers themselves; those
        at the same place add up.
    lower, upper : array of float
        Bounds of the rows; ``-numpy.inf`` and ``numpy.inf`` mean none, two equal ones for an equation.
    method : str
        The algorithm: ``choose`` leaves it to HiGHS, ``simplex``, or ``ipm`` (interior points with
        crossover to a vertex). One thread, so that the same program has the same answer.

    Returns
    -------
    Optimum or None
        None if there is no optimum, or HiGHS gives up.

    Raises
    ------
    SpecError
        The arrays do not fit each other.

    Examples
    --------
    Least x + 2 y with x + y >= 3 and x <= 2:

    >>> from math import inf
    >>> found = solve([1, 2], ([0, 0, 1], [0, 1, 0], [1, 1, 1]), [3, -inf], [inf, 2])
    >>> found.value, found.variables.tolist(), found.duals.tolist()
    (4.0, [2.0, 1.0], [2.0, -1.0])
    """
    global _solver
    program = _program(cost, entries, lower, upper, method)
    with _guard:
        solver = _solver = _solver or Workers(1)
    try:
        found: Optimum | None = solver.submit(_solve, *program).result()
    except BaseException:
        # The solver does not see Ctrl-C: without this it would go on with what nobody waits for.
        _forget()
        solver.stop()
        raise
    return found


def _program(
    cost: ArrayLike,
    entries: tuple[ArrayLike, ArrayLike, ArrayLike],
    lower: ArrayLike,
    upper: ArrayLike,
    method: str,
) -> tuple[Any, ...]:
    """The arrays as HiGHS takes them, the matrix by columns."""
    if method not in METHODS:
        raise SpecError.at("method", f"is one of {', '.join(METHODS)}, not {method!r}")
    costs, least, most = (np.asarray(each, dtype=np.float64) for each in (cost, lower, upper))
    rows, columns = (np.asarray(each, dtype=np.int64) for each in entries[:2])
    numbers = np.asarray(entries[2], dtype=np.float64)
    if len(least) != len(most):
        raise SpecError(f"lower, upper: {len(least)} and {len(most)} bounds; one of each per row is needed")
    if not len(rows) == len(columns) == len(numbers):
        raise SpecError.at("entries", "as many rows as columns and numbers are needed")
    for name, places, count in (("rows", rows, len(least)), ("columns", columns, len(costs))):
        if len(places) and not (places.min() >= 0 and places.max() < count):
            raise SpecError.at("entries", f"{name} are 0 to {count - 1}")
    places, inverse = np.unique(columns * max(len(least), 1) + rows, return_inverse=True)
    sums = np.bincount(inverse, weights=numbers, minlength=len(places))
    columns, rows = np.divmod(places, max(len(least), 1))
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=len(costs)))])
    return costs, starts.astype(np.int32), rows.astype(np.int32), sums, least, most, method


def _solve(
    cost: NDArray[np.float64],
    starts: NDArray[np.int32],
    rows: NDArray[np.int32],
    numbers: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    method: str,
) -> Optimum | None:
    """Solve a program; only ever called in a worker."""
    import highspy

    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(cost), len(lower)
    program.col_cost_ = cost
    program.col_lower_ = np.zeros(len(cost))
    program.col_upper_ = np.full(len(cost), highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = lower, upper
    matrix: Any = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_, matrix.index_, matrix.value_ = starts, rows, numbers
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1), ("solver", method)):
        solver.setOptionValue(name, value)
    solver.passModel(program)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = solver.getSolution()
    return Optimum(
        float(solver.getInfo().objective_function_value),
        np.array(solution.col_value, dtype=np.float64),
        np.array(solution.row_dual, dtype=np.float64),
    )


def _forget() -> None:
    global _solver
    _solver = None


@atexit.register
def _end() -> None:
    if _solver is not None:
        _solver.shutdown()


if hasattr(os, "register_at_fork"):
    # A forked process must not talk to its parent's solver.
    os.register_at_fork(after_in_child=_forget)
