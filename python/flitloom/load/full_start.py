"""Whether a network also follows a load when it begins with full source queues.

A system with two states is fast while little waits and slow once much does: from an empty network a load
seems steady that, after a disturbance, is not. From a full start such a load grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flitloom import ranks
from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.simulation import begin_experiment
from flitloom.spec import Experiment, Impulse, Load

if TYPE_CHECKING:
    from flitloom.load.search import Search

#: Packets with which every node begins.
PACKETS = 100
#: Share of them that may be left beside what waits after an empty start.
LEFT = 0.05
#: Cycles before the first look.
FIRST = 10_000


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
    limit, cycles = search.settings["limit"], min(FIRST, search.settings["limit"])
    runs = [_Backlog(search, experiment) for experiment in (empty, full)]
    while True:
        waits = [run.after(cycles) for run in runs]
        if waits[1] <= waits[0] + LEFT * PACKETS:
            search.told()
            return True
        if 2 * cycles > limit:
            search.told()
            return False
        cycles *= 2


class _Backlog:
    """A run of which only the packets that wait are of interest."""

    def __init__(self, search: Search, experiment: Experiment) -> None:
        settings = search.settings
        ways = {"threads": settings["threads"], "tables": search.tables, "on_ranks": ranks.started() > 1}
        traffic = experiment.traffic
        assert isinstance(traffic, Load)
        self._length = traffic.length
        endless = traffic.model_copy(update={"cycles": LIMITS["start"]})
        endless_experiment = experiment.model_copy(update={"traffic": endless})
        self._simulation = begin_experiment(
            endless_experiment, links=False, windows=settings["window"], **ways
        )

    def after(self, cycle: int) -> float:
        """Packets per node that wait at their source, in the mean over the last tenth of these cycles."""
        self._simulation.run(until=cycle)
        series = self._simulation.windows()
        nodes = int((series.generated_by_source.sum("slot") > 0).sum())
        waiting = (series.generated_flits / self._length - series.injected_packets).cumsum()
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
