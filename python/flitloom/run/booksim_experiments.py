"""Files of BookSim2 as experiments: records, pages, saved states and other packets."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flitloom.booksim.options import Options
from flitloom.booksim.running import run
from flitloom.booksim.specs import TABLES
from flitloom.errors import SpecError
from flitloom.ground.limits import LISTED_PACKETS
from flitloom.networks.experiment import Experiment
from flitloom.run.simulation import begin_experiment
from flitloom.spec import Packets, Router, Topology
from flitloom.spec.any_traffic import AnyTraffic
from flitloom.spec.described import grid_of_options

Column: TypeAlias = NDArray[np.int64]
#: Cycles from the last router to the node.
_BEHIND_THE_LAST_ROUTER = 2
#: Options that say what packets there are and how a run is measured, but not which have channels apart.
_OF_PACKETS = frozenset(f"{TABLES['traffic']} {TABLES['simulation']}".split()) - {"classes", "use_read_write"}


def experiment(options: Options, traffic: AnyTraffic | None = None) -> Experiment:
    """What a file of BookSim2 describes, as an experiment.

    Parameters
    ----------
    options : Options
        What the file says, of a mesh or torus.
    traffic : AnyTraffic, optional
        Who sends what over its network; by default the packets of the file's own run, which are listed and
        arrive in the same cycles.

    Raises
    ------
    SpecError
        The network is another one, an option has a value that is not known, or packets would arrive in other
        cycles than in the run of the file, since its routers draw.

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
    log = {name: np.asarray(column) for name, column in run(options, packets=True).packets.items()}
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


def network(options: Options) -> tuple[Topology, Router]:
    """The mesh or torus of a file, and its routers.

    Examples
    --------
    >>> torus, router = network(Options.of({"k": "4", "routing_function": "dim_order"}))
    >>> print(torus, router.latency, router.channels)
    4x4 torus 2 16
    """
    grid = grid_of_options(options.values)
    said = {name: value for name, value in options.values.items() if name not in _OF_PACKETS}
    return grid, Router(model="pipelined", options={"topology": options["topology"], **said})


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
