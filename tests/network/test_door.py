"""Every public function with every kind of network and model: an answer that holds, or a refusal by name.

An answer is held against ways and distances that networkx counts on cables listed here.
``PYTHONPATH=tests python tests/network/test_door.py`` prints the table: a row per function and model.
"""

from __future__ import annotations

import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import networkx as nx
import numpy as np
import pytest

import flitloom as fl
from flitloom import genetic, messages, view
from flitloom.networks.fabric import Fabric

LENGTH = 8


@dataclass(frozen=True)
class Case:
    """A network, with the cables between its routers as they are known here."""

    name: str
    topology: Any
    cables: tuple[tuple[Any, Any], ...]
    hosts: tuple[Any, ...]
    #: Whether packets are known to go by shortest ways.
    shortest: bool = True

    @property
    def graph(self) -> nx.Graph:
        return nx.Graph(self.cables)

    def distances(self) -> dict[tuple[int, int], int]:
        lengths = dict(nx.all_pairs_shortest_path_length(self.graph))
        numbered = [(number, host) for number, host in enumerate(self.hosts) if host in lengths]
        return {(a, b): lengths[start][end] for a, start in numbered for b, end in numbered}


def grid(*rows: tuple[int, tuple[int, ...], bool]) -> tuple[tuple[int, int], ...]:
    """Cables of a product: per dimension its size, the steps of its links, and whether they go around."""
    sizes = [size for size, _, _ in rows]
    strides = np.cumprod([1, *sizes[:-1]]).tolist()
    found = set()
    for place in itertools.product(*map(range, sizes)):
        node = sum(at * stride for at, stride in zip(place, strides, strict=True))
        for at, stride, (size, steps, around) in zip(place, strides, rows, strict=True):
            for step in steps:
                if around or at + step < size:
                    found.add((node, node + ((at + step) % size - at) * stride))
    return tuple(sorted({(min(pair), max(pair)) for pair in found}))


def without(cables: tuple[tuple[int, int], ...], node: int) -> tuple[tuple[int, int], ...]:
    return tuple(pair for pair in cables if node not in pair)


def dragonfly() -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """dragonfly(3,1,2): four groups of three routers, all joined, a cable between every two groups."""
    subnet = Fabric(network="dragonfly(3,1,2)").subnet
    names = [switch.name for switch in subnet.switches]
    cables = [(names[cable.a], names[cable.b]) for cable in subnet.cables]
    assert (len(names), len(cables), len(subnet.hosts)) == (12, 4 * 3 + 6, 24)
    return tuple(cables), tuple(names[host.switch] for host in subnet.hosts)


RING4, LINE4, FULL4 = (4, (1,), True), (4, (1,), False), (4, (1, 2, 3), True)


def cases() -> list[Case]:
    torus = grid(RING4, RING4)
    full = grid(FULL4, FULL4)
    # Over the edge of the short dimension a step also moves half of the long one.
    twisted = {(y * 2 + x, (y + 1) % 4 * 2 + x) for x in range(2) for y in range(4)}
    twisted |= {(y * 2, y * 2 + 1) for y in range(4)} | {(y * 2 + 1, (y + 2) % 4 * 2) for y in range(4)}
    cables, hosts = dragonfly()
    nodes = tuple(range(16))
    return [
        Case("torus", fl.Torus(4, 4), torus, nodes),
        Case("mesh", fl.Mesh(4, 4), grid(LINE4, LINE4), nodes),
        Case("twisted", fl.Torus(2, 4, twist=True), tuple(sorted(twisted)), nodes[:8]),
        Case("node", fl.Torus(4, 4, failed_nodes=[5]), without(torus, 5), nodes, shortest=False),
        Case(
            "link",
            fl.Torus(4, 4, failed_links=["0-1"]),
            tuple(pair for pair in torus if pair != (0, 1)),
            nodes,
            shortest=False,
        ),
        Case("product", fl.Product("full4 x full4"), full, nodes),
        Case("circulant", fl.Product("circulant(16;1,4)*1"), grid((16, (1, 4), True)), nodes, shortest=False),
        Case("dragonfly", Fabric(network="dragonfly(3,1,2)"), cables, hosts, shortest=False),
    ]


CASES = {case.name: case for case in cases()}
MODELS = {"one-cycle": fl.Router(), "pipelined": fl.Router(model="pipelined")}
NEXT = fl.Collective("next", payload=LENGTH - 1)


