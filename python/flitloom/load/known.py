"""Saturations that were measured by another program, compared with those that are found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from flitloom.load.cases import make_cases
from flitloom.load.searching import run_saturation

#: Half widths within which a saturation is the known one.
WIDTHS = 3
#: Precision of the saturations.
_WITHIN = 0.01

_CUT_THROUGH = {"router": {"flow_control": "cut-through"}}
_PIPELINED = {"router": {"model": "pipelined"}, "traffic": {"length": 5}}


def _hot(share: float) -> dict[str, Any]:
    return {"traffic": {"hotspot_fraction": share, "hotspot_target": 36}}


def _on(pattern: str, kind: str = "torus", sizes: str = "8x8", **others: str) -> dict[str, list[str]]:
    return {name: [value] for name, value in {kind: sizes, "pattern": pattern, **others}.items()}


#: Limits of settings with their half intervals, from five runs of 400,000 cycles within 3 % of each limit by
#: an independent program: packets of 8 flits, queues of 4 and the papers' router, unless the setting says
#: otherwise. Two are bounds: 1/4 and 1/7.
KNOWN: tuple[tuple[float, float, dict[str, Any], dict[str, list[str]]], ...] = (
    (0.4043, 0.0016, {}, _on("rand")),
    (0.2587, 0.0016, {}, _on("rand", "mesh")),
    (0.526, 0.002, {}, _on("rand", buffer="16")),
    (0.5817, 0.0017, {}, _on("rand", sizes="4x4x4")),
    (0.25, 0.0, {}, _on("torn")),
    (0.2411, 0.0007, _hot(0.05), _on("hots")),
    (0.4043, 0.002, _hot(0.01), _on("hots")),
    (0.6543, 0.002, _CUT_THROUGH, _on("rand", routing="ma", buffer="16")),
    (0.2505, 0.004, _CUT_THROUGH, _on("torn", routing="sa", buffer="16")),
    (0.53, 0.004, _PIPELINED, _on("rand")),
    (1 / 7, 0.0, {}, _on("trns", "mesh", buffer="16")),
    (0.4925, 0.005, {}, _on("bcmp")),
    (0.541, 0.003, {"traffic": {"length": 1}}, _on("rand")),
    (0.2218, 0.0011, {}, _on("rand", sizes="16x16")),
    (0.1415, 0.0005, {}, _on("rand", sizes="16x32")),
)


@dataclass(frozen=True)
class Compared:
    """A known limit beside what was found.

    Attributes
    ----------
    name : str
        The setting.
    limit, limit_error : float
        The known limit and its half interval, in flits per node and cycle.
    saturation, half_width : float or None
        What was found.
    outcome : str
        That of the search.
    points : int
        Runs of it.
    agrees : bool
        Whether both are within three half widths.
    """

    name: str
    limit: float
    limit_error: float
    saturation: float | None
    half_width: float | None
    outcome: str
    points: int
    agrees: bool

    def fields(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)


def compare_known(place: int, progress: Callable[[int, int], None] | None = None) -> Compared:
    """Find the saturation of a known setting by its place in `KNOWN`.

    Examples
    --------
    >>> found = compare_known(10)
    >>> found.name, found.outcome, found.agrees
    ('8x8 mesh, trns, buffer 16', 'proven', True)
    """
    limit, error, fields, labels = KNOWN[place]
    [case] = make_cases(fields, labels)
    [row], _ = run_saturation([case], within=_WITHIN, measure=2000, workers=1, progress=progress)
    found, width = row["saturation"], row["half_width"]
    agrees = found is not None and abs(found - limit) <= WIDTHS * math.hypot(width or 0.0, error)
    extra = [f"{name} {value}" for part in fields.values() for name, value in part.items()]
    name = ", ".join([case.name, *extra])
    return Compared(name, limit, error, found, width, row["outcome"], row["points"], agrees)
