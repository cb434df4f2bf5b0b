"""A fabric in a file or a named network, with tables by destination."""

from __future__ import annotations

from pathlib import Path

import typer

from flitloom import view as pages
from flitloom.commands import screen
from flitloom.commands.actions.subnets import allocated, with_lanes
from flitloom.commands.check import Asked, OfFabric
from flitloom.commands.inputs.input import Input, Refusal, Use, names_of
from flitloom.commands.inputs.showing import NOT_ANEW, show
from flitloom.commands.inputs.verdicts import print_verdict
from flitloom.commands.view import Asked as Viewed
from flitloom.errors import SpecError, show_file
from flitloom.fabric import Subnet
from flitloom.fabric.networks import fabric
from flitloom.tables.by_destination.beside import KINDS, Beside
from flitloom.tables.by_destination.certificate import write_certificate
from flitloom.tables.by_destination.checking import judge
from flitloom.tables.by_destination.remembered import with_gone
from flitloom.tables.by_destination.tables import read_tables


def check(asked: Asked) -> None:
    """Judge the tables; exit code 1 for danger."""
    given = asked.of_fabric
    tables = tables_of(asked)
    subnet = subnet_of(asked)
    if given.nodes is not None or given.hca is not None:
        subnet = allocated(subnet, given.nodes, given.hca, "what they send is not judged")
    judge_tables(subnet, tables, asked)


def subnet_of(asked: Asked) -> Subnet:
    """The fabric that options name."""
    given = asked.of_fabric
    named = given.fabric if given.network is None else given.network
    assert named is not None
    return fabric(named, fail=asked.judged.fail or [])


def tables_of(asked: Asked) -> Path | None:
    """The file of tables that the argument or an option names."""
    dump = dump_of(asked.of_fabric)
    if asked.file is not None and dump is not None:
        raise SpecError(f"{show_file(asked.file)} and --lft or --fdbs: name one file of tables")
    return dump or asked.file


def dump_of(given: OfFabric) -> Path | None:
    """The dump of tables that an option names."""
    if given.lft is not None and given.fdbs is not None:
        raise SpecError("--lft and --fdbs are two forms of the same tables; give one")
    return given.lft or given.fdbs


def judge_tables(subnet: Subnet, file: Path | None, asked: Asked) -> None:
    """Print the verdict on tables in a file, with the lanes that options name, and write its certificate."""
    given, wanted = asked.of_fabric, asked.judged.certificate
    if file is None:
        raise SpecError.at("--fabric", "name the tables with --lft opensm-lfts.dump (or --fdbs opensm.fdbs)")
    beside = _beside(given, file)
    subnet, lanes = with_lanes(with_gone(subnet, file), given.lanes)
    tables = read_tables(subnet, file, path_levels=given.path_sl, lane_tables=given.slvl, lanes=lanes)
    found = judge(tables, beside=beside)
    print_verdict(found, asked.judged.as_json)
    if wanted is not None and found.passed:
        with screen.progress(f"certificate of {show_file(file)}", "destinations") as step:
            write_certificate(tables, wanted, found.proven, step)
    if not found.passed:
        raise typer.Exit(1)


def _beside(given: OfFabric, file: Path) -> Beside:
    """What options and a folder say of traffic besides that of host pairs."""
    said = Beside.of(file)
    return Beside(
        managers=tuple(given.manager or said.managers),
        manager_level=said.manager_level if given.sm_sl is None else given.sm_sl,
        multicast=given.mcfdbs or said.multicast,
        multicast_level=said.multicast_level if given.multicast_sl is None else given.multicast_sl,
        safe_for=required_kinds(given),
        levels_from=said.levels_from if given.sm_sl is None and given.multicast_sl is None else "",
    )


def required_kinds(given: OfFabric) -> tuple[str, ...]:
    """Kinds of traffic that must be deadlock-free."""
    kinds = [word.strip().replace("-", " ") for word in (given.safe_for or "").split(",") if word.strip()]
    return KINDS if kinds == ["all"] else tuple(kinds)


def view(asked: Viewed) -> None:
    """Show the fabric, with the loads of tables if they are given."""
    page, tables = asked.page, asked.file
    named = page.fabric if page.network is None else page.network
    assert named is not None
    subnet = fabric(named, fail=page.fail or [])
    if tables is None:
        show(asked, [pages.Cables(subnet, title=named if isinstance(named, str) else "")])
        return
    forwarding = read_tables(with_gone(subnet, tables), tables)
    show(asked, [pages.Cables(forwarding.subnet, judge(forwarding))])


INPUT = Input(
    title="a fabric",
    given="name one with --fabric",
    asked=lambda given: bool({"fabric", "network"} & set(given)),
    uses={
        "check": Use(
            check,
            names_of(OfFabric, "fail", "certificate", "_threads", "as_json"),
            (
                Refusal.plain(
                    names_of("torus", "mesh", "rules", "twist"),
                    "{option} does not go with --fabric",
                ),
            ),
        ),
        "view": Use(
            view,
            names_of("out", "fabric", "network", "hosts", "no_hosts", "fail", "as_json"),
            (Refusal(names_of("stop_at"), "{option}", "belongs to what moves", "leave it out"), NOT_ANEW),
        ),
    },
)
