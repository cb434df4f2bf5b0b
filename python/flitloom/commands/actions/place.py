"""What ``flitloom place`` does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import typer

from flitloom.commands import options, pictures, screen
from flitloom.commands.actions import place_jobs, place_shape
from flitloom.commands.actions.grids import sized
from flitloom.commands.options import refuse
from flitloom.commands.place import Asked, Ranks, Sought, Where
from flitloom.errors import SpecError
from flitloom.fabric.names import Names, read_hosts
from flitloom.fabric.networks import fabric
from flitloom.ground import interrupts
from flitloom.ground.extras import check_picture
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_output
from flitloom.networks.fabric import Fabric
from flitloom.placing import (
    Placement,
    Traffic,
    axes_traffic,
    parse_axes,
    place,
    read_traffic,
    stencil_traffic,
)
from flitloom.placing.formats import ending_of, require_coordinates
from flitloom.placing.ground import ground_of_subnet
from flitloom.placing.hosts import host_names, names_of
from flitloom.placing.running import FLIT_BYTES
from flitloom.placing.search import network_of
from flitloom.placing.timed import microseconds
from flitloom.placing.ways import ROUTINGS
from flitloom.spec import Product
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.factors import factors_of
from flitloom.spec.failed import read_failed
from flitloom.spec.families import is_family
from flitloom.spec.machine import Machine
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.reading import read_tables

#: Options that do not go with --jobs.
NOT_OF_JOBS = (
    *("shape", "axes", "traffic", "stencil", "neighbours", "closed", "nodes", "per_node"),
    *("minimise", "phases", "routing", "twist", "hosts", "out", "chart"),
)
#: Options that say what is placed, or how well, otherwise than --shape.
NOT_OF_SHAPES = (
    *("twist", "axes", "traffic", "stencil", "neighbours", "closed", "nodes", "per_node"),
    *("minimise", "phases"),
    *("routing", "flit_bytes", "machine", "seed", "chart", "jobs", "fit"),
)


def run(context: typer.Context, asked: Asked) -> None:
    """Place ranks, jobs or a grid that must fit."""
    for file in asked.reported.out or []:
        ending_of(file)
        check_output(file, (), "--out")
    if asked.where.network is not None and asked.where.graph is None:
        # Of a shape it says which dimensions of the shape close.
        wrap = asked.where.wrap if asked.ranks.shape is None else None
        options.refuse_grid(asked.where.torus, asked.where.mesh, wrap, asked.where.network, None)
        where, failed = options.resolved(asked.where)
        fail = [*failed, *(where.fail or [])] or None
        asked = replace(asked, where=replace(cast(Any, where), fail=fail))
    if asked.ranks.shape is not None:
        refuse(context, NOT_OF_SHAPES, "does not go with --shape")
        place_shape.run(asked)
    elif asked.ranks.jobs is not None:
        others = [name for name in NOT_OF_JOBS if name != "hosts" or asked.where.hosts is not None]
        refuse(context, others, "does not go with --jobs")
        named = asked.where.network is not None
        network = _of_switches(asked.where, None) if named else _network(asked.where, None)[0]
        place_jobs.run(asked, network, machine_of(asked.sought))
    else:
        refuse(context, ["fit"], "goes with --jobs")
        _place(asked)


def _place(asked: Asked) -> None:
    """Search for a placement of ranks, print how good it is, and write what is asked for."""
    where, sought, reported = asked.where, asked.sought, asked.reported
    topology, names = _network(where, sought.routing, where.hosts)
    for file in reported.out or []:
        require_coordinates(topology, file)
    if reported.chart is not None:
        check_picture(reported.chart, "--picture")
    if where.hosts is not None:
        names = list(read_hosts(where.hosts, topology.nodes))
    called = names_of(topology) if names is None else Names(topology.nodes, tuple(names))
    nodes = None if sought.nodes is None else called.listed(sought.nodes, "--nodes")
    traffic = traffic_of(asked.ranks)
    machine = machine_of(sought)
    if sought.flit_bytes is not None and sought.minimise != "time":
        raise SpecError.at("--flit-bytes", "belongs to --minimise time")
    routing: str | Tables | None = sought.routing
    if topology.tables_file is not None:
        routing = None
    elif sought.routing is not None and sought.routing not in ROUTINGS:
        routing = read_tables(Path(sought.routing), topology)
    with screen.progress("search for a placement") as progress, interrupts.keeping():
        found = place(
            topology,
            traffic,
            minimise=sought.minimise,
            phases=sought.phases,
            nodes=nodes,
            per_node=sought.per_node,
            seed=1 if sought.seed is None else sought.seed,
            effort=sought.effort,
            routing=routing,
            flit_bytes=FLIT_BYTES if sought.flit_bytes is None else sought.flit_bytes,
            machine=machine,
            progress=progress,
        )
    _report(found, asked, names, machine)


def machine_of(sought: Sought) -> Machine | None:
    """The machine that options name.

    Raises
    ------
    SpecError
        Another option says what a flit has, too.
    """
    if sought.machine is None:
        return None
    if sought.flit_bytes is not None:
        raise SpecError.at("--flit-bytes", "the machine says it, too", "leave one of them out")
    machine = Machine.read(sought.machine)
    machine.require_equal_links("placements are")
    return machine


def _network(
    where: Where, routing: str | None, hosts: str | None = None
) -> tuple[AnyNetwork, list[str] | None]:
    """The network, and the names of its nodes where a file has them; failed parts may have those of `hosts`.

    Raises
    ------
    SpecError
        No option names one, or ranks cannot be placed on it.
    """
    tables = None if routing is None or routing in ROUTINGS else Path(routing)
    named: Path | str | None = where.graph
    if where.graph is None:
        grid = {name: getattr(where, name) for name in ("torus", "mesh", "wrap", "twist", "network")}
        fields = options.topology_fields(**grid, fail=None)
        named = where.network if "cables" in fields else None
        if "network" not in fields and named is None:
            return sized(options.topology_fields(**grid, fail=where.fail, hosts=hosts)), None
    if named is None:
        network = fields["network"]
        of_switches = is_family(network) or any(one.width > 1 for one in factors_of(network))
        if of_switches or (tables is not None and tables.suffix != ".json"):
            return _of_switches(where, tables), None
        return network_of(Product(**fields, **read_failed(where.fail or []))), None
    options.refuse_grid(where.torus, where.mesh, where.wrap, where.network, where.graph)
    subnet = fabric(named, fail=where.fail or [])
    single = len(subnet.cables) == len({frozenset((cable.a, cable.b)) for cable in subnet.cables})
    if single and set(subnet.hosts_per_switch()) == {1} and (tables is None or tables.suffix == ".json"):
        # Hosts are sorted by their switches.
        ground = ground_of_subnet(subnet, host_names(subnet))
        if ground.topology is not None:
            return ground.topology, list(ground.names)
    return _of_switches(where, tables), None


def _of_switches(where: Where, tables: Path | None) -> Fabric:
    """A network of switches with hosts."""
    grid: dict[str, Any] = {
        "torus": where.torus,
        "mesh": where.mesh,
        "wrap": where.wrap,
        "twist": where.twist,
    }
    return Fabric(**options.switches_fields(where.graph, where.network, where.fail, tables, **grid))


def _report(found: Placement, asked: Asked, names: list[str] | None, machine: Machine | None) -> None:
    reported = asked.reported
    times = {} if machine is None else microseconds(found, machine)
    for file in reported.out or []:
        found.save(file, names)
    if reported.chart is not None:
        pictures.draw_placement(found, reported.chart)
    if reported.json:
        screen.print_json(found.facts() | ({"on_machine": times} if times else {}))
    else:
        _print(found, times)
    if "simulated" in times and machine is not None and machine.ports != 1:
        screen.say("note: nodes of the simulation have one port")
    if found.interrupted:
        screen.say("note: stopped by Ctrl-C; this is the best placement so far")
        raise typer.Exit(interrupts.INTERRUPTED)


def traffic_of(ranks: Ranks) -> Traffic:
    """What the options say that ranks send.

    Raises
    ------
    SpecError
        Nothing, or twice.
    """
    named = (("--axes", ranks.axes), ("--traffic", ranks.traffic), ("--stencil", ranks.stencil))
    given = [name for name, value in named if value]
    if len(given) != 1:
        problem = "is missing" if not given else f"is given by {' and '.join(given)}"
        raise SpecError.at("traffic", problem, "give one of --axes, --traffic and --stencil")
    if ranks.stencil is None and (ranks.neighbours is not None or ranks.closed):
        raise SpecError("--neighbours and --closed belong to --stencil")
    if ranks.axes is not None:
        return axes_traffic(parse_axes(ranks.axes))
    if ranks.traffic is not None:
        return read_traffic(ranks.traffic)
    sizes = options.sizes_of_fabric(ranks.stencil, "--stencil")
    if sizes is None:
        raise SpecError.at("--stencil", "write the sizes of the grid, e.g. 16x16")
    return stencil_traffic(sizes, ranks.neighbours, ranks.closed)


def _print(found: Placement, times: dict[str, float]) -> None:
    plain = found.row_major
    bound = found.bound if found.minimised == "channel" else None
    name = "busiest channels" if found.phases else "busiest channel"
    rows: list[list[Any]] = [
        *[[f"of {one.name}", one.row_major, one.busiest_channel, one.bound] for one in found.phases],
        [name, plain["busiest_channel"], found.busiest_channel, bound],
        ["hop-bytes", plain["hop_bytes"], found.hop_bytes, found.hop_bytes_bound],
    ]
    if times:
        rows.append(["us", times["row_major"], times["placed"], times.get("bound")])
    screen.print_table(["bytes", "row-major", "placed", "no less than"], rows)
    screen.echo()
    verdict = "proven optimal"
    if not found.optimal:
        gap = 100 * (found.reached - found.bound) / found.bound if found.bound else 0.0
        verdict = f"at most {gap:.1f} % above the bound" if found.bound else "no bound is known"
    proof = in_words(found.bound_proof) if found.bound or found.optimal else ""
    screen.print_fields(
        {
            "network": str(found.topology),
            "ranks": str(found.traffic.ranks),
            "routes": _routes(found),
            "verdict": f"{verdict} ({proof})" if proof else verdict,
            **{f"bound of {one.name}": in_words(one.bound_proof) for one in found.phases},
            "busiest port": f"{counted(found.busiest_port, 'byte')} sent or received by one node"
            + (", phases added up" if found.phases else ""),
            **({"simulated": _simulated(found)} if found.runs else {}),
            **({"us simulated": times["simulated"]} if "simulated" in times else {}),
            "found in": f"{found.seconds:.2f} s" + _advice(found),
        }
    )


def _routes(found: Placement) -> str:
    if found.routing == "do":
        return "dimension order"
    kind = "tables" if found.topology.grid else "tables by destination"
    return f"{kind} of flitloom route" if found.routing == "balanced" else f"{kind} from files"


def _advice(found: Placement) -> str:
    if not found.more_may_help:
        return ""
    return f"; it still became better near the end, so more effort may help (--effort {4 * found.effort})"


def _simulated(found: Placement) -> str:
    others = sorted(run["duration"] for run in found.runs)[1:]
    told = f"{found.duration} cycles, no less than {found.bound}"
    return told + (f" (the others {', '.join(map(str, others))})" if others else "")


def in_words(proof: dict[str, Any]) -> str:
    """What a certificate says, in a clause."""
    kind, place = proof["kind"], "host" if proof.get("host") else "switch"
    if kind == "phases":
        return "no phase has less"
    if kind == "uniform":
        return "all ranks send as much to all others, so every placement has the same load"
    if kind == "message":
        return f"rank {proof['source']} sends that much to rank {proof['destination']} over one route"
    if kind == "degree":
        verb = "sends" if proof["sends"] else "receives"
        stay = f", its largest {counted(proof['aside'], 'message')} aside" if proof.get("aside") else ""
        return f"rank {proof['rank']} {verb} it over {counted(proof['channels'], 'channel')}{stay}"
    if kind == "component":
        return f"{len(proof['ranks'])} ranks joined by messages as large do not fit at one {place}"
    if kind == "across":
        return "any set of as many ranks as a host has sends at least as much to the others"
    if kind == "clique":
        return f"{len(proof['ranks'])} ranks that all send to each other use one channel for several messages"
    if kind == "packing":
        verb = "sent" if proof["sends"] else "received"
        if proof["shared"] == 1:
            return f"a message as large {verb} by rank {proof['rank']} leads to another {place}"
        which = f"{proof['shared']} messages {verb} by rank {proof['rank']}"
        of = (
            f" of the {'first' if proof['sends'] else 'last'} {counted(proof['along'], 'dimension')}"
            if "along" in proof
            else ""
        )
        if proof.get("host"):
            return f"{which} leave its host"
        return f"{which} share one of {counted(proof['channels'], 'channel')}{of}"
    if kind == "slabs":
        which, verb = ("first", "sends") if proof["sends"] else ("last", "receives")
        return f"however ranks are divided along the {which} dimension, one {verb} as much in one direction"
    if kind == "search":
        return "all placements were tried, rank after rank"
    if kind == "port":
        verb = "sends" if proof["sends"] else "receives"
        return f"rank {proof['rank']} {verb} its flits through one port"
    if kind == "cut" and "switches" in proof:
        switches = counted(len(proof["switches"]), "switch")
        return f"{proof['channels']} channels leave {switches} with {counted(proof['nodes'], 'host')}"
    if kind == "cut":
        letter = "xyzuvw"[proof["dimension"]]
        return (
            f"{proof['channels']} channels leave {counted(proof['nodes'], 'node')} on one side "
            f"of a cut across {letter}"
        )
    if kind == "cosine":
        return "matrices of cosines are positive semidefinite"
    if kind == "sorted":
        return "largest messages at least distances"
    return "nothing is sent from one node to another"
