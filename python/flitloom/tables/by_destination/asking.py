"""What is asked of tables by destination: refused where it is wrong, else as the search takes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitloom import _core
from flitloom.errors import SpecError, unknown_parts
from flitloom.fabric.model import Subnet
from flitloom.fabric.recognition import Recognition, recognise
from flitloom.fabric.torus_config import configured, read_torus_config
from flitloom.ground.numerals import counted
from flitloom.spec.base import require_whole
from flitloom.tables.by_destination.remembered import fabric_in, with_away
from flitloom.tables.by_destination.tables import lanes_there
from flitloom.tables.traffic import Demand, demand_of, traffic_matrix

#: Methods of tables by destination; the first that suits a fabric is the default.
FORWARDING_METHODS: tuple[str, ...] = _core.LISTS["forwarding_methods"]
#: The kind of fabric that each is for.
_KINDS = dict(zip(FORWARDING_METHODS, _core.LISTS["forwarding_kinds"], strict=True))


def require_right(mode: str | None, effort: int, seed: int, both: bool) -> None:
    """Refuse options that are out of range, or `both` a job and traffic."""
    require_whole("effort", effort, 1, 1_000_000)
    require_whole("seed", seed, 0, 2**64 - 1)
    if both:
        raise SpecError("job and traffic both say which pairs count; give one")
    if mode not in (None, "portable", "sl2vl"):
        raise SpecError.at("mode", *unknown_parts(str(mode), ("portable", "sl2vl")))


def demanded(
    subnet: Subnet,
    places: Sequence[int],
    lids: NDArray[np.int64],
    owners: NDArray[np.int64],
    job: Sequence[int] | None,
    traffic: ArrayLike | None,
) -> tuple[Demand | None, int | None]:
    """Pairs that count, given for hosts at some places, and a checksum of them."""
    if job is None and traffic is None:
        return demand_of(subnet, lids, owners), None
    weights = traffic_matrix(traffic, len(places))
    if weights is None:
        asked = crc32(np.array(sorted(job or ())).tobytes())
        return demand_of(subnet, lids, owners, [places[host] for host in job or ()]), asked
    made = np.zeros((len(subnet.hosts), len(subnet.hosts)), dtype=np.uint64)
    made[np.ix_(places, places)] = weights
    return demand_of(subnet, lids, owners, traffic=made), crc32(weights.tobytes())


def whole_of(subnet: Subnet, old: str | Path | None) -> tuple[Subnet, list[int]]:
    """A subnet with the hosts that are away since old tables were made, and the numbers of its own there."""
    past = None if old is None else fabric_in(old)
    return (subnet, list(range(len(subnet.hosts)))) if past is None else with_away(subnet, past)


def recognised(
    subnet: Subnet, method: str | None, sizes: tuple[int, ...] | None, torus_config: str | Path | None
) -> Recognition:
    """What a subnet is, with the sizes or the coordinates that are asked for, if a method suits that."""
    if torus_config is None:
        found = recognise(subnet, sizes)
    elif sizes is not None:
        raise SpecError("sizes and torus_config both say what the torus is; give one")
    else:
        found = configured(subnet, read_torus_config(torus_config))
    if method is not None:
        _require_suits(method, found)
    return found


def lanes_for(subnet: Subnet, lanes: int | None, spare: int, mode: str | None) -> int:
    """The lanes that tables may use; refuses more than there are, and those that cannot be left free."""
    lanes = lanes_there(subnet, lanes)
    if not 0 <= spare < lanes:
        advice = f"write 0 to {lanes - 1}: tables need one of {counted(lanes, 'lane')}"
        raise SpecError.at("--spare-lanes", str(spare), advice)
    if spare and mode == "sl2vl":
        problem = "only portable tables can be repaired beside traffic"
        raise SpecError.at("--spare-lanes", problem, "leave --mode out")
    return lanes


def _require_suits(method: str, found: Recognition) -> None:
    """Refuse a method that is unknown, or for fabrics of another kind."""
    if method not in FORWARDING_METHODS:
        raise SpecError.at("--method", *unknown_parts(method, FORWARDING_METHODS))
    kind = "any" if _KINDS[method] == "any" else found.kind
    whole = "whole " if kind == "dragonfly" and found.damaged is not None else ""
    if _KINDS[method] != kind or whole:
        problem = f"{method} is for {whole}fabrics of kind {_KINDS[method]}; this is {found.describe()}"
        raise SpecError.at("--method", problem, "leave it out")
