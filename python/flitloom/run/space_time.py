"""Which buffers along a line of routers are busy, cycle by cycle: the data of a space-time chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flitloom.errors import SpecError
from flitloom.ground.lazy import xr
from flitloom.ground.limits import LINK_TIME_CELLS
from flitloom.ground.numerals import counted
from flitloom.spec import DIMENSION_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flitloom.run.simulation import Simulation


def record_space_time(
    simulation: Simulation,
    cycles: int | None = None,
    *,
    margin: int = 0,
    at: Mapping[str, int] | None = None,
) -> xr.Dataset:
    """Step a simulation, and note the busy input buffers along lines of routers.

    Unless `at` says otherwise, the line of a dimension passes at one third of all others: in an N x N torus
    at the row y = floor(N/3) and the column x = floor(N/3) (state-propagation-throttling-2015, 3.3).

    Parameters
    ----------
    simulation : Simulation
        It is run on as far as is noted, or to its end if that is earlier.
    cycles : int, optional
        Cycles to note, from the next one on; by default all.
    margin : int
        A buffer is busy while at most this many flits of it are free; 0 means that it is full.
    at : mapping, optional
        Where lines pass, by dimension: with ``{"y": 0}`` those of x lie in the row y = 0.

    Returns
    -------
    Dataset
        One variable per direction of travel (``+x``, ``-x``, ...), of truth values by ``cycle`` (at its
        start), the coordinate along the line, and ``channel``; attributes ``margin``, ``buffer``, ``lines``.

    Raises
    ------
    SpecError
        There is nothing to note, or more than fits in memory.

    Examples
    --------
    >>> import flitloom as fl
    >>> sim = fl.Simulation(fl.Network(fl.Torus(8, 8)), fl.Collective("bcmp", payload=14))
    >>> busy = record_space_time(sim, 100)
    >>> dict(busy["+x"].sizes), busy.attrs["lines"], int(busy["+x"].sum())
    ({'cycle': 50, 'x': 8, 'channel': 3}, 'x: y=2, y: x=2', 64)
    """
    network = simulation.network
    network.topology.require_rings("space-time charts are")
    sizes, buffer = network.topology.sizes, network.router.buffer
    names = DIMENSION_NAMES[: len(sizes)]
    most = LINK_TIME_CELLS // (2 * sum(sizes) * network.channels)
    _check(simulation, cycles, margin, most)
    passed = _where_lines_pass(dict(zip(names, sizes, strict=True)), at or {})
    first = simulation.now
    rows: dict[str, list[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]] = {
        direction: [] for direction in network.directions
    }
    # Where the buffers of a direction lie: coordinates with the last dimension first, then the direction.
    places = {
        direction: (
            *(slice(None) if name == direction[1:] else passed[name] for name in reversed(names)),
            number,
        )
        for number, direction in enumerate(network.directions)
    }
    while simulation.now - first != cycles and not simulation.finished:
        if simulation.now - first == most:
            raise SpecError.at(
                "space_time",
                f"it continues after {most} cycles, all that is kept",
                "note fewer",
            )
        flits = simulation.occupancy().values
        for direction, noted in rows.items():
            noted.append(flits[places[direction]] >= buffer - margin)
        simulation.step()
    where = [", ".join(f"{other}={at}" for other, at in passed.items() if other != name) for name in names]
    lines = [f"{name}: {beside}" for name, beside in zip(names, where, strict=True)]
    taken = len(rows[network.directions[0]])
    return xr.Dataset(
        {name: (("cycle", name[1:], "channel"), np.stack(noted)) for name, noted in rows.items()},
        {"cycle": np.arange(first, first + taken)},
        {"margin": margin, "buffer": buffer, "lines": ", ".join(lines).replace(": ,", ":")},
    )


def _check(simulation: Simulation, cycles: int | None, margin: int, most: int) -> None:
    """Refuse what cannot be noted, or is more than is kept."""
    buffer = simulation.network.router.buffer
    if not 0 <= margin < buffer:
        raise SpecError.at(
            "margin", f"{counted(margin, 'free flit')} of {buffer}", f"it must be 0 to {buffer - 1}"
        )
    if simulation.finished or (cycles is not None and cycles < 1):
        raise SpecError.at(
            "space_time", f"nothing happens from cycle {simulation.now} on that could be noted"
        )
    if cycles is not None and cycles > most:
        kept = f"at most {most} are kept for {simulation.network.topology}"
        raise SpecError.at("space_time", counted(cycles, "cycle"), kept)


def _where_lines_pass(sizes: Mapping[str, int], at: Mapping[str, int]) -> dict[str, int]:
    """Coordinates at which lines pass: a third of each dimension where `at` does not say another."""
    passed = {name: size // 3 for name, size in sizes.items()}
    for name, place in at.items():
        if name not in sizes:
            raise SpecError.at("at", f"{name} is not a dimension", f"they are {', '.join(sizes)}")
        if not 0 <= place < sizes[name]:
            raise SpecError.at("at", f"{name}={place} is outside", f"{name} goes from 0 to {sizes[name] - 1}")
        passed[name] = place
    return passed
