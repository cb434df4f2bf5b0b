"""Balanced, deadlock-free routing tables, with a bound and a certificate.

Examples
--------
>>> import flitloom as fl
>>> tables = fl.tables.make(fl.Torus(4, 2, 2, 2), failed_nodes=[3])
>>> report = fl.tables.check(tables)
>>> report.passed, report.deadlock
(True, False)
"""

from flitloom.routing.checking import CheckReport, check
from flitloom.routing.files import read_tables
from flitloom.routing.generate import METHODS, TURNS, route
from flitloom.routing.rules import RouterRules
from flitloom.routing.tables import Tables

__all__ = ["METHODS", "TURNS", "CheckReport", "RouterRules", "Tables", "check", "read_tables", "route"]
