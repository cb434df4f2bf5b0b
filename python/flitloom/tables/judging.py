"""Check and read tables, by source or by destination."""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

from flitloom.fabric.model import Subnet
from flitloom.ground.reading import Progress
from flitloom.spec.any_network import AnyNetwork
from flitloom.tables.by_destination.beside import Beside
from flitloom.tables.by_destination.checking import SubnetReport, check_subnet, judge
from flitloom.tables.by_destination.made import SubnetTables
from flitloom.tables.by_destination.tables import ForwardingTables
from flitloom.tables.by_destination.tables import read_tables as read_forwarding
from flitloom.tables.by_source.checking import CheckReport
from flitloom.tables.by_source.checking import check as check_routes
from flitloom.tables.by_source.rules import RouterRules
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.reading import read_tables


@overload
def check(
    tables: Tables | str | Path,
    topology: AnyNetwork | str | Path | None = None,
    rules: str | RouterRules | None = None,
    progress: Progress | None = None,
) -> CheckReport: ...
@overload
def check(tables: SubnetTables) -> SubnetReport: ...
@overload
def check(
    tables: Subnet,
    files: str | Path,
    *,
    path_levels: str | Path | None = None,
    lane_tables: str | Path | None = None,
    lanes: int | None = None,
    beside: Beside | None = None,
) -> SubnetReport: ...
def check(tables: Any, *more: Any, **how: Any) -> Any:
    """Check every route and every channel dependency of tables, anew.

    Parameters
    ----------
    tables : Tables, SubnetTables or path
        Tables of source routes, or a file of them; or tables by destination.
    topology, rules, progress
        Of source routes: what exists, or what names it, if the file does not say; rules instead of those of
        the tables; and what is told now and then how much of how much is done.

    Other Parameters
    ----------------
    fabric : Subnet
        Instead of tables: the fabric that tables by destination in files are for, followed by these `files`
        and what goes with them, as `flitloom.fabric.check_subnet` takes them.

    Returns
    -------
    Verdict
        The same fields for all tables: a `CheckReport` of source routes, a `SubnetReport` of tables by
        destination.

    Raises
    ------
    SpecError
        A file is damaged.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.tables.check(fl.tables.make(fl.Torus(4, 4))).passed
    True
    >>> report = fl.tables.check(fl.tables.make(fl.Torus(8), method="dor", rules="unrestricted"))
    >>> report.cycle[:3], len(report.cycle)       # a ring without the bubble rule
    (['(0)+x', '(1)+x', '(2)+x'], 8)
    """
    match tables:
        case Subnet():
            return check_subnet(tables, *more, **how)
        case SubnetTables():
            return judge(tables.forwarding(), *more, **({"beside": tables.beside} | how))
    return check_routes(tables, *more, **how)


@overload
def read(
    file: str | Path,
    topology: AnyNetwork | str | Path | None = None,
    rules: str | RouterRules | None = None,
    progress: Progress | None = None,
) -> Tables: ...
@overload
def read(
    file: Subnet,
    files: str | Path,
    *,
    path_levels: str | Path | None = None,
    lane_tables: str | Path | None = None,
    lanes: int | None = None,
) -> ForwardingTables: ...
def read(file: Any, *more: Any, **how: Any) -> Any:
    """Read tables of source routes (JSON, CSV, ``.npz``, a forwarding table), or those of a fabric.

    Parameters
    ----------
    file : path
        The file; CSV and forwarding tables need `topology`.
    topology, rules, progress
        What exists, if the file does not say; rules instead of those of the file; and what is told now and
        then how much of how much is done.

    Other Parameters
    ----------------
    fabric : Subnet
        Instead of a file: the fabric that tables by destination are for, followed by the folder or dump they
        are in, and what goes with it, as `flitloom.fabric.check_subnet` takes them.

    Raises
    ------
    SpecError
        A file is damaged; the message says where.
    """
    match file:
        case Subnet():
            return read_forwarding(file, *more, **how)
    return read_tables(file, *more, **how)
