"""What ``flitloom route`` and ``flitloom check`` do with a fabric that somebody described."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flitloom.commands.screen import echo, print_json, print_table, progress, say
from flitloom.errors import SpecError

if TYPE_CHECKING:
    from flitloom.fabric import Subnet


def failing(fabric: Path, parts: list[str]) -> Subnet:
    """A fabric from its file, without the parts of ``--fail``."""
    from flitloom.fabric import read_fabric
    from flitloom.fabric.failures import fail_parts

    subnet = read_fabric(fabric)
    return fail_parts(subnet, parts) if parts else subnet


def route_fabric(
    subnet: Subnet,
    out: Path | None,
    mode: str | None,
    lanes: int,
    sizes: str | None,
    effort: int,
    old: Path | None,
    as_json: bool,
) -> None:
    """Make tables for a fabric and write them to a folder."""
    from flitloom.fabric import route_subnet
    from flitloom.outputs import check_folder
    from flitloom.spec.topology import parse_sizes

    if mode not in (None, "portable", "sl2vl"):
        raise SpecError(f"--mode: {mode!r} is unknown; write portable or sl2vl")
    if effort < 1:
        raise SpecError(f"--effort: {effort} is out of range; it must be at least 1")
    if out is not None:
        check_folder(out, "--out")
    with progress("tables of the fabric"):
        tables = route_subnet(
            subnet,
            mode=mode,
            lanes=lanes,
            sizes=None if sizes is None else tuple(parse_sizes(sizes)),
            effort=effort,
            old=old,
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
        echo(f"{facts['fabric']}, {facts['hosts']} hosts")
        echo(f"load         at most {facts['max_load']} host pairs on a channel")
        echo(f"lower bound  {facts['bound']} ({facts['bound_proof']}): {proven}")
        echo(f"lanes        {facts['lanes']}, mode {facts['mode']}, {facts['service_levels']} service levels")
        echo(f"deadlock     none possible; {facts['unreachable']} unreachable pairs")
        if old is not None:
            echo(f"changed      {facts['changed_entries']} of {facts['entries']} entries")
        echo(f"time         {facts['seconds']} s")
        if out is not None:
            echo(f"written      {out}/")
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


def show_critical(subnet: Subnet, as_json: bool) -> None:
    """Say which single failures would hurt most."""
    from flitloom.fabric.comparing import critical_parts

    with progress("single failures") as step:
        parts = critical_parts(subnet, step)
    if as_json:
        print_json([{"part": row.part, "bound": row.bound, "cut_off": row.cut_off} for row in parts])
        return
    rows = [(row.part, row.bound, row.cut_off) for row in parts[:20]]
    print_table(("without", "lower bound", "pairs cut off"), rows)
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
        raise SpecError("--fabric: name the tables with --lft opensm-lfts.dump (or --fdbs opensm.fdbs)")
    report = check_subnet(subnet, tables, path_levels=path_levels, lane_tables=lane_tables, lanes=lanes)
    for remark in report.remarks:
        say(f"note: {remark}")
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
