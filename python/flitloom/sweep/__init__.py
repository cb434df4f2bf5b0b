"""Sweeps: one experiment over a grid of any of its fields, with several seeds, stopped and resumed at will.

Examples
--------
>>> from flitloom.sweep import Sweep, read_values
>>> fields = {"topology": {"sizes": "8x8"},
...           "traffic": {"kind": "load", "pattern": "rand", "length": 4, "cycles": 300}}
>>> sweep = Sweep(fields, {"traffic.rate": read_values("0.1:0.3:0.1"), "router.buffer": [4, 8]}, seeds=2)
>>> len(sweep.points())
12
"""

from __future__ import annotations

from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.sweep.points import Point, Sweep
    from flitloom.sweep.running import ROWS, run_sweep, sweep_causes, sweep_rows
    from flitloom.sweep.values import read_values

#: Where each name is. Reading values needs no simulation, so nothing is imported here.
_HOMES = {
    "ROWS": "running",
    "Point": "points",
    "Sweep": "points",
    "read_values": "values",
    "run_sweep": "running",
    "sweep_causes": "running",
    "sweep_rows": "running",
}

if not TYPE_CHECKING:
    __getattr__ = names_of("flitloom.sweep", _HOMES)

__all__ = ["ROWS", "Point", "Sweep", "read_values", "run_sweep", "sweep_causes", "sweep_rows"]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
