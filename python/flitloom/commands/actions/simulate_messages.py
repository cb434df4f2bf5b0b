"""What ``flitloom simulate`` does with a message graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flitloom import ranks
from flitloom._core import LIMITS
from flitloom.collectives.advice import read_bandwidth
from flitloom.commands import options, screen
from flitloom.commands.inputs.messages import ITS_OWN, TITLE
from flitloom.commands.inputs.running import check_threads, say_of_rules
from flitloom.commands.inputs.seating import Sitting, put_on_nodes
from flitloom.commands.inputs.showing import head_of
from flitloom.commands.options.simulation import Simulated
from flitloom.errors import SpecError, show_file
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.network import Network
from flitloom.numerals import counted
from flitloom.outlook import memory_needed
from flitloom.spec import Product, Topology
from flitloom.spec import Router as RouterSpec
from flitloom.spec.switched import Switched, is_product
from flitloom.tables.formats.reading import read_tables

#: Fields of an experiment that a message graph goes with.
_FIELDS = {"topology", "router", "cycle_limit"}


def run(asked: Simulated) -> None:
    """Simulate a message graph, rank r on node or host r unless placed, in packets of 16 flits."""
    file, fields = asked.file, asked.fields()
    assert file is not None
    check_threads(asked.kept.threads)
    sitting = None
    if asked.brought.placement is not None:
        has_tables = asked.brought.tables is not None
        sitting = put_on_nodes(asked.brought.placement, fields, has_tables, None, True)
    for name in fields:
        if name not in _FIELDS:
            raise SpecError(f"{name!r:.60}: {TITLE} {ITS_OWN}")
    if "topology" not in fields:
        raise SpecError.at("topology", "is missing")
    graph = MessageGraph.read(file)
    network = _network(fields)
    pace = _pace(asked, graph)
    try:
        result = _totals(asked, graph, network, sitting, fields.get("cycle_limit"), pace)
    except SpecError as error:
        if str(error).startswith("messages:"):
            raise SpecError(f"{show_file(file)}: {error}", error.field, error.problem, error.advice) from None
        raise
    _print(asked, graph, network, result, pace)


def _network(fields: dict[str, Any]) -> Network:
    """The network of fields: a torus, a mesh, a product, or switches with hosts."""
    router, topology = options.part(RouterSpec, fields), fields["topology"]
    if not isinstance(topology, dict) or not {"network", "graph"} & set(topology):
        return Network(options.part(Topology, fields), router)
    if is_product(topology) and router.model != "pipelined":
        return Network(Product(**topology), router)
    named = {name: value for name, value in topology.items() if name != "kind"}
    return Network(Switched(**named), router)


@dataclass(frozen=True)
class Pace:
    """How long a cycle is, if that is known, and how many cycles a unit of computing takes."""

    seconds: float | None
    calc_cycles: int


def _pace(asked: Simulated, graph: MessageGraph) -> Pace:
    """What options say of time: a cycle is a flit on a link.

    Raises
    ------
    SpecError
        Computing has no unit, and options do not say how many cycles it takes.
    """
    sizes = asked.sizes
    if sizes.bandwidth is None:
        return Pace(None, 1 if sizes.calc_cycles is None else sizes.calc_cycles)
    seconds = _flit_bytes(asked) / read_bandwidth(sizes.bandwidth, "--bandwidth")
    if sizes.calc_cycles is not None:
        return Pace(seconds, sizes.calc_cycles)
    assert asked.file is not None
    if asked.file.suffix != ".et" and " calc " in graph.text:
        raise SpecError.at(
            "--bandwidth", "GOAL does not say how long a unit of computing is", "give --calc-cycles, too"
        )
    return Pace(seconds, max(1, round(1e-6 / seconds)))


def _flit_bytes(asked: Simulated) -> int:
    return 16 if asked.sizes.flit_bytes is None else asked.sizes.flit_bytes


def _print(
    asked: Simulated, graph: MessageGraph, network: Network, result: dict[str, Any], pace: Pace
) -> None:
    """Print the totals under the names that other simulations have for them."""
    delivered = result["packets_delivered"]
    facts: dict[str, Any] = {
        "network": head_of(network),
        "ranks": graph.ranks,
        "duration": result["duration"],
    }
    if pace.seconds is not None:
        facts["time"] = result["duration"] * pace.seconds
    names = ("cycles", "packets_injected", "packets_delivered", "flits_delivered", "flit_hops")
    facts |= {name: result[name] for name in names}
    # Counted as by `Result`: h + L + 1 where nothing hinders.
    facts["latency"] = result["latency_sum"] / delivered + 2 if delivered else None
    facts |= {"fingerprint": f"{result['fingerprint']:016x}", "parts": result["parts"]}
    if asked.printed.json:
        screen.print_json(facts)
        return
    facts["duration"] = counted(facts["duration"], "cycle")
    if pace.seconds is not None:
        facts["time"] = f"{1e6 * facts['time']:.4g} us; a cycle is {1e9 * pace.seconds:.4g} ns"
    if delivered:
        pipelined = network.router.model == "pipelined"
        way = "generation to arrival" if pipelined else "start to ejection, h + L + 1 unhindered"
        facts["latency"] = f"{facts['latency']:.4g} cycles from {way}"
    screen.print_fields(facts)


def _totals(
    asked: Simulated,
    graph: MessageGraph,
    network: Network,
    sitting: Sitting | None,
    cycle_limit: int | None,
    pace: Pace,
) -> dict[str, Any]:
    """Totals of the simulation."""
    # Tables of switches are part of their network.
    tables = None if isinstance(network.topology, Switched) else asked.brought.tables
    routes = None if tables is None else read_tables(tables, network.topology)
    nodes = None
    if sitting is not None:
        routes, nodes = routes or sitting.tables, sitting.nodes
        if len(nodes) != graph.ranks:
            raise SpecError.at("messages", counted(graph.ranks, "rank"), f"the placement has {len(nodes)}")
    if routes is not None:
        say_of_rules(routes, network.router)
    # No more packets than buffers hold are under way.
    packets = LIMITS["packets"]
    screen.foretell_memory([memory_needed(network, packets=packets, listed=False, longest=17, links=False)])
    return simulate_messages(
        network,
        graph,
        tables=routes,
        nodes=nodes,
        flit_bytes=_flit_bytes(asked),
        calc_cycles=pace.calc_cycles,
        cycle_limit=cycle_limit,
        threads=asked.kept.threads,
        _on_ranks=ranks.started() > 1,
    )