def ends(case: Case, network: fl.Network) -> list[tuple[int, int]]:
    """The packets of `next` among the nodes that work; a switch's hosts are numbered as here.

    Patterns know the hosts of a product of pipelined routers in the order of the cables.
    """
    failed = set(getattr(case.topology, "failed_nodes", ()))
    sizes = network.topology.dimensions
    pairs = []
    for node in range(network.nodes):
        # The next node along the first dimension.
        other = node - node % sizes[0] + (node + 1) % sizes[0]
        if not {node, other} & failed:
            pairs.append((node, other))
    return pairs


def hops(case: Case, network: fl.Network, pairs: list[tuple[int, int]]) -> list[int]:
    """Shortest ways of packets."""
    known = case
    if network.topology.grid is None and case.name != "dragonfly":
        # The host of a product is that of the switch at its coordinates, in whatever order they are.
        sizes = {"product": (4, 4), "circulant": (16,)}[case.name]
        subnet = network.topology.subnet
        places = [subnet.switches[host.switch].name[1:].split("-") for host in subnet.hosts]
        strides = np.cumprod([1, *sizes[:-1]])
        known = Case(
            case.name,
            case.topology,
            case.cables,
            tuple(int(np.dot([int(at) for at in place], strides)) for place in places),
        )
    distances = known.distances()
    return [distances[pair] for pair in pairs]


def messages_of(case: Case, network: fl.Network) -> tuple[list[tuple[int, int]], list[int]]:
    pairs = ends(case, network)
    return pairs, hops(case, network, pairs)


def holds_duration(case: Case, network: fl.Network, duration: int) -> None:
    """A duration is no less than that of the longest way, and no more than of all packets one by one."""
    pairs, ways = messages_of(case, network)
    assert max(ways) + LENGTH + 1 <= duration <= 40 + len(pairs) * (LENGTH + 4)


def simulate(case: Case, network: fl.Network) -> None:
    traffic: Any = NEXT
    if case.name == "node":
        pairs = ends(case, network)
        traffic = fl.Packets([(source, target, LENGTH, 0) for source, target in pairs])
    result = fl.simulate(network, traffic)
    pairs, ways = messages_of(case, network)
    assert result.packets_delivered == len(pairs)
    assert result.flit_hops >= LENGTH * sum(ways)
    if case.shortest:
        assert result.flit_hops == LENGTH * sum(ways)
    holds_duration(case, network, result.duration)
    used = {row["link"] for row in result.link_rows()}
    assert len(used) <= 2 * len(case.cables) == result.working_links


def lower_bound(case: Case, network: fl.Network) -> None:
    pairs, ways = messages_of(case, network)
    bound = fl.lower_bound(network, NEXT)
    assert max(ways) + LENGTH + 1 <= bound
    packets = fl.Packets([(source, target, LENGTH, 0) for source, target in pairs])
    assert bound <= fl.simulate(network, packets).duration


def run_experiment(case: Case, network: fl.Network) -> None:
    spec = fl.Experiment(topology=network.topology, router=network.router, traffic=NEXT)
    holds_duration(case, network, fl.run_experiment(spec).duration)


def stack(case: Case, network: fl.Network) -> None:
    found = fl.stack(network, fl.Collective("next", payload=14, slices=2), intervals=[40])
    # Slices so far apart do not meet.
    _, ways = messages_of(case, network)
    assert found.durations[0] == 40 + fl.simulate(network, NEXT).duration >= 40 + max(ways) + LENGTH + 1


def follows(network: fl.Network, plan: fl.Plan) -> Iterator[tuple[Any, int, int]]:
    """The links of the packets of a plan with first and last cycle of their flits; by plain arithmetic."""
    topology = network.topology
    for packet in plan.packets:
        at, cycle = packet.source, packet.start
        for leg in packet.route.split():
            dimension, sign = "xyzuvw".index(leg[1]), 1 if leg[0] == "+" else -1
            for _ in range(int(leg[2:])):
                size, stride = topology.sizes[dimension], int(np.prod(topology.sizes[:dimension]))
                place = at // stride % size
                after = at + ((place + sign) % size - place) * stride
                yield (at, after), cycle, cycle + packet.length - 1
                at, cycle = after, cycle + 1
        assert at == packet.destination


