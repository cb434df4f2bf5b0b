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

    from flitloom import collectives, load, placing
    from flitloom.collectives import CollectivePlan, check_collective, collective, read_collective
    from flitloom.errors import CycleLimitError, DeadlockError, FlitloomError, SpecError, UnreachableError
    from flitloom.network import Network
    from flitloom.result import Result
    from flitloom.routing import CheckReport, RouterRules, Tables, check, read_tables, route
    from flitloom.scheduling import (
        JitterStudy,
        Operation,
        Plan,
        check_plan,
        deadlock_certificate,
        guarded_plans,
        read_plan,
        schedule,
        spread,
        study_jitter,
    )
    from flitloom.simulation import Simulation, lower_bound, run_experiment, simulate
    from flitloom.spec import (
        Collective,
        Experiment,
        Graph,
        Impulse,
        Load,
        Mesh,
        Packets,
        Product,
        Router,
        Topology,
        Torus,
        TrafficChange,
        TrafficClass,
        TrafficMatrix,
        read_experiment,
    )
    from flitloom.stacking import Stacking, stack

    __version__: str

#: Modules that have verbs of their own: ``fl.load.curve``.
_MODULES = ("collectives", "load", "placing")
#: Public names by the module that has them; a module is imported when one of its names is used first.
_HOMES = {
    "collectives": (
        "CollectivePlan",
        "check_collective",
        "collective",
        "read_collective",
    ),
    "errors": (
        "CycleLimitError",
        "DeadlockError",
        "FlitloomError",
        "SpecError",
        "UnreachableError",
    ),
    "network": ("Network",),
    "result": ("Result",),
    "routing": (
        "CheckReport",
        "RouterRules",
        "Tables",
        "check",
        "read_tables",
        "route",
    ),
    "scheduling": (
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
    ),
    "simulation": (
        "Simulation",
        "lower_bound",
        "run_experiment",
        "simulate",
    ),
    "spec": (
        "Collective",
        "Experiment",
        "Graph",
        "Impulse",
        "Load",
        "Mesh",
        "Packets",
        "Product",
        "Router",
        "Topology",
        "Torus",
        "TrafficChange",
        "TrafficClass",
        "TrafficMatrix",
        "read_experiment",
    ),
    "stacking": (
        "Stacking",
        "stack",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


# Type checkers are told of names that are not there.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what a public name stands for."""
        from importlib import import_module

        if name == "__version__":
            from flitloom.provenance import version

            value: Any = version()
        elif name in _MODULES:
            value = import_module(f"flitloom.{name}")
        elif name in _HOME:
            value = getattr(import_module(f"flitloom.{_HOME[name]}"), name)
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
    "check",
    "check_collective",
    "check_plan",
    "collective",
    "collectives",
    "deadlock_certificate",
    "guarded_plans",
    "load",
    "lower_bound",
    "placing",
    "read_collective",
    "read_experiment",
    "read_plan",
    "read_tables",
    "route",
    "run_experiment",
    "schedule",
    "simulate",
    "spread",
    "stack",
    "study_jitter",
]
