"""Networks under load as labelled arrays: what ``flitloom load`` measures, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from flitloom.errors import SpecError
from flitloom.load.bounds import ideal_loads
from flitloom.load.bursts import run_bursts
from flitloom.load.cases import Case, routes_of
from flitloom.load.curves import curve_rows, run_curve
from flitloom.load.responses import Response, ramp_end, ramp_profile, run_ramp, run_step
from flitloom.load.search import run_saturation
from flitloom.load.verdicts import verdict
from flitloom.network import Network, network_of
from flitloom.spec import Load
from flitloom.spec.units import unit_of
from flitloom.tables.by_source.given import network_fields, router_fields
from flitloom.tables.by_source.tables import Tables

#: What rows of curves say of the network, not of one load.
_OF_ALL = ("router", "bound", "bound_of", "receive_bound")

Networks = Network | Tables | str | Path | Mapping[str, Network | Tables | str | Path]


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
        The network, or several by the names they have in the result. Tables stand for the network they are
        for, with routers in which they are free of deadlock.
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
        Where simulations run instead: e.g. a Dask client's executor or ``mpi4py.futures.MPIPoolExecutor``.

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
    cases = _cases(networks, traffic, length, throttle, seed)
    points, interrupted = run_curve(
        cases, list(rates), refine=refine, measure=measure, workers=executor or workers
    )
    _go_on(interrupted)
    closed = isinstance(traffic, Load) and traffic.outstanding is not None
    parts = []
    for case in cases:
        rows = curve_rows([point for point in points if point[0] is case])
        made = _dataset([{name: row[name] for name in row if name not in _OF_ALL} for row in rows], "rate")
        said = verdict(rows, list(rates), closed=closed)["text"]
        parts.append(
            made.assign_attrs(
                verdict=said, **{name: rows[0][name] for name in _OF_ALL if rows[0][name] is not None}
            )
        )
    return _joined(networks, parts)


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
    """Find the largest load at which every source gets rid of what it generates, on all cores.

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
    cases = _cases(networks, traffic, length, throttle, seed)
    rows, interrupted = run_saturation(
        cases, within=within, level=level, measure=measure, workers=executor or workers
    )
    _go_on(interrupted)
    return _by_case(networks, rows)


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
    cases = _cases(networks, traffic, length, throttle, seed)
    rows = [
        {
            **case.labels,
            **ideal_loads(case.experiment(kind="load", rate=1.0, cycles=1), routes_of(case.tables)),
        }
        for case in cases
    ]
    return _by_case(networks, rows)


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
    cases = _cases(networks, pattern, None, throttle, seed)
    rows, interrupted = run_bursts(cases, packets, length=length, workers=executor or workers)
    _go_on(interrupted)
    found = _by_case(networks, rows)
    # Here it bounds a duration.
    found.bound.attrs["units"] = "cycles"
    return found


def ramp(
    network: Network | Tables | str | Path,
    traffic: str | Load,
    first: float = 0.0,
    last: float | None = None,
    *,
    cycles: int = 100_000,
    window: int = 100,
    length: int = 8,
    throttle: str = "none",
    seed: int = 1,
) -> xr.Dataset:
    """Let a load rise slowly, and find where the network no longer follows.

    Parameters
    ----------
    network : Network or Tables
        The network, or tables for it.
    traffic, length, throttle, seed
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
        What happened per window; the attributes hold the ``critical_load`` and what `run_ramp` says beside.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = fl.load.ramp(fl.Network(fl.Torus(8, 8)), "bcmp", 0.2, 0.6, cycles=40_000)
    >>> 0.3 < found.attrs["critical_load"] < 0.6
    True
    """
    [case] = _cases(network, traffic, length, throttle, seed)
    if last is None:
        last = ramp_end(case.experiment(kind="load", rate=0.1, cycles=1), case.routes())
    profile, total = ramp_profile(first, last, cycles)
    return _series(
        run_ramp(
            case.experiment(kind="load", profile=profile, cycles=total), window=window, tables=case.routes()
        )
    )


