"""When to send: plans in which no packet ever waits, how good they could be, and what delays do to them.

Examples
--------
>>> import flitloom as fl
>>> network = fl.Network(fl.Torus(16, 16))
>>> plan = fl.plans.search(network, fl.Collective("trns", payload=14, slices=2))
>>> plan.duration, plan.optimal, fl.plans.check(plan)["passed"]
(132, True, True)
"""

from __future__ import annotations

from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.plans.operation import Operation
    from flitloom.plans.plan import Plan
    from flitloom.plans.plan import read_plan as read
    from flitloom.scheduling.checking import check_plan as check
    from flitloom.scheduling.checking import deadlock_certificate
    from flitloom.scheduling.films import plan_films as films
    from flitloom.scheduling.guards import guarded_plans as guarded
    from flitloom.scheduling.guards import spread
    from flitloom.scheduling.jitter import JitterStudy, study_jitter
    from flitloom.scheduling.search import schedule as search

#: Where each name is. Values of plans are used by what searches for them, so nothing is imported here.
_HOMES = {
    "JitterStudy": "flitloom.scheduling.jitter:JitterStudy",
    "Operation": "flitloom.plans.operation:Operation",
    "Plan": "flitloom.plans.plan:Plan",
    "check": "flitloom.scheduling.checking:check_plan",
    "deadlock_certificate": "flitloom.scheduling.checking:deadlock_certificate",
    "films": "flitloom.scheduling.films:plan_films",
    "guarded": "flitloom.scheduling.guards:guarded_plans",
    "read": "flitloom.plans.plan:read_plan",
    "search": "flitloom.scheduling.search:schedule",
    "spread": "flitloom.scheduling.guards:spread",
    "study_jitter": "flitloom.scheduling.jitter:study_jitter",
}

if not TYPE_CHECKING:
    __getattr__ = names_of("flitloom.plans", _HOMES)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)


__all__ = [
    "JitterStudy",
    "Operation",
    "Plan",
    "check",
    "deadlock_certificate",
    "films",
    "guarded",
    "read",
    "search",
    "spread",
    "study_jitter",
]
