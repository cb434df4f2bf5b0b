"""``flitloom route``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flitloom._core import LISTS
from flitloom.commands.actions import perform
from flitloom.commands.options import (
    CommonThreads,
    Group,
    HostNames,
    Html,
    Json,
    Mesh,
    Network,
    NoHosts,
    Torus,
    Twist,
    grouped,
    one_of,
    shown,
    take_hosts,
)
from flitloom.tables.formats.known import endings

METHODS = LISTS["table_methods"]
_OF_FABRICS = LISTS["forwarding_methods"]


class Named(Group):
    """The network, or what is said of a fabric."""

    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[diff OLD NEW]", help="With --fabric: say which entries differ between two dumps."
        ),
    ] = None
    torus: Torus = None
    mesh: Mesh = None
    twist: Twist = False
    network: Network = None
    fabric: Annotated[
        Path | None,
        typer.Option(
            "--fabric",
            "--graph",
            help="File with the output of ibnetdiscover: tables for OpenSM go to the folder of --out.",
        ),
    ] = None
    hosts: HostNames = None
    no_hosts: NoHosts = False

    def __post_init__(self) -> None:
        """Let the network say which nodes are hosts."""
        take_hosts(self, "fabric", names=True)


class OfFabric(Group):
    """What tables of a fabric are for."""

    mode: Annotated[
        str | None,
        typer.Option(help="With --fabric: portable (lane = service level) or sl2vl (lanes by switch)."),
    ] = None
    old: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="With --fabric: tables to repair by few changes (a folder or a dump, opensm-lfts.dump).",
        ),
    ] = None
    one_way: Annotated[
        bool,
        typer.Option(
            "--one-way",
            help="With --fabric: each direction of a pair may have a separate service level; connections "
            "of rdma_cm can deadlock then.",
        ),
    ] = False
    no_managers: Annotated[
        bool,
        typer.Option("--no-managers", help="With --fabric: keep no lane for subnet managers and monitors."),
    ] = False
    no_multicast: Annotated[
        bool, typer.Option("--no-multicast", help="With --fabric: keep no lane for multicast.")
    ] = False
    manager: Annotated[
        list[str] | None,
        typer.Option(
            help="With --fabric: a host that the subnet manager or a monitor runs on, e.g. node1; may be "
            "repeated. Without it any single host may be the manager.",
            metavar="HOST",
        ),
    ] = None
    sm_lane: Annotated[
        int | None,
        typer.Option(
            help="With --fabric: the lane that is kept for managers, OpenSM's sm_sl. Without it level 0, "
            "which needs no setting.",
        ),
    ] = None
    reversible: Annotated[bool, typer.Option("--reversible", hidden=True)] = False
    critical: Annotated[
        bool,
        typer.Option(
            "--critical",
            help="With --fabric: which single failures would hurt most; with --from also for which the "
            "traffic must stop before those tables are repaired.",
        ),
    ] = False
    survive: Annotated[
        str | None,
        typer.Option(
            help="With --fabric: cables. Of several tables those are taken that keep all levels when they "
            "are repaired after the most single cables, at 4 % more load at most; pairs of the others are in "
            "survive.txt.",
            metavar="PARTS",
        ),
    ] = None
    lanes: Annotated[
        str | None,
        typer.Option(
            help="With --fabric: number of virtual lanes, 1 to 15, or a file that says how many ports have: "
            "the output of saquery PortInfoRecord or smpquery portinfo, or ibdiagnet2.db_csv. [default: as "
            "the fabric says, or 8]"
        ),
    ] = None
    spare_lanes: Annotated[
        int,
        typer.Option(
            help="With --fabric: virtual lanes of --lanes that tables leave free for later repairs."
        ),
    ] = 0
    sizes: Annotated[
        str | None,
        typer.Option(
            help="With --fabric: sizes of the torus, if not with the fewest dimensions, e.g. 4x2x2."
        ),
    ] = None
    torus_config: Annotated[
        Path | None,
        typer.Option(help="With --fabric: OpenSM's torus-2QoS.conf, for your own coordinates and datelines."),
    ] = None


class Sought(Group):
    """Which tables are made, and for whom."""

    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(METHODS)}; balanced by default. With --fabric "
            f"{', '.join(_OF_FABRICS[:-1])} or {_OF_FABRICS[-1]}; the first that suits the fabric by default."
        ),
    ] = None
    fail: Annotated[list[str] | None, shown("fail", note="with --fabric also node:S5, cable:S5/3")] = None
    nodes: Annotated[
        str | None,
        typer.Option(
            help="The allocated nodes in Slurm notation, node[0-7,12], or a file; with --fabric: the hosts "
            "whose pairs are balanced; all others are served, too.",
            metavar="LIST",
        ),
    ] = None
    hca: Annotated[
        str | None,
        typer.Option(
            help="With --fabric: the HCAs whose pairs are balanced, by the name behind that of the host: "
            "mlx5_0 of 'node1 mlx5_0'.",
            metavar="NAME",
        ),
    ] = None
    through: Annotated[
        bool,
        typer.Option(
            "--through",
            help="With --nodes: routes may pass through nodes outside the list; only pairs within it count."
            " With --fabric they always may.",
        ),
    ] = False
    rules: Annotated[
        str | None,
        typer.Option(
            help="angara, dimension-order, dateline, or unrestricted, whose tables can deadlock; angara-y is "
            "angara with +y and -y exchanged. Without it angara, with exchanged directions where only these "
            "serve every pair."
        ),
    ] = None
    turns: Annotated[
        str,
        typer.Option(help=f"Turns against the order: {one_of('turns')}."),
    ] = "on-demand"
    traffic: Annotated[
        Path | None,
        typer.Option(help="CSV matrix of weights of pairs of nodes (--fabric: hosts): balance for this job."),
    ] = None
    placement: Annotated[
        Path | None,
        typer.Option(
            help="A placement of ranks made by flitloom place (.json): its network, balanced for its bytes."
        ),
    ] = None


class Written(Group):
    """What is made of them."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help=f"Where the tables go (--compare: the first): {', '.join(endings())}."
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="Where the certificate of the tables of --out goes (.json): that they cannot deadlock, and "
            "that no tables have a smaller load than the bound."
        ),
    ] = None
    loads: Annotated[Path | None, typer.Option(help="CSV file for the load of every link.")] = None
    compare: Annotated[bool, typer.Option("--compare", help="All methods side by side.")] = False
    picture: Annotated[Path | None, typer.Option(help="Picture of the loads (.png, .pdf or .svg).")] = None
    resilience: Annotated[
        bool,
        typer.Option(
            "--resilience", help="Which failures leave every pair a route: all single ones, samples of two."
        ),
    ] = False
    sample: Annotated[
        int,
        typer.Option(
            help="Failed systems per row of --resilience, and failures of --critical --from, where not all "
            "are tried."
        ),
    ] = 200
    seed: Annotated[int, shown("seed", default=False)] = 1
    effort: Annotated[int, typer.Option(help="Factor on the work of the search.")] = 1
    _threads: CommonThreads = None
    html: Html = None
    as_json: Json = False


@dataclass(frozen=True)
class Asked:
    """All that the command line says."""

    named: Named
    of_fabric: OfFabric
    sought: Sought
    written: Written


@grouped
def command(
    context: typer.Context, *, named: Named, of_fabric: OfFabric, sought: Sought, written: Written
) -> None:
    """Make balanced, deadlock-free routing tables and report how good they are.

    Example: flitloom route --torus 4x2x2x2 --fail node:3 --fail link:0-1 -o tables.json

    Example: flitloom route --placement p.json -o tables.json

    Example: flitloom route --fabric cluster.topo -o out/

    Example: flitloom route --network "dragonfly(6,3)" -o out/
    """
    perform("route", context, Asked(named, of_fabric, sought, written))
