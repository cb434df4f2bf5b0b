"""Simulate traffic on a network."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flitloom._core import LIMITS
from flitloom.errors import SpecError, require_kind, show_file
from flitloom.ground import interrupts
from flitloom.ground.lazy import xr
from flitloom.ground.limits import LINK_TIME_CELLS, RECORDED_PACKETS
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_output
from flitloom.ground.ranks import Ranks
from flitloom.ground.reading import placed
from flitloom.ground.series import make_series
from flitloom.networks.experiment import Experiment
from flitloom.networks.followed import followed
from flitloom.networks.network import Bound, Network, network_of
from flitloom.networks.running import begin
from flitloom.plans.phases import phases_of
from flitloom.plans.plan import Plan
from flitloom.run import checkpoint
from flitloom.run.outlook import memory_needed, require_memory
from flitloom.run.result import Result
from flitloom.run.tables_bound import least_duration
from flitloom.spec import DIMENSION_NAMES
from flitloom.spec.any_traffic import AnyTraffic, PlannedTraffic
from flitloom.spec.base import require_whole, show

if TYPE_CHECKING:
    from flitloom.ground.ranks import Ranks
    from flitloom.tables.by_source.tables import Tables


#: Seconds between two reports of progress.
LOOK = 0.25
#: Most threads of one simulation.
MAX_THREADS = 256


class Simulation:
    """A simulation that is held: run it a piece at a time, look at it, copy it.

    Parameters
    ----------
    network : Network
        The network.
    traffic : Collective, Load, Packets, TrafficMatrix, Messages or Plan
        Who sends what; a plan also gives the routes.
    seed : int
        Seed of everything random; the same seed gives the same run on any machine.
    stop_at : int, optional
        The cycle in which it will be looked at, if that is known.
    cycle_limit : int, optional
        Fail if not everything is delivered before this cycle.
    throttle : str
        Injection throttle: ``none``, ``spth:margin=8``, ``pt`` or another of docs/throttles.md.
    links, packets, link_time : bool
        What to record, as in `simulate`.
    tables : Tables, optional
        Routes of all packets; those of the network's routing without.
    routing : str, optional
        Another routing function than the network's; see `Router`.
    latencies : bool
        Whether mean latencies are to be known in every cycle; otherwise they are when everything is
        delivered and at `stop_at`, which is up to twice as fast.
    windows : int, optional
        Record windows of this many cycles, for `windows`; not together with `packets` or
        `link_time`.
    threads : int
        Threads, each with some rows of the network, so at most as many as there are rows. The result does
        not depend on it. It pays where a cycle takes long: from some 128x128 routers on, if as many cores
        are free. Records of packets or link times take one thread.

    Raises
    ------
    SpecError
        The traffic does not fit the network.
    UnreachableError
        A packet needs a failed node or link.

    Examples
    --------
    >>> import copy
    >>> import flitloom as fl
    >>> sim = fl.Simulation(fl.Network(fl.Torus(16, 16)), fl.Collective("trns", payload=7))
    >>> sim.step(20)
    >>> sim.now, sim.totals.packets_delivered, int(sim.occupancy().sum())
    (20, 76, 996)
    >>> other = copy.copy(sim)
    >>> sim.run()
    >>> sim.finished, sim.totals.duration     # cup-stacking-2022, Table 2
    (True, 74)
    >>> other.now
    20
    """

    _judged: checkpoint.Judged | None = None

    def __init__(
        self,
        network: Network | str | Path,
        traffic: AnyTraffic | Plan,
        *,
        seed: int = 1,
        stop_at: int | None = None,
        cycle_limit: int | None = None,
        links: bool = True,
        packets: bool = False,
        link_time: bool = False,
        latencies: bool = True,
        windows: int | None = None,
        tables: Tables | None = None,
        routing: str | None = None,
        throttle: str = "none",
        threads: int = 1,
    ) -> None:
        network = network_of(network)
        if routing is not None:
            network = Network(network.topology, network.router, routing=routing)
        if isinstance(traffic, Plan):
            network = traffic.arbitrated(network)
            traffic = traffic.as_packets(network)
        if not isinstance(traffic, AnyTraffic):
            raise SpecError.at(
                "traffic", f"{show(traffic)} is not traffic", "give fl.Collective(...) or fl.Load(...)"
            )
        spec = Experiment(
            topology=network.topology,
            router=network.router,
            traffic=traffic,
            seed=seed,
            stop_at=stop_at,
            cycle_limit=cycle_limit,
            throttle=throttle,
        )
        records = {
            "links": links,
            "packets": packets,
            "link_time": link_time,
            "latencies": latencies,
            "windows": windows,
        }
        self._begin(network, spec, records, tables, threads)

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            if "_core" in vars(self) and not name.startswith("_"):
                raise SpecError.at(f"Simulation.{name}", "cannot be set", "step and run change a simulation")
            super().__setattr__(name, value)

    @classmethod
    def _of(
        cls,
        spec: Experiment,
        records: dict[str, Any],
        *,
        tables: Tables | None = None,
        threads: int = 1,
        state: bytes | None = None,
        on_ranks: bool = False,
    ) -> Simulation:
        """The simulation of a whole spec, on all ranks of MPI if so; of a saved state, if there is one."""
        simulation = object.__new__(cls)
        network = Network(spec.topology, spec.router)
        ranks = None
        if on_ranks:
            ranks = Ranks(network)
        simulation._begin(network, spec, records, tables, threads, state, ranks)
        return simulation

    def _begin(
        self,
        network: Network,
        spec: Experiment,
        records: dict[str, Any],
        tables: Tables | None,
        threads: int,
        state: bytes | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        require_whole("threads", threads, 1, MAX_THREADS)
        self.network, self._spec, self._records = network, spec, records
        self._tables, self._threads, self._ranks = tables, threads, ranks
        traffic = spec.traffic
        require_memory(_memory(network, traffic, links=records["links"]))
        workload = traffic.workload(network, spec.seed)
        if tables is not None:
            workload = tables.routed(network, workload)
        # Links and ports carry a flit per cycle with any routers, and pipelined ones take longer for a hop.
        self._bound = network.route_bound(workload)
        if records["link_time"]:
            _check_link_time(network, traffic, spec.stop_at, self._bound)
        count = traffic.count(network.nodes) if workload.count is None else workload.count
        if records["packets"] and count > RECORDED_PACKETS:
            raise SpecError.at(
                "packets",
                f"the times of some {counted(count, 'packet')}",
                f"at most {RECORDED_PACKETS} are recorded",
            )
        if records["windows"] is not None:
            require_whole("windows", records["windows"], 1, LIMITS["start"], "cycles")
            if records["packets"] or records["link_time"]:
                raise SpecError.at("windows", "are not kept together with records of packets or link_time")
        beside = {"ranks": ranks, "tables": tables, "threads": threads, "state": state}
        self._core = begin(network, workload, spec, records, **beside)
        if state is not None:
            self._core.restore(state)

    @property
    def spec(self) -> Experiment:
        """What is simulated, the seed included."""
        return self._spec

    @property
    def now(self) -> int:
        """The cycle that comes next."""
        return int(self._core.now)

    @property
    def keeps_windows(self) -> bool:
        """Whether `windows` says what happened."""
        return self._records["windows"] is not None

    @property
    def judged(self) -> checkpoint.Judged | None:
        """What a load was like while its packets were generated, once `remember` has been told."""
        return self._judged

    def remember(self, judged: checkpoint.Judged) -> None:
        """Keep what a load was like: files have it from now on, since what follows blurs its counts."""
        self._judged = judged

    @property
    def finished(self) -> bool:
        """Whether everything is delivered."""
        return bool(self._core.finished)

    @property
    def engine(self) -> str:
        """The engine: ``pipelined`` for that model, else ``planes`` or ``general``, with equal results."""
        return str(self._core.engine)

    def step(self, cycles: int = 1) -> None:
        """Run the next cycles; less if everything is delivered before."""
        if cycles < 0:
            raise SpecError.at("cycles", f"{cycles} is negative", "a simulation runs forwards only")
        self.run(until=self.now + cycles)

    def run(
        self,
        until: int | None = None,
        *,
        cycle_limit: int | None = None,
        checkpoint: str | Path | None = None,
        every: float = 60.0,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Run to the start of a cycle, or until everything is delivered.

        Interrupted (Ctrl-C) or ended by an error, it stands where it was and can be looked at.

        Parameters
        ----------
        until : int, optional
            The cycle to stop at.
        cycle_limit : int, optional
            Another limit than that of the simulation.
        checkpoint : path, optional
            Where to save the simulation now and then, and when it is interrupted.
        every : float
            Seconds between two checkpoints.
        progress : callable, optional
            Told now and then how much of how much is done: cycles or packets.

        Raises
        ------
        DeadlockError
            No flit can ever move again.
        CycleLimitError
            The limit was reached first.
        """
        for name, cycle in (("until", until), ("cycle_limit", cycle_limit)):
            if cycle is not None and cycle < 0:
                raise SpecError(f"{name}: {cycle} is out of range; it must be at least 0 cycles")
        if cycle_limit is None:
            cycle_limit = self._spec.cycle_limit
        if checkpoint is None and progress is None:
            self._go_on(until, cycle_limit, None)
            return
        if not every > 0:
            raise SpecError.at("every", f"{every} s is not a time between checkpoints", "it must be above 0")
        if checkpoint is not None:
            check_output(checkpoint, place="checkpoint")
        with self._interrupts(checkpoint):
            saved = time.monotonic()
            try:
                while not self._go_on(until, cycle_limit, LOOK if progress else every):
                    if progress is not None:
                        progress(*self._done(until))
                    if checkpoint is not None and self._any(time.monotonic() - saved >= every):
                        self.save(checkpoint)
                        saved = time.monotonic()
            except KeyboardInterrupt:
                if checkpoint is not None:
                    interrupts.kept()
                    self.save(checkpoint)
                raise

    def unit(self, until: int | None) -> str:
        """What progress towards a cycle is told in: cycles if an end is known, else packets."""
        return "packets" if until is None and self._spec.traffic.generated_until is None else "cycles"

    def _interrupts(self, checkpoint: str | Path | None) -> AbstractContextManager[None]:
        """What Ctrl-C does: it ends the process at once unless there is something to save."""
        if checkpoint is None:
            return nullcontext()
        return interrupts.keeping() if self._ranks is None else interrupts.noting()

    def _go_on(self, until: int | None, cycle_limit: int | None, seconds: float | None) -> bool:
        """Run; False if it pauses. What interrupts one rank interrupts all."""
        if self._ranks is None or seconds is None:
            return bool(self._core.run(until, cycle_limit, seconds))
        done = self._core.run(until, cycle_limit, min(seconds, LOOK))
        if self._any(interrupts.pressed()):
            raise KeyboardInterrupt
        return bool(done)

    def _any(self, told: bool) -> bool:
        """Whether something is so, on any rank: clocks differ, and all do the same."""
        return told if self._ranks is None else self._ranks.any(told)

    def _done(self, until: int | None) -> tuple[int, int]:
        """How much of how much is done, in cycles if an end is known, else in packets."""
        if until is None:
            until = self._spec.traffic.generated_until
        if until is not None:
            return min(self.now, until), until
        return self._core.delivered, self._core.packets or 1

    def save(self, path: str | Path) -> None:
        """Write it to a file, from which `load` takes it up to the bit.

        Examples
        --------
        >>> import tempfile
        >>> import flitloom as fl
        >>> sim = fl.Simulation(fl.Network(fl.Torus(8, 8)), fl.Collective("brot"))
        >>> sim.step(20)
        >>> path = tempfile.mkdtemp() + "/brot.flit"
        >>> sim.save(path)
        >>> again = fl.Simulation.load(path)
        >>> again.now
        20
        >>> again.run()
        >>> sim.run()
        >>> again.totals.fingerprint == sim.totals.fingerprint
        True
        """
        routes, state = _routes_checksum(self._spec, self._tables), self._core.save()
        if self._ranks is None or self._ranks.rank == 0:
            checkpoint.write(path, self._spec, self.now, self._records, state, routes, self._judged)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        tables: Tables | None = None,
        threads: int = 1,
        _on_ranks: bool = False,
    ) -> Simulation:
        """Take a saved simulation up, in any number of threads; one over routing tables needs them again.

        Raises
        ------
        SpecError
            The file is not a saved simulation, has another version, is cut off or damaged.
        """
        spec, header, state = checkpoint.read(path)
        if header.tables != _routes_checksum(spec, tables):
            begun = "without tables" if header.tables is None else "over tables"
            raise SpecError(f"{show_file(path)}: tables: it was begun {begun}; continue with exactly those")
        made = (spec, header.records, state, tables, threads, _on_ranks)
        loaded = placed(show_file(path), lambda: _restored(*made))
        loaded._judged = header.judged
        return loaded

    def __reduce__(
        self,
    ) -> tuple[Callable[..., Simulation], tuple[Experiment, dict[str, Any], bytes, Tables | None, int]]:
        return _restored, (self._spec, self._records, self._core.save(), self._tables, self._threads)

    @property
    def totals(self) -> Result:
        """What came of it so far; records that were kept are in `result`."""
        return self._look(records=False)

    def result(self) -> Result:
        """What came of it so far, with its records, the spec, the seed, the version and the commit.

        Of a run that has not ended, the spec says so by its ``stop_at``.
        """
        return self._look(records=True)

    def _look(self, *, records: bool) -> Result:
        spec, stop_at = self._spec, self._spec.stop_at
        if stop_at is None and not self.finished:
            stop_at = self.now
        spec = spec.model_copy(update={"stop_at": stop_at})
        raw = self._core.totals(stop_at, records)
        return Result(self.network, spec, raw, self._bound, self._tables, again=run_experiment)

    def windows(self) -> xr.Dataset:
        """What happened in the windows that have ended, and over the measured stretch.

        Over ``window`` (its first cycle): ``offered_flits`` and ``generated_flits``, ``injected_packets``,
        ``ejected_flits``, ``delivered_packets``, sums and maxima of their ages (``age_sum``, ``age_max``,
        from generation to the tail's ejection) and network ages (``network_age_sum``, ``network_age_max``,
        from the cycle in which the header leaves the processor queue), both plus 2 as in
        `Result.duration`, and packets ``in_flight`` at its end. Over ``node``: ``delivered_by_source``,
        packets delivered in the stretch. Over classes of ages, of which the last is empty: ``age_histogram``
        of the packets generated in the stretch, as far as they are delivered, and ``network_age_histogram``
        of those delivered in it. Over ``slot`` (at most 64, each of ``slot_cycles``, the last one perhaps
        cut off) and ``node``, and ``queue`` where nodes have several: packets generated and sent and busy
        cycles of source queues (``generated_by_source``, ``sent_by_source``, ``busy_by_source``), and flits
        ``generated_for`` a node; see `flitloom.analysis.utilisation`.

        Raises
        ------
        SpecError
            The simulation keeps no windows.

        Examples
        --------
        >>> import flitloom as fl
        >>> load = fl.Load("rand", rate=0.2, length=8, cycles=1000)
        >>> sim = fl.Simulation(fl.Network(fl.Torus(8, 8)), load, windows=100)
        >>> sim.run(until=1000)
        >>> series = sim.windows()
        >>> series.sizes["window"], int(series.ejected_flits.sum()) == sim.totals.flits_delivered
        (10, True)
        >>> float(series.offered_flits[0])     # flits per window: 0.2 of 64 nodes in 100 cycles
        1280.0
        """
        raw, length = self.counted_windows()
        return make_series(self.network, self._spec.traffic, raw, length, self._spec.seed)

    def counted_windows(self) -> tuple[dict[str, Any], int]:
        """What `windows` tells, as the core counted it, and cycles of a window."""
        raw = self._core.windows()
        if raw is None:
            raise SpecError.at("windows", "are not kept", "give fl.Simulation(..., windows=100)")
        return raw, self._records["windows"]

    def measure(self, first: int | None = None, end: int | None = None) -> None:
        """Measure ages and packets by source from a cycle on (now), to another (for good).

        What was measured before is forgotten.

        Raises
        ------
        SpecError
            The simulation keeps no windows, or the stretch has begun already.
        """
        if self._records["windows"] is None:
            raise SpecError.at("windows", "are not kept", "give fl.Simulation(..., windows=100)")
        first = self.now if first is None else first
        last = LIMITS["start"]
        require_whole("measure", first, self.now, last, "cycles")
        if end is not None:
            require_whole("measure", end, first, last, "cycles")
        self._core.measure(first, 2**64 - 1 if end is None else end)

    def same_records(self, other: Simulation) -> bool:
        """Whether it records what another one does."""
        return self._records == other._records

    def occupancy(self) -> xr.DataArray:
        """Flits in every input buffer, by router, direction in which they came, and channel."""
        if self.network.topology.grid is None:
            raise SpecError.at("occupancy", "is known of tori and meshes")
        sizes, directions = self.network.topology.dimensions, list(self.network.directions)
        names = DIMENSION_NAMES[: len(sizes)]
        flits = self._core.occupancy().reshape(*reversed(sizes), len(directions), self.network.channels)
        coordinates = {name: np.arange(size) for name, size in zip(names, sizes, strict=True)}
        return xr.DataArray(
            flits,
            dims=(*reversed(names), "direction", "channel"),
            coords={**coordinates, "direction": directions},
            name="occupancy",
            attrs={"units": "flits"},
        )

    def __copy__(self) -> Simulation:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._core = self._core.copy()
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> Simulation:
        return self.__copy__()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {"network": self.network, "cycle": self.now, "finished": self.finished}
        return fields_html("simulation", fields)

    def __repr__(self) -> str:
        state = "finished" if self.finished else f"at cycle {self.now}"
        return f"Simulation({self.network!r}, {state})"


