"""Loads that end: whether the network followed while packets were generated."""

from __future__ import annotations

from dataclasses import dataclass

from flitloom.analysis.utilisation import COUNTED, GROWING, UNDECIDED, of_counted
from flitloom.ground.fixed import explained
from flitloom.load.bounds import ideal_loads
from flitloom.load.steady import is_proven
from flitloom.networks.experiment import Experiment
from flitloom.run.checkpoint import Judged
from flitloom.run.simulation import Simulation
from flitloom.spec import Load
from flitloom.tables.by_source.tables import Tables

#: Windows in which packets are generated, at most.
WINDOWS = 64


@explained
@dataclass(frozen=True)
class Finite:
    """What a load was like while its packets were generated.

    Attributes
    ----------
    verdict : str
        "steady", "growing" or "undecided".
    throughput : float or None
        Flits accepted per node that sends and cycle in the second half of that time.
    """

    verdict: str
    throughput: float | None

    @property
    def saturated(self) -> bool | None:
        """Whether what waits at some source grew; ``None``: undecided."""
        return None if self.verdict == UNDECIDED else self.verdict == GROWING


def window_of(experiment: Experiment) -> int | None:
    """Cycles of the windows by which a load is judged; ``None`` of what is none of constant rate."""
    cycles = experiment.traffic.judged_cycles
    return None if cycles is None else max(1, -(-cycles // WINDOWS))


def run_judged(simulation: Simulation, tables: Tables | None = None, **how: object) -> Finite:
    """Run a load with windows to the end of the time in which packets are generated, and judge it.

    Parameters
    ----------
    simulation : Simulation
        With windows of `window_of`, at its beginning or gone on with: one that was judged before it was saved
        is not judged again.
    tables : Tables, optional
        The routes of all packets.
    **how
        As `Simulation.run` takes it, e.g. progress and checkpoint.

    Examples
    --------
    >>> import flitloom as fl
    >>> load = fl.Load("rand", rate=0.9, cycles=3000)
    >>> spec = fl.Experiment(topology=fl.Torus(8, 8), traffic=load)
    >>> sim = fl.Simulation(fl.Network(spec.topology), load, windows=window_of(spec))
    >>> run_judged(sim).verdict
    'growing'
    """
    known = simulation.judged
    if known is not None:
        return Finite(known.verdict, known.throughput)
    spec = simulation.spec
    load = Load.of(spec.traffic)
    assert load.rate is not None
    end = load.cycles if spec.stop_at is None else min(load.cycles, spec.stop_at)
    simulation.run(until=end, **how)  # type: ignore[arg-type]
    raw, window = simulation.counted_windows()
    # What was saved later, and not judged, has seen more.
    count, half = min(len(raw["ejected_flits"]), end // window), -(-(end // 2) // window)
    later = raw["ejected_flits"][half:count]
    nodes, queues = simulation.network.nodes, raw["source_queues"]
    senders = nodes - len(load.silent(simulation.network, spec.seed))
    throughput = float(later.sum()) / (senders * window * len(later)) if senders and len(later) else None
    if is_proven(spec, load.rate, ideal_loads(spec, tables)["bound"]):
        verdict = GROWING
    elif not count:
        verdict = UNDECIDED
    else:
        counted = {name: raw[name].reshape(len(raw["generated_for"]) // nodes, -1) for name in COUNTED}
        rate = load.rate if queues == 1 else None
        slot, length = raw["slot_cycles"], float(load.common_length)
        verdict = of_counted(counted, count * window, slot, length, rate).verdict
    simulation.remember(Judged.model_validate({"verdict": verdict, "throughput": throughput}))
    return Finite(verdict, throughput)