def holds_plan(case: Case, network: fl.Network, plan: fl.Plan) -> None:
    """Its packets go over links that there are, and no two are on one at once."""
    links = {*case.cables, *((b, a) for a, b in case.cables)}
    taken: dict[Any, list[tuple[int, int]]] = {}
    for link, first, last in follows(network, plan):
        assert link in links
        assert all(last < begin or end < first for begin, end in taken.get(link, []))
        taken.setdefault(link, []).append((first, last))
    pairs, _ = messages_of(case, network)
    assert sorted(pairs) == sorted((one.source, one.destination) for one in plan.packets)
    holds_duration(case, network, plan.duration)


def search(case: Case, network: fl.Network) -> None:
    holds_plan(case, network, fl.plans.search(network, NEXT, moves=2000))


def guarded(case: Case, network: fl.Network) -> None:
    for candidate in fl.plans.guarded(network, NEXT, 2, guards=[0, 2], trials=2):
        holds_plan(case, network, candidate.plan)


def mesh_plan() -> fl.Plan:
    """A plan of a line of as many nodes as a network has hosts, which is not for it."""
    return fl.plans.search(fl.Network(fl.Mesh(16)), fl.Collective("next"), method="greedy")


def study_jitter(case: Case, network: fl.Network) -> None:
    with pytest.raises(fl.SpecError):
        fl.plans.study_jitter(network, mesh_plan(), 0, 1)
    plan = fl.plans.search(network, NEXT, moves=2000)
    assert fl.plans.study_jitter(network, plan, 0, 1).plan == [plan.duration]
    holds_plan(case, network, plan)


def genetic_search(case: Case, network: fl.Network) -> None:
    few = genetic.GeneticSettings(generations=2, training=2)
    found = genetic.search(network, NEXT, few, genes="timing")
    assert fl.simulate(found.network, found.collective).duration == found.duration
    holds_duration(case, network, found.duration)


def film(case: Case, network: fl.Network) -> None:
    made = view.film(network, NEXT)
    holds_duration(case, network, made.raw["totals"]["duration"])


def burst(case: Case, network: fl.Network) -> None:
    found = fl.load.burst(network, "next", 1, length=LENGTH, workers=1)
    assert np.isnan(found.bound) or found.bound <= found.duration
    holds_duration(case, network, int(found.duration))


def curve(case: Case, network: fl.Network) -> None:
    found = fl.load.curve(network, "next", [0.02], refine=0, measure=4000, workers=1)
    _, ways = messages_of(case, network)
    # Half a flit more or less in a hundred cycles of a node; no latency is below that of the ways.
    assert abs(float(found.accepted[0]) - 0.02) < 0.01
    assert float(found.latency[0]) >= sum(ways) / len(ways) + LENGTH + 1 - 0.5


def saturation(case: Case, network: fl.Network) -> None:
    found = fl.load.saturation(network, "next", within=0.2, measure=1000, workers=1)
    loads: dict[int, int] = {}
    for _, target in ends(case, network):
        loads[target] = loads.get(target, 0) + 1
    # A node receives a flit per cycle.
    assert 0 < float(found.below) <= 1.02 / max(loads.values())


def delivered(case: Case, network: fl.Network, series: Any, cycles: int) -> float:
    """Flits that came of a load, per node that sends and cycle."""
    return float(series.ejected_flits.sum()) / len(ends(case, network)) / cycles


def ramp(case: Case, network: fl.Network) -> None:
    found = fl.load.ramp(network, "next", 0.0, 0.1, cycles=4000)
    # It rises evenly to 0.1.
    assert 0.03 < delivered(case, network, found, 4000) < 0.07


def step(case: Case, network: fl.Network) -> None:
    found = fl.load.step(network, "next", 0.1, cycles=4000)
    assert 0.08 < delivered(case, network, found, 4000) < 0.12


def ideal_loads(_: Case, network: fl.Network) -> None:
    load = fl.Load("next", rate=0.1, cycles=100)
    spec = fl.Experiment(topology=network.topology, router=network.router, traffic=load)
    bounds = fl.load.ideal_loads(spec)
    if bounds["bound"] is None or bounds["bound"] > 0.7:
        return
    # Beyond it not all that is generated is taken.
    rate = 1.3 * float(bounds["bound"])
    run = fl.simulate(network, fl.Load("next", rate=rate, cycles=3000), stop_at=3000)
    assert run.flits_delivered / network.nodes / 3000 < 0.97 * rate


