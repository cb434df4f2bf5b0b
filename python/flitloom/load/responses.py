"""Responses: what a network does when its load rises, begins or is disturbed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom.analysis import (
    critical_load,
    impulse_duration,
    settling_time,
    slope_critical_load,
    throughput,
)
from flitloom.analysis.settling import windows_needed
from flitloom.analysis.slope import FITTED
from flitloom.errors import SpecError
from flitloom.ground import ranks
from flitloom.ground.fixed import explained
from flitloom.jobs import begun_or_resumed
from flitloom.load.bounds import ideal_loads, router_text
from flitloom.load.cases import Case, routes_of
from flitloom.load.running import Pool, run_all
from flitloom.networks.experiment import Experiment, build_experiment
from flitloom.run.simulation import begin_experiment
from flitloom.spec import Load

if TYPE_CHECKING:
    import xarray as xr

    from flitloom.analysis import Measurement
    from flitloom.tables.by_source.tables import Tables

#: Windows per average of ramps (state-propagation-throttling-2015, 5.2), and averages of a short ramp.
AVERAGING = 200
PARTS = 20
#: A ramp ends at so many times the bound unless said otherwise.
BEYOND = 1.2

Points = tuple[tuple[int, float], ...]


@explained
@dataclass(frozen=True)
class Response:
    """What came of a load over time.

    Attributes
    ----------
    row : dict
        Numbers and named outcomes.
    series : xarray.Dataset
        What happened in windows.
    """

    row: dict[str, Any]
    series: xr.Dataset


def ramp_profile(
    first: float, last: float, cycles: int, warm_up: int = 0, hold: int = 0
) -> tuple[Points, int]:
    """Rates of a ramp by their points, and the cycles it takes.

    The rate is `first` for `warm_up` cycles, rises to `last` in `cycles`, and stays there for `hold` cycles
    (scaling-effects-2007, Eqs. 3 and 4; state-propagation-throttling-2015, 5.2).

    Examples
    --------
    >>> from flitloom.load import ramp_profile
    >>> ramp_profile(0.2, 0.3, 1000, warm_up=100, hold=50)
    (((0, 0.2), (100, 0.2), (1100, 0.3)), 1150)
    """
    if not 0 <= first < last <= 1:
        raise SpecError.at(
            "ramp", f"rates {first:g} to {last:g}", "they must rise, from 0 or above to at most 1"
        )
    before: Points = ((0, first),) if warm_up else ()
    return (*before, (warm_up, first), (warm_up + cycles, last)), warm_up + cycles + hold


def ramp_end(experiment: Experiment, tables: Tables | None = None) -> float:
    """Where a ramp ends by default: a fifth beyond the bound of the routing, at most 1 flit/node/cycle.

    Examples
    --------
    >>> from flitloom.load import make_cases, ramp_end
    >>> [case] = make_cases({}, {"torus": ["16x16"], "pattern": ["bcmp"]})
    >>> ramp_end(case.experiment(kind="load", rate=0.1, cycles=1))
    0.3
    """
    bound = ideal_loads(experiment, tables)["bound"]
    return 1.0 if bound is None else min(1.0, round(BEYOND * bound, 6))


def run_ramp(
    experiment: Experiment,
    *,
    window: int = 100,
    averaging: int = AVERAGING,
    fitted: int = FITTED,
    checkpoint: str | Path | None = None,
    threads: int = 1,
    tables: Tables | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Response:
    """Let a load rise slowly, and find where the network no longer follows.

    Parameters
    ----------
    experiment : Experiment
        With a load that has a rising profile.
    window : int
        Cycles of a window.
    averaging, fitted : int
        Windows per average of the level rule, at most a twentieth of the run, and per fit of the slope rule.
    checkpoint : path, optional
        Where to save the run every minute and when it is interrupted; if the file exists, the run
        continues from it.
    threads : int
        Threads, each with some rows of the network; the result does not depend on it.
    tables : Tables, optional
        Routes of all packets.
    progress : callable, optional
        Told how many of how many cycles are done.

    Returns
    -------
    Response
        ``critical_load`` by the level rule, the load in the middle of the average that first falls short, as
        the congestion papers read it (flits/node/cycle, ``None`` with another ``outcome``; never above the
        ``bound``: there the ``outcome`` is ``at the bound``), the load at the ``end`` of that average, the
        ``resolution`` with which it is known (the load that one average reaches over), that of the slope rule
        where noise allows it, the bound of the routing, what the ``router`` is like, and the accepted load at
        the end.

    Examples
    --------
    >>> from flitloom.load import make_cases, ramp_profile, run_ramp
    >>> [case] = make_cases({}, {"torus": ["8x8"], "pattern": ["bcmp"]})
    >>> profile, cycles = ramp_profile(0.2, 0.6, 40_000)
    >>> ramp = run_ramp(case.experiment(kind="load", profile=profile, cycles=cycles))
    >>> 0.3 < ramp.row["critical_load"] < 0.6
    True
    """
    for name, value in (("averaging", averaging), ("fitted", fitted)):
        if value < 1:
            raise SpecError(f"{name}: {value} is out of range; it must be at least 1 window")
    series = _observe(experiment, window, progress, checkpoint, threads, tables)
    averaging = max(1, min(averaging, series.sizes["window"] // PARTS))
    level = critical_load(series, averaging, at="middle")
    row: dict[str, Any] = {
        "critical_load": level.value,
        "end": critical_load(series, averaging).value,
        "outcome": level.outcome,
        "advice": level.advice or None,
    }
    if level.outcome == "not reached" and max(rate for _, rate in _load(experiment).points) >= 1:
        row["advice"] = "all of the load is delivered up to 1 flits/node/cycle, and no node can send more"
    if level.value is None and _load(experiment).outstanding is not None:
        row["advice"] = "closed sources accept all that they generate: read what they accept at the end"
    row |= ideal_loads(experiment, tables)
    row |= _within_bound(row)
    row["router"] = router_text(experiment, tables)
    fitted = min(fitted, series.sizes["window"] // 4)
    row["slope_rule"] = slope_critical_load(series, fitted).as_dict() if fitted > 1 else None
    offered = throughput(series, averaging).offered
    # The load rises by so much within one average.
    row["resolution"] = float((offered[-1] - offered[0]) / max(1, len(offered) - 1) * averaging)
    row |= {
        "averaging": averaging,
        "fitted": fitted,
        "accepted_at_end": float(throughput(series, averaging)[-1]),
    }
    return Response({**row, **_about(series)}, series)


def _within_bound(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says where the critical load was read above any load that can be accepted."""
    bound, read = row["bound"], row["critical_load"]
    if read is None or bound is None or read <= bound:
        return {}
    return {
        "critical_load": bound,
        "outcome": "at the bound",
        "advice": f"less arrives only at {read:.4g} flits/node/cycle, beyond the bound of {bound:.4g}: "
        "buffers and queues hide it while the load rises; let it rise more slowly to know how far below the "
        "bound it is",
    }


