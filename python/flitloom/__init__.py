"""Exact simulation, scheduling and routing on torus and mesh interconnection networks.

Examples
--------
>>> import flitloom as fl
>>> net = fl.Network(fl.Torus(16, 16))            # the papers' router is the default
>>> res = fl.simulate(net, fl.Collective("shfl", payload=14, slices=2, interval=76))
>>> res.links.sizes["direction"], res.packets_delivered
(4, 512)
"""

from __future__ import annotations

# The module typing takes as long as all else that is imported here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flitloom import booksim, collectives, load, papers, placing, plans, tables

    # Names of before, for one release.
    from flitloom.collectives.checking import check_collective as check_collective
    from flitloom.collectives.collective_plan import CollectivePlan
    from flitloom.collectives.reading import read_collective as read_collective
    from flitloom.collectives.search import collective as collective
    from flitloom.errors import CycleLimitError, DeadlockError, FlitloomError, SpecError, UnreachableError
    from flitloom.networks.experiment import Experiment, read_experiment
    from flitloom.networks.network import Network
    from flitloom.run.result import Result
    from flitloom.run.simulation import Simulation, lower_bound, run_experiment, simulate
    from flitloom.scheduling import JitterStudy, Operation, Plan
    from flitloom.scheduling import check_plan as check_plan
    from flitloom.scheduling import deadlock_certificate as deadlock_certificate
    from flitloom.scheduling import guarded_plans as guarded_plans
    from flitloom.scheduling import read_plan as read_plan
    from flitloom.scheduling import schedule as schedule
    from flitloom.scheduling import spread as spread
    from flitloom.scheduling import study_jitter as study_jitter
    from flitloom.scheduling.stacking import Stacking, stack
    from flitloom.spec import (
        Collective,
        Graph,
        Impulse,
        Load,
        Mesh,
        Messages,
        Packets,
        Product,
        Router,
        Topology,
        Torus,
        TrafficChange,
        TrafficClass,
        TrafficMatrix,
    )
    from flitloom.tables.by_source.checking import CheckReport
    from flitloom.tables.by_source.checking import check as check
    from flitloom.tables.by_source.making import route as route
    from flitloom.tables.by_source.rules import RouterRules
    from flitloom.tables.by_source.tables import Tables
    from flitloom.tables.formats.reading import read_tables as read_tables

    __version__: str

#: Modules that have verbs of their own: ``fl.load.curve``.
_MODULES = ("booksim", "collectives", "load", "papers", "placing", "plans", "tables")
#: Public names by the module that has them; a module is imported when one of its names is used first.
_HOMES = {
    "collectives.collective_plan": ("CollectivePlan",),
    "errors": (
        "CycleLimitError",
        "DeadlockError",
        "FlitloomError",
        "SpecError",
        "UnreachableError",
    ),
    "networks.experiment": ("Experiment", "read_experiment"),
    "networks.network": ("Network",),
    "plans.operation": ("Operation",),
    "plans.plan": ("Plan",),
    "run.result": ("Result",),
    "tables.by_source.checking": ("CheckReport",),
    "tables.by_source.rules": ("RouterRules",),
    "tables.by_source.tables": ("Tables",),
    "scheduling.jitter": ("JitterStudy",),
    "run.simulation": (
        "Simulation",
        "lower_bound",
        "run_experiment",
        "simulate",
    ),
    "spec": (
        "Collective",
        "Graph",
        "Impulse",
        "Load",
        "Mesh",
        "Messages",
        "Packets",
        "Product",
        "Router",
        "Topology",
        "Torus",
        "TrafficChange",
        "TrafficClass",
        "TrafficMatrix",
    ),
    "scheduling.stacking": (
        "Stacking",
        "stack",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
#: Names of before, which stay for one release with a warning that says the new one.
_MOVED = {
    "check": "tables.check",
    "check_collective": "collectives.check",
    "check_plan": "plans.check",
    "collective": "collectives.plan",
    "deadlock_certificate": "plans.deadlock_certificate",
    "guarded_plans": "plans.guarded",
    "read_collective": "collectives.read",
    "read_plan": "plans.read",
    "read_tables": "tables.read",
    "route": "tables.make",
    "schedule": "plans.search",
    "spread": "plans.spread",
    "study_jitter": "plans.study_jitter",
}


# Type checkers are told of names that are not there.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what a public name means."""
        from importlib import import_module

        if name == "__version__":
            from flitloom.ground.provenance import version

            value: Any = version()
        elif name in _MODULES:
            value = import_module(f"flitloom.{name}")
        elif name in _HOME:
            value = getattr(import_module(f"flitloom.{_HOME[name]}"), name)
        elif name in _MOVED:
            from flitloom.errors.renamed import moved

            # Not kept, so that every use is told.
            return moved(f"flitloom.{name}", f"flitloom.{_MOVED[name]}")
        else:
            raise AttributeError(f"module 'flitloom' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)


__all__ = [
    "CheckReport",
    "Collective",
    "CollectivePlan",
    "CycleLimitError",
    "DeadlockError",
    "Experiment",
    "FlitloomError",
    "Graph",
    "Impulse",
    "JitterStudy",
    "Load",
    "Mesh",
    "Messages",
    "Network",
    "Operation",
    "Packets",
    "Plan",
    "Product",
    "Result",
    "Router",
    "RouterRules",
    "Simulation",
    "SpecError",
    "Stacking",
    "Tables",
    "Topology",
    "Torus",
    "TrafficChange",
    "TrafficClass",
    "TrafficMatrix",
    "UnreachableError",
    "__version__",
    "booksim",
    "collectives",
    "load",
    "lower_bound",
    "papers",
    "placing",
    "plans",
    "read_experiment",
    "run_experiment",
    "simulate",
    "stack",
    "tables",
]
