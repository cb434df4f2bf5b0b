"""Lower bounds on the largest load of any table."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.limits import DIGITS

#: Linear programs with more options than this are not worth the wait: on failed tori minutes.
LARGEST_PROGRAM = 10_000
#: Prices of the linear program are rounded to multiples of 1 / this, and evaluated exactly.
PRICE_STEPS = 1 << 30


@dataclass(frozen=True, order=True)
class Bound:
    """A lower bound on the largest load of any table of legal shortest routes.

    Attributes
    ----------
    value : Fraction
        The bound, exactly.
    proof : str
        How it was proven: ``rings`` (closed form), ``dual`` (prices found by a search) or ``linear
        program`` (prices from its optimum); prices are evaluated in whole numbers either way.
    """

    value: Fraction
    proof: str

    @property
    def ceiling(self) -> int:
        """The least whole number that is not below the bound."""
        return math.ceil(self.value)


_FRACTION = re.compile(rf"[0-9]{{1,{DIGITS}}}(/[1-9][0-9]{{0,{DIGITS - 1}}})?")


def read_fraction(text: object) -> Fraction | None:
    """A fraction as a text like 26 or 51/2, None if it is something else.

    >>> read_fraction("51/2"), read_fraction("1e9"), read_fraction("1/0")
    (Fraction(51, 2), None, None)
    """
    return Fraction(text) if isinstance(text, str) and _FRACTION.fullmatch(text) else None


def linear_bound(
    system: _core.RoutingSystem, traffic: NDArray[np.uint64] | None, largest: int
) -> Bound | None:
    """The bound by linear programming: split every pair over its routes, lower the largest load.

    The rotations of healthy rings fold the program; the optimal prices are rounded and evaluated in
    whole numbers, so that rounding in the solver cannot make the bound too high.

    Parameters
    ----------
    system : _core.RoutingSystem
        The system.
    traffic : array, optional
        Weights of the pairs.
    largest : int
        Largest number of options for which the program is solved; None is returned above it.
    """
    program = {name: values.astype(np.int64) for name, values in system.program(traffic).items()}
    demands, options = len(program["weights"]), len(program["entries"]) - 1
    rows = len(program["sizes"])
    if options > largest or demands == 0:
        return None if demands else _evaluate(program, np.ones(rows, dtype=np.int64))
    demand_of = np.repeat(np.arange(demands), np.diff(program["options"]))
    weight_of = program["weights"][demand_of]
    # Columns: the share of every option, then the largest load; rows: one per link set, one per demand.
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = options + 1, rows + demands
    lp.col_cost_ = np.append(np.zeros(options), 1.0)
    lp.col_lower_ = np.zeros(options + 1)
    lp.col_upper_ = np.full(options + 1, highspy.kHighsInf)
    lp.row_lower_ = np.concatenate([np.full(rows, -highspy.kHighsInf), np.ones(demands)])
    lp.row_upper_ = np.concatenate([-program["fixed"].astype(float), np.ones(demands)])
    lengths = np.diff(program["entries"])
    option_of = np.repeat(np.arange(options), lengths)
    columns = np.concatenate([option_of, np.arange(options), np.full(rows, options)])
    indices = np.concatenate([program["rows"], rows + demand_of, np.arange(rows)])
    values = np.concatenate(
        [program["hops"] * weight_of[option_of], np.ones(options), -program["sizes"]]
    ).astype(float)
    order = np.lexsort((indices, columns))
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=options + 1))])
    lp.a_matrix_.index_, lp.a_matrix_.value_ = indices[order], values[order]
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.passModel(lp)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    duals = np.abs(np.array(solver.getSolution().row_dual[:rows]))
    top = duals.max(initial=0.0)
    if top <= 0:
        return None
    return _evaluate(program, np.rint(duals / top * PRICE_STEPS).astype(np.int64))


def _evaluate(program: dict[str, NDArray[np.int64]], prices: NDArray[np.int64]) -> Bound:
    """The bound that whole-number prices prove."""
    exact = [int(price) for price in prices]
    numerator = sum(price * int(load) for price, load in zip(exact, program["fixed"], strict=True))
    denominator = sum(price * int(size) for price, size in zip(exact, program["sizes"], strict=True))
    if len(program["weights"]):
        # Prices are below 2^31 and routes below 2^20 hops, so sums fit 64 bits.
        costs = np.add.reduceat(prices[program["rows"]] * program["hops"], program["entries"][:-1])
        least = np.minimum.reduceat(costs, program["options"][:-1])
        numerator += sum(
            int(cost) * int(weight) for cost, weight in zip(least, program["weights"], strict=True)
        )
    return Bound(Fraction(numerator, max(denominator, 1)), "linear program")
