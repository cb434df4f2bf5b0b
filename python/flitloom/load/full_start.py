"""Whether a network also follows a load when it begins with full source queues.

A system with two states is fast while little waits and slow once much does: from an empty network a load
seems steady that, after a disturbance, is not. From a full start such a load grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flitloom.errors import SpecError
from flitloom.load.steady import FIRST_LOOK, Run, begin_endless
from flitloom.spec import Experiment, Impulse, Load

if TYPE_CHECKING:
    from flitloom.load.search import Search

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
    if _comes_down(search, load):
        return load
    while high - low > search.within * high and high > search.within * load:
        middle = round((low + high) / 2, 6)
        if _comes_down(search, middle):
            low = middle
        else:
            high = middle
    return low or None


def _comes_down(search: Search, load: float) -> bool:
    """Whether as little waits after a full start as after an empty one, at last."""
    empty, full = search.at(load), _full(search.at(load))
    settings, ways = search.settings, {"threads": search.settings["threads"], "tables": search.tables}
    limit, cycles = settings["limit"], min(FIRST_LOOK, settings["limit"])
    runs = [begin_endless(experiment, settings["window"], **ways) for experiment in (empty, full)]
    while True:
        waits = [_waiting(run, cycles) for run in runs]
        if waits[1] <= waits[0] + LEFT * PACKETS:
            search.told()
            return True
        if 2 * cycles > limit:
            search.told()
            return False
        cycles *= 2


def _waiting(run: Run, cycle: int) -> float:
    """Packets per node that wait at their source, in the mean over the last tenth of these cycles."""
    run.until(cycle)
    series, load = run.series, run.simulation.spec.traffic
    assert isinstance(load, Load)
    nodes = int((series.generated_by_source.sum("slot") > 0).sum())
    waiting = (series.generated_flits / load.length - series.injected_packets).cumsum()
    return float(waiting[-max(1, waiting.size // 10) :].mean()) / max(nodes, 1)


def _full(experiment: Experiment) -> Experiment:
    """The experiment with as many packets at every node in the first cycle."""
    load = experiment.traffic
    assert isinstance(load, Load)
    if load.pattern is None:
        raise SpecError.at("--full-start", "needs traffic of a pattern", "leave it out")
    fields = ("pattern", "hotspot_fraction", "hotspot_target")
    named = {name: getattr(load, name) for name in fields if getattr(load, name) is not None}
    impulse = Impulse(**named, at=0, packets=PACKETS)
    return experiment.model_copy(update={"traffic": load.model_copy(update={"impulse": impulse})})
