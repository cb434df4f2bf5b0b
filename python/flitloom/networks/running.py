"""Runs on the routers of a network, of one cycle or pipelined."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from flitloom import _core
from flitloom.errors import CycleLimitError, DeadlockError
from flitloom.networks import pipelined
from flitloom.networks.experiment import Experiment
from flitloom.networks.network import Network


def begin(
    network: Network,
    workload: _core.Workload,
    spec: Experiment,
    records: Mapping[str, Any],
    **beside: Any,
) -> _core.Simulation:
    """A run at its beginning, and what is recorded; `beside` are tables, threads, ranks and a state."""
    if pipelined.is_pipelined(network):
        return pipelined.begin(network, workload, spec.seed, records, {"throttle": spec.throttle, **beside})
    settings = {"threads": 1, **records, **beside}
    return _core.Simulation(network.one_cycle("these runs are of"), workload, spec, settings)


def duration(routers: _core.Routers, workload: _core.Workload) -> int:
    """Cycles that a workload takes on routers of one cycle until all is delivered."""
    plain = SimpleNamespace(stop_at=None, seed=1, throttle="none")
    simulation = _core.Simulation(routers, workload, plain, {"threads": 1})
    simulation.run(None, None, None)
    return int(simulation.totals(None, False)["duration"])


def filmed(
    network: Network, workload: _core.Workload, spec: Experiment, cycle_limit: int | None
) -> dict[str, Any]:
    """All that moves in a run as columns, and either its totals, its deadlock, or the limit that it met."""
    simulation = begin(network, workload, spec, {"film": True})
    ended: dict[str, Any] = {}
    try:
        simulation.run(spec.stop_at, cycle_limit, None)
        ended["totals"] = simulation.totals(spec.stop_at, False)
    except DeadlockError as error:
        ended["deadlock"] = {
            "cycle": error.cycle,
            "channels": error.channels,
            "stuck_flits": error.stuck_flits,
            "text": str(error),
        }
    except CycleLimitError as error:
        ended["limit"] = error.cycles
    return {**(simulation.film() or {}), **ended}
