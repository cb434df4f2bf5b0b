"""When to send: schedules in which no packet ever waits, and how good they could be."""

from flitloom.plans.operation import Operation
from flitloom.plans.plan import Plan, read_plan
from flitloom.scheduling.checking import check_plan, deadlock_certificate
from flitloom.scheduling.guards import Candidate, guarded_plans, spread
from flitloom.scheduling.jitter import JitterStudy, study_jitter
from flitloom.scheduling.search import METHODS, ROUTES, schedule

__all__ = [
    "METHODS",
    "ROUTES",
    "Candidate",
    "JitterStudy",
    "Operation",
    "Plan",
    "check_plan",
    "deadlock_certificate",
    "guarded_plans",
    "read_plan",
    "schedule",
    "spread",
    "study_jitter",
]