def load_bound(case: Case, network: fl.Network) -> None:
    found = fl.load.bound(network, "next")
    wanted = Counter(target for _, target in ends(case, network))
    # A node receives a flit per cycle, and no bound allows more than that.
    most = 1 / max(wanted.values())
    assert np.isnan(found.receive_bound) or float(found.receive_bound) == pytest.approx(most)
    assert np.isnan(found.bound) or 0 < float(found.bound) <= most + 1e-9


def simulate_messages(case: Case, network: fl.Network) -> None:
    graph = messages.MessageGraph.steps(2, [([(0, 1, 112)], 0), ([(1, 0, 112)], 0)])
    _, ways = messages_of(case, network)
    told = messages.simulate_messages(network, graph)
    assert told["makespan"] >= 2 * (min(ways) + LENGTH)


#: The functions whose answers depend on the routers, and how each answer is held against something else.
CHECKS: dict[str, Callable[[Case, fl.Network], None]] = {
    "flitloom.lower_bound": lower_bound,
    "flitloom.run_experiment": run_experiment,
    "flitloom.simulate": simulate,
    "flitloom.stack": stack,
    "flitloom.plans.guarded": guarded,
    "flitloom.plans.search": search,
    "flitloom.plans.study_jitter": study_jitter,
    "flitloom.genetic.search": genetic_search,
    "flitloom.view.film": film,
    "flitloom.load.bound": load_bound,
    "flitloom.load.burst": burst,
    "flitloom.load.curve": curve,
    "flitloom.load.saturation": saturation,
    "flitloom.load.ramp": ramp,
    "flitloom.load.step": step,
    "flitloom.load.ideal_loads": ideal_loads,
    "flitloom.messages.simulate_messages": simulate_messages,
}

#: Functions that the functions above call, with what they take made already, or that only say words.
BELOW = ("flitloom.load.run_", "flitloom.load.ramp_end", "flitloom.load.router_text")
#: What a refusal names.
NAMED = (
    "router.model",
    "router.routing",
    "router.arbitration",
    "topology",
    "network",
    "traffic",
    "plan",
    "tables",
)


def test_every_function_of_a_network_is_here() -> None:
    found = set()
    for room in ("", ".load", ".plans", ".genetic", ".view", ".messages"):
        module = import_module(f"flitloom{room}")
        for name in module.__all__:
            member = getattr(module, name)
            if not inspect.isfunction(member):
                continue
            first = next(iter(inspect.signature(member).parameters), "")
            if first in ("network", "networks", "experiment"):
                found.add(f"flitloom{room}.{name}")
    found = {name for name in found if not name.startswith(BELOW)}
    assert found - {"flitloom.plans.films"} == set(CHECKS)


def outcomes(name: str, model: str) -> dict[str, str]:
    """What became of every function on a network: "holds", "refused" by name, or what is wrong."""
    case = CASES[name]
    try:
        network = fl.Network(case.topology, MODELS[model])
    except fl.SpecError as error:
        known = error.field == "topology.network" and error.problem.startswith("has switches with hosts")
        return dict.fromkeys(CHECKS, "refused" if known else str(error))
    # Routers of one cycle do not go around failed parts.
    stops = name in ("node", "link") and model == "one-cycle"
    found = {}
    for function, check in CHECKS.items():
        try:
            check(case, network)
        except fl.UnreachableError as error:
            # Some packets of a pattern go to the failed node.
            found[function] = "refused" if stops or name == "node" else str(error)
        except fl.SpecError as error:
            found[function] = "refused" if error.field.startswith(NAMED) else str(error)
        else:
            found[function] = "holds"
    return found


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CASES)
def test_an_answer_holds_or_is_refused_by_name(name: str, model: str) -> None:
    found = outcomes(name, model)
    assert set(found.values()) <= {"holds", "refused"}, found
    whole = (name, model) not in [("dragonfly", "one-cycle"), ("node", "one-cycle"), ("link", "one-cycle")]
    assert not whole or found["flitloom.simulate"] == "holds"


def test_a_dead_node_is_gone_around_by_pipelined_routers_only() -> None:
    network = fl.Network(fl.Torus(4, 4, failed_nodes=[5]), MODELS["pipelined"])
    simulate(CASES["node"], network)


