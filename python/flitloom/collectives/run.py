"""A plan of a collective operation through the exact router: cycles beside steps, and who waits for whom."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core, traces
from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.goal import move_operations
from flitloom.collectives.rounds_hops import Hops
from flitloom.collectives.transfers import Transfer, transfers
from flitloom.errors import SpecError
from flitloom.fabric.examples import switch_name
from flitloom.ground.fixed import explained
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.networks import pipelined
from flitloom.networks.network import Network
from flitloom.spec import Router
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground

#: Simulations until the starts of all chunks agree with their arrivals.
MOST_ROUNDS = 2000
#: Cycles from the last of pipelined routers to its node.
EXIT = 2

Times = NDArray[np.int64]


@explained
@dataclass(frozen=True)
class CollectiveRun:
    """A plan that was run on routers.

    Attributes
    ----------
    steps : int
        Steps of the plan.
    cycles : int
        Cycles until the last flit was ejected.
    step_cycles : int
        Cycles from the start of a chunk to that of one that waits for it, where nothing hinders it.
    flits : int
        Flits of a chunk, headers included.
    ports : int
        Ports of a node to and from the network.
    transfers : list of Transfer
        The moves of the plan.
    injected, arrived : array
        Per transfer: the cycles in which its first packet entered the router and its last flit was ejected.
    for_chunks : Counter
        Cycles in which links idled, by (node, node whose chunk it waited for).
    for_ports : Counter
        Cycles in which chunks and their links were ready and the port of the node was busy, by node.
    on_the_way : Counter
        Cycles that chunks lost between their ports, by receiving node.
    chain : list of int
        Transfers that waited one for the other, up to the last one to arrive.
    """

    steps: int
    cycles: int
    step_cycles: int
    flits: int
    ports: int
    transfers: list[Transfer]
    injected: Times
    arrived: Times
    for_chunks: Counter[tuple[int, int]]
    for_ports: Counter[int]
    on_the_way: Counter[int]
    chain: list[int]

    def __repr__(self) -> str:
        return f"CollectiveRun({counted(self.steps, 'step')} in {counted(self.cycles, 'cycle')})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        fields = {name: value for name, value in self.summary().items() if isinstance(value, int | float)}
        return fields_html("a plan of a collective operation on routers", fields)

    def summary(self, most: int = 10) -> dict[str, Any]:
        """Numbers to print; `most` of the pairs and of the chain's transfers."""
        pairs = sorted(self.for_chunks.items(), key=lambda entry: (-entry[1], entry[0]))
        chain = [
            {
                "from": one.start,
                "to": one.end,
                "chunk": list(one.block),
                "step": one.step,
                "injected": int(self.injected[number]),
                "arrived": int(self.arrived[number]),
            }
            for number in self.chain[-most:]
            for one in [self.transfers[number]]
        ]
        return {
            "steps": self.steps,
            "cycles": self.cycles,
            "cycles_per_step": round(self.cycles / max(self.steps, 1), 3),
            "step_cycles": self.step_cycles,
            "flits_per_chunk": self.flits,
            "ports": self.ports,
            "chunks_sent": len(self.transfers),
            "waited_for_chunks": self.for_chunks.total(),
            "waited_for_ports": self.for_ports.total(),
            "lost_to_contention": self.on_the_way.total(),
            "waits": [
                {"node": node, "waits_for": other, "cycles": cycles} for (node, other), cycles in pairs[:most]
            ],
            "chain_length": len(self.chain),
            "chain": chain,
        }


def simulate_collective(
    plan: CollectivePlan,
    router: Router | None = None,
    *,
    flits: int = 16,
    packet_payload: int = 16,
    ports: int | None = None,
) -> CollectiveRun:
    """Run a plan on routers, cycle by cycle: a chunk leaves as soon as it and its link are there.

    Every move goes over one link, out of a port of its sender and into one of its receiver. The links of a
    node share its ports in turn; with a port per link chunks meet nowhere.

    Parameters
    ----------
    plan : CollectivePlan
        A plan for a torus, plain or twisted, a mesh or a product; failed parts and parallel links are as in
        the plan. With pipelined routers also for a graph or a published family, where switches keep chunks
        that they pass on.
    router : Router, optional
        The router at every node: wormhole or cut-through, buffers, latency; or a pipelined one.
    flits : int
        Payload of a chunk, in flits.
    packet_payload : int
        Most flits of a packet besides its header.
    ports : int, optional
        Ports of a node; as many as it has links without.

    Raises
    ------
    SpecError
        A number is out of range, or nothing so large is simulated.

    Examples
    --------
    >>> import flitloom as fl
    >>> run = fl.collectives.simulate(fl.collectives.plan(fl.Torus(4, 4), "all-gather"))
    >>> run.steps, run.step_cycles, run.cycles  # four chunks of 17 flits, one after the other
    (4, 18, 72)
    """
    return simulate_transfers(
        plan.ground,
        transfers(plan),
        plan.steps,
        router,
        flits=flits,
        packet_payload=packet_payload,
        ports=ports,
    )