def _restored(
    spec: Experiment,
    records: dict[str, Any],
    state: bytes,
    tables: Tables | None = None,
    threads: int = 1,
    on_ranks: bool = False,
) -> Simulation:
    return Simulation._of(spec, records, tables=tables, threads=threads, state=state, on_ranks=on_ranks)


def _routes_checksum(spec: Experiment, tables: Tables | None) -> int | None:
    """Checksum of the routes that packets follow: those given, or tables by destination."""
    if tables is not None:
        return tables.checksum()
    by = followed(spec.topology) if spec.router.model == "pipelined" else None
    return None if by is None else by.tables.checksum()


def _check_link_time(
    network: Network,
    traffic: AnyTraffic,
    stop_at: int | None,
    bound: Bound | None,
) -> None:
    """Refuse link-time records that would not fit in memory."""
    end = traffic.generated_until or (bound[0] if bound else 0)
    cells = min(stop_at or 2**63, end) * network.nodes * len(network.directions)
    if cells > LINK_TIME_CELLS:
        raise SpecError.at(
            "link_time",
            f"a record of at least {cells} cells",
            f"at most {LINK_TIME_CELLS} are kept, so take a smaller network or stop earlier (stop_at)",
        )


def simulate(
    network: Network | str | Path,
    traffic: AnyTraffic | Plan,
    *,
    seed: int = 1,
    stop_at: int | None = None,
    cycle_limit: int | None = None,
    links: bool = True,
    packets: bool = False,
    link_time: bool = False,
    tables: Tables | None = None,
    routing: str | None = None,
    throttle: str = "none",
    threads: int = 1,
) -> Result:
    """Simulate traffic, cycle by cycle, until everything is delivered.

    Parameters
    ----------
    network : Network, str or path
        The network.
    traffic : Collective, Load, Packets, TrafficMatrix, Messages or Plan
        Who sends what; a plan also gives the routes.
    seed : int
        Seed of everything random; the same seed gives the same result on any machine.
    stop_at : int, optional
        End at the start of this cycle and report the totals, also with packets in flight.
    cycle_limit : int, optional
        Fail if not everything is delivered before this cycle.
    throttle : str
        Injection throttle: ``none``, ``spth:margin=8``, ``pt`` or another of docs/throttles.md.
    links, packets, link_time : bool
        What to record: the occupation of every link, the times of every packet, what every link did
        in every cycle. A record that is off costs nothing.
    tables : Tables, optional
        Routes of all packets, made by `route` or read by `read_tables` for this network, healthy or
        failed; those of the network's routing without. Tables with turns need
        ``flow_control="bubble"`` and buffers of two packets.
    routing : str, optional
        Another routing function than the network's; see `Router`.
    threads : int
        Threads, each with some rows of the network; the result does not depend on it. See `Simulation`.

    Returns
    -------
    Result
        Totals and records, with the spec, the seed, the version and the commit that made them.

    Raises
    ------
    SpecError
        The traffic does not fit the network.
    UnreachableError
        A packet needs a failed node or link.
    DeadlockError
        No flit can ever move again.
    CycleLimitError
        The limit was reached first.

    Examples
    --------
    >>> import flitloom as fl
    >>> net = fl.Network(fl.Torus(16, 16))
    >>> res = fl.simulate(net, fl.Collective("trns", payload=7))
    >>> res.duration                      # cup-stacking-2022, Table 2
    74
    >>> res.links.flits.sel(direction="+x").shape
    (16, 16)
    >>> net = fl.Network(fl.Torus(4, 2, failed_nodes=[3]), fl.Router(flow_control="bubble", buffer=16))
    >>> load = fl.Packets([(0, 5, 8, 0), (2, 4, 8, 0)])
    >>> fl.simulate(net, load, tables=fl.tables.make(net.topology)).packets_delivered
    2
    """
    limits: dict[str, Any] = {"seed": seed, "stop_at": stop_at, "cycle_limit": cycle_limit}
    records: dict[str, Any] = {"links": links, "packets": packets, "link_time": link_time, "latencies": False}
    ways: dict[str, Any] = {"tables": tables, "routing": routing, "throttle": throttle, "threads": threads}
    simulation = Simulation(network, traffic, **limits, **records, **ways)
    simulation.run(until=stop_at)
    return simulation.result()


