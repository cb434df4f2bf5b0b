"""The load at which a network saturates, by bisection, and what one case gains over another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.load.bounds import ideal_loads, router_text
from flitloom.load.cases import Case, routes_of, told
from flitloom.load.running import Pool, run_all
from flitloom.load.steady import Progress, run_steady
from flitloom.load.unsteady import never_steady
from flitloom.spec import Load
from flitloom.spec.experiment import Experiment, build_experiment

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables

#: A search ends below this load, in flits per node and cycle.
LEAST = 1e-4


def run_saturation(
    cases: Sequence[Case],
    *,
    within: float = 0.01,
    window: int = 100,
    warm_up: int | None = None,
    measure: int = 10_000,
    limit: int = 400_000,
    workers: Pool = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[dict[str, Any]], bool]:
    """The saturation of every case by bisection between no load and the bound of its routing, on all cores.

    Parameters
    ----------
    cases : sequence of Case
        What is compared.
    within : float
        The search ends when a load that is accepted and one that is not differ by this share of the latter.
    window, warm_up, measure, limit
        As in `run_steady`.
    workers : int, optional
        Processes; by default one per core, or per `threads` cores.
    threads : int
        Threads of each simulation.
    progress : callable, optional
        Told how many of how many cases are finished.

    Returns
    -------
    list of dict, bool
        Per case what tells it from others; ``saturation``, the middle of the last window, and its ends
        ``below`` and ``above``, in flits per node and cycle; ``outcome`` ("measured", "not reached": the
        network accepts all that nodes can send, "below": not even the smallest load, or "no steady state":
        at no load, by the throttle); the ``accepted`` load and the ``latency`` (cycles, from generation) at
        ``below``; ``bound``, ``bound_of`` and ``router`` as in `run_steady`; the number of ``points``
        simulated. And whether Ctrl-C ended the rest.

    Examples
    --------
    >>> from flitloom.load import make_cases, run_saturation
    >>> cases = make_cases({}, {"torus": ["8x8"], "pattern": ["torn"]})
    >>> [row], interrupted = run_saturation(cases, within=0.1, measure=1000)
    >>> row["below"] < row["saturation"] < row["above"] <= 1.06 * row["bound"]
    True
    """
    if not 0.0001 <= within < 1:
        raise SpecError.at(
            "within", f"{within:g} is not a share of a load", "it must be from 0.0001 to below 1"
        )
    specs = [case.experiment(kind="load", rate=1.0, cycles=LIMITS["start"]) for case in cases]
    if any(isinstance(spec.traffic, Load) and spec.traffic.outstanding is not None for spec in specs):
        raise SpecError.at(
            "traffic.outstanding",
            "closed sources accept all that they generate, so no load saturates them",
            "flitloom load curve measures how much they accept at each rate",
        )
    settings = {"window": window, "warm_up": warm_up, "measure": measure, "limit": limit, "threads": threads}
    tasks = [
        (spec.model_dump(mode="json", exclude_none=True), within, settings, case.tables)
        for case, spec in zip(cases, specs, strict=True)
    ]
    made, interrupted = run_all(_search, tasks, workers=workers, threads=threads, progress=progress)
    rows = [{**case.labels, **row} for case, row in zip(cases, made, strict=True) if row is not None]
    return rows, interrupted


def _search(
    fields: dict[str, Any],
    within: float,
    settings: dict[str, Any],
    tables: Path | Tables | None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """One bisection, in a worker process or here."""
    experiment = build_experiment(fields)
    measured: list[dict[str, Any]] = []
    routes = routes_of(tables)

    def steady(rate: float) -> dict[str, Any]:
        row = run_steady(_at(experiment, rate), **settings, tables=routes).row
        measured.append(row)
        if progress is not None:
            progress(len(measured), len(measured) + 1)
        return row

    known = ideal_loads(experiment, routes)
    if never_steady(experiment):
        return {
            **dict.fromkeys(("saturation", "below", "above")),
            "outcome": "no steady state",
            **dict.fromkeys(("accepted", "latency")),
            **known,
            "router": router_text(experiment, routes),
            "points": 0,
        }
    # Beyond the bound nothing needs to be simulated.
    above = 1.0 if known["bound"] is None else min(1.0, known["bound"])
    proven = known["bound"] is not None and above < 1
    below: dict[str, Any] | None = None
    if not proven:
        row = steady(above)
        below = None if row["saturated"] else row
    low = 0.0 if below is None else above
    # One load is measured however small the bound is.
    while not measured or (low < above and above - low > within * above and above > LEAST):
        middle = round((low + above) / 2, 6)
        row = steady(middle)
        if row["saturated"]:
            above = middle
        else:
            below, low = row, middle
    return _verdict(below, low, above, measured)


def _verdict(
    below: dict[str, Any] | None, low: float, above: float, measured: list[dict[str, Any]]
) -> dict[str, Any]:
    """What a search found."""
    row = measured[-1]
    outcome = "below" if below is None else "measured" if low < above else "not reached"
    return {
        "saturation": round((low + above) / 2, 6) if outcome == "measured" else None,
        "below": None if below is None else low,
        "above": above if low < above else None,
        "outcome": outcome,
        "accepted": None if below is None else below["accepted"],
        "latency": None if below is None else below["latency"],
        **{name: row[name] for name in ("bound", "bound_of", "receive_bound", "router")},
        "points": len(measured),
    }


def _at(experiment: Experiment, rate: float) -> Experiment:
    """The experiment at another load."""
    assert isinstance(experiment.traffic, Load)
    return experiment.model_copy(update={"traffic": experiment.traffic.model_copy(update={"rate": rate})})


def compared(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> str:
    """What the cases gain over the first one, in a sentence, each label separately.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of `run_saturation`, the first one that others are compared with.
    labels : sequence of str
        Names of what tells cases apart.

    Returns
    -------
    str
        Cases that differ from the first one in one label only, by that label; empty where there is none. What
        the search cannot tell apart is as much.

    Examples
    --------
    >>> rows = [{"routing": "do", "throttle": "none", "saturation": 0.4, "outcome": "measured"},
    ...         {"routing": "ma", "throttle": "none", "saturation": 0.5, "outcome": "measured"},
    ...         {"routing": "do", "throttle": "pt", "saturation": 0.38, "outcome": "measured"}]
    >>> compared(rows, ["routing", "throttle"])
    'Compared with do, throttle none: ma accepts 25 % more; throttle pt accepts 5 % less.'
    """
    first = _carried(rows[0]) if rows else None
    if first is None:
        return ""
    texts = []
    for label in labels:
        for row in rows[1:]:
            others = [name for name in labels if name != label]
            carried = _carried(row)
            if row[label] == rows[0][label] or any(row[name] != rows[0][name] for name in others):
                continue
            if carried is not None:
                same = _overlap(rows[0], row)
                much = "as much, to the precision of the search" if same else _difference(carried / first)
                texts.append(f"{told(label, row[label])} accepts {much}")
    differing = [label for label in labels if any(row[label] != rows[0][label] for row in rows)]
    against = ", ".join(told(label, rows[0][label]) for label in differing)
    return f"Compared with {against}: {'; '.join(texts)}." if texts else ""


def _carried(row: Mapping[str, Any]) -> float | None:
    """The load that a case carries: its saturation, or all that nodes can send."""
    if row["outcome"] == "not reached":
        return 1.0
    return None if row["saturation"] is None else float(row["saturation"])


def _overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the last windows of two searches, which both found something, have loads in common."""
    low, lower, high, higher = (row.get(name) for name in ("below", "above") for row in (one, other))
    if low is None or lower is None or high is None or higher is None:
        return False
    return bool(max(low, lower) < min(high, higher))


def _difference(part: float) -> str:
    """How much more or less a part of one is.

    >>> _difference(1.39), _difference(0.94), _difference(1.001)
    ('39 % more', '6 % less', 'as much')
    """
    percent = round(100 * (part - 1))
    return f"{abs(percent)} % {'more' if percent > 0 else 'less'}" if percent else "as much"
