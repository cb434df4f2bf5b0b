"""What a run will take: memory before it begins, time once it has run for a moment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from flitloom.errors import FlitloomError

if TYPE_CHECKING:
    from flitloom.networks.network import Network

#: Bytes of a packet of a list, and of one under way.
LISTED_BYTES, MOVING_BYTES = 24, 60
#: Bytes of a pipelined router and of one of its queues, in the smallest of their forms.
PIPELINED_BYTES, QUEUE_BYTES = 1500, 40
#: Where Linux says how much memory there is, and how much a group of processes may take.
MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup/memory.max")


def memory_needed(network: Network, *, packets: int, listed: bool, longest: int, links: bool) -> int:
    """Bytes that a simulation takes in the core, within about a third; of pipelined routers at least.

    Parameters
    ----------
    network : Network
        The network.
    packets : int
        Packets in all.
    listed : bool
        Whether they are listed, not drawn when they start.
    longest : int
        Flits of the longest.
    links : bool
        Whether first and last cycles of links are recorded.

    Examples
    --------
    >>> import flitloom as fl
    >>> needed = memory_needed(
    ...     fl.Network(fl.Torus(64, 64)), packets=4096, listed=True, longest=8, links=False)
    >>> 1 << 19 < needed < 1 << 21
    True
    """
    # No more packets are under way than buffers hold, nor than there are.
    router = network.router
    queues = len(network.working_links()) * network.channels
    moving = min(packets, queues * -(-router.buffer // longest))
    if router.model == "pipelined":
        routers = PIPELINED_BYTES * network.nodes + QUEUE_BYTES * queues
    else:
        routers = network.nodes * network.one_cycle("runs are of").bytes_per_router(longest, links)
    return routers + LISTED_BYTES * packets * listed + MOVING_BYTES * moving


def memory_there() -> tuple[int, int] | None:
    """Bytes of memory that this machine lets us have, and those that are free; None where nobody says."""
    try:
        rows = (line.split() for line in MEMINFO.read_text(encoding="ascii").splitlines())
        known = {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if row[-1] == "kB"}
        total, free = known["MemTotal"], known["MemAvailable"]
    except (OSError, ValueError, LookupError):
        try:
            total = free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError, AttributeError):
            return None
    try:
        most = int(GROUP.read_text(encoding="ascii"))
    except (OSError, ValueError):
        most = total
    return min(total, most), min(free, most)


def require_memory(needed: int) -> None:
    """Refuse what this machine's memory cannot hold.

    Raises
    ------
    FlitloomError
        More is needed than there is.
    """
    there = memory_there()
    if there is not None and needed > there[0]:
        raise FlitloomError(
            f"memory: about {in_bytes(needed)} are needed and this machine has {in_bytes(there[0])}; "
            "take a smaller network or fewer packets"
        )


def memory_line(needed: int, above: float) -> str | None:
    """What to say of the memory a run takes, if that is more than a number of bytes or than is free.

    Examples
    --------
    >>> memory_line(5_000_000, 1e6)
    'memory: about 5.0 MB'
    >>> memory_line(5_000_000, 1e9)
    """
    there = memory_there()
    short = there is not None and needed > there[1]
    if needed <= above and not short:
        return None
    line = f"memory: about {in_bytes(needed)}"
    if short and there is not None:
        line += f", more than the {in_bytes(there[1])} that are free now: it may be slow or fail"
    return line


def in_bytes(count: float) -> str:
    """Bytes in a readable unit.

    >>> in_bytes(3_400_000_000), in_bytes(12_000)
    ('3.4 GB', '12.0 kB')
    """
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"


def in_time(seconds: float) -> str:
    """A time in a readable unit.

    >>> in_time(12.3), in_time(400), in_time(9000), in_time(400_000)
    ('12 s', '7 min', '2.5 h', '4.6 days')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.1f} days"


class TimeLine:
    """Says once how long a run will take, from how far it came in its first moment.

    Parameters
    ----------
    say : callable
        Where to say it.
    above : float
        Seconds from which on it is said.
    after : float
        Seconds to run before it is known.

    Examples
    --------
    >>> line = TimeLine(print, above=0.0, after=0.0)
    >>> line(0, 100, "cycles")
    >>> line(100, 100, "cycles")
    """

    def __init__(self, say: Callable[[str], None], above: float, after: float = 1.0) -> None:
        self._say, self._above, self._after = say, above, after
        self._begin = time.monotonic()
        self._first: int | None = None
        self._told = False

    def __call__(self, done: int, total: int, unit: str) -> None:
        """So much of so much is done."""
        if self._first is None:
            # What was done before the run went on counts neither way.
            self._first = done
        spent = time.monotonic() - self._begin
        came = done - self._first
        if self._told or spent < self._after or not came or done >= total:
            return
        self._told = True
        left = spent * (total - done) / came
        if spent + left > self._above:
            self._say(f"time: about {in_time(left)} more for {total - done:,} of {total:,} {unit}")
