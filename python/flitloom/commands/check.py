"""``flitloom check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options, screen
from flitloom.commands.options import refuse, topology_fields
from flitloom.commands.screen import echo, print_json, progress, say
from flitloom.errors import SpecError, show_file
from flitloom.outputs import check_output


def command(
    context: typer.Context,
    tables: Annotated[
        Path | None,
        typer.Argument(help="A plan or a placement (.json), or tables: .json, .csv, .npz, an OpenSM dump."),
    ] = None,
    fabric: Annotated[
        Path | None, typer.Option(help="File with the output of ibnetdiscover, for tables of a subnet.")
    ] = None,
    network: options.Network = None,
    lft: Annotated[Path | None, typer.Option(help="With --fabric: opensm-lfts.dump.")] = None,
    fdbs: Annotated[Path | None, typer.Option(help="With --fabric: opensm.fdbs, instead of --lft.")] = None,
    path_sl: Annotated[
        Path | None, typer.Option("--path-sl", help="With --fabric: 0x<source guid> <dlid> <sl> per line.")
    ] = None,
    slvl: Annotated[
        Path | None, typer.Option("--slvl", "--sl2vl", help="With --fabric: slvl.txt or opensm-sl2vl.dump.")
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(help="With --fabric: file of the hosts that the tables are for, e.g. node[0-7,12]."),
    ] = None,
    lanes: Annotated[
        int | None, typer.Option(help="With --fabric and without --slvl: lanes, 1 to 8; vl = sl mod lanes.")
    ] = None,
    torus: Annotated[
        str | None, typer.Option(help="Sizes of the torus, e.g. 16x16, for files that do not say.")
    ] = None,
    mesh: Annotated[
        str | None, typer.Option(help="Sizes of the mesh, e.g. 8x8, for files that do not say.")
    ] = None,
    twist: Annotated[
        bool,
        typer.Option(
            "--twist", help="The torus is twisted, of sizes like 4x4x8: for collective plans and --lft."
        ),
    ] = False,
    fail: Annotated[
        list[str] | None, typer.Option(help="A failed part: node:3 or link:0-1; may be repeated.")
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(help="angara, dimension-order, dateline or unrestricted, instead of the file's."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Where the deadlock certificate goes (.json).")
    ] = None,
    _threads: options.CommonThreads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a plan, routing tables or a placement.

    Of a plan: every route, every port and link, the duration, the bound, that the engine runs it in the
    planned time under any arbitration scheme, and whether late nodes can cause a deadlock. Of tables: every
    pair, every hop, every rule, and absence of deadlock. Of a placement: loads, ports, hop-bytes, and the
    certificates of its bounds.

    Prints the shortest cycle of channels that can wait for each other if there is one. Ends with exit
    code 1 if anything is wrong with the routes.

    Example: flitloom check tables.json --certificate certificate.json

    Example: flitloom check --fabric cluster.topo --lft opensm-lfts.dump --path-sl path-sl.txt
    """
    if fabric is not None and network is not None:
        raise SpecError("give either --fabric or --network")
    named = fabric if network is None else network
    if named is not None:
        from flitloom.commands.subnets import allocated, check_fabric, failing

        elsewhere = ["torus", "mesh", "rules", "certificate", "twist"]
        refuse(context, elsewhere, "does not go with --fabric")
        if tables is not None and (lft is not None or fdbs is not None):
            raise SpecError(f"{show_file(tables)} and --lft or --fdbs: name one file of tables")
        if lft is not None and fdbs is not None:
            raise SpecError("--lft and --fdbs are two forms of the same tables; give one")
        subnet = failing(named, fail or [])
        if nodes is not None:
            subnet = allocated(subnet, nodes, "what they send is not judged")
        check_fabric(subnet, lft or fdbs or tables, path_sl, slvl, lanes, as_json)
        return
    refuse(context, ["nodes"], "belongs to --fabric")
    from flitloom import formats
    from flitloom.commands.collective import check_collective_file, check_foreign_file
    from flitloom.commands.inputs.placement import check_placement_file, is_placement
    from flitloom.commands.inputs.plan import check_plan_file, is_plan
    from flitloom.commands.route import read_topology
    from flitloom.routing import check
    from flitloom.spec.topology import BY_DESTINATION

    if twist and torus is None:
        raise SpecError.at("--twist", "no torus is named", "write --torus 4x4x8 --twist")
    if twist and torus is not None and (lft is not None or fdbs is not None):
        from flitloom.commands.subnets import check_fabric, twisted

        refuse(context, ["tables", "mesh", "rules", "certificate"], "does not go with --twist and --lft")
        if lft is not None and fdbs is not None:
            raise SpecError("--lft and --fdbs are two forms of the same tables; give one")
        check_fabric(twisted(torus, fail or []), lft or fdbs, path_sl, slvl, lanes, as_json)
        return
    refuse(context, ["lft", "fdbs", "path_sl", "slvl", "lanes"], "belongs to --fabric or --torus --twist")
    if tables is None:
        raise SpecError(
            "name the file to check, or a subnet with --fabric cluster.topo --lft opensm-lfts.dump"
        )
    if certificate is not None:
        check_output(certificate, (".json",), "--certificate")
    form = formats.format_of(tables)
    if form is not None and form.check_plan is None:
        raise SpecError.at(
            show_file(tables), "a message graph promises nothing to check", "flitloom simulate runs it"
        )
    if is_placement(tables):
        refuse(
            context,
            ["torus", "mesh", "twist", "fail", "rules", "certificate"],
            "does not go with a placement",
        )
        check_placement_file(tables, as_json)
        return
    foreign = tables.suffix == ".xml" if form is None else form.name != "plan"
    if form is not None or foreign:
        refuse(context, ["rules", "certificate"], "belongs to plans of packets and to routing tables")
    if form is not None and not foreign:
        check_collective_file(tables, topology_fields(torus, mesh, None, fail, twist), as_json)
        return
    if foreign:
        check_foreign_file(tables, topology_fields(torus, mesh, None, fail), twist, as_json)
        return
    if is_plan(tables):
        if rules is not None:
            raise SpecError("--rules belongs to routing tables; a plan brings its virtual channels")
        check_plan_file(tables, topology_fields(torus, mesh, None, fail, twist), certificate, as_json)
        return
    if fail and torus is None and mesh is None:
        raise SpecError("--fail belongs to a network named with --torus or --mesh")
    if twist:
        raise SpecError.at(
            "--twist",
            f"{show_file(tables)}: tables of source routes know no twist",
            f"give --lft: {BY_DESTINATION}",
        )
    topology = None if torus is None and mesh is None else read_topology(torus, mesh, fail or [], None)
    with progress(f"check of {show_file(tables)}") as step:
        report = check(tables, topology, rules, step)
    with screen.report():
        if as_json:
            facts = {
                "passed": report.passed,
                "deadlock": not report.deadlock_free,
                "cycle": report.cycle,
                "routes": report.routes,
                "problem_count": report.problem_count,
                "problems": report.problems,
                "max_load": report.max_load,
                "topology": report.tables.topology.model_dump(mode="json"),
                "rules": report.tables.rules.model_dump(mode="json"),
                "rules_in_words": report.tables.rules.describe(),
                "rules_from": report.rules_from,
                "bound": report.tables.bound if "bound" in report.claims.verified else None,
                "verified": report.claims.verified,
                "not_verified": report.claims.not_verified,
            }
            print_json(facts)
        else:
            echo(f"network   {report.tables.topology}")
            echo(f"rules     {report.tables.rules.describe()} ({report.rules_from})")
            echo(f"routes    {report.routes}")
            echo(f"problems  {report.problem_count}")
            for line in report.problems[:10]:
                echo(f"  {line}")
            if report.problem_count > 10:
                echo(f"  and {report.problem_count - 10} more")
            echo("deadlock  " + ("none possible" if report.deadlock_free else f"possible: {report.cycle}"))
            for heading, text in report.claims.lines():
                echo(f"{heading}  {text}")
            echo("passed" if report.passed else "FAILED")
    if certificate is not None and report.deadlock_free:
        if report.problem_count > len(report.claims.problems):
            say(f"note: {show_file(certificate)} is not written: wrong routes are not certified")
        else:
            report.write_certificate(certificate)
    if not report.passed:
        raise typer.Exit(1)
