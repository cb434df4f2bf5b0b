"""Networks under load as labelled arrays: what ``flitloom load`` measures, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any

import xarray as xr

from flitloom.jobs.pool import pool_of
from flitloom.load.bounds import ideal_loads
from flitloom.load.bursts import run_bursts
from flitloom.load.cases import Case, routes_of
from flitloom.load.curves import curve_rows, run_curve
from flitloom.load.labelled import Networks, by_case, cases_of, dataset, go_on, joined
from flitloom.load.responses import ramp_end, ramp_profile, run_responses
from flitloom.load.running import Pool
from flitloom.load.searching import run_saturation
from flitloom.load.verdicts import verdict
from flitloom.spec import Load

#: What rows of curves say of the network, not of one load.
_OF_ALL = ("router", "bound", "bound_of", "receive_bound")


def curve(
    networks: Networks,
    traffic: str | Load,
    rates: Sequence[float],
    *,
    refine: float = 0.05,
    length: int = 8,
    throttle: str = "none",
    seed: int = 1,
    measure: int = 10_000,
    workers: int | None = None,
    executor: Executor | None = None,
) -> xr.Dataset:
    """Measure the load-latency curve: steady states at rising loads, on all cores.

    Parameters
    ----------
    networks : Network, Tables, str or path, or mapping of str to these
        The network, or several by the names they have in the result. What is only named, e.g. ``"8x8"``, has
        routers like those of `flitloom load`: balanced ties and queues of 16 flits. Tables are
        used on the network they are for, with routers in which they are deadlock-free.
    traffic : str or Load
        The pattern, e.g. ``"rand"``, or a load whose rate and cycles do not count.
    rates : sequence of float
        Offered loads in flits per node and cycle.
    refine : float
        Where a network saturates between two rates, measure loads between them until they differ by this
        share of the larger one; 0 for none.
    length : int
        Flits per packet of a pattern.
    throttle : str
        Injection throttle of all nodes, e.g. ``"pt"`` (docs/throttles.md).
    seed : int
        Seed of everything random.
    measure : int
        Cycles measured per load, behind the warm-up.
    workers : int, optional
        Processes; by default one per core.
    executor : concurrent.futures.Executor, optional
        Where simulations run instead: e.g. a Dask client or ``mpi4py.futures.MPIPoolExecutor``.

    Returns
    -------
    xarray.Dataset
        By ``rate``, and by ``case`` for several networks: ``accepted``, ``latency`` (missing unless
        steady), its percentiles, the ``verdict`` of each load, ``saturated`` (growing; missing where
        undecided), the ``utilisation`` of the busiest source queue. The attribute ``verdict`` says where
        each saturates, ``router`` and ``bound`` what the routing allows.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C ended it before all loads were measured.

    Examples
    --------
    >>> import flitloom as fl
    >>> curve = fl.load.curve(fl.Network(fl.Torus(8, 8)), "bcmp", [0.1, 0.9], refine=0, measure=2000)
    >>> curve.verdict.values.tolist(), curve.attrs["verdict"]
    (['steady', 'growing'], 'saturates between 0.1 and 0.9 flits/node/cycle')
    >>> curve.latency.plot()  # doctest: +SKIP
    """
    cases = cases_of(networks, traffic, length, throttle, seed)
    points, interrupted = run_curve(
        cases, list(rates), refine=refine, measure=measure, workers=pool_of(executor, workers)
    )
    go_on(interrupted)
    closed = not isinstance(traffic, str) and traffic.has_closed_sources
    parts = []
    for case in cases:
        rows = curve_rows([point for point in points if point[0] is case])
        made = dataset([{name: row[name] for name in row if name not in _OF_ALL} for row in rows], "rate")
        said = verdict(rows, list(rates), closed=closed)["text"]
        parts.append(
            made.assign_attrs(
                verdict=said, **{name: rows[0][name] for name in _OF_ALL if rows[0][name] is not None}
            )
        )
    return joined(networks, parts, ("verdict", *_OF_ALL))


def saturation(
    networks: Networks,
    traffic: str | Load,
    *,
    within: float = 0.01,
    level: float | None = None,
    length: int = 8,
    throttle: str = "none",
    seed: int = 1,
    measure: int = 10_000,
    workers: int | None = None,
    executor: Executor | None = None,
) -> xr.Dataset:
    """Find the largest load at which no source queue grows without bound, on all cores.

    Parameters
    ----------
    networks, traffic, length, throttle, seed, measure, workers, executor
        As in `curve`.
    within : float
        Half the interval at which the search ends, as a share of the saturation.
    level : float, optional
        The critical load by the level rule instead: the largest load of which this share is accepted.

    Returns
    -------
    xarray.Dataset
        By ``case`` for several networks: ``saturation`` with its 95 % interval from ``below`` to ``above``,
        the ``outcome``, the ``latency`` just below and the ``bound``; see `run_saturation`.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = fl.load.saturation(fl.Network(fl.Torus(4, 4)), "rand", within=0.05, measure=1000)
    >>> bool(found.below < found.saturation < found.above)
    True
    """
    cases = cases_of(networks, traffic, length, throttle, seed)
    rows, interrupted = run_saturation(
        cases, within=within, level=level, measure=measure, workers=pool_of(executor, workers)
    )
    go_on(interrupted)
    return by_case(networks, rows)


def bound(
    networks: Networks, traffic: str | Load, *, length: int = 8, throttle: str = "none", seed: int = 1
) -> xr.Dataset:
    """The load that no router can exceed on these networks under their routing; nothing is simulated.

    Parameters
    ----------
    networks, traffic, length, throttle, seed
        As in `curve`.

    Returns
    -------
    xarray.Dataset
        By ``case`` for several networks: ``bound`` in flits per node and cycle, ``bound_of`` (what it rests
        on), and ``receive_bound`` (what the most wanted node can receive); missing where they are not known.

    Examples
    --------
    >>> import flitloom as fl
    >>> networks = {"torus": fl.Network(fl.Torus(16, 16)), "mesh": fl.Network(fl.Mesh(16, 16))}
    >>> fl.load.bound(networks, "torn").bound.values.tolist()
    [0.125, 0.125]
    """
    cases = cases_of(networks, traffic, length, throttle, seed)
    rows = [
        {
            **case.labels,
            **ideal_loads(case.experiment(kind="load", rate=1.0, cycles=1), routes_of(case.tables)),
        }
        for case in cases
    ]
    return by_case(networks, rows)


def burst(
    networks: Networks,
    pattern: str,
    packets: int,
    *,
    length: int = 8,
    throttle: str = "none",
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
) -> xr.Dataset:
    """Let every node send packets that are all there in cycle 0, and see how long they take.

    Parameters
    ----------
    networks, length, throttle, seed, workers, executor
        As in `curve`.
    pattern : str
        Where packets go, e.g. ``"trns"``.
    packets : int
        Packets per node.

    Returns
    -------
    xarray.Dataset
        By ``case`` for several networks: ``duration``, ``bound`` and ``mean_age`` in cycles.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = fl.load.burst(fl.Network(fl.Torus(8, 8)), "trns", 4)
    >>> bool(found.duration >= found.bound)
    True
    """
    cases = cases_of(networks, pattern, None, throttle, seed)
    rows, interrupted = run_bursts(cases, packets, length=length, workers=pool_of(executor, workers))
    go_on(interrupted)
    found = by_case(networks, rows)
    # Here it bounds a duration.
    found.bound.attrs["units"] = "cycles"
    return found


def ramp(
    networks: Networks,
    traffic: str | Load,
    first: float = 0.0,
    last: float | None = None,
    *,
    cycles: int = 100_000,
    window: int = 100,
    length: int = 8,
    throttle: str = "none",
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
) -> xr.Dataset:
    """Let a load rise slowly, and find where a network no longer follows.

    Parameters
    ----------
    networks, traffic, length, throttle, seed, workers, executor
        As in `curve`.
    first, last : float
        Loads at the beginning and the end in flits per node and cycle; `last` is by default a fifth beyond
        the bound of the routing.
    cycles : int
        Cycles in which the load rises.
    window : int
        Cycles of a window.

    Returns
    -------
    xarray.Dataset
        What happened per window, and by ``case`` for several networks. The ``critical_load`` and what
        `run_ramp` says beside are attributes, for several networks coordinates.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = fl.load.ramp(fl.Network(fl.Torus(8, 8)), "bcmp", 0.2, 0.6, cycles=40_000)
    >>> 0.3 < found.attrs["critical_load"] < 0.6
    True
    """
    tasks: list[tuple[Case, dict[str, Any]]] = []
    for case in cases_of(networks, traffic, length, throttle, seed):
        end = last
        if end is None:
            end = ramp_end(case.experiment(kind="load", rate=0.1, cycles=1), case.routes())
        profile, total = ramp_profile(first, end, cycles)
        tasks.append((case, {"profile": profile, "cycles": total}))
    return _responses("ramp", networks, tasks, window, pool_of(executor, workers))


def step(
    networks: Networks,
    traffic: str | Load,
    rate: float,
    *,
    cycles: int = 10_000,
    window: int = 10,
    length: int = 8,
    throttle: str = "none",
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
) -> xr.Dataset:
    """Put a constant load on an empty network, and find when it has settled.

    Parameters
    ----------
    networks, traffic, length, throttle, seed, workers, executor
        As in `curve`.
    rate : float
        The load in flits per node and cycle.
    cycles : int
        Cycles in which packets are generated.
    window : int
        Cycles of a window.

    Returns
    -------
    xarray.Dataset
        What happened per window, and by ``case`` for several networks. The ``settling_time`` and what
        `run_step` says beside are attributes, for several networks coordinates.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = fl.load.step(fl.Network(fl.Torus(8, 8)), "rand", 0.5, cycles=6000, window=50)
    >>> found.attrs["peak"] >= found.attrs["final"]
    True
    """
    tasks = [
        (case, {"rate": rate, "cycles": cycles})
        for case in cases_of(networks, traffic, length, throttle, seed)
    ]
    return _responses("step", networks, tasks, window, pool_of(executor, workers))


def _responses(
    kind: str, networks: Networks, tasks: list[tuple[Case, dict[str, Any]]], window: int, pool: Pool
) -> xr.Dataset:
    """Responses to loads, each as what happened per window."""
    made, interrupted = run_responses(kind, tasks, {"window": window}, workers=pool)
    go_on(interrupted)
    rows = [
        {name: value for name, value in found.row.items() if isinstance(value, int | float | str)}
        for _, found in made
    ]
    parts = [found.series.assign_attrs(row) for (_, found), row in zip(made, rows, strict=True)]
    return joined(networks, parts, list(dict.fromkeys(name for row in rows for name in row)))
