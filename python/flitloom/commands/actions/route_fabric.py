"""What ``flitloom route`` does with a fabric, a named network or a twisted torus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from flitloom.commands.actions.matrices import read_matrix
from flitloom.commands.actions.subnets import job_hosts, twisted, with_lanes
from flitloom.commands.inputs.seating import host_weights, placement_weights
from flitloom.commands.options import refuse, sizes_of_fabric
from flitloom.commands.route import Asked, OfFabric
from flitloom.commands.screen import echo, print_json, print_table, progress, say
from flitloom.errors import SpecError, show, show_file
from flitloom.fabric import Subnet
from flitloom.fabric.networks import fabric
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_folder, check_output, write_files
from flitloom.placing.placement import read_placement
from flitloom.spec import Product
from flitloom.spec.families import is_family
from flitloom.tables.by_destination.beside import BOTH_WAYS, MANAGERS, MULTICAST
from flitloom.tables.by_destination.certificate import write_certificate
from flitloom.tables.by_destination.comparing import compare_tables
from flitloom.tables.by_destination.made import SubnetTables
from flitloom.tables.by_destination.making import route_subnet
from flitloom.tables.by_destination.risk import critical_parts, repair_risk
from flitloom.tables.by_destination.surviving import Survival, route_surviving
from flitloom.tables.by_destination.writing import SURVIVE
from flitloom.tables.formats.known import endings
from flitloom.tables.pairs import matrix_of_hosts
from flitloom.tables.traffic import MOST_WEIGHT
from flitloom.tables.verdict import Row, bound_row, laid_out

#: Options of what tables are safe for.
COVERING = ("one_way", "no_managers", "no_multicast", "manager", "sm_lane", "reversible")
#: Options of tables of source routes alone.
NOT_OF_FABRICS = (
    "rules", "turns", "loads", "compare", "picture", "resilience", "html",
)  # fmt: skip


def run(context: typer.Context, asked: Asked) -> None:
    """Make tables by destination, compare two, or say which failures would hurt most."""
    named, of_fabric, sought = asked.named, asked.of_fabric, asked.sought
    _refuse(context, asked)
    described = named.fabric if named.network is None else named.network
    fail = sought.fail or []
    subnet = twisted(named.torus or "", fail) if described is None else fabric(described, fail=fail)
    subnet, lanes = with_lanes(subnet, of_fabric.lanes)
    if named.words:
        if len(named.words) != 3 or named.words[0] != "diff":
            raise SpecError(f"{show(' '.join(named.words))}: write diff OLD NEW, or nothing")
        _show_changes(subnet, Path(named.words[1]), Path(named.words[2]), asked.written.as_json)
    elif of_fabric.critical:
        _show_critical(subnet, asked, lanes)
    else:
        given = "--nodes" if sought.nodes is not None else "--hca" if sought.hca is not None else None
        if given is not None and sought.traffic is not None:
            raise SpecError(f"{given} and --traffic both say which pairs count; give one")
        _make(subnet, asked, lanes)


def _refuse(context: typer.Context, asked: Asked) -> None:
    """Refuse options that would be ignored."""
    named, of_fabric, sought = asked.named, asked.of_fabric, asked.sought
    critical = of_fabric.critical
    aside, risk = bool(named.words) or critical, critical and of_fabric.old is not None
    twisted_alone = named.twist and named.fabric is None and named.network is None
    others = ["mesh" if named.twist else "torus", "mesh", *NOT_OF_FABRICS]
    others += ["placement"] if twisted_alone or aside else []
    others += [] if risk else ["sample"]
    if aside or twisted_alone:
        others += ["nodes", "hca", "through", "traffic"]
    elif sought.through and sought.nodes is None:
        raise SpecError("--through goes with --nodes")
    if aside:
        others += ["out", "certificate", "method", "mode", "spare_lanes", "sizes", "torus_config"]
        others += ["effort", "survive", *COVERING]
        others += [] if risk else ["lanes", "seed", "old"]
    given = "--fabric" if named.network is None else "--network"
    what = "diff" if named.words else "--critical" if critical else "--twist" if twisted_alone else given
    refuse(context, others, f"does not go with {what}")
    if sought.placement is not None:
        others = ["nodes", "hca", "through", "traffic", "fail"]
        refuse(context, others, "does not go with --placement, which says all of that")


def _make(subnet: Subnet, asked: Asked, lanes: int | None) -> None:
    """Make tables and write them to a folder."""
    of_fabric, sought, out = asked.of_fabric, asked.sought, asked.written.out
    if of_fabric.mode not in (None, "portable", "sl2vl"):
        raise SpecError.at("--mode", f"{of_fabric.mode!r} is unknown", "write portable or sl2vl")
    _check_outputs(out, asked.written.certificate)
    others = "they are served, but count neither in the load nor in the bound"
    is_job = sought.nodes is not None or sought.hca is not None
    job = job_hosts(subnet, sought.nodes, sought.hca, others) if is_job else None
    weights = _weights(subnet, asked)
    if of_fabric.reversible:
        say("note: --reversible is the default now, and --one-way gives it up; it goes with the next release")
    tables, found = _made(subnet, asked, lanes, job, weights)
    for remark in tables.report.remarks:
        # Those of a file were told when it was read.
        if remark not in subnet.remarks:
            say(f"note: {remark}")
    facts = tables.facts()
    if out is not None:
        tables.write(out)
        if found is not None:
            write_files({out / SURVIVE: found.lines()})
    if asked.written.certificate is not None:
        _certify(tables, asked.written.certificate)
    if asked.written.as_json:
        repairs = {} if found is None else {"cables": len(found.cables), "cables_kept": found.kept}
        print_json(facts | repairs)
    else:
        _print(tables, facts, asked, None if job is None else len(job))
        if found is not None:
            echo(f"repairs      {found.describe()}")
    for note in tables.notes():
        say(f"note: {note}")
    if facts["unreachable"]:
        say(f"warning: {counted(facts['unreachable'], 'pair')} of hosts have no route in this fabric")


def _made(
    subnet: Subnet,
    asked: Asked,
    lanes: int | None,
    job: list[int] | None,
    weights: NDArray[np.integer[Any]] | None,
) -> tuple[SubnetTables, Survival | None]:
    """The tables, and with --survive what the repair of every cable asks for."""
    of_fabric = asked.of_fabric
    if of_fabric.survive not in (None, "cables"):
        raise SpecError.at("--survive", f"{show(of_fabric.survive)} is unknown", "write cables")
    if of_fabric.survive and (of_fabric.old is not None or of_fabric.mode == "sl2vl"):
        other = "--from" if of_fabric.old is not None else "--mode sl2vl"
        raise SpecError.at("--survive", f"does not go with {other}", "it makes portable tables anew")
    options: dict[str, Any] = {
        "mode": of_fabric.mode,
        "lanes": lanes,
        "spare_lanes": of_fabric.spare_lanes,
        "sizes": sizes_of_fabric(of_fabric.sizes),
        "torus_config": of_fabric.torus_config,
        "effort": asked.written.effort,
        "seed": asked.written.seed,
        "job": job,
        "traffic": weights,
        "method": asked.sought.method,
        "safe_for": _covered(of_fabric),
        "managers": tuple(of_fabric.manager or ()),
        "manager_level": of_fabric.sm_lane,
    }
    if of_fabric.survive:
        with progress("tables of the fabric", "tables") as step:
            return route_surviving(subnet, step, **options)
    with progress("tables of the fabric"):
        return route_subnet(subnet, old=of_fabric.old, **options), None


def _covered(given: OfFabric) -> list[str]:
    """Kinds of traffic that tables are made safe for, besides host pairs one way."""
    if given.reversible and given.one_way:
        raise SpecError("--reversible and --one-way exclude each other; give one")
    given_up = {BOTH_WAYS: given.one_way, MANAGERS: given.no_managers, MULTICAST: given.no_multicast}
    return [kind for kind, gone in given_up.items() if not gone]


def _check_outputs(out: Path | None, certificate: Path | None) -> None:
    """Refuse what cannot be written before anything is done."""
    if out is not None:
        if out.suffix in endings():
            raise SpecError.at(
                "--out", f"{show_file(out)}: tables by destination fill a folder", "write -o out/"
            )
        check_folder(out, "--out")
    if certificate is not None:
        check_output(certificate, (".json",), "--certificate")
        if out is None:
            raise SpecError.at("--certificate", "is verified against tables in a folder", "write -o out/")


def _certify(tables: SubnetTables, certificate: Path) -> None:
    """Write the certificate if there is one."""
    if not tables.report.passed:
        say(f"note: {show_file(certificate)} is not written: not all pairs have a route")
        return
    with progress("certificate of the tables", "destinations") as step:
        write_certificate(tables.forwarding(), certificate, tables.bound, step)


def _weights(subnet: Subnet, asked: Asked) -> NDArray[np.integer[Any]] | None:
    """The weights of pairs of hosts; of a product they are given by its nodes."""
    sought, described = asked.sought, asked.named.network
    if sought.placement is not None:
        return _placed(subnet, sought.placement, str(described or asked.named.fabric))
    if sought.traffic is None:
        return None
    if described is None or is_family(described):
        return read_matrix(sought.traffic, len(subnet.hosts))
    product = Product(described)
    return matrix_of_hosts(subnet, product, read_matrix(sought.traffic, product.nodes))


def _placed(subnet: Subnet, placement: Path, described: str) -> NDArray[np.integer[Any]]:
    """The bytes between hosts that the ranks of a placement send."""
    if "wiring" in read_placement(placement):
        return _scaled(subnet, host_weights(placement, subnet, described))
    # On a product there is a host at each node.
    topology, weights = placement_weights(placement, None)
    try:
        product = Product(described)
    except SpecError:
        product = None
    if product is None or not topology.is_as(product):
        raise SpecError.at(show_file(placement), f"is for the {topology}, not for {show(described)}")
    return _scaled(subnet, matrix_of_hosts(subnet, product, weights).astype(np.int64))


def _scaled(subnet: Subnet, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes as they are, or, where sums would be too large, divided by a power of two and rounded up."""
    switches = np.array([host.switch for host in subnet.hosts])
    by_switch = np.zeros((len(subnet.switches), len(subnet.hosts)), dtype=np.int64)
    np.add.at(by_switch, switches, weights)
    # Rounding up adds less than one per pair.
    room = MOST_WEIGHT - max(subnet.hosts_per_switch())
    unit = 1
    while int(by_switch.max(initial=0)) // unit > room:
        unit *= 2
    if unit > 1:
        say(f"note: weights are bytes divided by {unit}, rounded up")
    return -(-weights // unit)


def _print(tables: SubnetTables, facts: dict[str, Any], asked: Asked, job: int | None) -> None:
    of_job = "" if job is None else f", {job} of the job"
    others = "".join(f"; {m} {n}" for m, n in facts["mode_loads"].items() if m != facts["mode"])
    modes = f", {facts['mode']} tables {facts['max_load']}{others}" if others else ""
    told = tables.report.rows(f"{facts['lanes']} of {facts['lanes_there']}, mode {facts['mode']}")
    verdict = {row[0]: row for row in told}
    lanes = verdict["lanes"][1] + ("" if facts["lanes_from"] is None else f"; {facts['lanes_from']}")
    load = verdict["load"][1] + ("" if tables.behind is None else f": {tables.behind.describe()}")
    rows: list[Row] = [("load", load, []), bound_row(facts["bound"], facts["bound_proof"], facts["max_load"])]
    if facts["shift_load"] is not None:
        shifts = f"shifts of hosts put at most {facts['shift_load']} on a channel in the mean"
        rows.append(("method", f"{facts['method']}; {shifts}, {facts['shift_load_worst']} in the worst", []))
    kinds: list[Row] = [(*kind.row()[:2], []) for kind in tables.report.kinds[1:]]
    rows += [("lanes", lanes, []), verdict["deadlock"], *kinds, verdict["unreachable"]]
    if asked.of_fabric.old is not None:
        changed = f"{facts['changed_entries']} of {counted(facts['entries'], 'entry')}"
        rows += [("changed", changed, []), ("update", facts["update"], [])]
    rows.append(("time", f"{facts['seconds']} s", []))
    if asked.written.out is not None:
        rows.append(("written", f"{asked.written.out}/", []))
    echo(f"{facts['fabric']}, {tables.subnet.count_hosts()}{of_job}{modes}; {facts['safe_for']}")
    echo("\n".join(laid_out(rows)))


def _show_changes(subnet: Subnet, old: Path, new: Path, as_json: bool) -> None:
    """Say which switches and entries differ between two dumps."""
    changes, changed, entries, remarks = compare_tables(subnet, old, new)
    for remark in remarks:
        say(f"note: {remark}")
    if as_json:
        rows = [{"switch": row.switch, "entries": row.entries, "first": row.first} for row in changes]
        print_json({"changed_entries": changed, "entries": entries, "switches": rows})
        return
    echo(
        f"{changed} of {counted(entries, 'entry')} differ, on {len(changes)} of "
        f"{counted(len(subnet.switches), 'switch')}"
    )
    if changes:
        print_table(("switch", "entries", "first"), [(row.switch, row.entries, row.first) for row in changes])


def _show_critical(subnet: Subnet, asked: Asked, lanes: int | None) -> None:
    """Say which single failures would hurt most, and what the repair of given tables would ask for."""
    old, written = asked.of_fabric.old, asked.written
    verdict = ""
    with progress("single failures") as step:
        if old is None:
            parts = critical_parts(subnet, step)
        else:
            risk = repair_risk(
                subnet, old, lanes=lanes, sample=written.sample, seed=written.seed, progress=step
            )
            parts, verdict = risk.parts, f"{risk.describe()}\n{risk.cables()}"
    if written.as_json:
        told = ("part", "bound", "cut_off", *(("repair", "rounds", "moved") if old else ()))
        print_json([{name: getattr(row, name) for name in told} for row in parts])
        return
    if verdict:
        echo(verdict)
    columns: tuple[str, ...] = ("without", "lower bound", "pairs cut off")
    rows: list[tuple[object, ...]] = [(row.part, row.bound, row.cut_off) for row in parts[:20]]
    if old is not None:
        columns += ("repair", "rounds", "levels moved")
        tried = (
            (row.repair or "not tried", row.rounds or "", "" if row.moved is None else row.moved)
            for row in parts
        )
        rows = [(*row, *repair) for row, repair in zip(rows, tried, strict=False)]
    print_table(columns, rows)
    if len(parts) > 20:
        echo(f"and {len(parts) - 20} more; --json prints all")
