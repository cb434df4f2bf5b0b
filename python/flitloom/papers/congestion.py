"""What the two papers on congestion share: networks, bursts and series, run on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import flitloom as fl
from flitloom.ground import outputs, provenance
from flitloom.ground.lazy import xr
from flitloom.jobs import Job, as_finished, begun_or_resumed
from flitloom.papers.report import Context

Made = TypeVar("Made")
#: What both papers look for: the load from which on less than 95 % of what is generated is received. Single
#: sources and receivers may fall behind below it.
CRITICAL_LOAD = "critical load (95 % level)"


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


#: Folder in which runs are kept.
_KEPT: ContextVar[Path | None] = ContextVar("kept", default=None)


@contextmanager
def kept_in(folder: Path | None) -> Iterator[None]:
    """Keep the runs of `series` in a folder: finished ones as they are, others as checkpoints."""
    token = _KEPT.set(folder)
    try:
        yield
    finally:
        _KEPT.reset(token)


def series(run: Run) -> xr.Dataset:
    """What happened in every window of a run; one that is kept continues where it was, or is read."""
    finished = checkpoint = None
    if (folder := _KEPT.get()) is not None:
        made_by = (provenance.version(), provenance.commit())
        about = (run.setting, sorted(run.load.items()), run.cycles, run.window, run.seed, made_by)
        name = Job("series", {"run": repr(about)}).id[:16]
        finished, checkpoint = folder / f"{name}.nc", folder / f"{name}.flit"
        if finished.exists():
            with xr.open_dataset(finished, engine="h5netcdf") as counted:
                return counted.load()
    load = fl.Load(**{"cycles": run.cycles, **run.load})
    simulation = begun_or_resumed(
        lambda: run.setting.simulation(load, seed=run.seed, windows=run.window), checkpoint, checked=False
    )
    simulation.run(until=run.cycles, checkpoint=checkpoint)
    counted = simulation.windows()
    if finished is not None and checkpoint is not None:
        outputs.write_netcdf(finished, {"/": counted})
        checkpoint.unlink(missing_ok=True)
    return counted


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
    """Call a function of a module with every task, in processes; what came of each, in their order.

    With ``--full`` the runs are kept beside the pictures, so that the same command continues where it was.
    """
    folder = context.lasts
    if folder is not None:
        outputs.make_folder(folder)
    calls = [(folder, work, task) for task in tasks]
    made = dict(as_finished(_keeping, calls, context.threads, context.step(text)))
    return [made[place] for place in range(len(tasks))]


def _keeping(folder: Path | None, work: Callable[..., Made], task: tuple[Any, ...]) -> Made:
    with kept_in(folder):
        return work(*task)


#: What came of the runs of this process, for figures that show the same runs.
KNOWN: dict[tuple[Any, ...], Any] = {}


def once(key: tuple[Any, ...], make: Callable[[], Made]) -> Made:
    """What `make` makes, once per key and process: figures of one paper share their runs."""
    if key not in KNOWN:
        KNOWN[key] = make()
    known: Made = KNOWN[key]
    return known
