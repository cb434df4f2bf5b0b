"""What ``flitloom route`` and ``flitloom check`` do with a fabric that somebody described."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flitloom.commands import screen
from flitloom.commands.options import sizes_of_fabric
from flitloom.commands.screen import echo, print_json, print_table, progress, say
from flitloom.errors import SpecError, show_file
from flitloom.limits import NODES_BYTES
from flitloom.outputs import check_folder
from flitloom.reading import read_text

if TYPE_CHECKING:
    from flitloom.fabric import Subnet


def failing(fabric: Path | str, parts: list[str]) -> Subnet:
    """A fabric from its file, or a named network, without the parts of ``--fail``."""
    from flitloom.fabric import read_fabric
    from flitloom.fabric.failures import fail_parts
    from flitloom.fabric.networks import named_subnet

    subnet = read_fabric(fabric) if isinstance(fabric, Path) else named_subnet(fabric)
    return fail_parts(subnet, parts) if parts else subnet


def job_hosts(subnet: Subnet, nodes: Path, others: str) -> list[int]:
    """Numbers of the hosts in a file of ``--nodes``; says what that means for the `others`."""
    from flitloom.fabric.allocation import hosts_named
    from flitloom.fabric.hostlist import expand

    place = show_file(nodes)
    job = hosts_named(subnet, expand(read_text(nodes, NODES_BYTES), place), place)
    if left_out := len(subnet.hosts) - len(job):
        say(f"note: {left_out} hosts are not in {place}; {others}")
    return job


def allocated(subnet: Subnet, nodes: Path, others: str) -> Subnet:
    """The hosts in a file of ``--nodes``, over all switches; says what that means for the `others`."""
    from flitloom.fabric.allocation import part_of

    return part_of(subnet, job_hosts(subnet, nodes, others))


def twisted(sizes: str, parts: list[str]) -> Subnet:
    """A twisted torus with a host per switch, without the parts of ``--fail``."""
    from flitloom.fabric.examples import twisted_torus
    from flitloom.fabric.failures import fail_parts
    from flitloom.spec import Topology

    lengths = Topology(sizes=sizes, twist=True).sizes
    subnet = twisted_torus(lengths)
    return fail_parts(subnet, parts) if parts else subnet


def route_fabric(
    subnet: Subnet,
    out: Path | None,
    mode: str | None,
    lanes: int,
    spare_lanes: int,
    sizes: str | None,
    effort: int,
    seed: int,
    nodes: Path | None,
    traffic: Path | None,
    old: Path | None,
    reversible: bool,
    as_json: bool,
) -> None:
    """Make tables for a fabric and write them to a folder."""
    from flitloom.fabric import route_subnet

    if mode not in (None, "portable", "sl2vl"):
        raise SpecError.at("--mode", f"{mode!r} is unknown", "write portable or sl2vl")
    if out is not None:
        check_folder(out, "--out")
    others = "they are served, but count neither in the load nor in the bound"
    job = None if nodes is None else job_hosts(subnet, nodes, others)
    weights = None
    if traffic is not None:
        from flitloom.commands.matrices import read_matrix

        weights = read_matrix(traffic, len(subnet.hosts))
    with progress("tables of the fabric"):
        tables = route_subnet(
            subnet,
            mode=mode,
            lanes=lanes,
            spare_lanes=spare_lanes,
            sizes=sizes_of_fabric(sizes),
            effort=effort,
            seed=seed,
            old=old,
            reversible=reversible,
            job=job,
            traffic=weights,
        )
    for remark in tables.report.remarks:
        say(f"note: {remark}")
    facts = tables.facts()
    if out is not None:
        tables.write(out)
    if as_json:
        print_json(facts)
    else:
        proven = "optimal" if facts["optimal"] else f"gap {facts['gap']}"
        counted = "" if job is None else f", {len(job)} of the job"
        others = "".join(f"; {m} {n}" for m, n in facts["mode_loads"].items() if m != facts["mode"])
        modes = f", {facts['mode']} tables carry {facts['max_load']}{others}" if others else ""
        echo(f"{facts['fabric']}, {facts['hosts']} hosts{counted}{modes}")
        echo(f"load         at most {facts['max_load']} {tables.unit} on a channel")
        echo(f"lower bound  {facts['bound']} ({facts['bound_proof']}): {proven}")
        spare = f"{facts['lanes']} of {lanes}"
        echo(f"lanes        {spare}, mode {facts['mode']}, {facts['service_levels']} service levels")
        echo(f"deadlock     none possible; {facts['unreachable']} unreachable pairs")
        if old is not None:
            echo(f"changed      {facts['changed_entries']} of {facts['entries']} entries")
            echo(f"update       {facts['update']}")
        echo(f"time         {facts['seconds']} s")
        if out is not None:
            echo(f"written      {out}/")
    for note in tables.notes():
        say(f"note: {note}")
    if facts["unreachable"]:
        say(f"warning: {facts['unreachable']} pairs of hosts have no way in this fabric")


def show_changes(subnet: Subnet, old: Path, new: Path, as_json: bool) -> None:
    """Say which switches and entries differ between two dumps."""
    from flitloom.fabric.comparing import compare_tables

    changes, changed, entries = compare_tables(subnet, old, new)
    if as_json:
        rows = [{"switch": row.switch, "entries": row.entries, "first": row.first} for row in changes]
        print_json({"changed_entries": changed, "entries": entries, "switches": rows})
        return
    echo(f"{changed} of {entries} entries differ, on {len(changes)} of {len(subnet.switches)} switches")
    if changes:
        print_table(("switch", "entries", "first"), [(row.switch, row.entries, row.first) for row in changes])


def show_critical(
    subnet: Subnet, old: Path | None, lanes: int, sample: int, seed: int, as_json: bool
) -> None:
    """Say which single failures would hurt most, and what the repair of given tables would ask for."""
    from flitloom.fabric.comparing import critical_parts
    from flitloom.fabric.risk import repair_risk

    verdict = ""
    with progress("single failures") as step:
        if old is None:
            parts = critical_parts(subnet, step)
        else:
            risk = repair_risk(subnet, old, lanes=lanes, sample=sample, seed=seed, progress=step)
            parts, verdict = risk.parts, risk.describe()
    if as_json:
        told = ("part", "bound", "cut_off", *(("repair", "rounds") if old else ()))
        print_json([{name: getattr(row, name) for name in told} for row in parts])
        return
    if verdict:
        echo(verdict)
    columns: tuple[str, ...] = ("without", "lower bound", "pairs cut off")
    rows: list[tuple[object, ...]] = [(row.part, row.bound, row.cut_off) for row in parts[:20]]
    if old is not None:
        columns += ("repair", "rounds")
        tried = ((row.repair or "not tried", row.rounds or "") for row in parts)
        rows = [(*row, *repair) for row, repair in zip(rows, tried, strict=False)]
    print_table(columns, rows)
    if len(parts) > 20:
        echo(f"and {len(parts) - 20} more; --json prints all")


def check_fabric(
    subnet: Subnet,
    tables: Path | None,
    path_levels: Path | None,
    lane_tables: Path | None,
    lanes: int | None,
    as_json: bool,
) -> None:
    """Judge tables of a fabric; exit code 1 for danger."""
    from flitloom.fabric import check_subnet

    if tables is None:
        raise SpecError.at("--fabric", "name the tables with --lft opensm-lfts.dump (or --fdbs opensm.fdbs)")
    report = check_subnet(subnet, tables, path_levels=path_levels, lane_tables=lane_tables, lanes=lanes)
    for remark in report.remarks:
        say(f"note: {remark}")
    with screen.report():
        if as_json:
            print_json(
                {
                    "passed": report.passed,
                    "deadlock": report.deadlock,
                    "cycle": report.cycle,
                    "unreachable": report.unreachable,
                    "unreachable_pairs": report.unreachable_pairs,
                    "max_load": report.max_load,
                    "bound": report.bound,
                    "bound_proof": report.bound_proof,
                    "lanes": report.lanes,
                    "service_levels": report.levels,
                    "rule": report.rule,
                    "remarks": list(report.remarks),
                }
            )
        else:
            echo(f"rule         {report.rule}")
            echo("deadlock     " + ("possible:" if report.deadlock else "none possible"))
            for line in report.cycle:
                echo(f"  {line}")
            echo(f"unreachable  {report.unreachable} pairs of hosts")
            for line in report.unreachable_pairs[:10]:
                echo(f"  {line}")
            echo(f"load         at most {report.max_load} host pairs on a channel")
            echo(f"lower bound  {report.bound} ({report.bound_proof})")
            echo(f"lanes        {report.lanes} used, {report.levels} service levels")
            echo("passed" if report.passed else "FAILED")
    if not report.passed:
        raise typer.Exit(1)
