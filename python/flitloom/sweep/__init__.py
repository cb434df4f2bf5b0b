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

from flitloom.sweep.points import Point, Sweep, read_values
from flitloom.sweep.running import ROWS, run_sweep, sweep_causes, sweep_rows

__all__ = ["ROWS", "Point", "Sweep", "read_values", "run_sweep", "sweep_causes", "sweep_rows"]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
