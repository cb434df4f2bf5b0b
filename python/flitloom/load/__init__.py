"""Where a network saturates, and how it behaves before and beyond: loads and what comes of them.

Examples
--------
>>> import flitloom as fl
>>> from flitloom.load import run_steady
>>> load = fl.Load("rand", rate=0.1, cycles=10_000)
>>> point = run_steady(fl.Experiment(topology=fl.Torus(8, 8), traffic=load), measure=2000)
>>> point.saturated, abs(point.row["accepted"] - 0.1) < 0.01
(False, True)
"""

from flitloom.load.bounds import bound_text, ideal_loads, router_text
from flitloom.load.burst import run_bursts
from flitloom.load.cases import Case, make_cases, room_needed
from flitloom.load.curve import curve_rows, run_curve, saturation
from flitloom.load.responses import (
    Response,
    ramp_end,
    ramp_profile,
    run_impulse,
    run_ramp,
    run_responses,
    run_step,
)
from flitloom.load.search import compared, run_saturation
from flitloom.load.steady import Steady, run_steady

__all__ = [
    "Case",
    "Response",
    "Steady",
    "bound_text",
    "compared",
    "curve_rows",
    "ideal_loads",
    "make_cases",
    "ramp_end",
    "ramp_profile",
    "room_needed",
    "router_text",
    "run_bursts",
    "run_curve",
    "run_impulse",
    "run_ramp",
    "run_responses",
    "run_saturation",
    "run_steady",
    "run_step",
    "saturation",
]
