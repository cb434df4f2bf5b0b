"""``flitloom route``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flitloom.commands.matrices import read_matrix
from flitloom.commands.options import CommonThreads, Network, Twist, one_of, refuse, shown
from flitloom.commands.screen import Progress, echo, print_json, print_table, progress, say
from flitloom.errors import SpecError, UnreachableError, show, show_file
from flitloom.extras import check_picture
from flitloom.limits import LISTED_NODES
from flitloom.outputs import check_output
from flitloom.routing import METHODS, Tables, route
from flitloom.routing.nodes import read_nodes
from flitloom.spec import Mesh, Topology, Torus
from flitloom.spec.failed import read_failed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Endings of files that tables are written to.
OUTPUTS = (".json", ".csv", ".npz", ".lft", ".txt")


def command(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[diff OLD NEW]", help="With --fabric: say which entries differ between two dumps."
        ),
    ] = None,
    torus: Annotated[str | None, typer.Option(help="Sizes of a torus, e.g. 4x2x2x2.")] = None,
    mesh: Annotated[str | None, shown("mesh")] = None,
    twist: Twist = False,
    network: Network = None,
    fabric: Annotated[
        Path | None,
        typer.Option(
            "--fabric",
            "--graph",
            help="File with the output of ibnetdiscover: tables for OpenSM go to the folder of --out.",
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="With --fabric: portable (lane = service level) or sl2vl (lanes by switch)."),
    ] = None,
    old: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="With --fabric: tables to repair by few changes (a folder or a dump, opensm-lfts.dump).",
        ),
    ] = None,
    reversible: Annotated[
        bool,
        typer.Option(
            "--reversible", help="With --fabric: the same service level in both directions of a pair."
        ),
    ] = False,
    critical: Annotated[
        bool,
        typer.Option(
            "--critical",
            help="With --fabric: which single failures would hurt most; with --from also for which the "
            "traffic must stop before those tables are repaired.",
        ),
    ] = False,
    lanes: Annotated[int, typer.Option(help="With --fabric: number of virtual lanes, 1 to 8.")] = 8,
    spare_lanes: Annotated[
        int,
        typer.Option(
            help="With --fabric: virtual lanes of --lanes that tables leave free for later repairs."
        ),
    ] = 0,
    sizes: Annotated[
        str | None,
        typer.Option(help="With --fabric: sizes, where the fewest dimensions are not meant, e.g. 4x2x2."),
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "balanced",
    fail: Annotated[
        list[str] | None,
        typer.Option(
            help="A failed part: node:3, node:(0,1,2), link:0-1 or link:(0,1)+x; with --fabric also node:S5, "
            "cable:S5/3. May be repeated."
        ),
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(
            help="File of the allocated nodes in Slurm notation, node[0-7,12]; with --fabric: of the hosts "
            "whose pairs are balanced; all others are served, too."
        ),
    ] = None,
    through: Annotated[
        bool,
        typer.Option(
            "--through",
            help="With --nodes: routes may pass through nodes outside the list; only pairs within it count."
            " With --fabric they always may.",
        ),
    ] = False,
    rules: Annotated[
        str | None,
        typer.Option(
            help="angara, dimension-order, dateline, or unrestricted, whose tables can deadlock; angara-y is "
            "angara with +y and -y exchanged. Without it angara, with exchanged directions where only these "
            "serve every pair."
        ),
    ] = None,
    turns: Annotated[
        str,
        typer.Option(help=f"Turns against the order: {one_of('turns')}."),
    ] = "on-demand",
    traffic: Annotated[
        Path | None,
        typer.Option(help="CSV matrix of weights of pairs of nodes (--fabric: hosts): balance for this job."),
    ] = None,
    placement: Annotated[
        Path | None,
        typer.Option(
            help="A placement of ranks made by flitloom place (.json): its network, balanced for its bytes."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help=f"Where the tables go (--compare: the first): {', '.join(OUTPUTS)}."
        ),
    ] = None,
    loads: Annotated[Path | None, typer.Option(help="CSV file for the load of every link.")] = None,
    compare: Annotated[bool, typer.Option("--compare", help="All methods side by side.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Picture of the loads (.png, .pdf or .svg).")] = None,
    resilience: Annotated[
        bool,
        typer.Option(
            "--resilience", help="Which failures leave every pair a route: all single ones, samples of two."
        ),
    ] = False,
    sample: Annotated[
        int,
        typer.Option(
            help="Failed systems per row of --resilience, and failures of --critical --from, where not all "
            "are tried."
        ),
    ] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 1,
    effort: Annotated[int, typer.Option(help="Factor on the work of the search.")] = 1,
    _threads: CommonThreads = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Show the tables as a page, in this file (.html).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Make balanced, deadlock-free routing tables and report how good they are.

    Example: flitloom route --torus 4x2x2x2 --fail node:3 --fail link:0-1 -o tables.json

    Example: flitloom route --placement p.json -o tables.json

    Example: flitloom route --fabric cluster.topo -o out/

    Example: flitloom route --network "dragonfly(6,3)" -o out/
    """
    if twist and (torus is None or fabric is not None):
        raise SpecError("--twist belongs to --torus, with sizes like 4x4x8 or 4x8x8")
    if network is not None and (fabric is not None or torus is not None or mesh is not None):
        raise SpecError.at("--network", "names the whole network", "leave --torus, --mesh and --fabric out")
    by_destination = fabric is not None or network is not None
    if by_destination or twist:
        others = [
            "mesh" if twist else "torus",
            "mesh",
            "method",
            "rules",
            "turns",
            "loads",
            "compare",
        ]
        others += ["picture", "resilience", "html", "placement"]
        risk = critical and old is not None
        others += [] if risk else ["sample"]
        if words or critical or (twist and not by_destination):
            others += ["nodes", "through", "traffic"]
        elif through and nodes is None:
            raise SpecError("--through goes with --nodes")
        if words or critical:
            others += ["out", "mode", "spare_lanes", "sizes", "effort", "reversible"]
            others += [] if risk else ["lanes", "seed", "old"]
        refuse(
            context,
            others,
            "does not go with " + ("diff" if words else "--critical" if critical else "--fabric"),
        )
        from flitloom.commands.subnets import (
            failing,
            route_fabric,
            show_changes,
            show_critical,
            twisted,
        )

        described = fabric if network is None else network
        subnet = twisted(torus or "", fail or []) if described is None else failing(described, fail or [])
        if words:
            if len(words) != 3 or words[0] != "diff":
                raise SpecError(f"{show(' '.join(words))}: write diff OLD NEW, or nothing")
            show_changes(subnet, Path(words[1]), Path(words[2]), as_json)
        elif critical:
            show_critical(subnet, old, lanes, sample, seed, as_json)
        else:
            if nodes is not None and traffic is not None:
                raise SpecError("--nodes and --traffic both say which pairs count; give one")
            route_fabric(
                subnet,
                out,
                mode,
                lanes,
                spare_lanes,
                sizes,
                effort,
                seed,
                nodes,
                traffic,
                old,
                reversible,
                as_json,
            )
        return
    refuse(
        context,
        ["critical", "old", "mode", "lanes", "spare_lanes", "sizes", "reversible"],
        "belongs to --fabric and --network",
    )
    if words:
        raise SpecError("diff OLD NEW belongs to a fabric named with --fabric")
    if resilience:
        others = [
            "nodes",
            "method",
            "turns",
            "traffic",
            "placement",
            "out",
            "loads",
            "compare",
            "picture",
            "effort",
            "html",
        ]
        refuse(context, others, "does not go with --resilience")
    else:
        refuse(context, ["sample"], "belongs to --resilience")
    if compare:
        refuse(context, ["method"], "does not go with --compare")
    if through and (nodes is None or traffic is not None or resilience):
        raise SpecError("--through goes with --nodes, and not with --traffic or --resilience")
    weights = None
    if placement is not None:
        from flitloom.commands.inputs.seating import placement_weights

        refuse(context, ["traffic", "nodes", "through"], "does not go with --placement, which says both")
        named = None
        if torus is not None or mesh is not None or fail:
            named = read_topology(torus, mesh, fail or [], None)
        topology, weights = placement_weights(placement, named)
        topology.require_plain("tables for a placement")
    else:
        topology = read_topology(torus, mesh, fail or [], None if through else nodes)
    if out is not None:
        check_output(out, OUTPUTS, "--out")
        if out.suffix != ".npz" and topology.nodes > LISTED_NODES:
            raise SpecError.at(
                "--out",
                f"{out.suffix} lists every route and is for at most {LISTED_NODES} nodes",
                f"write {topology.nodes} nodes to an .npz file",
            )
    if loads is not None:
        check_output(loads, (".csv",), "--loads")
    if picture is not None:
        check_picture(picture, "--picture")
    if html is not None:
        check_output(html, (".html",), "--html")
    if resilience:
        _resilience(topology, rules or "angara", sample, seed, as_json)
        return
    if traffic is not None:
        weights = read_matrix(traffic, topology.nodes)
    if through and nodes is not None:
        weights = allocated_pairs(topology, nodes)
    options: dict[str, Any] = {
        "rules": rules,
        "turns": turns,
        "traffic": weights,
        "seed": seed,
        "effort": effort,
    }
    chosen = METHODS[:-1] if compare else (method,)
    made = []
    for name in chosen:
        try:
            with progress(f"{name} tables of the {topology}") as step:
                made.append(route(topology, method=name, progress=_hundredths(step), **options))
        except UnreachableError as error:
            if not made:
                raise
            say(f"note: method {name}: {error}")
            continue
        if options["rules"] is None and made[0].rules.name != "angara":
            _say_exchanged(made[0])
        # Only tables under the same rules can be compared.
        options["rules"] = made[0].rules
    cycles = [danger(tables) for tables in made]
    for tables, cycle in zip(made, cycles, strict=True):
        if cycle:
            say(f"note: {tables.method} tables can deadlock under rules {tables.rules.name}: {cycle}")
    if compare:
        _print_comparison(made, cycles, as_json)
    else:
        _print_report(made[0], cycles[0], as_json)
    if picture is not None:
        from flitloom.routing.pictures import draw_comparison

        draw_comparison(made, picture)
    if html is not None:
        from flitloom.commands.inputs.showing import write_tables_page

        write_tables_page(made, html)
    if loads is not None:
        made[0].loads_to_csv(loads)
    if out is not None:
        write_tables(made[0], out)


