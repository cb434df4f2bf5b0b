"""Jobs that share a network: who gets which box or hosts, and what one costs the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, show, show_file
from flitloom.ground.fixed import explained
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_toml
from flitloom.networks.kinds import described
from flitloom.networks.network import Network
from flitloom.placing.axes import parse_axes
from flitloom.placing.boxes import boxes_for, is_closed, nodes_of
from flitloom.placing.host_jobs import free_hosts, share_switch
from flitloom.placing.hosts import names_of
from flitloom.placing.placement import Placement
from flitloom.placing.running import FLIT_BYTES, packet_rows, router_for
from flitloom.placing.search import place
from flitloom.placing.traffic import Traffic, axes_traffic, read_traffic, stencil_traffic
from flitloom.run.simulation import Simulation
from flitloom.spec import Packets
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.machine import Machine
from flitloom.spec.topology import sizes_at

#: How a box is chosen: the first free one, or the one that touches most taken ones.
FITS = ("first", "contact")
#: Millions of channel loads per job, for placing its ranks in its box.
EFFORT = 20
#: Jobs of a file.
MOST_JOBS = 1 << 12


@explained
@dataclass(frozen=True)
class Job:
    """A job that wants a box of nodes or hosts of switches, or has nodes.

    Attributes
    ----------
    name : str
        Its name.
    shape : tuple of int
        Sides of the box it wants; empty if its nodes are given.
    traffic : Traffic
        What its ranks, one per node, exchange.
    nodes : tuple of int
        The nodes that are given to it.
    rotate, fold : bool
        Whether its box may lie otherwise, or be folded.
    hosts : int
        How many hosts of switches it wants; 0 if it wants a box, or its nodes are given.
    """

    name: str
    shape: tuple[int, ...]
    traffic: Traffic
    nodes: tuple[int, ...] = ()
    rotate: bool = True
    fold: bool = True
    hosts: int = 0

    @property
    def room(self) -> int:
        """Nodes that it wants or has."""
        if self.nodes:
            return len(self.nodes)
        return self.hosts or math.prod(self.shape)


@explained
@dataclass(frozen=True)
class Seated:
    """A job on its nodes.

    Attributes
    ----------
    job : Job
        The job.
    box : tuple of int
        Sides of its box; empty if its nodes were given, and of hosts of switches.
    nodes : tuple of int
        The node of every rank.
    closed : bool
        Whether its box is closed: no message leaves it. Of hosts of switches: whether one switch has all.
    busiest_channel : int
        Bytes on the channel that its own traffic loads most.
    loads : array of int
        Bytes per channel.
    shared_channels : int
        Channels that it uses and another job uses, too.
    alone, shared : int or None
        Cycles until all its messages, sent at once, have arrived: without the others, and with them.
    """

    job: Job
    box: tuple[int, ...]
    nodes: tuple[int, ...]
    closed: bool
    busiest_channel: int
    loads: NDArray[np.int64] = field(repr=False)
    shared_channels: int = 0
    alone: int | None = None
    shared: int | None = None


@explained
@dataclass(frozen=True)
class Seating:
    """Jobs that share a network.

    Attributes
    ----------
    topology : AnyNetwork
        The network.
    jobs : tuple of Seated
        Those that have nodes, in the order they were given.
    waiting : tuple of str
        Names of those for which no box was free.
    """

    topology: AnyNetwork
    jobs: tuple[Seated, ...]
    waiting: tuple[str, ...]

    @property
    def apart(self) -> bool:
        """Whether no channel has bytes of two jobs, which proves that none slows another one down."""
        return all(seated.shared_channels == 0 for seated in self.jobs)

    def facts(self) -> dict[str, Any]:
        """What ``flitloom place --jobs --json`` prints."""
        return {
            "network": str(self.topology),
            "apart": self.apart,
            "certificate": {"kind": "channels"} if self.apart else None,
            "jobs": [
                {
                    "name": seated.job.name,
                    "box": list(seated.box),
                    "placement": list(seated.nodes),
                    "closed": seated.closed,
                    "busiest_channel": seated.busiest_channel,
                    "shared_channels": seated.shared_channels,
                    "alone": seated.alone,
                    "shared": seated.shared,
                }
                for seated in self.jobs
            ],
            "waiting": list(self.waiting),
        }


def seat(
    topology: AnyNetwork | str | Path,
    jobs: Sequence[Job],
    *,
    fit: str = "first",
    simulate: bool = True,
    seed: int = 1,
    effort: int = EFFORT,
    flit_bytes: int = FLIT_BYTES,
    machine: Machine | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Seating:
    """Give jobs boxes of free nodes, place their ranks in them, and say what they cost each other.

    Jobs with given nodes come first, then the others in their order; a closed box is preferred. If no
    channel has bytes of two jobs, none slows another down, whatever the cycle; otherwise all are
    simulated alone and together.

    Between hosts of switches a job gets hosts of one switch, else of one group, else the first free ones.

    Parameters
    ----------
    topology : AnyNetwork, str or path
        The network, whole or without some nodes; a torus, a mesh, or switches with hosts; or what names it.
    jobs : sequence of Job
        The jobs.
    fit : {"first", "contact"}
        Which free box is taken: the first one, or the one that touches most taken ones.
    simulate : bool
        Whether every job is simulated alone and with the others.
    seed, effort : int
        Of the search for the ranks of each job; millions of channel loads.
    flit_bytes : int
        Bytes of a flit, for the simulation.
    machine : Machine, optional
        What a round costs, and the bytes of a flit: links have as many cycles as a round.
    progress : callable, optional
        Told how many of how many parts are done.

    Raises
    ------
    SpecError
        Two jobs claim the same node, or a job fits nowhere even on an empty network.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.placing import axes_traffic, parse_axes
    >>> ring = axes_traffic(parse_axes("all=8:ring:64"))
    >>> jobs = [Job("a", (4, 2), ring), Job("b", (4, 2), ring)]
    >>> found = seat(fl.Torus(4, 4), jobs, effort=1)
    >>> found.apart, [(one.box, one.alone == one.shared) for one in found.jobs]
    (True, [((4, 2), True), ((4, 2), True)])
    """
    _check_names(jobs, fit)
    plain = topology = described(topology)
    if topology.grid is None:
        if fit != FITS[0]:
            raise SpecError.at("fit", f"{fit} is about boxes", "hosts of switches have none; leave it out")
        where, waiting = _hosts(topology, jobs)
    else:
        topology.require_plain("jobs")
        if topology.failed_links:
            raise SpecError.at("topology.failed_links", "cannot be there", "boxes are for whole cables")
        where, waiting = _boxes(topology, jobs, fit)
        plain = topology.model_copy(update={"failed_nodes": ()})
    seated = []
    for job in jobs:
        if job.name not in where:
            continue
        box, nodes = where[job.name]
        placed = place(plain, job.traffic, nodes=nodes, seed=seed, effort=effort)
        seated.append((job, box, placed))
        if progress is not None:
            progress(len(seated), 2 * len(where))
    found_all = _together(topology, seated)
    if simulate:
        found_all = _timed(plain, found_all, flit_bytes, machine)
    return Seating(topology, tuple(found_all), tuple(waiting))


def _boxes(
    topology: AnyNetwork, jobs: Sequence[Job], fit: str
) -> tuple[dict[str, tuple[tuple[int, ...], list[int]]], list[str]]:
    """The box and the nodes of every job, those with given nodes first, and the jobs that must wait."""
    taken = _given(topology, jobs)
    floor = floor_of(topology, taken)
    where: dict[str, tuple[tuple[int, ...], list[int]]] = {}
    waiting = []
    for job in jobs:
        if job.nodes:
            where[job.name] = (), sorted(job.nodes)
            continue
        if job.hosts:
            raise SpecError.at(f"job {job.name}", "wants hosts of switches", 'write a box: shape = "4x4"')
        boxes = boxes_for(job.shape, topology, rotate=job.rotate, fold=job.fold)
        if not boxes:
            sides = "x".join(map(str, job.shape))
            raise SpecError.at(f"job {job.name}", f"a box of {sides} does not fit into {topology}")
        found = floor.find(boxes, fit == "contact")
        if found is None:
            waiting.append(job.name)
            continue
        chosen, corner = found
        floor.flip(corner, boxes[chosen])
        where[job.name] = boxes[chosen], nodes_of(corner, boxes[chosen], topology)
    return where, waiting


def _given(topology: AnyNetwork, jobs: Sequence[Job]) -> dict[int, str]:
    """The nodes that are given to jobs, and whose they are."""
    taken: dict[int, str] = {}
    for job in jobs:
        for node in job.nodes:
            if node in topology.failed_nodes:
                raise SpecError.at(f"job {job.name}", f"node {node} has failed", "leave it out")
            if node in taken:
                raise SpecError.at(
                    f"job {job.name}", f"node {node} belongs to job {taken[node]}, too", "give each its own"
                )
            taken[node] = job.name
    return taken


def _hosts(
    topology: AnyNetwork, jobs: Sequence[Job]
) -> tuple[dict[str, tuple[tuple[int, ...], list[int]]], list[str]]:
    """The hosts of every job, those that are given first, and the jobs that must wait."""
    taken = _given(topology, jobs)
    where: dict[str, tuple[tuple[int, ...], list[int]]] = {}
    waiting = []
    for job in jobs:
        if job.shape:
            raise SpecError.at(
                f"job {job.name}",
                "wants a box, which tori and meshes have",
                f"write how many hosts: hosts = {job.room}",
            )
        if job.room > topology.nodes:
            raise SpecError.at(f"job {job.name}", f"wants {job.room} hosts of {topology}")
        found = sorted(job.nodes) if job.nodes else free_hosts(topology, job.hosts, taken)
        if found is None:
            waiting.append(job.name)
            continue
        taken |= dict.fromkeys(found, job.name)
        where[job.name] = (), found
    return where, waiting


def floor_of(topology: AnyNetwork, taken: Sequence[int] | dict[int, str] = ()) -> _core.JobFloor:
    """The nodes that jobs may have."""
    if topology.sizes[0] > 128:
        raise SpecError.at(
            "topology", f"has rows of {counted(topology.sizes[0], 'node')}", "at most 128 are allocated"
        )
    return _core.JobFloor(topology.core(), list(taken))


def _check_names(jobs: Sequence[Job], fit: str) -> None:
    if fit not in FITS:
        raise SpecError.at("fit", f"is one of {', '.join(FITS)}, not {show(fit)}")
    if not jobs:
        raise SpecError.at("jobs", "there is none")
    names = [job.name for job in jobs]
    for name in names:
        if names.count(name) > 1:
            raise SpecError.at("jobs", f"two have the name {show(name)}")
    for job in jobs:
        if job.traffic.ranks != job.room:
            raise SpecError.at(
                f"job {job.name}",
                f"has traffic of {counted(job.traffic.ranks, 'rank')} for {counted(job.room, 'node')}",
                "a rank each",
            )


def _together(topology: AnyNetwork, seated: list[tuple[Job, tuple[int, ...], Placement]]) -> list[Seated]:
    subnet = topology.subnet
    users = sum((placed.loads > 0).astype(np.int64) for _, _, placed in seated)

    def is_apart(box: tuple[int, ...], placed: Placement) -> bool:
        if subnet is not None:
            return share_switch(subnet, placed.nodes.tolist())
        return bool(box) and is_closed(box, topology)

    return [
        Seated(
            job,
            box,
            tuple(placed.nodes.tolist()),
            is_apart(box, placed),
            placed.busiest_channel,
            placed.loads,
            int(((placed.loads > 0) & (users > 1)).sum()),
        )
        for job, box, placed in seated
    ]


def _timed(
    topology: AnyNetwork, jobs: list[Seated], flit_bytes: int, machine: Machine | None
) -> list[Seated]:
    """Every job with its cycles alone and with all others.

    Packets stand in the order of the jobs' first nodes, so the order in which jobs are listed is nothing.
    """
    flit_bytes = flit_bytes if machine is None else machine.flit_bytes
    moving = [seated for seated in jobs if len(seated.job.traffic.bytes)]
    rows = {
        seated.job.name: packet_rows(seated.job.traffic, seated.nodes, flit_bytes).tolist()
        for seated in sorted(moving, key=lambda seated: min(seated.nodes))
    }
    if not rows:
        return jobs
    network = Network(topology, router_for(None, machine, topology.grid is None))
    together = ends_of(network, rows)
    found = []
    for seated in jobs:
        name = seated.job.name
        if name in rows:
            alone = ends_of(network, {name: rows[name]})[name]
            seated = replace(seated, alone=alone, shared=together[name])
        found.append(seated)
    return found


def ends_of(network: Network, rows: dict[str, list[list[int]]]) -> dict[str, int]:
    """When the last flit of every job's packets leaves the network; no two jobs have the same source.

    Parameters
    ----------
    network : Network
        What all jobs run on at the same time.
    rows : mapping
        Source, destination, length and start of the packets of every job.

    Examples
    --------
    >>> import flitloom as fl
    >>> network = fl.Network(fl.Product("ring4"), fl.Router(model="pipelined"))
    >>> ends_of(network, {"a": [[0, 2, 17, 0]], "b": [[1, 2, 4, 0], [1, 2, 17, 0]]})
    {'a': 49, 'b': 47}
    """
    packets = Packets([tuple(row) for each in rows.values() for row in each])
    simulation = Simulation(network, packets, packets=True, links=False)
    simulation.run()
    told = simulation.result().packets
    owner = {row[0]: name for name, each in rows.items() for row in each}
    last = dict.fromkeys(rows, 0)
    for source, arrival in zip(
        told["source"].values.tolist(), told["tail_arrival"].values.tolist(), strict=True
    ):
        last[owner[source]] = max(last[owner[source]], arrival)
    # A tail that has arrived at its node leaves it two cycles later.
    return {name: arrival + 2 for name, arrival in last.items()}


def read_jobs(file: str | Path, topology: AnyNetwork | str | Path) -> list[Job]:
    """The jobs of a TOML file: tables ``[[job]]`` with name, what they want, and axes, stencil or traffic.

    What a job wants is one of shape (a box), hosts (of switches, how many) and nodes.

    Raises
    ------
    SpecError
        Something else is in it, or something is missing.
    """
    name, topology = show_file(Path(file)), described(topology)
    fields = read_toml(file)
    listed = fields.pop("job", None)
    if fields or not isinstance(listed, list) or not 1 <= len(listed) <= MOST_JOBS:
        extra = f"has {show(next(iter(fields)))}" if fields else "has no job"
        raise SpecError(f"{name}: {extra}; it is a list of tables [[job]], at most {MOST_JOBS}")
    return [_job(entry, f"{name}: job {number}", topology) for number, entry in enumerate(listed, 1)]


def _job(entry: Any, place_of: str, topology: AnyNetwork) -> Job:
    kinds = {"name": str, "shape": str, "nodes": str, "axes": str, "stencil": str, "traffic": str}
    allowed = {**kinds, "hosts": int, "rotate": bool, "fold": bool}
    if not isinstance(entry, dict):
        raise SpecError(f"{place_of}: is not a table")
    for key, value in entry.items():
        if key not in allowed:
            raise SpecError.at(f"{place_of}.{key}", "is unknown", f"there are {', '.join(allowed)}")
        if type(value) is not allowed[key]:
            wanted = {str: "a text", int: "a whole number", bool: "true or false"}[allowed[key]]
            raise SpecError.at(f"{place_of}.{key}", f"is {show(value)}", f"it must be {wanted}")
    if "name" not in entry or sum(key in entry for key in ("shape", "nodes", "hosts")) != 1:
        example = "hosts = 16" if topology.grid is None else 'shape = "4x4x2"'
        raise SpecError.at(place_of, "needs a name, and one of shape, hosts and nodes", f"e.g. {example}")
    nodes = _nodes(entry["nodes"], f"{place_of}.nodes", topology) if "nodes" in entry else ()
    shape = sizes_at(entry["shape"], f"{place_of}.shape") if "shape" in entry else ()
    if entry.get("hosts", 1) < 1:
        raise SpecError.at(f"{place_of}.hosts", f"is {entry['hosts']}", "a job wants 1 or more")
    given = [key for key in ("axes", "stencil", "traffic") if key in entry]
    if len(given) != 1:
        raise SpecError.at(place_of, "needs one of axes, stencil and traffic")
    if given == ["axes"]:
        traffic = axes_traffic(parse_axes(entry["axes"]))
    elif given == ["stencil"]:
        traffic = stencil_traffic(sizes_at(entry["stencil"], f"{place_of}.stencil"))
    else:
        traffic = read_traffic(entry["traffic"])
    turned = bool(entry.get("rotate", True)), bool(entry.get("fold", True))
    return Job(entry["name"], shape, traffic, nodes, *turned, entry.get("hosts", 0))


def _nodes(text: str, place: str, topology: AnyNetwork) -> tuple[int, ...]:
    """Nodes by their numbers; hosts of switches also by their names."""
    return tuple(names_of(topology).numbers(text, place))
