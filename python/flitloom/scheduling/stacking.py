"""Simple stacking: one interval between slices for all nodes, swept over its whole range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flitloom import _core
from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.ground import provenance
from flitloom.ground.fixed import explained
from flitloom.ground.lazy import xr
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import write_netcdf, write_text
from flitloom.networks.experiment import Experiment
from flitloom.networks.network import Network, network_of
from flitloom.run.simulation import lower_bound, simulate
from flitloom.spec import Collective, Router
from flitloom.spec.base import require_whole


@explained
@dataclass(frozen=True)
class Stacking:
    """Durations of one collective over the interval between its slices.

    Attributes
    ----------
    network : Network
        The network, with its arbitration.
    collective : Collective
        The collective; its own interval plays no part.
    seed : int
        Seed of random patterns.
    intervals, durations : tuple of int
        The curve, in cycles.
    whole : int
        Duration of the same payload in one piece, in cycles.
    """

    network: Network
    collective: Collective
    seed: int
    intervals: tuple[int, ...]
    durations: tuple[int, ...]
    whole: int

    def __repr__(self) -> str:
        return (
            f"Stacking({self.best.describe(self.network)}, best interval {self.interval}: "
            f"{counted(self.duration, 'cycle')}, whole packet {self.whole})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {"best interval": self.interval, "duration": self.duration, "whole packet": self.whole}
        return fields_html(
            self.best.describe(self.network),
            {name: counted(value, "cycle") for name, value in fields.items()},
        )

    @property
    def duration(self) -> int:
        """The shortest duration, in cycles."""
        return min(self.durations)

    @property
    def interval(self) -> int:
        """The smallest interval that gives it, in cycles."""
        return self.intervals[self.durations.index(self.duration)]

    @property
    def best(self) -> Collective:
        """The collective at its best interval."""
        return self.collective.model_copy(update={"interval": self.interval})

    @property
    def lower_bound(self) -> int:
        """A duration that no arbitration could beat on the same routes at the best interval, in cycles."""
        return lower_bound(self.network, self.best, seed=self.seed)

    @property
    def curve(self) -> xr.DataArray:
        """Duration by interval, labelled."""
        return xr.DataArray(
            list(self.durations),
            dims="interval",
            coords={"interval": ("interval", list(self.intervals), {"units": "cycles"})},
            name="duration",
            attrs={"units": "cycles", "whole": self.whole, "version": provenance.version()},
        )

    def row(self) -> dict[str, Any]:
        """The outcome by name."""
        arbitration = self.network.router.arbitration
        return {
            "pattern": self.collective.pattern or "given",
            "arbitration": arbitration if isinstance(arbitration, str) else "per port",
            "slices": self.collective.slices,
            "slice_length": self.collective.slice_length,
            "whole": self.whole,
            "interval": self.interval,
            "duration": self.duration,
            "gain": self.whole / self.duration,
            "bound": self.lower_bound,
        }


def stack(
    network: Network | str | Path,
    collective: Collective,
    *,
    intervals: Sequence[int] | None = None,
    arbitration: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Stacking:
    """Sweep the interval between slices, in parallel (cup-stacking-extended-2023, 4.1).

    Parameters
    ----------
    network : Network, str or path
        The network.
    collective : Collective
        What is sent; its own interval plays no part.
    intervals : sequence of int, optional
        Intervals in cycles; by default all from the slice length to t_d0, the duration of a single slice.
    arbitration : str, optional
        Another channel-selection scheme than the network's.
    seed : int
        Seed of random patterns.
    threads : int, optional
        Threads to use; by default all cores. Results do not depend on it.
    progress : callable, optional
        Called now and then with the number of simulations done and the number of all.

    Returns
    -------
    Stacking
        The curve with its minimum.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(16, 16))
    >>> stacking = fl.stack(net, fl.Collective("torn", payload=14, slices=2))
    >>> stacking.duration                    # cup-stacking-extended-2023, Table 2
    131
    """
    network = network_of(network)
    core = network.one_cycle("stackings are known of")
    collective = Collective.of(collective)
    if arbitration is not None:
        network = Network(
            network.topology, Router(**{**network.router.model_dump(), "arbitration": arbitration})
        )
    if threads is not None:
        require_whole("threads", threads, 1, 4096)
    single = collective.model_copy(
        update={"payload": collective.slice_length - 1, "slices": 1, "interval": 0, "packets": 1}
    )
    whole = collective.model_copy(update={"slices": 1, "interval": 0})
    longest = simulate(network, single, seed=seed, links=False).duration
    if intervals is None:
        intervals = range(collective.slice_length, longest + 1)
    if not intervals:
        raise SpecError.at("intervals", "none given", "at least one is needed")
    for interval in (min(intervals), max(intervals)):
        require_whole("intervals", interval, 0, LIMITS["start"], "cycles")
    durations = _core.stack(
        core,
        collective.destinations_on(network, seed),
        collective.payload,
        collective.slices,
        collective.delays,
        collective.packets,
        list(intervals),
        None,
        threads,
        (lambda done: progress(done, len(intervals))) if progress else None,
    )
    in_one_piece = simulate(network, whole, seed=seed, links=False).duration
    return Stacking(network, collective, seed, tuple(intervals), tuple(durations), in_one_piece)


def stack_each(
    experiments: Sequence[Experiment],
    intervals: Sequence[int] | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Stacking]:
    """Sweep the intervals of several experiments, one after the other.

    Parameters
    ----------
    experiments : sequence of Experiment
        Their traffic is a collective each.
    intervals : sequence of int, optional
        As for `stack`.
    threads : int, optional
        As for `stack`.
    progress : callable, optional
        Called with the hundredths of sweeps done and of all.

    Yields
    ------
    Stacking
        The curve of each experiment.

    Raises
    ------
    SpecError
        The traffic of an experiment is not a collective.
    """
    for number, experiment in enumerate(experiments):
        traffic = Collective.of(experiment.traffic)

        def part(finished: int, every: int, number: int = number) -> None:
            if progress is not None:
                progress(100 * number + 100 * finished // every, 100 * len(experiments))

        network = Network(experiment.topology, experiment.router)
        yield stack(
            network, traffic, intervals=intervals, seed=experiment.seed, threads=threads, progress=part
        )
        part(1, 1)


def save_curves(stackings: Sequence[Stacking], path: str | Path) -> None:
    """Write curves to a file: CSV (one line per point) or NetCDF (``.nc``)."""
    if Path(path).suffix == ".csv":
        lines = ["pattern,arbitration,slices,slice_length,interval,duration"]
        for stacking in stackings:
            row = stacking.row()
            head = ",".join(str(row[name]) for name in ("pattern", "arbitration", "slices", "slice_length"))
            points = zip(stacking.intervals, stacking.durations, strict=True)
            lines += [f"{head},{interval},{duration}" for interval, duration in points]
        write_text(path, "\n".join(lines) + "\n")
        return
    groups = {}
    for stacking in stackings:
        row = stacking.row()
        name = f"{row['pattern']}-{row['arbitration']}-s{row['slices']}"
        groups[f"/{name}"] = stacking.curve.to_dataset().assign_attrs(
            {**row, "version": provenance.version(), "commit": provenance.commit(), "seed": stacking.seed}
        )
    write_netcdf(path, groups)