def _say_exchanged(tables: Tables) -> None:
    axes = tables.rules.name.partition("-")[2]
    say(
        "note: the order of angara leaves pairs without a route; these tables are for "
        f"{tables.rules.describe()}: + and - are exchanged along {', '.join(axes)}, as if its coordinates "
        "were counted from the other end. With --rules angara, the pairs and what else would serve them are "
        "named."
    )


def danger(tables: Tables) -> str:
    """A shortest cycle of channels that can wait for each other; empty where the rules admit none."""
    rules = tables.rules
    enough = rules.datelines and (rules.virtual_channels or 0) > sum(tables.topology.wraps)
    return "" if rules.virtual_channels is None or enough else str(tables.verdict()["cycle"])


def _hundredths(step: Progress) -> Callable[[float], None]:
    return lambda done: step(int(100 * done), 100)


def read_topology(torus: str | None, mesh: str | None, fail: list[str], nodes: Path | None) -> Topology:
    """The network of the options ``--torus``, ``--mesh``, ``--fail`` and ``--nodes``."""
    if (torus is None) == (mesh is None):
        raise SpecError("name the network with --torus 4x2x2x2 or --mesh 8x8")
    failed = read_failed(fail)
    topology: Topology
    topology = Torus(torus, **failed) if torus is not None else Mesh(str(mesh), **failed)
    if nodes is not None:
        allocated = set(read_nodes(nodes, topology.nodes))
        left_out = (node for node in range(topology.nodes) if node not in allocated)
        fields = topology.model_dump()
        fields["failed_nodes"] = tuple(dict.fromkeys((*topology.failed_nodes, *left_out)))
        topology = Topology(**fields)
    return topology


