"""When to send: schedules in which no packet ever waits, and how good they could be."""

from flitloom.scheduling.jitter import JitterStudy, study_jitter
from flitloom.scheduling.plan import Plan, check_plan, read_plan
from flitloom.scheduling.search import METHODS, ROUTES, Operation, schedule

__all__ = [
    "METHODS",
    "ROUTES",
    "JitterStudy",
    "Operation",
    "Plan",
    "check_plan",
    "read_plan",
    "schedule",
    "study_jitter",
]
