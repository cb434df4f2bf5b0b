"""Lower bounds on the largest load of any table."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.ground.limits import DIGITS
from flitloom.ground.linear import solve

#: Linear programs with more options than this are not worth the wait: on failed tori minutes.
LARGEST_PROGRAM = 10_000
#: Prices of the linear program are rounded to multiples of 1 / this, and evaluated exactly.
PRICE_STEPS = 1 << 30


@dataclass(frozen=True, order=True)
class Bound:
    """A lower bound on the largest load of any table of legal minimal routes.

    Attributes
    ----------
    value : Fraction
        The bound, exactly.
    proof : str
        How it was proven: ``rings`` (closed form), ``dual`` (prices found by a search) or ``linear
        program`` (prices from its optimum); prices are evaluated in whole numbers either way.
    prices : array of int, optional
        Those of all links, by ``node * directions + direction``: every pair on its cheapest route pays as
        much as the bound times their sum.
    """

    value: Fraction
    proof: str
    prices: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)

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
    cost = np.append(np.zeros(options), 1.0)
    option_of = np.repeat(np.arange(options), np.diff(program["entries"]))
    hops = program["hops"] * weight_of[option_of]
    entries = (
        np.concatenate([program["rows"], np.arange(rows), rows + demand_of]),
        np.concatenate([option_of, np.full(rows, options), np.arange(options)]),
        np.concatenate([hops, -program["sizes"], np.ones(options)]),
    )
    lower = np.concatenate([np.full(rows, -np.inf), np.ones(demands)])
    upper = np.concatenate([-program["fixed"].astype(float), np.ones(demands)])
    solved = solve(cost, entries, lower, upper)
    if solved is None:
        return None
    duals = np.abs(solved.duals[:rows])
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
    links = np.append(prices, 0)[np.minimum(program["row_of"], len(prices))]
    return Bound(Fraction(numerator, max(denominator, 1)), "linear program", links)
