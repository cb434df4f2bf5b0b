"""Files of BookSim2 as experiments: records, pages, saved states and other packets."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flitloom.booksim.options import NETWORK_FILE, Options
from flitloom.booksim.running import UNSTABLE, network_text, run
from flitloom.booksim.specs import TABLES
from flitloom.errors import SpecError
from flitloom.ground.limits import LISTED_PACKETS
from flitloom.networks.described import network_of_options, parts_of_options
from flitloom.networks.experiment import Experiment
from flitloom.run.simulation import begin_experiment
from flitloom.spec import Packets, Router
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.any_traffic import AnyTraffic

Column: TypeAlias = NDArray[np.int64]
#: Cycles from the last router to the node.
_BEHIND_THE_LAST_ROUTER = 2
#: Options that say what packets there are and how a run is measured, but not which have channels apart.
_OF_PACKETS = frozenset(
    name
    for name in f"{TABLES['traffic']} {TABLES['simulation']}".split()
    if name not in ("classes", "use_read_write") and not name.endswith("_vc")
)


def experiment(options: Options, traffic: AnyTraffic | None = None) -> Experiment:
    """What a file of BookSim2 describes, as an experiment.

    Parameters
    ----------
    options : Options
        What the file says, of a network whose links are cables.
    traffic : AnyTraffic, optional
        Who sends what over its network; by default the packets of the file's own run, which are listed and
        arrive in the same cycles.

    Raises
    ------
    SpecError
        Links lead one way, the run is unstable, an option has a value that is not known, or packets would
        arrive in other cycles than in the run of the file, since its routers draw.

    Examples
    --------
    >>> import flitloom as fl
    >>> mesh = {"topology": "mesh", "k": "4", "routing_function": "dor", "num_vcs": "4", "vc_buf_size": "4"}
    >>> turned = experiment(Options.of(mesh), fl.Load("trns", rate=0.2, cycles=500))
    >>> print(turned.topology, "-", turned.router.channels, turned.router.buffer)
    4x4 mesh - 4 4
    >>> replayed = experiment(Options.of({**mesh, "sample_period": "100", "max_samples": "4"}))
    >>> result = fl.simulate(fl.Network(replayed.topology, replayed.router), replayed.traffic)
    >>> result.packets_delivered == len(replayed.traffic.table)
    True
    """
    topology, router = network(options)
    if traffic is not None:
        return Experiment(topology=topology, router=router, traffic=traffic)
    if options["sim_count"] != "1":
        raise SpecError.at("sim_count", f"is {options['sim_count']}: records are of one run", "give 1")
    outcome = run(options, packets=True)
    if outcome.outcome == UNSTABLE:
        raise SpecError.at(
            "injection_rate",
            f"the run is {UNSTABLE}: it ends with packets under way, which are not among its packets",
            "give a lower rate, or sim_type = throughput",
        )
    log = {name: np.asarray(column) for name, column in outcome.packets.items()}
    count = len(log["packet"])
    if not 0 < count <= LISTED_PACKETS:
        raise SpecError.at(
            "max_samples", f"the run has {count} packets; 1 to {LISTED_PACKETS} are listed", "give another"
        )
    order = np.argsort(log["packet"])
    columns = [log[name][order].tolist() for name in ("source", "destination", "size", "created")]
    found = Experiment(topology=topology, router=router, traffic=Packets(list(zip(*columns, strict=True))))
    _require_the_same(options, found, log["source"][order], log["tail"][order])
    return found


def network(options: Options) -> tuple[AnyNetwork, Router]:
    """The network of a file, and its routers.

    Raises
    ------
    SpecError
        Links lead one way, or an option has a value that is not known.

    Examples
    --------
    >>> torus, router = network(Options.of({"k": "4", "routing_function": "dim_order"}))
    >>> print(torus, router.latency, router.channels)
    4x4 torus 2 16
    """
    values = {**options.values, "topology": options["topology"]}
    if values.get(NETWORK_FILE):
        values[NETWORK_FILE] = network_text(values[NETWORK_FILE])
    said = {name: value for name, value in values.items() if name not in _OF_PACKETS}
    # Refuses what is not known by the name that the file has for it.
    parts_of_options(said)
    return network_of_options(values), Router(model="pipelined", options=said)


def _require_the_same(options: Options, found: Experiment, sources: Column, tails: Column) -> None:
    """Refuse packets that arrive in other cycles than in the run of their file."""
    simulation = begin_experiment(found, links=False, packets=True)
    simulation.run()
    packets = simulation.result().packets
    # By source, and there in the order in which they were made.
    wanted = tails[np.argsort(sources, kind="stable")]
    order = np.lexsort((packets["number"], packets["source"]))
    arrived = packets["tail_arrival"].to_numpy()[order] + _BEHIND_THE_LAST_ROUTER
    if not np.array_equal(wanted, arrived):
        raise SpecError.at(
            "routing_function",
            f"is {options['routing_function']}: the packets of the run arrive in other cycles when they are "
            "sent once more, since it or an allocator draws",
            "give a function and allocators that draw nothing, e.g. dor and islip",
        )