def allocated_pairs(topology: Topology, nodes: Path) -> NDArray[np.int64]:
    """One for every pair of nodes in a list, none for others."""
    import numpy as np

    allocated = np.zeros(topology.nodes, dtype=np.int64)
    allocated[read_nodes(nodes, topology.nodes)] = 1
    if gone := [node for node in topology.failed_nodes if allocated[node]]:
        raise SpecError(f"{show_file(nodes)}: node {gone[0]} is allocated and failed")
    pairs = np.outer(allocated, allocated)
    np.fill_diagonal(pairs, 0)
    return pairs


def write_tables(tables: Tables, output: Path) -> None:
    """Write tables in the form that the ending of the file says."""
    match output.suffix:
        case ".json":
            tables.to_json(output)
        case ".csv":
            tables.to_csv(output)
        case ".npz":
            tables.save_headers(output)
        case _:
            tables.to_lft(output)


def summary(tables: Tables) -> dict[str, Any]:
    """What a report says about tables."""
    return {
        "method": tables.method,
        "rules": tables.rules.name,
        "max_load": tables.max_load,
        "min_load": tables.min_load,
        "perfect_load": tables.perfect_load,
        "sigma4": round(tables.sigma4, 4),
        "max_distance": tables.max_distance,
        "bound": tables.bound,
        "bound_exact": str(tables.bound_value.value),
        "bound_proof": tables.bound_value.proof,
        "gap": tables.gap,
        "optimal": tables.optimal,
        "seconds": None if tables.seconds is None else round(tables.seconds, 4),
    }