def simulate_hops(
    hops: Hops,
    router: Router | None = None,
    *,
    flits: int = 16,
    packet_payload: int = 16,
    ports: int | None = None,
) -> CollectiveRun:
    """Run a plan in rounds on routers, hop by hop; the parameters are those of `simulate_collective`.

    A chunk leaves as soon as it, what its sum consists of, and its link are there.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> from flitloom.collectives.rounds_hops import hop_by_hop
    >>> plan = make_rounds(fl.Torus(8), "all-reduce", "family (sums)", 2.0**20, 1e-6, 50e9)
    >>> run = simulate_hops(hop_by_hop(plan))
    >>> run.steps, run.flits, run.cycles  # 28 chunks of 17 flits, one after the other
    (28, 17, 477)
    """
    return simulate_transfers(
        hops.plan.ground,
        hops.transfers,
        hops.steps,
        router,
        flits=flits,
        packet_payload=packet_payload,
        ports=ports,
    )


def beside_model(hops: Hops, run: CollectiveRun) -> dict[str, Any]:
    """The time of a plan in rounds in its model, in the cycles of a run, and why the run takes another one.

    A round costs what a hop costs besides its flits, and the flits of the chunks on the busiest link.

    Returns
    -------
    dict
        ``rounds``, ``model_cycles``, and ``differences``: sentences, none if the run takes as long.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.making import make_rounds
    >>> from flitloom.collectives.rounds_hops import hop_by_hop
    >>> hops = hop_by_hop(make_rounds(fl.Torus(8), "all-gather", "Bruck", 2.0**20, 1e-6, 50e9))
    >>> beside_model(hops, simulate_hops(hops))
    {'rounds': 3, 'model_cycles': 224, 'differences': []}
    """
    rounds, routed, hop = hops.plan.rounds, sum(hops.busiest), run.step_cycles - run.flits
    told = []
    if abs(routed - hops.evenly) > 1e-6:
        told.append(
            f"a chunk takes one minimal route: {counted(routed, 'chunk')} on the busiest links, "
            f"{hops.evenly:.6g} where all routes are taken evenly"
        )
    if hops.steps > routed:
        more = counted(hops.steps - routed, "step")
        told.append(f"a chunk is kept at every node on its route until the next link is free: {more} more")
    if hops.plan.latencies:
        told.append("links of the plan have several latencies, and links of routers have one")
    if waited := run.for_ports.total():
        told.append(f"chunks waited {counted(waited, 'cycle')} in all for ports")
    model = round(hops.evenly * run.flits + rounds * hop, 3)
    alone = hops.steps * run.flits + rounds * hop
    if run.cycles < alone:
        told.append("rounds overlap: a chunk leaves as soon as what it needs has arrived")
    elif run.cycles > alone:
        told.append(f"a chunk that waits for another one takes {counted(hop, 'cycle')} more a hop")
    return {
        "rounds": rounds,
        "model_cycles": int(model) if model == int(model) else model,
        "differences": told if run.cycles != model or hops.plan.latencies else [],
    }


