"""What could be carried at best, beside what is."""

from __future__ import annotations

from flitloom.analysis.channel_loads import channel_loads
from flitloom.analysis.demands import make_demands
from flitloom.errors import SpecError
from flitloom.network import Network
from flitloom.spec import Experiment, Load


def ideal_loads(experiment: Experiment) -> dict[str, float | None]:
    """Loads that cannot be exceeded, in flits per node and cycle; `flitloom load bound` has more.

    Returns
    -------
    dict
        ``ideal``: what the fullest link allows in dimension order; ``receive_bound``: what the most wanted
        node can receive, about 1 / (p N^2) for a hotspot of share p. Both are ``None`` where they are not
        known: networks with failed parts, and weights that are too fine.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.load.bounds import ideal_loads
    >>> load = fl.Load("bcmp", rate=0.1, cycles=1)
    >>> ideal_loads(fl.Experiment(topology=fl.Torus(32, 32), traffic=load))
    {'ideal': 0.125, 'receive_bound': 1.0}
    """
    unknown: dict[str, float | None] = {"ideal": None, "receive_bound": None}
    load = experiment.traffic
    if not isinstance(load, Load):
        return unknown
    try:
        network = Network(experiment.topology, experiment.router)
        demands = make_demands(network, load, experiment.seed)
        links = channel_loads(demands).ideal_throughput
    except SpecError:
        return unknown
    receive = float(demands.receive_bound)
    return {"ideal": min(receive, 1.0, *([] if links is None else [float(links)])), "receive_bound": receive}
