"""Phases: axes whose traffic is sent at the same time; one phase after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError, show
from flitloom.ground.fixed import explained
from flitloom.placing.axes import Axis
from flitloom.placing.traffic import Traffic, axes_traffic

#: Names of axes, phase by phase.
Phases = tuple[tuple[str, ...], ...]


@explained
@dataclass(frozen=True)
class Phase:
    """What a placement does to the traffic of one phase.

    Attributes
    ----------
    axes : tuple of str
        The axes whose ranks send in this phase.
    busiest_channel : int
        Bytes on its busiest channel.
    channels_at_maximum : int
        How many channels have that load.
    busiest_port : int
        The most bytes that a node sends to others, or receives.
    row_major : int
        Bytes on the busiest channel with ranks in the order of the nodes.
    bound : int
        No placement has less on the busiest channel of this phase.
    bound_proof : dict
        Why: its ``kind`` and what it is about.
    loads : array of int
        Bytes per channel.
    """

    axes: tuple[str, ...]
    busiest_channel: int
    channels_at_maximum: int
    busiest_port: int
    row_major: int
    bound: int
    bound_proof: dict[str, Any]
    loads: NDArray[np.int64] = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The axes, joined by +."""
        return "+".join(self.axes)

    def facts(self) -> dict[str, Any]:
        """What ``flitloom place --json`` prints of it."""
        return {
            "axes": list(self.axes),
            "busiest_channel": self.busiest_channel,
            "channels_at_maximum": self.channels_at_maximum,
            "busiest_port": self.busiest_port,
            "row_major": self.row_major,
            "bound": self.bound,
            "certificate": self.bound_proof,
        }


def read_phases(phases: str | Sequence[Sequence[str]] | None, axes: Sequence[Axis]) -> Phases:
    """Names of axes phase by phase: ``tensor,data+pipeline``, or a sequence of sequences of names.

    Without phases, and with one of all axes, there are none: all traffic is sent at the same time.

    Raises
    ------
    SpecError
        An axis is unknown, is there twice or is left out, or the traffic has no axes.

    Examples
    --------
    >>> from flitloom.placing import parse_axes
    >>> axes = parse_axes("tensor=4:a2a:1,data=2:ring:8,pipeline=2:line:1")
    >>> read_phases("tensor,data+pipeline", axes)
    (('tensor',), ('data', 'pipeline'))
    >>> read_phases("data+tensor+pipeline", axes)
    ()
    """
    if phases is None:
        return ()
    if not axes:
        raise SpecError.at("--phases", "names axes", "give the traffic as --axes, or leave --phases out")
    if isinstance(phases, str):
        phases = [part.split("+") for part in phases.split(",")]
    known, seen = [axis.name for axis in axes], set[str]()
    for name in (name for phase in phases for name in phase):
        if name not in known:
            raise SpecError.at("--phases", f"there is no axis {show(name)}", f"there are {', '.join(known)}")
        if name in seen:
            raise SpecError.at("--phases", f"axis {show(name)} is there twice", "every axis is in one phase")
        seen.add(name)
    if missing := [name for name in known if name not in seen]:
        raise SpecError.at(
            "--phases", f"axis {show(missing[0])} is left out", "add it to a phase, or as another phase"
        )
    if not all(phases):
        raise SpecError.at("--phases", "a phase has no axis", "write phases as tensor,data+pipeline")
    return tuple(map(tuple, phases)) if len(phases) > 1 else ()


def phase_traffic(axes: Sequence[Axis], names: Sequence[str]) -> Traffic:
    """What ranks send along some of their axes; the others are axes without bytes, so that ranks stay.

    Examples
    --------
    >>> from flitloom.placing import parse_axes
    >>> traffic = phase_traffic(parse_axes("tensor=4:a2a:1,data=2:ring:8"), ["data"])
    >>> traffic.ranks, traffic.sources.tolist()[:2], traffic.destinations.tolist()[:2]
    (8, [0, 1], [4, 5])
    """
    silent = [axis if axis.name in names else replace(axis, kind="line", bytes=0) for axis in axes]
    # All members of a group along an axis that is silent are alike.
    alike = tuple(axis if axis.bytes else replace(axis, kind="a2a") for axis in silent)
    return replace(axes_traffic(silent), axes=alike)


def in_phases(traffic: Traffic, phases: Phases) -> Iterator[Traffic]:
    """The traffic of every phase; all of it where there are none.

    Examples
    --------
    >>> from flitloom.placing import axes_traffic, parse_axes
    >>> whole = axes_traffic(parse_axes("tensor=4:a2a:1,data=2:ring:8"))
    >>> [int(part.bytes.sum()) for part in in_phases(whole, (("tensor",), ("data",)))]
    [24, 64]
    """
    if not phases:
        yield traffic
    for names in phases:
        yield phase_traffic(traffic.axes, names)


def weighed(parts: Sequence[Traffic], weights: Sequence[int]) -> Traffic:
    """The traffic of all phases at the same time, the bytes of each times a whole number.

    Examples
    --------
    >>> from flitloom.placing import parse_axes
    >>> axes = parse_axes("tensor=4:a2a:1,data=2:ring:8")
    >>> parts = [phase_traffic(axes, [axis.name]) for axis in axes]
    >>> int(weighed(parts, (8, 1)).bytes.sum())
    256
    """
    first = parts[0]
    return Traffic(
        first.ranks,
        np.concatenate([part.sources for part in parts]),
        np.concatenate([part.destinations for part in parts]),
        np.concatenate([part.bytes * np.uint64(weight) for part, weight in zip(parts, weights, strict=True)]),
        mesh=first.mesh,
    )


def is_whole(traffic: Traffic) -> bool:
    """Whether ranks send along all their axes, so that axes join all of them.

    Examples
    --------
    >>> from flitloom.placing import parse_axes
    >>> is_whole(phase_traffic(parse_axes("tensor=4:a2a:1,data=2:ring:8"), ["data"]))
    False
    """
    return math.prod(axis.size for axis in traffic.axes if axis.bytes == 0) == 1
