"""``flitloom check``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flitloom.commands import options
from flitloom.commands.actions import perform
from flitloom.commands.options import Group, grouped


class OfFabric(Group):
    """A fabric and files of its tables."""

    fabric: Annotated[
        Path | None,
        typer.Option(
            "--fabric", "--graph", help="File with the output of ibnetdiscover, for tables of a subnet."
        ),
    ] = None
    network: options.Network = None
    hosts: options.HostList = None
    no_hosts: options.NoHosts = False
    lft: Annotated[Path | None, typer.Option(help="With --fabric: opensm-lfts.dump.")] = None
    fdbs: Annotated[Path | None, typer.Option(help="With --fabric: opensm.fdbs, instead of --lft.")] = None
    path_sl: Annotated[
        Path | None, typer.Option("--path-sl", help="With --fabric: 0x<source guid> <dlid> <sl> per line.")
    ] = None
    slvl: Annotated[
        Path | None, typer.Option("--slvl", "--sl2vl", help="With --fabric: slvl.txt or opensm-sl2vl.dump.")
    ] = None
    nodes: Annotated[
        str | None,
        typer.Option(
            help="With --fabric: the hosts that the tables are for, e.g. node[0-7,12], or a file.",
            metavar="LIST",
        ),
    ] = None
    hca: Annotated[
        str | None,
        typer.Option(
            help="With --fabric: the HCAs that are judged, by the name behind that of the host: mlx5_0 of "
            "'node1 mlx5_0'.",
            metavar="NAME",
        ),
    ] = None
    lanes: Annotated[
        str | None,
        typer.Option(
            help="With --fabric: lanes of links, 1 to 15, or a file that says how many ports have, as route "
            "takes it; vl = sl mod lanes, and lanes of --slvl fold alike. [default: as the fabric says, or 8]"
        ),
    ] = None
    manager: Annotated[
        list[str] | None,
        typer.Option(
            help="With --fabric: a host that the subnet manager or a monitor runs on, e.g. node1; may be "
            "repeated. "
            "Without it every single host is tried as the manager.",
            metavar="HOST",
        ),
    ] = None
    sm_sl: Annotated[
        int | None,
        typer.Option(
            "--sm-sl",
            help="With --fabric: service level of managers, OpenSM's sm_sl. [default: as the folder says, "
            "or 0]",
        ),
    ] = None
    mcfdbs: Annotated[
        Path | None,
        typer.Option(
            help="With --fabric: multicast tables, opensm.mcfdbs. Without it the tree that OpenSM builds for "
            "all hosts is assumed."
        ),
    ] = None
    multicast_sl: Annotated[
        int | None,
        typer.Option(
            "--multicast-sl",
            help="With --fabric: service level of multicast. [default: as the folder says, or 0]",
        ),
    ] = None
    safe_for: Annotated[
        str | None,
        typer.Option(
            "--safe-for",
            help="With --fabric: kinds of traffic that must be deadlock-free besides host pairs: "
            "both-ways, managers, multicast, separated by commas, or all.",
            metavar="KINDS",
        ),
    ] = None

    mix: Annotated[
        Path | None,
        typer.Option(
            help="With --fabric: other tables of it, a folder or a dump. Judges whether switches may have "
            "entries of both in any order while hosts send.",
            metavar="TABLES",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        options.take_hosts(self, "fabric")


class Judged(Group):
    """The network where a file does not say it, and what the check is of."""

    torus: Annotated[str | None, options.shown("torus", note="for files that do not say")] = None
    mesh: Annotated[str | None, options.shown("mesh", note="for files that do not say")] = None
    twist: Annotated[bool, options.shown("twist", note="for collective plans and --lft")] = False
    fail: options.Fail = None
    rules: Annotated[
        str | None,
        typer.Option(help="angara, dimension-order, dateline or unrestricted, instead of the file's."),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="Where the certificate goes (.json): of absence of deadlock, and of the bound of tables."
        ),
    ] = None
    _threads: options.CommonThreads = None
    as_json: options.Json = False


@dataclass(frozen=True)
class Asked:
    """All that the command line says."""

    file: Path | None
    of_fabric: OfFabric
    judged: Judged


@grouped
def command(
    context: typer.Context,
    tables: Annotated[
        Path | None,
        typer.Argument(
            help="Plan, placement (.json), experiment (.toml) or tables: .json, .csv, .npz, an OpenSM dump."
        ),
    ] = None,
    *,
    of_fabric: OfFabric,
    judged: Judged,
) -> None:
    """Check a plan, routing tables, a placement or adaptive routing.

    Of a plan: every route, every port and link, the duration, the bound, that the engine runs it in the
    planned time under any arbitration scheme, and whether late nodes can cause a deadlock. Of tables: every
    pair, every hop, every rule, and absence of deadlock. Of a placement: loads, ports, hop-bytes, and the
    certificates of its bounds. Of an experiment with adaptive routing: that its escape channels
    wait in an order.

    Prints the shortest cycle of channels that can wait for each other if there is one. Ends with exit
    code 1 if anything is wrong with the routes.

    Example: flitloom check tables.json --certificate certificate.json

    Example: flitloom check --fabric cluster.topo --lft opensm-lfts.dump --path-sl path-sl.txt

    Example: flitloom check --fabric cluster.topo out --mix repaired
    """
    perform("check", context, Asked(tables, of_fabric, judged))
