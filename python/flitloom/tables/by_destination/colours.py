"""Lanes that rise from hop to hop, on two-coloured networks with routers of your own."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitloom import _core
from flitloom.errors import SpecError, show_file
from flitloom.fabric.identifiers import has_none
from flitloom.fabric.model import Subnet
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_text, text_lines

#: The method whose tables need such lanes.
METHOD = "colours"
#: The file in a folder of tables with the switches where the lane rises.
RISES = "lane-rises.txt"
#: What chooses lanes, in words.
RULE = "lanes rise by one at {count} of {switches}"
#: Why no subnet manager loads such tables.
NOT_OF_SUBNETS = (
    "lanes rise from hop to hop, and switches of a subnet know the service level of a packet, not its lane; "
    "these tables are for routers of your own"
)
_HEAD = (
    "# The lane of a packet rises by one at each of these switches that it passes; hosts send on lane 0.\n"
)
_ROW = re.compile(r"0x([0-9a-fA-F]{1,16})")
#: Lanes that links have at most.
MOST = 15
#: Switches of a cycle that a message names.
_SHOWN = 12


def require_colours(subnet: Subnet, lanes: int, others: dict[str, object]) -> None:
    """Refuse networks whose lanes cannot rise, or not on minimal routes; of a running subnet, too.

    Parameters
    ----------
    lanes : int
        Lanes there are.
    others : dict
        Options by name that such tables leave no room for; those with a value are refused.

    Raises
    ------
    SpecError
        An odd cycle of switches, too few lanes, a subnet, or another option.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> require_colours(parse_fabric("a,b\\nb,c\\nc,d\\nd,a\\n"), 2, {})
    >>> require_colours(parse_fabric("a,b\\nb,c\\nc,a\\n"), 2, {})
    Traceback (most recent call last):
    flitloom.errors.SpecError: --method: colours is for graphs without odd cycles: a - b - c - a; leave it out
    """
    for option, value in others.items():
        if value:
            problem = f"does not go with --method {METHOD}"
            raise SpecError.at(option, problem, f"leave one of both out: {NOT_OF_SUBNETS}")
    if not has_none(subnet):
        raise SpecError.at("--method", f"{METHOD} is not for subnets: {NOT_OF_SUBNETS}", "leave it out")
    rising, cycle = _core.rising_lanes(subnet.core())
    if rising is None:
        names = [subnet.switches[switch].name for switch in [*cycle[:_SHOWN], cycle[0]]]
        if len(cycle) > _SHOWN:
            names[-1] = f"... (of {len(cycle)} switches)"
        problem = f"{METHOD} is for graphs without odd cycles: {' - '.join(names)}"
        raise SpecError.at("--method", problem, "leave it out")
    needed = rising[1]
    problem = f"{METHOD} needs {counted(needed, 'lane')} on minimal routes"
    if needed > MOST:
        raise SpecError.at("--method", f"{problem}, and links have at most {MOST}", "leave it out")
    if needed > lanes:
        raise SpecError.at("--lanes", f"{problem}, not {lanes}", f"write {needed} or more")


def rule_of(rising: NDArray[np.bool_]) -> str:
    """What chooses lanes, as text.

    >>> rule_of(np.array([True, False, False]))
    'lanes rise by one at 1 of 3 switches'
    """
    return RULE.format(count=int(rising.sum()), switches=counted(len(rising), "switch"))


def rises(subnet: Subnet, rising: NDArray[np.bool_]) -> str:
    """The file of the switches where the lane rises."""
    rows = [f"0x{subnet.switches[switch].guid or 0:016x}\n" for switch in np.flatnonzero(rising).tolist()]
    return "".join([_HEAD, *rows])


def rises_in(tables: str | Path) -> Path | None:
    """The file of the switches where the lane rises, if a folder of tables has one."""
    file = Path(tables) / RISES
    return file if file.is_file() else None


def read_rises(subnet: Subnet, file: str | Path) -> NDArray[np.bool_]:
    """By switch whether the lane rises there.

    Raises
    ------
    SpecError
        A row without a GUID, or a switch that the network does not have.
    """
    by_guid = {switch.guid: index for index, switch in enumerate(subnet.switches)}
    rising = np.zeros(len(subnet.switches), dtype=np.bool_)
    text = read_text(file, limits.FABRIC_BYTES)
    for number, line in enumerate(text_lines(text, show_file(file)), start=1):
        row, place = line.strip(), f"{show_file(file)}, line {number}"
        if not row or row.startswith("#"):
            continue
        match = _ROW.fullmatch(row)
        if match is None:
            raise SpecError(f"{place}: {row[:60]!r} names no switch; write its GUID, 0x0000000000200000")
        guid = int(match[1], 16)
        if guid in by_guid:
            rising[by_guid[guid]] = True
        elif guid not in subnet.gone:
            raise SpecError(f"{place}: switch 0x{match[1]} is not in the network")
    return rising


def refuse_rising(tables: str | Path, what: str) -> None:
    """Refuse tables whose lanes rise where lanes must be those of service levels."""
    if file := rises_in(tables):
        problem = f"{show_file(file)}: lanes that rise from hop to hop are for routers of your own"
        raise SpecError(f"{problem}; {what} is for tables of subnets, without --method {METHOD}")
