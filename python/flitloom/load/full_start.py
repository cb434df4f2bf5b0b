"""Whether a network also follows a load when it begins with full source queues.

A system with two states is fast while little waits and slow once much does: from an empty network a load
seems steady that, after a disturbance, is not. From a full start such a load grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flitloom.analysis.utilisation import GROWING, STEADY, UNDECIDED
from flitloom.errors import SpecError
from flitloom.load.search import Search
from flitloom.load.steady import FIRST_LOOK, STATISTICS, Run, Steady, begin_endless
from flitloom.networks.experiment import Experiment
from flitloom.spec import Impulse, Load

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables

#: Packets with which every node begins.
PACKETS = 100
#: Share of them that may be left beside what waits after an empty start.
LEFT = 0.05


def full_start(search: Search, load: float) -> float | None:
    """The largest load, at most this one, at which what nodes begin with goes; see `run_saturation`.

    Raises
    ------
    SpecError
        The traffic is not a pattern.
    """
    low, high = 0.0, load

    def comes_down(load: float) -> bool:
        found = _comes_down(search.at(load), search.settings, search.tables)
        search.told()
        return found

    if comes_down(load):
        return load
    while high - low > search.within * high and high > search.within * load:
        middle = round((low + high) / 2, 6)
        if comes_down(middle):
            low = middle
        else:
            high = middle
    return low or None


def doubted(point: Steady, experiment: Experiment, settings: dict[str, Any], tables: Tables | None) -> Steady:
    """The same point, undecided with a cause if its load is steady from an empty network only.

    Parameters
    ----------
    point : Steady
        What `run_steady` found.
    experiment : Experiment
        Its load.
    settings : dict
        ``window``, ``limit`` and ``threads``, as in `run_steady`.
    tables : Tables, optional
        Routes of all packets.

    Raises
    ------
    SpecError
        The traffic is not a pattern.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.load.full_start import doubted
    >>> load = fl.Load("rand", rate=0.1, length=4, cycles=1)
    >>> experiment = fl.Experiment(topology=fl.Torus(4, 4), traffic=load)
    >>> settings = {"window": 100, "limit": 40_000, "threads": 1}
    >>> doubted(fl.load.run_steady(experiment, **settings), experiment, settings, None).row["verdict"]
    'steady'
    """
    if point.row["verdict"] != STEADY or _comes_down(experiment, settings, tables):
        return point
    ages = dict.fromkeys(("latency", "confidence", "correlation", *STATISTICS[1:]))
    cause = f"steady from an empty network only: from {PACKETS} packets per node source queues do not empty"
    return Steady(
        {**point.row, **ages, "verdict": UNDECIDED, "saturated": None, "cause": cause}, point.series
    )


def _comes_down(empty: Experiment, settings: dict[str, Any], tables: Tables | None) -> bool:
    """Whether as little waits after a full start as after an empty one, at last."""
    ways = {"threads": settings["threads"], "tables": tables}
    limit, cycles = settings["limit"], min(FIRST_LOOK, settings["limit"])
    runs = [begin_endless(experiment, settings["window"], **ways) for experiment in (empty, _full(empty))]
    while True:
        waits = [_waiting(run, cycles) for run in runs]
        if waits[1] <= waits[0] + LEFT * PACKETS:
            # Where the queues grow anyway, as much waits by chance.
            return runs[0].look(cycles).verdict != GROWING
        if 2 * cycles > limit:
            return False
        cycles *= 2


def _waiting(run: Run, cycle: int) -> float:
    """Packets per node that wait at their source, in the mean over the last tenth of these cycles."""
    run.until(cycle)
    series, load = run.series, Load.of(run.simulation.spec.traffic)
    nodes = int((series.generated_by_source.sum("slot") > 0).sum())
    waiting = (series.generated_flits / load.length - series.injected_packets).cumsum()
    return float(waiting[-max(1, waiting.size // 10) :].mean()) / max(nodes, 1)


def _full(experiment: Experiment) -> Experiment:
    """The experiment with as many packets at every node in the first cycle."""
    load = Load.of(experiment.traffic)
    if load.pattern is None:
        raise SpecError.at("--full-start", "needs traffic of a pattern", "leave it out")
    fields = ("pattern", "hotspot_fraction", "hotspot_target")
    named = {name: getattr(load, name) for name in fields if getattr(load, name) is not None}
    impulse = Impulse(**named, at=0, packets=PACKETS)
    return experiment.model_copy(update={"traffic": load.model_copy(update={"impulse": impulse})})