def step(
    network: Network | Tables | str | Path,
    traffic: str | Load,
    rate: float,
    *,
    cycles: int = 10_000,
    window: int = 10,
    length: int = 8,
    throttle: str = "none",
    seed: int = 1,
) -> xr.Dataset:
    """Put a constant load on an empty network, and find when it has settled.

    Parameters
    ----------
    network : Network or Tables
        The network, or tables for it.
    traffic, length, throttle, seed
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
        What happened per window; the attributes hold the ``settling_time`` and what `run_step` says beside.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = fl.load.step(fl.Network(fl.Torus(8, 8)), "rand", 0.5, cycles=6000, window=50)
    >>> found.attrs["peak"] >= found.attrs["final"]
    True
    """
    [case] = _cases(network, traffic, length, throttle, seed)
    return _series(
        run_step(case.experiment(kind="load", rate=rate, cycles=cycles), window=window, tables=case.routes())
    )


def _cases(
    networks: Networks, traffic: str | Load, length: int | None, throttle: str, seed: int
) -> list[Case]:
    """A case per network, with all that its experiment needs but a rate."""
    if isinstance(traffic, Load):
        sent = traffic.model_dump(
            exclude_none=True, exclude_defaults=True, exclude={"rate", "profile", "cycles"}
        )
    else:
        sent = {"pattern": traffic} | ({} if length is None else {"length": length})
    named = networks if isinstance(networks, Mapping) else {"": networks}
    if not named:
        raise SpecError.at("networks", "names no network", "give fl.Network(...) or several by name")
    cases = []
    for name, network in named.items():
        if isinstance(network, Tables):
            router = router_fields(network, sent.get("length", Load.model_fields["length"].default))
            topology = network_fields(network)
        else:
            network = network_of(network)
            router = network.router.model_dump(exclude_none=True)
            topology = network.topology.model_dump(exclude_none=True)
        parts = {"topology": topology, "router": router, "traffic": sent}
        fields: dict[str, Any] = {**parts, "throttle": throttle, "seed": seed}
        cases.append(Case({"case": name}, fields, tables=network if isinstance(network, Tables) else None))
    return cases


def _go_on(interrupted: bool) -> None:
    if interrupted:
        raise KeyboardInterrupt


def _dataset(rows: Sequence[Mapping[str, Any]], dimension: str) -> xr.Dataset:
    """Rows of equal names as arrays over one of them; what is missing in numbers is not a number."""
    made = xr.Dataset(coords={dimension: [row[dimension] for row in rows]})
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name in ("case", dimension):
            continue
        numbers = all(value is None or isinstance(value, int | float) for value in values)
        array = [np.nan if value is None else value for value in values] if numbers else values
        made[name] = (dimension, array)
    for key, variable in made.variables.items():
        if unit := unit_of(str(key), rows[0]):
            variable.attrs["units"] = unit
    return made


def _by_case(networks: Networks, rows: Sequence[Mapping[str, Any]]) -> xr.Dataset:
    made = _dataset(rows, "case")
    return made if isinstance(networks, Mapping) else made.isel(case=0, drop=True)


def _joined(networks: Networks, parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """One dataset of several networks; what is said of each is an array over them."""
    if not isinstance(networks, Mapping):
        return parts[0]
    told = ("verdict", *_OF_ALL)
    plain = [part.drop_attrs(deep=False) for part in parts]
    whole: xr.Dataset = xr.concat(plain, "case", join="outer", combine_attrs="override")
    whole = whole.assign_coords(case=list(networks))
    for name in told:
        values = [part.attrs.get(name) for part in parts]
        missing = np.nan if name in ("bound", "receive_bound") else ""
        whole.coords[name] = ("case", [missing if value is None else value for value in values])
    return whole


def _series(response: Response) -> xr.Dataset:
    told = {name: value for name, value in response.row.items() if isinstance(value, int | float | str)}
    return response.series.assign_attrs(told)