def run_step(
    experiment: Experiment,
    *,
    window: int = 10,
    checkpoint: str | Path | None = None,
    threads: int = 1,
    tables: Tables | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Response:
    """Put a constant load on an empty network, and find when it has settled (scaling-effects-2007, 4.4).

    With a load that changes (`flitloom.TrafficChange`) time counts from the last change on.

    Returns
    -------
    Response
        ``settling_time`` in cycles (``None`` with another ``outcome``), ``peak`` and ``final`` accepted load
        in flits per node and cycle; with changes the accepted load ``before`` the first one, too, in the last
        third of the time up to it.

    Examples
    --------
    >>> from flitloom.load import make_cases, run_step
    >>> [case] = make_cases({}, {"torus": ["16x16"], "pattern": ["rand"]})
    >>> step = run_step(case.experiment(kind="load", rate=0.5, cycles=6000), window=50)
    >>> step.row["outcome"], step.row["peak"] > step.row["final"]
    ('measured', True)
    """
    load = _load(experiment)
    times = sorted(change.at for change in load.changes)
    if times and not window < times[0] <= times[-1] <= load.cycles - 3 * window:
        raise SpecError.at(
            "traffic.changes",
            f"cycles {times[0]} to {times[-1]} of {load.cycles}",
            "there must be windows before and behind them",
        )
    needed = windows_needed(experiment.topology.nodes)
    if (load.cycles - (times[-1] if times else 0)) // window < needed:
        raise SpecError.at("series.window", f"windows of {window} cycles are too few", f"{needed} are needed")
    series = _observe(experiment, window, progress, checkpoint, threads, tables)
    averaging = 2 * (round(series.attrs["nodes"] ** 0.5) // 16) + 1
    settled = settling_time(series, start=times[-1] if times else 0)
    after = series.isel(window=slice(-(-times[-1] // window), None)) if times else series
    received = throughput(after, averaging)
    final = received[-(len(received) // 3) :]
    row = {"settling_time": settled.value, "outcome": settled.outcome, "advice": settled.advice or None}
    row |= {"rate": load.mean_rate, "peak": float(received.max()), "final": float(final.mean())}
    if times:
        until = times[0] // window
        row["before"] = float(throughput(series, 1)[until - max(1, until // 3) : until].mean())
        row["lowest"] = float(received.min())
    return Response({**row, **_about(series)}, series)


def run_impulse(
    experiment: Experiment,
    *,
    window: int = 10,
    checkpoint: str | Path | None = None,
    threads: int = 1,
    tables: Tables | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Response:
    """Disturb a steady load by an impulse, and find when it is forgotten (scaling-effects-2007, 4.5).

    Returns
    -------
    Response
        ``duration`` in cycles (``None`` with another ``outcome``: "not visible", "not recovered",
        "collapsed"), the largest age before and at its ``peak``, and the ``delivered_share`` at the end.

    Examples
    --------
    >>> from flitloom.load import make_cases, run_impulse
    >>> [case] = make_cases({}, {"torus": ["8x8"], "pattern": ["rand"]})
    >>> impulse = {"pattern": "trns", "at": 4000, "packets": 8}
    >>> response = run_impulse(case.experiment(kind="load", rate=0.1, cycles=10_000, impulse=impulse))
    >>> response.row["outcome"], 100 < response.row["duration"] < 2000
    ('measured', True)
    """
    load = _load(experiment)
    if load.impulse is None:
        raise SpecError.at("traffic.impulse", "is missing")
    series = _observe(experiment, window, progress, checkpoint, threads, tables)
    recovery = impulse_duration(series, load.impulse.at)
    found: Measurement = recovery.duration
    row = {"duration": found.value, "outcome": found.outcome, "advice": found.advice or None}
    row |= {name: value for name, value in recovery.as_dict().items() if name != "duration"}
    row |= {"rate": load.rate, "packets": load.impulse.packets}
    return Response({**row, **_about(series)}, series)


def _load(experiment: Experiment) -> Load:
    return Load.of(experiment.traffic, "a load is needed", "traffic.kind")


def _observe(
    experiment: Experiment,
    window: int,
    progress: Callable[[int, int], None] | None,
    checkpoint: str | Path | None,
    threads: int,
    tables: Tables | None,
) -> xr.Dataset:
    """Run a load as long as it generates packets; what happened in windows."""
    load = _load(experiment)
    on_ranks = ranks.started() > 1
    resumes = checkpoint is not None and Path(checkpoint).exists()
    # What a checkpoint is held against needs no threads of its own.
    own, apart = (1, False) if resumes else (threads, on_ranks)
    simulation = begun_or_resumed(
        lambda: begin_experiment(
            experiment,
            links=False,
            windows=window,
            threads=own,
            on_ranks=apart,
            tables=tables,
        ),
        checkpoint,
        threads=threads,
        on_ranks=on_ranks,
    )
    simulation.run(until=load.cycles, checkpoint=checkpoint, progress=progress)
    return simulation.windows()


def _about(series: xr.Dataset) -> dict[str, Any]:
    window = series.attrs["window_cycles"]
    return {"window_cycles": window, "cycles": series.sizes["window"] * window}


#: Responses by the name of their verb.
RUNS: dict[str, Callable[..., Response]] = {"ramp": run_ramp, "step": run_step, "impulse": run_impulse}


def run_responses(
    kind: str,
    tasks: Sequence[tuple[Case, dict[str, Any]]],
    settings: dict[str, Any],
    *,
    workers: Pool = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[tuple[Case, Response]], bool]:
    """Responses of several cases on all cores, each with the fields of its load.

    Returns
    -------
    list of (Case, Response), bool
        What is finished, in order, and whether Ctrl-C ended the rest.
    """
    specs = [case.experiment(kind="load", **traffic) for case, traffic in tasks]
    dumped = [spec.model_dump(mode="json", exclude_none=True) for spec in specs]
    calls = [(kind, fields, settings, case.tables) for fields, (case, _) in zip(dumped, tasks, strict=True)]
    threads = settings.get("threads", 1)
    made, interrupted = run_all(_respond, calls, workers=workers, threads=threads, progress=progress)
    finished = [(case, found) for (case, _), found in zip(tasks, made, strict=True) if found is not None]
    return finished, interrupted


def _respond(
    kind: str,
    fields: dict[str, Any],
    settings: dict[str, Any],
    tables: Path | Tables | None,
    progress: Callable[[int, int], None] | None = None,
) -> Response:
    """One response, in a worker process or here."""
    routes = routes_of(tables)
    return RUNS[kind](build_experiment(fields), **settings, tables=routes, progress=progress)
