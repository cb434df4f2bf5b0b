"""What a measurement comes to: a number with its unit, or the name of what stood in the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flitloom.ground.fixed import explained

#: The outcome of a measurement that has a value.
MEASURED = "measured"


@explained
@dataclass(frozen=True)
class Measurement:
    """A number that was measured, or a named outcome with advice in its place.

    Attributes
    ----------
    outcome : str
        ``measured``, or the name of what there is instead of a number: ``not reached``, ``not settled``, ...
    value : float or None
        The number; None unless it was measured.
    unit : str
        Its unit: ``cycles``, ``flits/node/cycle``, ``windows``.
    advice : str
        What to do about it, where there is no number.

    Examples
    --------
    >>> Measurement.of(0.111, "flits/node/cycle")
    Measurement(outcome='measured', value=0.111, unit='flits/node/cycle', advice='')
    >>> str(Measurement.none("not settled", "cycles", "run longer"))
    'not settled: run longer'
    >>> str(Measurement.of(0.111, "flits/node/cycle"))
    '0.111 flits/node/cycle'
    """

    outcome: str
    value: float | None
    unit: str
    advice: str = ""

    @classmethod
    def of(cls, value: float, unit: str) -> Measurement:
        """A number that was measured."""
        return cls(MEASURED, float(value), unit)

    @classmethod
    def none(cls, outcome: str, unit: str, advice: str) -> Measurement:
        """A named outcome in place of a number."""
        return cls(outcome, None, unit, advice)

    @property
    def measured(self) -> bool:
        """Whether there is a number."""
        return self.value is not None

    def as_dict(self) -> dict[str, Any]:
        """The measurement by name; advice only where there is any."""
        fields: dict[str, Any] = {"outcome": self.outcome, "value": self.value, "unit": self.unit}
        return {**fields, "advice": self.advice} if self.advice else fields

    def __str__(self) -> str:
        return f"{self.outcome}: {self.advice}" if self.value is None else f"{self.value:.4g} {self.unit}"
