"""A message graph: GOAL as text or binary, or a Chakra trace."""

from __future__ import annotations

from typing import Any

from flitloom import ranks
from flitloom._core import LIMITS
from flitloom.commands import options, screen
from flitloom.commands.check import Asked
from flitloom.commands.inputs import foreign
from flitloom.commands.inputs.checked import OF_FABRICS, OF_PACKETS, TAKES
from flitloom.commands.inputs.converting import convert
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.running import check_threads, say_of_rules
from flitloom.commands.inputs.seating import Sitting, put_on_nodes
from flitloom.commands.options import Grid, Router, Traffic
from flitloom.commands.options.simulation import Outputs, Simulated
from flitloom.errors import SpecError, show_file
from flitloom.formats import format_of, is_messages
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.network import Network
from flitloom.outlook import memory_needed
from flitloom.routing import read_tables
from flitloom.spec import Router as RouterSpec
from flitloom.spec import Topology

_TITLE = "a message graph"
#: Fields of an experiment that a message graph goes with.
_FIELDS = {"topology", "router", "cycle_limit"}
_ITS_OWN = "brings its own traffic; give the network and its routers only"
_REFUSALS = (
    Refusal(names_of("seed", "stop_at", "throttle"), "{option}", f"{_TITLE} {_ITS_OWN}"),
    Refusal(
        names_of(Traffic, Outputs),
        "{option}",
        f"{_TITLE} brings its own traffic and has no records",
        "give the network only",
    ),
)


def simulate(asked: Simulated) -> None:
    """Simulate a message graph, rank r on node r unless placed; messages are cut into packets of 16 flits."""
    file, fields = asked.file, asked.fields()
    assert file is not None
    check_threads(asked.kept.threads)
    sitting = None
    if asked.brought.placement is not None:
        has_tables = asked.brought.tables is not None
        sitting = put_on_nodes(asked.brought.placement, fields, has_tables, None, True)
    for name in fields:
        if name not in _FIELDS:
            raise SpecError(f"{name!r:.60}: {_TITLE} {_ITS_OWN}")
    if "topology" not in fields:
        raise SpecError.at("topology", "is missing", "give --torus 4x4 or --mesh 4x4")
    graph = MessageGraph.read(file)
    network = Network(options.part(Topology, fields), options.part(RouterSpec, fields))
    try:
        result = _run(asked, graph, network, sitting, fields.get("cycle_limit"))
    except SpecError as error:
        if str(error).startswith("messages:"):
            raise SpecError(f"{show_file(file)}: {error}", error.field, error.problem, error.advice) from None
        raise
    totals = {name: value for name, value in result.items() if isinstance(value, int | float)}
    facts: dict[str, object] = {"ranks": graph.ranks, **totals}
    if asked.printed.json:
        screen.print_json(facts)
    else:
        screen.print_fields(facts)


def _run(
    asked: Simulated, graph: MessageGraph, network: Network, sitting: Sitting | None, cycle_limit: int | None
) -> dict[str, Any]:
    """Totals of the simulation."""
    tables, sizes = asked.brought.tables, asked.sizes
    routes = None if tables is None else read_tables(tables, network.topology)
    nodes = None
    if sitting is not None:
        routes, nodes = routes or sitting.tables, sitting.nodes
        if len(nodes) != graph.ranks:
            raise SpecError.at("messages", f"{graph.ranks} ranks", f"the placement has {len(nodes)}")
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
        flit_bytes=16 if sizes.flit_bytes is None else sizes.flit_bytes,
        calc_cycles=1 if sizes.calc_cycles is None else sizes.calc_cycles,
        cycle_limit=cycle_limit,
        threads=asked.kept.threads,
        _on_ranks=ranks.started() > 1,
    )


def check(asked: Asked) -> None:
    """Check the plan of a collective operation that a trace is.

    Raises
    ------
    SpecError
        There is nothing to check in a format that holds no plans.
    """
    assert asked.file is not None
    form = format_of(asked.file)
    if form is not None and form.check_plan is not None:
        foreign.check(asked)
        return
    problem = "a message graph promises nothing to check"
    raise SpecError.at(show_file(asked.file), problem, "flitloom simulate runs it")


INPUT = Input(
    title=_TITLE,
    given="give one that ends in .goal, .bin or .et",
    sniff=is_messages,
    uses={
        "simulate": Use(
            simulate,
            names_of(
                Grid, Router, "cycle_limit", "settings", "tables", "placement", "flit_bytes", "calc_cycles",
                "threads", "json",
            ),
            _REFUSALS,
        ),
        "check": Use(check, TAKES - OF_PACKETS.names, (*OF_FABRICS, OF_PACKETS)),
        "convert": Use(convert),
    },
    several_ranks=True,
)  # fmt: skip
