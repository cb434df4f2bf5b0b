"""Parts of a subnet taken out: what a failure would leave."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from flitloom.errors import SpecError, show
from flitloom.fabric.model import Cable, Subnet
from flitloom.fabric.recognition import Recognition, recognise

_COORDINATES = re.compile(r"\((\d{1,6}(?:,\d{1,6})*)\)")


def fail_parts(subnet: Subnet, parts: Iterable[str]) -> Subnet:
    """The subnet without some switches and cables.

    Parameters
    ----------
    parts : iterable of str
        ``node:NAME`` or ``node:(0,1,2)``: a switch with its hosts, by name, GUID or coordinates;
        ``cable:NAME/3``: the cable at a port; ``link:NAME-NAME``: all cables between two switches;
        ``link:(0,1)+x``: those that leave a place in a direction.

    Raises
    ------
    SpecError
        There is no such part.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> from flitloom.fabric.failures import fail_parts
    >>> ring = parse_fabric("".join(f"s{n},s{(n + 1) % 5}\\n" for n in range(5)))
    >>> len(fail_parts(ring, ["node:s2", "link:s0-s1"]).cables)
    2
    """
    recognition: Recognition | None = None
    switches: set[int] = set()
    cables: set[int] = set()
    for part in parts:
        kind, _, what = part.partition(":")
        if "(" in what and recognition is None:
            recognition = recognise(subnet)
        if kind in ("node", "switch"):
            switches.add(_switch(subnet, recognition, what, part))
        elif kind in ("cable", "link"):
            cables.update(_cables(subnet, recognition, what, part))
        else:
            raise SpecError.at("--fail", f"{show(part)} is not a failed part", _help(subnet))
    return without(subnet, switches, cables)


def without(subnet: Subnet, switches: set[int], cables: set[int]) -> Subnet:
    """The subnet without switches (and their hosts) and cables, by index."""
    kept = [index for index in range(len(subnet.switches)) if index not in switches]
    place = {index: number for number, index in enumerate(kept)}
    lost = [switch for index, switch in enumerate(subnet.switches) if index in switches]
    return replace(
        subnet,
        gone=(*subnet.gone, *(switch.guid for switch in lost if switch.guid is not None)),
        gone_names=(*subnet.gone_names, *(switch.name for switch in lost)),
        switches=tuple(subnet.switches[index] for index in kept),
        hosts=tuple(
            replace(host, switch=place[host.switch]) for host in subnet.hosts if host.switch in place
        ),
        cables=tuple(
            Cable(place[cable.a], cable.a_port, place[cable.b], cable.b_port)
            for index, cable in enumerate(subnet.cables)
            if index not in cables and cable.a in place and cable.b in place
        ),
    )


def _switch(subnet: Subnet, recognition: Recognition | None, name: str, part: str) -> int:
    if match := _COORDINATES.fullmatch(name):
        place = tuple(int(number) for number in match[1].split(","))
        if recognition is None or not recognition.coordinates:
            raise SpecError.at(
                "--fail", f"{show(part)}: the switches of a graph have no coordinates", _help(subnet)
            )
        if place not in recognition.coordinates:
            raise SpecError.at("--fail", f"{show(part)}: no switch has these coordinates")
        return recognition.coordinates.index(place)
    found = [
        index for index, switch in enumerate(subnet.switches) if name in (switch.name, _guid(switch.guid))
    ]
    if len(found) != 1:
        count = "no switch is" if not found else f"{len(found)} switches are"
        problem = f"{show(part)}: {count} called {show(name)}"
        advice = _help(subnet)
        raise SpecError(
            f"--fail: {problem}; {advice}", "--fail", problem, advice, given=name,
            names=[switch.name for switch in subnet.switches],
        )  # fmt: skip
    return found[0]


def _help(subnet: Subnet) -> str:
    """How failed parts of this subnet are written."""
    if not subnet.cables:
        return f"write node:{subnet.switches[0].name}"
    cable = subnet.cables[0]
    a, b = subnet.switches[cable.a].name, subnet.switches[cable.b].name
    port = subnet.port_name(cable.a, cable.a_port)
    return f"write node:{a}, cable:{port} or link:{a}-{b}; of a torus also node:(0,1) or link:(0,1)+x"


def _guid(guid: int | None) -> str:
    return "" if guid is None else f"0x{guid:016x}"


def _cables(subnet: Subnet, recognition: Recognition | None, what: str, part: str) -> list[int]:
    if match := re.fullmatch(r"(.+)/(\d{1,3})", what):
        switch, port = _switch(subnet, recognition, match[1], part), int(match[2])
        found = [
            index
            for index, cable in enumerate(subnet.cables)
            if (switch, port) in ((cable.a, cable.a_port), (cable.b, cable.b_port))
        ]
    elif match := re.fullmatch(r"(\(.+\))([+-])([xyzuvw])", what):
        here = _switch(subnet, recognition, match[1], part)
        there = _beside(recognition, here, "xyzuvw".index(match[3]), 1 if match[2] == "+" else -1)
        found = _between(subnet, here, there)
    else:
        found = []
        for cut in (index for index, letter in enumerate(what) if letter == "-"):
            try:
                ends = [_switch(subnet, recognition, name, part) for name in (what[:cut], what[cut + 1 :])]
            except SpecError:
                continue
            found = _between(subnet, *ends)
    if not found:
        raise SpecError.at("--fail", f"{show(part)}: there is no such cable", _help(subnet))
    return found


def _beside(recognition: Recognition | None, switch: int, dimension: int, step: int) -> int:
    if recognition is None or dimension >= len(recognition.sizes):
        return -1
    place = list(recognition.coordinates[switch])
    place[dimension] += step
    # The rows of closed ways form a triangle: each leaves the coordinates before its first entry alone.
    for way in recognition.closed:
        first = next(index for index, entry in enumerate(way) if entry)
        times = place[first] // way[first]
        place = [coordinate - times * entry for coordinate, entry in zip(place, way, strict=True)]
    wanted = tuple(place)
    return recognition.coordinates.index(wanted) if wanted in recognition.coordinates else -1


def _between(subnet: Subnet, a: int, b: int) -> list[int]:
    return [index for index, cable in enumerate(subnet.cables) if {cable.a, cable.b} == {a, b}]