def _print_report(tables: Tables, cycle: str, as_json: bool) -> None:
    if as_json:
        report = {
            **summary(tables),
            "deadlock": bool(cycle),
            "cycle": cycle,
            "histogram": tables.histogram(),
            "most_loaded": tables.most_loaded(),
        }
        print_json(report)
        return
    facts = summary(tables)
    proven = "optimal" if tables.optimal else f"gap {tables.gap}"
    echo(f"{tables.topology}, {tables.method} tables, rules {tables.rules.name}")
    echo(f"load         max {facts['max_load']}, min {facts['min_load']}, mean {facts['perfect_load']:.3f}")
    echo(f"sigma(4)     {facts['sigma4']:.3f}")
    echo(f"max D        {facts['max_distance']} hops")
    bound = f"{float(tables.bound_value.value):.3f}, {facts['bound_proof']}"
    echo(f"lower bound  {facts['bound']} ({bound}): {proven}")
    echo("most loaded  " + ", ".join(f"{name} {load}" for name, load in tables.most_loaded()))
    echo(f"time         {tables.seconds:.4f} s" if tables.seconds is not None else "")
    echo("load  links")
    histogram = tables.histogram()
    bins = sorted(histogram) if len(histogram) <= 24 else []
    for load in bins:
        echo(f"{load:4}  {histogram[load]:5}  " + "#" * min(60, histogram[load]))
    if not bins:
        low, high = tables.min_load, tables.max_load
        width = (high - low) // 16 + 1
        for start in range(low, high + 1, width):
            count = sum(links for load, links in histogram.items() if start <= load < start + width)
            echo(f"{start}-{start + width - 1}  {count}")


def _print_comparison(made: list[Tables], cycles: list[str], as_json: bool) -> None:
    if as_json:
        rows = zip(made, cycles, strict=True)
        print_json([{**summary(tables), "deadlock": bool(cycle), "cycle": cycle} for tables, cycle in rows])
        return
    best = max(tables.bound for tables in made)
    echo(f"{made[0].topology}; no tables have a largest load below {best}")
    columns = ("method", "max load", "min load", "sigma(4)", "max D", "gap", "time (s)")
    print_table(
        columns,
        [
            (
                tables.method,
                tables.max_load,
                tables.min_load,
                round(tables.sigma4, 3),
                tables.max_distance,
                tables.max_load - best,
                round(tables.seconds or 0.0, 4),
            )
            for tables in made
        ],
    )


def _key(heading: str) -> str:
    """A heading of a table as a name in JSON, e.g. ``no_first_last_steps``."""
    return heading.replace("/", " ").replace(" ", "_")


def _resilience(topology: Topology, rules: str, sample: int, seed: int, as_json: bool) -> None:
    from flitloom.routing.resilience import REGIMES, survive

    if sample < 1:
        raise SpecError.at("--sample", f"{sample} is out of range", "it must be at least 1")
    if topology.failed_nodes or topology.failed_links:
        raise SpecError("--resilience starts from a healthy network; leave --fail and --nodes out")
    rows = [
        survive(topology, nodes, links, rules=rules, sample=sample, seed=seed)
        for nodes, links in ((0, 1), (1, 0), (0, 2), (2, 0))
    ]
    if as_json:
        entries = [
            {"failures": row.failures, "systems": row.systems, "exhaustive": row.exhaustive}
            | dict(zip(map(_key, REGIMES), row.fractions, strict=True))
            for row in rows
        ]
        print_json(entries)
        return
    echo(f"{topology}: fraction of failed systems in which every healthy pair keeps a route")
    print_table(
        ("failures", "systems", "", *REGIMES),
        [(row.failures, row.systems, "all" if row.exhaustive else "drawn", *row.fractions) for row in rows],
    )