def _memory(network: Network, traffic: AnyTraffic, *, links: bool) -> int:
    # More than are supported are refused for that. Of what is not listed no more are known than buffers hold.
    packets, listed = min(traffic.count(network.nodes), LIMITS["packets"]), traffic.is_listed
    return memory_needed(network, packets=packets, listed=listed, longest=traffic.longest, links=links)


def experiment_memory(experiment: Experiment, *, links: bool = True) -> int:
    """Bytes that the simulation of an experiment will take in the core, within about a third.

    Examples
    --------
    >>> from flitloom.networks.experiment import build_experiment
    >>> fields = {"topology": {"sizes": "64x64"}, "traffic": {"kind": "collective", "pattern": "shfl"}}
    >>> 1 << 19 < experiment_memory(build_experiment(fields), links=False) < 1 << 21
    True
    """
    return _memory(Network(experiment.topology, experiment.router), experiment.traffic, links=links)


def left_working(experiment: Experiment) -> tuple[Experiment, str]:
    """An experiment as it is sent among the nodes that work, and a text that says so; empty where all do.

    Examples
    --------
    >>> import flitloom as fl
    >>> load = fl.Load("next", rate=0.1, cycles=9)
    >>> left_working(fl.Experiment(topology=fl.Torus(4, failed_nodes=[1]), traffic=load))[1]
    'packets go among the 3 nodes that work; 1 of them sends nothing, since its destination has failed'
    """
    if not experiment.topology.failed_nodes:
        return experiment, ""
    network = Network(experiment.topology, experiment.router)
    traffic, text = experiment.traffic.left_working(network, experiment.seed)
    return experiment.model_copy(update={"traffic": traffic}), text


