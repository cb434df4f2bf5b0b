"""Where a network saturates, and how it behaves before and beyond: loads and what comes of them.

Examples
--------
>>> import flitloom as fl
>>> network = fl.Network(fl.Torus(8, 8))
>>> curve = fl.load.curve(network, "rand", [0.1, 0.2], measure=2000)
>>> curve.saturated.values.tolist(), abs(float(curve.accepted[0]) - 0.1) < 0.01
([False, False], True)
"""

from __future__ import annotations

from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.load.bounds import bound_text, ideal_loads, router_text
    from flitloom.load.bursts import run_bursts
    from flitloom.load.cases import Case, machine_router, make_cases, room_needed, told
    from flitloom.load.comparison import compared
    from flitloom.load.curves import curve_rows, run_curve
    from flitloom.load.responses import (
        Response,
        ramp_end,
        ramp_profile,
        run_impulse,
        run_ramp,
        run_responses,
        run_step,
    )
    from flitloom.load.searching import run_saturation
    from flitloom.load.steady import Steady, run_steady
    from flitloom.load.studies import burst, curve, ramp, saturation, step
    from flitloom.load.verdicts import verdict

#: Where each name is. Curves of files of BookSim2 need few of them, so nothing is imported here.
_HOMES = {
    "Case": "cases",
    "Response": "responses",
    "Steady": "steady",
    "bound": "studies",
    "bound_text": "bounds",
    "burst": "studies",
    "compared": "comparison",
    "curve": "studies",
    "curve_rows": "curves",
    "ideal_loads": "bounds",
    "machine_router": "cases",
    "make_cases": "cases",
    "ramp": "studies",
    "ramp_end": "responses",
    "ramp_profile": "responses",
    "room_needed": "cases",
    "router_text": "bounds",
    "run_bursts": "bursts",
    "run_curve": "curves",
    "run_impulse": "responses",
    "run_ramp": "responses",
    "run_responses": "responses",
    "run_saturation": "searching",
    "run_steady": "steady",
    "run_step": "responses",
    "saturation": "studies",
    "step": "studies",
    "told": "cases",
    "verdict": "verdicts",
}

if not TYPE_CHECKING:
    __getattr__ = names_of("flitloom.load", _HOMES)

__all__ = [
    "Case",
    "Response",
    "Steady",
    "bound",
    "bound_text",
    "burst",
    "compared",
    "curve",
    "curve_rows",
    "ideal_loads",
    "machine_router",
    "make_cases",
    "ramp",
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
    "step",
    "told",
    "verdict",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
