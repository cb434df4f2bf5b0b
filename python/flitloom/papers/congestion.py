"""What the two papers on congestion share: networks, bursts and series, run on all cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import flitloom as fl
from flitloom.papers.report import Context
from flitloom.workers import as_finished

if TYPE_CHECKING:
    import xarray as xr

Made = TypeVar("Made")


@dataclass(frozen=True)
class Setting:
    """A square torus with the router of one of the papers.

    Attributes
    ----------
    preset : str
        ``t15`` or ``s07``.
    size : int
        Side N of the torus.
    routing : str
        ``do``, ``sa`` or ``cl``.
    throttle : str
        ``none`` or a throttle with its parameters.
    """

    preset: str
    size: int
    routing: str = "do"
    throttle: str = "none"

    def network(self) -> fl.Network:
        """The network."""
        router: dict[str, Any] = {"preset": self.preset}
        if self.routing != "do":
            router["routing"] = self.routing
        return fl.Network(fl.Torus(self.size, self.size), fl.Router(**router))

    def simulation(self, traffic: fl.Collective | fl.Load | fl.Packets, **how: Any) -> fl.Simulation:
        """A simulation of it; the use of links is not counted."""
        return fl.Simulation(
            self.network(), traffic, throttle=self.throttle, links=False, latencies=False, **how
        )


@dataclass(frozen=True)
class Run:
    """A load on a network, counted in windows.

    Attributes
    ----------
    setting : Setting
        The network.
    load : mapping
        Fields of `flitloom.Load`.
    cycles : int
        Cycles that are run.
    window : int
        Cycles of a window.
    seed : int
        Seed of everything random.
    """

    setting: Setting
    load: Mapping[str, Any] = field(hash=False)
    cycles: int
    window: int
    seed: int


def series(run: Run) -> xr.Dataset:
    """What happened in every window of a run."""
    load = fl.Load(**{"cycles": run.cycles, **run.load})
    simulation = run.setting.simulation(load, seed=run.seed, windows=run.window)
    simulation.run(until=run.cycles)
    return simulation.windows()


def burst(setting: Setting, pattern: str, packets: int, seed: int) -> int:
    """Duration of a collective of 8-flit packets, in cycles."""
    traffic = fl.Collective(pattern, payload=7, packets=packets)
    simulation = setting.simulation(traffic, seed=seed)
    simulation.run()
    return simulation.totals.duration


def burst_series(
    setting: Setting, pattern: str, packets: int, window: int, seed: int
) -> tuple[xr.Dataset, int]:
    """What happened in every window of a collective, and its duration."""
    traffic = fl.Collective(pattern, payload=7, packets=packets)
    simulation = setting.simulation(traffic, seed=seed, windows=window)
    simulation.run()
    return simulation.windows(), simulation.totals.duration


def on_all_cores(
    context: Context, text: str, work: Callable[..., Made], tasks: Sequence[tuple[Any, ...]]
) -> list[Made]:
    """Call a function of a module with every task, in processes; what came of each, in their order."""
    made = dict(as_finished(work, tasks, context.threads, context.step(text)))
    return [made[place] for place in range(len(tasks))]


#: What came of the runs of this process, for figures that show the same runs.
KNOWN: dict[tuple[Any, ...], Any] = {}


def once(key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
    """What `make` makes, once per key and process: figures of one paper share their runs."""
    if key not in KNOWN:
        KNOWN[key] = make()
    known: Made = KNOWN[key]
    return known
