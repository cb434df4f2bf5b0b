"""One machine: what links, rounds and messages cost, for every command that says a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import Field

from flitloom.errors import SpecError, show, show_file
from flitloom.ground.reading import read_toml
from flitloom.ground.units import read_bandwidth, read_seconds, read_size
from flitloom.spec.base import Checked, Closed, explain, problem, whole

#: Most cycles of a link of routers whose queues, of up to 1024 flits, keep it busy.
MOST_LATENCY = 500
UNITS = 'write e.g. "50GB/s", "1us" or "1KiB"'


def _in_units(read: Callable[[str, str], float]) -> Checked:
    """The check of a text with a unit."""

    def check(value: Any, _: Any = None) -> float:
        if not isinstance(value, str):
            raise problem(f"{show(value)} is not a text with a unit", UNITS)
        try:
            return read(value, "value")
        except SpecError as error:
            raise problem(error.problem, error.advice) from None

    return Checked(check, {"type": "string"})


def _seconds(text: str, place: str) -> float:
    return read_seconds(text, place, none=True)


class LinkClass(Closed):
    """What is said of the links of a class: a bandwidth as a text, or a table.

    Examples
    --------
    >>> LinkClass.model_validate("100GB/s").bandwidth
    100000000000.0
    >>> LinkClass(**{"latency": "2us"}).latency
    2e-06
    """

    bandwidth: Annotated[float, _in_units(read_bandwidth)] | None = Field(
        default=None, description="In one direction, e.g. 100GB/s; bytes per second. That of all without."
    )
    latency: Annotated[float, _in_units(_seconds)] | None = Field(
        default=None,
        description="What a message over such a link takes besides round and bytes, e.g. 2us; seconds.",
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _text_is_bandwidth(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return data
        if not isinstance(data, str):
            raise problem(f"{show(data)} is not a text with a unit", UNITS)
        return {"bandwidth": data}

    @pydantic.model_validator(mode="after")
    def _says_something(self) -> LinkClass:
        if self.bandwidth is None and self.latency is None:
            raise problem("says nothing of links", 'write a bandwidth or a latency, e.g. latency = "2us"')
        return self


class Machine(Closed):
    """What a machine needs for rounds, messages and bytes; a TOML file.

    Examples
    --------
    >>> from flitloom.spec.machine import Machine
    >>> machine = Machine(**{"bandwidth": "25GB/s", "round": "5us", "flit": "1KiB"})
    >>> round(machine.cycle * 1e9, 2), machine.message  # nanoseconds of a flit on a link
    (40.96, None)
    >>> machine.latency  # cycles of a round besides its bytes
    122
    """

    bandwidth: Annotated[float, _in_units(read_bandwidth)] = Field(
        default=50e9, description="Of a link in one direction, e.g. 50GB/s or 400Gb/s; bytes per second."
    )
    round: Annotated[float, _in_units(_seconds)] = Field(
        default=1e-6, description="Time of a round besides its bytes, e.g. 1us; seconds."
    )
    message: Annotated[float, _in_units(_seconds)] | None = Field(
        default=None,
        description="Time of every message of a node over a link beyond the first one of a round, e.g. 50ns; "
        "seconds. Without it a node sends at most as many messages as it has links.",
    )
    ports: Annotated[int, whole(1, 4096)] | None = Field(
        default=None, description="Links that a node uses at once; all without."
    )
    flit: Annotated[float, _in_units(read_size)] = Field(
        default=256.0, description="What a link transfers in a cycle, e.g. 256B; bytes."
    )
    links: dict[str, LinkClass] = Field(
        default={},
        description="Links with another bandwidth or a latency, by dimension (x, y, ...) or cable (3-4).",
    )

    @classmethod
    def read(cls, file: str | Path) -> Machine:
        """Read a file.

        Raises
        ------
        SpecError
            It cannot be read, or a field is unknown or wrong.
        """
        try:
            return cls(**read_toml(file))
        except pydantic.ValidationError as error:
            raise SpecError.at(show_file(file), explain(error).replace("\n", "; ")) from None

    @property
    def cycle(self) -> float:
        """Seconds of a cycle: a flit on a link."""
        return self.flit / self.bandwidth

    @property
    def latency(self) -> int:
        """Cycles of a link of routers on which a round costs as much.

        Raises
        ------
        SpecError
            They are more than links have.
        """
        cycles = round(self.round / self.cycle)
        if cycles > MOST_LATENCY:
            least = self.round * self.bandwidth / MOST_LATENCY
            raise SpecError.at(
                "machine.flit",
                f"a round costs {cycles} cycles of {1e9 * self.cycle:.3g} ns, and links of routers take up "
                f"to {MOST_LATENCY}",
                f"write a flit of at least {int(least) + 1}B",
            )
        return max(cycles, 1)

    @property
    def flit_bytes(self) -> int:
        """Bytes of a flit, of which messages have whole numbers."""
        return max(int(self.flit), 1)

    def microseconds(self, cycles: int) -> float:
        """How long cycles take, to a tenth of a nanosecond.

        >>> Machine(flit="1KiB").microseconds(385)
        7.8848
        """
        return round(1e6 * cycles * self.cycle, 4)

    def set_clock(self, router: dict[str, Any]) -> None:
        """Give fields of routers, unless they are said, the links on which a round costs as much.

        Queues hold what arrives until the sender hears that there is room.

        >>> fields = {"latency": 3}
        >>> Machine().set_clock(fields)
        >>> fields
        {'latency': 3, 'buffer': 8}
        """
        self.require_equal_links("routers are")
        latency = router.setdefault("latency", self.latency)
        router.setdefault("buffer", max(2 * latency + 2, 4))

    @property
    def speeds(self) -> dict[str, float]:
        """Bandwidth of links that have another one, by dimension or cable."""
        return {name: one.bandwidth for name, one in self.links.items() if one.bandwidth is not None}

    @property
    def latencies(self) -> dict[str, float]:
        """Seconds of links whose latency is said, by dimension or cable."""
        return {name: one.latency for name, one in self.links.items() if one.latency is not None}

    def require_no_latencies(self, why: str) -> None:
        """Refuse latencies of links.

        >>> machine = Machine(**{"links": {"x": {"latency": "2us"}}})
        >>> machine.require_no_latencies("links of routers are alike")
        Traceback (most recent call last):
            ...
        flitloom.errors.SpecError: machine.links.x.latency: links of routers are alike; leave it out
        """
        for name in (name for name, latency in self.latencies.items() if latency):
            raise SpecError.at(f"machine.links.{show(name)[1:-1]}.latency", why, "leave it out")

    def require_equal_links(self, what: str) -> None:
        """Refuse links of unequal speed, which `what` does not know.

        >>> Machine(**{"links": {"x": "100GB/s"}}).require_equal_links("placements are")
        Traceback (most recent call last):
            ...
        flitloom.errors.SpecError: machine.links: placements are for links of one speed; leave it out
        """
        self.require_no_latencies(f"{what} for links of one latency")
        if self.links:
            raise SpecError.at("machine.links", f"{what} for links of one speed", "leave it out")

    def require_ports(self, links: int) -> None:
        """Refuse fewer ports than a node has links, where all links of a node are used at once."""
        if self.ports is not None and self.ports < links:
            raise SpecError.at(
                "machine.ports",
                f"{self.ports}, and nodes have up to {links} links, all of which plans use at once",
                f"write at least {links}, or leave it out; flitloom simulate runs plans on fewer",
            )

    def chunk_flits(self, chunk: float) -> int:
        """Flits of a chunk of some bytes.

        >>> Machine().chunk_flits(4097.0)
        17
        """
        return max(-int(-chunk // self.flit), 1)