def simulate_transfers(
    ground: Ground,
    moves: list[Transfer],
    steps: int,
    router: Router | None = None,
    *,
    flits: int = 16,
    packet_payload: int = 16,
    ports: int | None = None,
) -> CollectiveRun:
    """Run transfers, each behind all that it waits for; the parameters are those of `simulate_collective`.

    They are a message graph if nodes have one port.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.transfers import transfers
    >>> plan = fl.collectives.plan(fl.Mesh(3), "broadcast")
    >>> simulate_transfers(plan.ground, transfers(plan), plan.steps)
    CollectiveRun(2 steps in 36 cycles)
    """
    if not 1 <= flits <= _core.LIMITS["length"] or not 1 <= packet_payload < _core.LIMITS["length"]:
        raise SpecError(f"flits, packet_payload: 1 to {_core.LIMITS['length'] - 1} are possible")
    links = _links(ground)
    most = 1 + max(links.values(), default=-1)
    count = most if ports is None else ports
    if not 1 <= count <= max(most, 1):
        raise SpecError.at("ports", str(count), f"a node has 1 to {most}, the number of its links")
    network = Network(_routers(ground, router), router)
    packets = -(-flits // packet_payload)
    if len(moves) * packets > _core.LIMITS["packets"]:
        raise SpecError.at(
            "plan",
            counted(len(moves) * packets, "packet"),
            f"at most {_core.LIMITS['packets']} are simulated",
        )
    layers = _ports(ground, links, moves, count)
    running = _Run(moves, layers, network, _hosts(ground, network), count)
    return running.result(steps, flits, packet_payload)


def _routers(ground: Ground, router: Router | None) -> AnyNetwork:
    """The network of a plan with a host at every node, also at switches: they keep what they pass on.

    What goes over parallel links goes through different ports. So one of them is enough for routers that do
    not have several.
    """
    routers = ground.topology
    one_cycle = router is None or router.model != "pipelined"
    if routers.grid is not None and (one_cycle or routers.damaged):
        return routers.single
    # Hosts of its switches may not have the names of its hosts.
    plain = {"hosts": (), "name": "", "names": ()}
    return routers.model_copy(update=plain) if routers.members else routers


def _hosts(ground: Ground, network: Network) -> Times:
    """By node of a plan its number in the network; hosts of switches are in the order of their cables."""
    subnet = network.topology.subnet
    if subnet is None:
        return np.arange(network.nodes)
    by_name = {subnet.switches[host.switch].name: number for number, host in enumerate(subnet.hosts)}
    names = ground.topology.node_names or [switch_name(ground.point(node)) for node in range(ground.nodes)]
    if ground.topology.members:
        names = [f"S{node}" for node in range(ground.nodes)]
    # What has failed sends nothing.
    return np.array([by_name.get(name, 0) for name in names])


def _links(ground: Ground) -> dict[tuple[int, int, int], int]:
    """The port at both ends of every link, by its ends and its number among parallel ones."""
    if ground.topology.grid is None:
        return _matchings([(*ends, lane) for ends, width in ground.links.items() for lane in range(width)])
    ways: dict[tuple[int, int], Any] = dict(ground.ways)
    if not (ground.is_torus or ground.twist):
        # In a full mesh it is how much further on the other end is.
        for start, end in ground.links:
            places = zip(ground.point(start), ground.point(end), ground.sizes, strict=True)
            ways[start, end] = tuple((there - here) % size for here, there, size in places)
    kinds = {
        (*ends, lane): (ways[ends], lane) for ends, width in ground.links.items() for lane in range(width)
    }
    number = {kind: place for place, kind in enumerate(sorted(set(kinds.values())))}
    return {link: number[kind] for link, kind in kinds.items()}


def _matchings(links: list[tuple[int, int, int]]) -> dict[tuple[int, int, int], int]:
    """A number for every link, other for each that leaves or enters the same node: as few as there may be.

    By Koenig's theorem a new link takes a number that is free at its start, after links that alternate
    between this and one that is free at its end have changed theirs.

    >>> sorted(_matchings([(0, 1, 0), (0, 2, 0), (1, 2, 0), (2, 1, 0)]).values())
    [0, 0, 1, 1]
    """
    # By end (its node, and whether links leave or enter) and number the link.
    taken: dict[tuple[int, bool], dict[int, tuple[int, int, int]]] = defaultdict(dict)
    numbers: dict[tuple[int, int, int], int] = {}
    for link in sorted(links):
        start, end = (link[0], True), (link[1], False)
        own, other = (next(n for n in range(len(links)) if n not in taken[one]) for one in (start, end))
        place, wanted, path = end, own, []
        while (found := taken[place].get(wanted)) is not None:
            path.append(found)
            place = (found[0], True) if not place[1] else (found[1], False)
            wanted = own + other - wanted
        for one in path:
            del taken[one[0], True][numbers[one]], taken[one[1], False][numbers[one]]
        for one, number in [*((one, own + other - numbers[one]) for one in path), (link, own)]:
            numbers[one] = number
            taken[one[0], True][number] = taken[one[1], False][number] = one
    return numbers


def _ports(
    ground: Ground, links: dict[tuple[int, int, int], int], moves: list[Transfer], count: int
) -> Times:
    """The port that every transfer goes through; parallel links take transfers in turn."""
    seen = Counter[tuple[int, int]]()
    ports = np.zeros(len(moves), dtype=np.int64)
    for number, one in enumerate(moves):
        ends = one.start, one.end
        ports[number] = links[*ends, seen[ends] % ground.links[ends]] % count
        seen[ends] += 1
    return ports


class _Run:
    """Starts of all chunks and what they lead to, until both agree."""

    def __init__(
        self, moves: list[Transfer], layers: Times, network: Network, hosts: Times, ports: int
    ) -> None:
        self.moves, self.layers, self.network, self.ports = moves, layers, network, ports
        # By node its number in the network, and the other way round.
        self.hosts, self.nodes = hosts, np.argsort(hosts)
        self.before = np.array([one.before for one in moves], dtype=np.int64)
        counts = np.array([len(one.needs) for one in moves], dtype=np.int64)
        self.needing = np.repeat(np.arange(len(moves)), counts)
        self.needed = np.array([number for one in moves for number in one.needs], dtype=np.int64)

    def ready(self, arrived: Times) -> Times:
        """When every chunk has reached its sender."""
        ready = np.zeros(len(self.moves), dtype=np.int64)
        np.maximum.at(ready, self.needing, arrived[self.needed] + 1)
        return ready

    def starts(self, arrived: Times) -> Times:
        """When every chunk has reached its sender, and the one before it on its link is there too."""
        starts = self.ready(arrived)
        for number, before in enumerate(self.before.tolist()):
            if before >= 0 and starts[before] > starts[number]:
                starts[number] = starts[before]
        return starts

    def guess(self, lengths: list[int]) -> Times:
        """Starts if only links and ports held chunks back."""
        way, total = self.way, sum(lengths)
        starts, arrived = [0] * len(self.moves), [0] * len(self.moves)
        free: dict[tuple[int, int], int] = {}
        for number, one in enumerate(self.moves):
            start = max([arrived[other] + 1 for other in one.needs], default=0)
            starts[number] = max(start, starts[one.before]) if one.before >= 0 else start
            key = (one.start, int(self.layers[number]))
            entered = max(starts[number], free.get(key, 0))
            free[key] = entered + total
            arrived[number] = entered + way + total - 1
        return np.array(starts, dtype=np.int64)

    def as_graph(self, lengths: list[int]) -> tuple[Times, Times]:
        """When chunks entered and had arrived if nodes have one port: as a message graph."""
        size = sum(lengths) - len(lengths)
        ranks = self.hosts.tolist()
        text = traces.goal_text(move_operations(self.moves, len(ranks), size))
        workload = _core.goal_workload(text, 1, 1, lengths[0] - 1, ranks)
        records = self._records(workload)
        names, first = np.unique(records["slice"], return_index=True)
        entered, arrived = _per_chunk(np.searchsorted(names, records["slice"]), records, len(self.moves))
        # The k-th message of a link is the k-th transfer over it.
        ends = np.array([(one.start, one.end) for one in self.moves], dtype=np.int64)
        transfer = np.lexsort((ends[:, 1], ends[:, 0]))
        sources, destinations = (self.nodes[records[name][first]] for name in ("source", "destination"))
        message = np.lexsort((names, destinations, sources))
        place = np.empty(len(names), dtype=np.int64)
        place[transfer] = message
        return entered[place], arrived[place]

    @property
    def way(self) -> int:
        """Cycles from the start of an unhindered flit to its arrival, over one link."""
        router = self.network.router
        if router.model != "pipelined":
            return router.latency
        takes = pipelined.timing(router)
        return takes["entry"] + takes["latency"] + takes["router"] + EXIT

    def _records(self, workload: _core.Workload) -> dict[str, Times]:
        if self.network.router.model == "pipelined":
            told = pipelined.run(self.network, workload, {"packets": True}, {})["packets"]
            return {**told, "tail_arrival": told["tail_arrival"] + EXIT}
        plain = SimpleNamespace(stop_at=None, seed=1, throttle="none")
        off = {"links": False, "link_time": False, "latencies": False, "windows": None}
        settings = {**off, "packets": True, "threads": 1, "state": None, "ranks": None}
        simulation = _core.Simulation(self.network.one_cycle("these runs are of"), workload, plain, settings)
        simulation.run(None, None, None)
        records: dict[str, Times] = simulation.totals(None, True)["packets"]
        return records

    def simulate(self, starts: Times, lengths: list[int]) -> tuple[Times, Times]:
        """When chunks entered and had arrived; what goes through different ports never meets."""
        ends = np.array([(one.start, one.end) for one in self.moves], dtype=np.int64)
        entered, arrived = np.zeros_like(starts), np.zeros_like(starts)
        for port in range(self.ports):
            moves = np.flatnonzero(self.layers == port)
            if not len(moves):
                continue
            order = moves[np.argsort(starts[moves], kind="stable")]
            columns = np.column_stack([self.hosts[ends[order]], starts[order], np.arange(len(order))])
            columns = np.repeat(columns, len(lengths), axis=0)
            sizes = np.tile(np.array(lengths, dtype=np.int64), len(order))
            table = np.column_stack([columns[:, :2], sizes, columns[:, 2:]])
            records = self._records(_core.Workload.packets(self.network.core, np.ascontiguousarray(table)))
            entered[order], arrived[order] = _per_chunk(records["slice"], records, len(order))
        return entered, arrived

    def settle(self, lengths: list[int]) -> tuple[Times, Times]:
        """Simulate until every chunk starts exactly when it can.

        What is right up to some cycle stays so and reaches one chunk further with every simulation, so that
        the outcome is the one and only.
        """
        starts = self.guess(lengths)
        for _ in range(MOST_ROUNDS):
            entered, arrived = self.simulate(starts, lengths)
            again = self.starts(arrived)
            if (again == starts).all():
                return entered, arrived
            starts = again
        raise SpecError.at("plan", f"starts and arrivals do not agree after {MOST_ROUNDS} simulations")

    def result(self, steps: int, flits: int, payload: int) -> CollectiveRun:
        lengths = [payload + 1] * (flits // payload) + ([flits % payload + 1] if flits % payload else [])
        total, way = sum(lengths), self.way
        empty = np.zeros(0, dtype=np.int64)
        entered, arrived = empty, empty
        if self.moves:
            if self.ports == 1:
                entered, arrived = self.as_graph(lengths)
            else:
                entered, arrived = self.settle(lengths)
        ready = self.ready(arrived)
        free = np.where(self.before >= 0, entered[self.before] + total, 0) if self.moves else empty
        for_chunks: Counter[tuple[int, int]] = Counter()
        for_ports: Counter[int] = Counter()
        on_the_way: Counter[int] = Counter()
        last_need = {}
        for number, one in enumerate(self.moves):
            if one.needs:
                last_need[number] = max(one.needs, key=lambda other: int(arrived[other]))
                if ready[number] > free[number]:
                    awaited = self.moves[last_need[number]].start
                    for_chunks[one.start, awaited] += int(ready[number] - free[number])
            held = int(entered[number] - max(ready[number], free[number]))
            lost = int(arrived[number] - entered[number]) - (way + total - 1)
            if held > 0:
                for_ports[one.start] += held
            if lost > 0:
                on_the_way[one.end] += lost
        return CollectiveRun(
            steps=steps,
            cycles=int(arrived.max(initial=-1)) + 1,
            step_cycles=total + way,
            flits=total,
            ports=self.ports,
            transfers=self.moves,
            injected=entered,
            arrived=arrived,
            for_chunks=for_chunks,
            for_ports=for_ports,
            on_the_way=on_the_way,
            chain=self._chain(entered, arrived, ready, last_need),
        )

    def _chain(self, entered: Times, arrived: Times, ready: Times, last_need: dict[int, int]) -> list[int]:
        """Back from the last arrival: what brought the chunk, or what held its link or port."""
        if not self.moves:
            return []
        ahead: dict[int, int] = {}
        last: dict[tuple[int, int], int] = {}
        for number in np.argsort(entered, kind="stable").tolist():
            key = (self.moves[number].start, int(self.layers[number]))
            if key in last:
                ahead[number] = last[key]
            last[key] = number
        chain = [int(arrived.argmax())]
        while True:
            number = chain[-1]
            if number in last_need and ready[number] >= entered[number]:
                chain.append(last_need[number])
            elif number in ahead:
                chain.append(ahead[number])
            elif number in last_need:
                chain.append(last_need[number])
            else:
                return chain[::-1]


def _per_chunk(chunk: Times, records: dict[str, Times], count: int) -> tuple[Times, Times]:
    """First entry and last arrival of the packets of every chunk."""
    entered = np.full(count, np.iinfo(np.int64).max)
    arrived = np.zeros(count, dtype=np.int64)
    np.minimum.at(entered, chunk, records["injected"])
    np.maximum.at(arrived, chunk, records["tail_arrival"])
    return entered, arrived
