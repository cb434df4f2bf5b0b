"""Tables made such that as many cables as possible are repaired with no service level moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.fabric.failures import without
from flitloom.fabric.identifiers import with_identifiers
from flitloom.fabric.model import Subnet
from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.beside import Beside
from flitloom.tables.by_destination.checking import SubnetReport, judge
from flitloom.tables.by_destination.colours import METHOD
from flitloom.tables.by_destination.covering import on_levels
from flitloom.tables.by_destination.made import SubnetTables
from flitloom.tables.by_destination.making import route_subnet
from flitloom.tables.by_destination.repairing import read_old
from flitloom.tables.by_destination.risk import kept_levels, repair_after, single_parts
from flitloom.tables.by_destination.tables import destinations, lanes_there, roots_of, with_lanes

#: Switches of the largest fabrics that are searched.
MOST = 128
#: How much more load than the least survivors may have.
SLACK = 0.04
#: Orders of destinations that are tried, each with all lanes and with one lane less.
_SEEDS = 3
#: Searches of routes and levels together.
_SEARCHES = 3
#: How often they look at the ways to a destination, for each of them, and at switches on such ways in all.
_LOOKS = 130_000
_MOST_LOOKS = 300_000_000


@dataclass(frozen=True)
class CableRepair:
    """What the repair after the loss of a cable asks for.

    Attributes
    ----------
    part : str
        The cable as ``--fail`` takes it.
    pairs : list of tuple, or None
        Source and destination of pairs that get another service level; None where the traffic must stop.
    """

    part: str
    pairs: list[tuple[str, str]] | None


@dataclass(frozen=True)
class Survival:
    """What the repair of every single cable and switch asks for.

    Attributes
    ----------
    cables : list of CableRepair
        Every cable.
    switches : dict
        By switch, as ``--fail`` takes it, the pairs that get another service level; None where the traffic
        must stop.
    loads : tuple of int, optional
        Pairs of hosts on the busiest channel, and those of tables that are not made for repairs.
    """

    cables: list[CableRepair]
    switches: dict[str, int | None] = field(default_factory=dict)
    loads: tuple[int, int] | None = None

    @property
    def kept(self) -> int:
        """Cables whose repair moves no level."""
        return sum(cable.pairs == [] for cable in self.cables)

    @property
    def kept_switches(self) -> int:
        """Switches whose repair moves no level."""
        return list(self.switches.values()).count(0)

    def describe(self) -> str:
        """How many cables and switches are repaired with no level moved, and the worst of other cables."""
        counts = {cable.part: None if cable.pairs is None else len(cable.pairs) for cable in self.cables}
        stops = [cable for cable in self.cables if cable.pairs is None]
        stop = f"; {counted(len(stops), 'cable')} need a stop ({stops[0].part})" if stops else ""
        load = "; load {}, {} without --survive".format(*self.loads) if self.loads else ""
        switches = f"; so are {self.kept_switches} of {counted(len(self.switches), 'switch')}"
        return kept_levels(counts) + stop + (switches if self.switches else "") + load

    def lines(self) -> Iterator[str]:
        """Parts whose repair moves levels; of cables the hosts whose jobs must reconnect, and the pairs."""
        yield f"{self.describe()}\n"
        for cable in self.cables:
            if cable.pairs is None:
                yield f"\n{cable.part}: no order is known: stop the traffic before the repair\n"
            elif cable.pairs:
                hosts = sorted({host for pair in cable.pairs for host in pair})
                pairs = counted(len(cable.pairs), "pair")
                yield f"\n{cable.part}: {pairs}; jobs on these hosts must reconnect: {', '.join(hosts)}\n"
                yield "".join(f"{source}\t{destination}\n" for source, destination in cable.pairs)
        for switch, moved in self.switches.items():
            if moved is None:
                yield f"\n{switch}: no order is known: stop the traffic before the repair\n"
            elif moved:
                yield f"\n{switch}: {counted(moved, 'pair')} get another level\n"


def survival(tables: SubnetTables) -> Survival:
    """Try the repair of every single cable and switch.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.surviving import survival
    >>> survival(fl.tables.make("full5")).describe()
    '10 of 10 cables are repaired with no level moved; so are 5 of 5 switches'
    """
    subnet, found = tables.subnet, []
    with TemporaryDirectory() as folder:
        before = read_old(subnet, tables.write(folder), *destinations(subnet))
    hosts, owners = subnet.hosts, tables.owners
    both_ways = before.both_ways(owners)
    switches: dict[str, int | None] = {}
    for part, *lost in single_parts(subnet):
        _, moved = repair_after(subnet, owners, before, (lost[0], lost[1]), tables.lanes_there, both_ways)
        if lost[0]:
            switches[part] = None if moved is None else int(moved.sum())
            continue
        pairs = None
        if moved is not None:
            pairs = [(hosts[host].name, hosts[owners[row]].name) for row, host in np.argwhere(moved).tolist()]
        found.append(CableRepair(part, pairs))
    return Survival(found, switches)


def route_surviving(
    subnet: Subnet, progress: Callable[[int, int], None] = lambda _done, _all: None, **options: Any
) -> tuple[SubnetTables, Survival]:
    """Of several tables those that lose the most cables with no level moved, at 4 % more load at most.

    Of tables that lose as many cables so, those that lose the most switches so are taken.

    Parameters
    ----------
    subnet : Subnet
        A fabric of at most 128 switches, each of whose cables has another way beside it.
    progress : callable
        Told how many tables of how many are done.
    options
        Those of `route_subnet`; `seed` and `spare_lanes` are where the search begins.

    Raises
    ------
    SpecError
        A fabric that is too large, or a cable without which hosts are cut off.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.surviving import route_surviving
    >>> tables, found = route_surviving(fl.tables.fabric("full5"))
    >>> found.kept, len(found.cables), tables.report.max_load
    (10, 10, 1)
    """
    if options.get("method") == METHOD:
        raise SpecError.at("--survive", f"does not go with --method {METHOD}", "it makes tables of subnets")
    _require_ways(with_identifiers(subnet))
    seed, spare, effort = options.pop("seed", 1), options.pop("spare_lanes", 0), options.get("effort", 1)
    most = lanes_there(subnet, options.get("lanes"))
    asked = [(seed + n, less) for n in range(_SEEDS) for less in (spare, spare + 1) if less < most]
    tried: list[tuple[SubnetTables, Survival]] = []
    for number, (order, less) in enumerate(asked):
        progress(number, len(asked) + _SEARCHES)
        tables = route_subnet(subnet, seed=order, spare_lanes=less, **options)
        if tables.mode == "portable":
            made = [tables, *_on_more_lanes(tables, most - less)]
            tried += [(one, survival(one)) for one in made]
    if not tried:
        problem = "only portable tables can be repaired beside traffic"
        raise SpecError.at("--survive", problem, "leave --mode out")
    first = tried[0][0]
    for number in range(_SEARCHES):
        progress(len(asked) + number, len(asked) + _SEARCHES)
        best, found = _best(tried)
        if found.kept == len(found.cables):
            break
        load = int((1 + SLACK) * _least(tried))
        looks = effort * min(_LOOKS * len(best.owners), _MOST_LOOKS // len(subnet.switches))
        searched = _searched(best, most - spare, load, seed + number, looks)
        if not searched:
            break
        tried += [(one, survival(one)) for one in searched]
    best, found = _best(tried)
    return best, replace(found, loads=(best.report.max_load, first.report.max_load))


def _least(tried: list[tuple[SubnetTables, Survival]]) -> int:
    """The least of the largest loads of some tables."""
    return min(tables.report.max_load for tables, _ in tried)


def _best(tried: list[tuple[SubnetTables, Survival]]) -> tuple[SubnetTables, Survival]:
    """The safest tables, of these those that keep all levels after the most cables, then switches.

    Those of little more load than the least are among them.
    """

    def worth(one: tuple[SubnetTables, Survival]) -> tuple[int, int, int, int]:
        missing = len(one[0].cover.missing(one[0].report))
        return -missing, one[1].kept, one[1].kept_switches, -one[0].report.max_load

    most = (1 + SLACK) * _least(tried)
    return max((one for one in tried if one[0].report.max_load <= most), key=worth)


def _apart(tables: SubnetTables) -> NDArray[np.bool_]:
    """By destination and switch, whether hosts at the switch send over cables."""
    roots = np.array(roots_of(tables.subnet, tables.owners))
    apart: NDArray[np.bool_] = roots[:, None] != np.arange(len(tables.subnet.switches))
    return apart & (np.array(tables.subnet.hosts_per_switch()) > 0)


def _searched(tables: SubnetTables, lanes: int, load: int, seed: int, looks: int) -> list[SubnetTables]:
    """Tables whose routes and levels were searched together with backup ports of entries, if any are found.

    In every lane switches have numbers, which fall and then rise along every route: no repair inside them can
    deadlock.
    """
    subnet = tables.subnet
    found = _core.survive_forwarding(
        subnet.core(),
        roots_of(subnet, tables.owners),
        tables.following,
        None if tables.demand is None else tables.demand.core(),
        max(1, lanes - tables.cover.kept(lanes)[0][0]),
        load,
        seed,
        looks,
    )
    if found is None:
        return []
    known = np.unique(found["levels"][_apart(tables)])
    made = np.searchsorted(known, found["levels"]).astype(np.uint8)
    other = replace(tables, method="balanced", method_loads={}, shifts=None)
    return _laid(other, found["next"], made, len(known))


def _laid(
    tables: SubnetTables, following: NDArray[np.uint32], levels: NDArray[np.uint8], used: int
) -> list[SubnetTables]:
    """Tables with other entries and lanes, if nothing gets unsafe by that."""
    subnet, cover = tables.subnet, tables.cover

    def judged(pairs: Sequence[int], beside: Beside) -> SubnetReport:
        laid = with_lanes(subnet, tables.owners, following, on_levels(levels, pairs), None)
        return judge(replace(laid, demand=tables.demand), None, beside)

    pairs, beside, report = cover.settled(used, tables.lanes_there, judged)
    if report.deadlock or len(cover.missing(report)) > len(cover.missing(tables.report)):
        return []
    return [
        replace(
            tables,
            following=following,
            levels=on_levels(levels, pairs),
            lanes=used,
            report=report,
            beside=beside,
            mode_loads=tables.mode_loads | {tables.mode: report.max_load},
        )
    ]


def _on_more_lanes(tables: SubnetTables, lanes: int) -> list[SubnetTables]:
    """The same entries with the pairs of a lane on several lanes, if some are free and nothing gets unsafe.

    Part of what cannot deadlock cannot either. Pairs with an end in common stay together: their routes have
    turns in common.
    """
    subnet, apart = tables.subnet, _apart(tables)
    roots = np.array(roots_of(subnet, tables.owners))
    known = np.unique(tables.levels[apart])
    lane = np.searchsorted(known, tables.levels)
    free = lanes - tables.cover.kept(lanes)[0][0] - len(known)
    if free <= 0:
        return []
    sizes = np.bincount(lane[apart], minlength=len(known))
    parts = [[one] for one in range(len(known))]
    for more in range(len(known), len(known) + free):
        max(parts, key=lambda part: sizes[part[0]] / len(part)).append(more)
    first = np.minimum(roots[:, None], np.arange(len(subnet.switches)))
    made = np.zeros_like(tables.levels)
    for one, part in enumerate(parts):
        here = apart & (lane == one)
        made[here] = np.array(part, dtype=np.uint8)[first[here] % len(part)]
    return _laid(tables, tables.following, made, len(known) + free)


def _require_ways(subnet: Subnet) -> None:
    """Refuse fabrics that are too large, and cables without which hosts are cut off."""
    if len(subnet.switches) > MOST:
        raise SpecError.at(
            "--survive", counted(len(subnet.switches), "switch"), f"it is for fabrics of at most {MOST}"
        )
    whole = _core.fabric_bound(subnet.core())[1]
    for index, cable in enumerate(subnet.cables):
        left = without(subnet, set(), {index})
        _, cut_off = _core.fabric_bound(left.core())
        if cut_off > whole:
            pieces = [set(piece) for piece in left.pieces()]
            sides = [next(piece for piece in pieces if end in piece) for end in (cable.a, cable.b)]
            names = [next(host.name for host in left.hosts if host.switch in side) for side in sides]
            pairs = counted((cut_off - whole) // 2, "pair")
            part = f"cable:{subnet.port_name(cable.a, cable.a_port)}"
            problem = f"{part} is the only one between {' and '.join(names)} ({pairs} of hosts in all)"
            raise SpecError.at(
                "--survive", f"{problem}: no repair serves them", "add a cable, or leave it out"
            )