def begin_experiment(
    experiment: Experiment,
    *,
    links: bool = True,
    packets: bool = False,
    link_time: bool = False,
    windows: int | None = None,
    tables: Tables | None = None,
    threads: int = 1,
    on_ranks: bool = False,
) -> Simulation:
    """The simulation that an experiment describes, at its beginning; on all ranks of MPI, if so."""
    advice = "fl.Experiment(...) or fl.read_experiment(...)"
    require_kind("experiment", experiment, Experiment, "experiment", advice)
    records = {
        "links": links,
        "packets": packets,
        "link_time": link_time,
        "latencies": False,
        "windows": windows,
    }
    return Simulation._of(experiment, records, tables=tables, threads=threads, on_ranks=on_ranks)


def run_experiment(
    experiment: Experiment,
    *,
    links: bool = True,
    packets: bool = False,
    link_time: bool = False,
    tables: Tables | None = None,
) -> Result:
    """Simulate what an experiment describes; see `simulate`."""
    simulation = begin_experiment(
        experiment, links=links, packets=packets, link_time=link_time, tables=tables
    )
    simulation.run(until=experiment.stop_at)
    return simulation.result()


def lower_bound(network: Network | str | Path, traffic: PlannedTraffic, *, seed: int = 1) -> int:
    """A duration that no arbitration and no timing within the routers can beat on the same routes.

    For every link, injection and ejection port: the flits that must pass it one per cycle, the shortest
    way before the first and behind the last of them; the largest of these sums. Where packets go by tables
    by destination, these are the routes.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.lower_bound(fl.Network(fl.Torus(16, 16)), fl.Collective("torn"))
    67
    >>> pipelined = fl.Router(model="pipelined")
    >>> fl.lower_bound(fl.Network(fl.Product("full8 x full8"), pipelined), fl.Collective("torn"))
    11
    """
    network = network_of(network)
    if network.follows_tables and isinstance(traffic, PlannedTraffic):
        return _tables_bound(network, traffic, seed)
    if network.topology.damaged:
        # Refuses packets whose route is cut.
        bound = Simulation(network, traffic, seed=seed, links=False)._bound
    else:
        bound = network.route_bound(traffic.workload(network, seed))
    if bound is None:
        raise SpecError.at(
            "traffic.kind",
            f"{traffic.noun} has no lower bound on its duration",
            "give a collective or packets",
        )
    return bound[0]


def _tables_bound(network: Network, traffic: PlannedTraffic, seed: int) -> int:
    """The least duration where packets go by tables by destination."""
    messages = np.concatenate(phases_of(network, traffic, seed)[0])
    messages = np.column_stack([messages[:, :2], messages[:, 2] * messages[:, 3]])
    by = network.followed()
    assert by is not None
    return least_duration(by.tables, messages, network.router.latency)