@pytest.mark.parametrize("pattern", ["torn", "next", "shfl", "trns"])
@pytest.mark.parametrize("described", ["full8 x full8", "full4 x ring4", "ring5 x line3"])
def test_a_bound_of_a_product_is_below_what_its_pipelined_routers_take(described: str, pattern: str) -> None:
    network = fl.Network(fl.Product(described), MODELS["pipelined"])
    try:
        result = fl.simulate(network, fl.Collective(pattern))
    except fl.SpecError:
        # shfl and trns need powers of two.
        assert pattern in ("shfl", "trns")
        return
    assert fl.lower_bound(network, fl.Collective(pattern)) <= result.duration


def test_a_plan_of_a_line_is_not_for_hosts_of_the_same_number() -> None:
    plan = fl.plans.search(fl.Network(fl.Mesh(64)), fl.Collective("next"), method="greedy")
    for described in ("full8 x full8", "ring64"):
        for model in MODELS.values():
            with pytest.raises(fl.SpecError, match=r"plan.topology: the plan is for 64 mesh, the network is"):
                fl.simulate(fl.Network(fl.Product(described), model), plan)
    mesh = fl.plans.search(fl.Network(fl.Mesh(4, 4)), fl.Collective("next"), method="greedy")
    with pytest.raises(fl.SpecError, match=r"plan.topology: the plan is for 4x4 mesh"):
        fl.simulate(fl.Network(fl.Product("full4 x full4")), mesh)


def test_tables_of_another_kind_of_network_are_refused() -> None:
    tables = fl.tables.make(fl.Mesh(4, 4))
    twisted, whole = fl.Torus(2, 4, twist=True), fl.tables.make(fl.Torus(2, 4))
    for topology, given in ((fl.Product("full4 x full4"), tables), (twisted, whole)):
        with pytest.raises(fl.SpecError, match="tables: they are for"):
            fl.simulate(fl.Network(topology), NEXT, tables=given)


def test_routes_of_packets_hold_on_pipelined_routers_or_are_refused() -> None:
    network = fl.Network(fl.Torus(4, 4), MODELS["pipelined"])
    kept = fl.simulate(network, fl.Packets([(0, 5, 8, 0)], routes=["+x1 +y1"]))
    assert {row["link"] for row in kept.link_rows()} == {"(0,0)+x", "(1,0)+y"}
    with pytest.raises(fl.SpecError, match=r"traffic.routes\[1\]: is not in dimension order"):
        fl.simulate(network, fl.Packets([(0, 5, 8, 0), (1, 6, 8, 0)], routes=["+x1 +y1", "+y1 +x1"]))
    for topology, routing in ((fl.Torus(4, 4), "valiant"), (fl.Torus(4, 4, failed_nodes=[9]), "do")):
        other = fl.Network(topology, fl.Router(model="pipelined", routing=routing))
        with pytest.raises(fl.SpecError, match=r"traffic.routes: are given"):
            fl.simulate(other, fl.Packets([(0, 5, 8, 0)], routes=["+x1 +y1"]))


@pytest.mark.parametrize("routing", ["valiant", "o1turn", "sa"])
@pytest.mark.parametrize("topology", [fl.Product("full4 x full4"), fl.Torus(4, 4, failed_nodes=[5])], ids=str)
def test_another_routing_function_than_tables_is_refused(topology: Any, routing: str) -> None:
    with pytest.raises(fl.SpecError, match=f"router.routing: is {routing}, and packets on .* go by tables"):
        fl.Network(topology, fl.Router(model="pipelined", routing=routing))


def test_a_campaign_of_pipelined_routers_is_refused() -> None:
    from flitloom.campaign.jobs import parse_campaign

    fields = {"topology": {"sizes": "8x8"}, "router": {"model": "pipelined"}, "genes": "timing"}
    with pytest.raises(
        fl.SpecError, match=r"router.model: is pipelined, and genetic searches are of routers"
    ):
        parse_campaign(fields)


if __name__ == "__main__":
    for model in MODELS:
        table = {name: outcomes(name, model) for name in CASES}
        print(f"{model:36}" + "".join(f"{name:>11}" for name in CASES))
        for function in CHECKS:
            print(f"{function:36}" + "".join(f"{table[name][function]:>11}" for name in CASES))
