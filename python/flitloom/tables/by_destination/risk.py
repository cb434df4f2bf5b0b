"""What single failures would do: to a fabric, and to tables that are repaired then."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, show_file
from flitloom.fabric.failures import without
from flitloom.fabric.identifiers import with_identifiers
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition, as_grid
from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.repairing import OldTables, moved_levels, read_old, repaired
from flitloom.tables.by_destination.tables import destinations, fewest_in_words, lanes_there

#: Parts whose repair is tried if nothing else is said.
SAMPLE = 200


@dataclass(frozen=True)
class Criticality:
    """What the loss of a part would do.

    Attributes
    ----------
    part : str
        The part as ``--fail`` takes it.
    bound : int
        The lower bound of the largest load then, in pairs of hosts.
    cut_off : int
        Ordered pairs of hosts that no route joins then.
    repair : str or None
        ``safe`` if given tables can be repaired beside traffic then, ``stop`` if no such repair was found;
        None where it was not tried.
    rounds : int or None
        Rounds in which the entries of a safe repair change.
    moved : int or None
        Ordered pairs of hosts that get another service level by a safe repair.
    """

    part: str
    bound: int
    cut_off: int
    repair: str | None = None
    rounds: int | None = None
    moved: int | None = None


def single_parts(subnet: Subnet) -> list[tuple[str, set[int], set[int]]]:
    """Every switch and every cable: its name for ``--fail``, and the switches and cables that go with it."""
    parts: list[tuple[str, set[int], set[int]]] = [
        (f"node:{switch.name}", {index}, set()) for index, switch in enumerate(subnet.switches)
    ]
    parts += [
        (f"cable:{subnet.port_name(cable.a, cable.a_port)}", set(), {index})
        for index, cable in enumerate(subnet.cables)
    ]
    return parts


def critical_parts(
    subnet: Subnet, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> list[Criticality]:
    """All single cables and switches, the worst first: by pairs cut off, then by the lower bound."""
    found = []
    grid = as_grid(subnet).grid()
    parts = single_parts(subnet)
    for number, (name, switches, cables) in enumerate(parts):
        progress(number, len(parts))
        left = without(subnet, switches, cables)
        standing = grid and (*grid[:2], [place for n, place in enumerate(grid[2]) if n not in switches])
        value, cut_off = _core.fabric_bound(left.core(grid=standing))
        found.append(Criticality(name, value, cut_off))
    return sorted(found, key=lambda part: (-part.cut_off, -part.bound, part.part))


@dataclass(frozen=True)
class RepairRisk:
    """What every single failure would do to tables.

    Attributes
    ----------
    parts : list of Criticality
        All single cables and switches, the worst first; `Criticality.repair` is None where none was tried.
    tried, stops : int
        Parts whose repair was tried, and those whose repair needs a stop of the traffic.
    """

    parts: list[Criticality]
    tried: int
    stops: int

    def describe(self) -> str:
        """The verdict in a line, e.g. ``2 of 14 single failures need a stop of the traffic (all tried)``."""
        whole = self.tried == len(self.parts)
        how = f"all {self.tried} tried" if whole else f"{self.tried} of {len(self.parts)} drawn"
        if not self.stops:
            every = "every single failure" if whole else "every failure that was tried"
            return f"{every} can be repaired without a stop ({how})"
        return f"{self.stops} of {self.tried} single failures need a stop of the traffic ({how})"

    def cables(self) -> str:
        """How many cables are repaired with no level moved, and the worst of the others."""
        cables = (part for part in self.parts if part.part.startswith("cable:") and part.repair)
        return kept_levels({part.part: part.moved for part in cables})


def kept_levels(moved: Mapping[str, int | None]) -> str:
    """How many cables are repaired with no level moved, and the worst of the others.

    Parameters
    ----------
    moved : mapping
        By cable the pairs that get another level; None where the traffic must stop.

    Examples
    --------
    >>> kept_levels({"cable:a/1": 0, "cable:a/2": 3, "cable:b/1": None})
    '1 of 3 cables are repaired with no level moved, worst 3 pairs (cable:a/2)'
    """
    kept = sum(count == 0 for count in moved.values())
    said = f"{kept} of {counted(len(moved), 'cable')} are repaired with no level moved"
    worst, most = max(moved.items(), key=lambda cable: cable[1] or 0, default=("", None))
    return f"{said}, worst {counted(most, 'pair')} ({worst})" if most else said


def repair_after(
    subnet: Subnet,
    owners: NDArray[np.int64],
    before: OldTables,
    lost: tuple[set[int], set[int]],
    lanes: int,
    both_ways: bool,
) -> tuple[dict[str, Any] | None, NDArray[np.bool_] | None]:
    """The repair after the loss of switches and cables, and which packets get another level by it.

    The repair is None where the traffic must stop; the levels, where there is none or none are known.
    """
    left, known = without(subnet, *lost), before.without(subnet, owners, *lost)
    made = repaired(Recognition(left, "graph"), known, lanes)
    if made is None or (both_ways and not made["both_ways"]):
        return None, None
    return made, None if known.levels is None else moved_levels(left, known.levels, made["levels"])


def repair_risk(
    subnet: Subnet,
    old: str | Path,
    *,
    lanes: int | None = None,
    sample: int = SAMPLE,
    seed: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> RepairRisk:
    """Whether tables could be repaired beside traffic, for each single switch and cable that may fail.

    Parameters
    ----------
    old : path
        The tables, as a folder that ``route --fabric`` wrote or a dump with ``path-sl.txt`` beside it.
    lanes : int, optional
        Lanes that a repair may use, 1 to 15; by default as for `route_subnet`.
    sample : int
        Parts to try; all of them where there are no more, else this many that `seed` draws.
    progress : callable
        Told how many parts are done, of how many.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from flitloom.fabric import parse_fabric, route_subnet
    >>> ring = parse_fabric("".join(f"s{n},s{(n + 1) % 5}\\n" for n in range(5)))
    >>> with TemporaryDirectory() as folder:
    ...     repair_risk(ring, route_subnet(ring).write(folder)).describe()
    'every single failure can be repaired without a stop (all 10 tried)'
    """
    lanes = lanes_there(subnet, lanes)
    if sample < 1:
        raise SpecError.at("--sample", f"{sample} is out of range", "it must be at least 1")
    subnet = with_identifiers(subnet)
    lids, owners = destinations(subnet)
    before = read_old(subnet, old, lids, owners)
    if before.highest_level >= lanes:
        problem = f"{show_file(Path(old))} has service levels up to {before.highest_level}"
        there = fewest_in_words(subnet) or f"there {'is' if lanes == 1 else 'are'} {counted(lanes, 'lane')}"
        raise SpecError.at("--from", f"{problem}, and {there}", "make tables anew, without --critical")
    both_ways = before.both_ways(owners)
    parts = single_parts(subnet)
    drawn = parts if len(parts) <= sample else random.Random(seed).sample(parts, sample)
    worst = {part.part: part for part in critical_parts(subnet)}
    stops = 0
    for number, (name, switches, cables) in enumerate(drawn):
        progress(number, len(drawn))
        made, moved = repair_after(subnet, owners, before, (switches, cables), lanes, both_ways)
        stops += made is None
        worst[name] = replace(
            worst[name],
            repair="stop" if made is None else "safe",
            rounds=None if made is None else 1 + len(made["rounds"]) + bool(made["last"]),
            moved=None if moved is None else int(moved.sum()),
        )
    order = sorted(
        worst.values(), key=lambda part: (-part.cut_off, part.repair != "stop", -part.bound, part.part)
    )
    return RepairRisk(order, len(drawn), stops)
