"""Simulations in files, from which they continue.

A file is a line that says what it is, a line of JSON (versions, spec, what is recorded, checksum) and the
state as the core writes it.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import replacing
from flitloom.ground.provenance import version
from flitloom.ground.reading import opened, parse_json
from flitloom.networks.experiment import Experiment
from flitloom.spec.base import explain
from flitloom.spec.written import SIMULATION

#: Raised when what is saved, or how, changes. Before 5 the hosts of products were in the order of cables;
#: before 7 failed nodes of tori and meshes stood behind the others.
FORMATS = (4, 5, 6, 7)


class Judged(BaseModel):
    """What a load was like while its packets were generated; see `flitloom.load.finite`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    verdict: Literal["steady", "growing", "undecided"]
    throughput: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class Header(BaseModel):
    """What a saved simulation says of itself."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal[4, 5, 6, 7]
    #: The flitloom that wrote it; another one may simulate the same spec, but keeps other state.
    version: str
    cycle: Annotated[int, Field(ge=0)]
    links: bool
    packets: bool
    link_time: bool
    latencies: bool
    #: Cycles of a window, if windows are kept.
    windows: int | None = None
    #: Checksum of the routing tables, if the packets follow some.
    tables: int | None = None
    #: What a load was like while its packets were generated, if that time is over and it was judged then.
    judged: Judged | None = None
    #: Bytes of the state and checksum (CRC-32) of the spec and the state.
    state_bytes: Annotated[int, Field(ge=0)]
    checksum: int

    @property
    def records(self) -> dict[str, Any]:
        """What is recorded, by name."""
        names = ("links", "packets", "link_time", "latencies", "windows")
        return {name: getattr(self, name) for name in names}


def write(
    file: str | Path,
    spec: Experiment,
    cycle: int,
    records: dict[str, Any],
    state: bytes,
    tables: int | None = None,
    judged: Judged | None = None,
) -> None:
    """Write a simulation, whole or not at all; `tables` is the checksum of its routing tables."""
    text = spec.model_dump_json().encode()
    if len(text) + len(state) > limits.STATE_BYTES - limits.LINE_BYTES:
        raise SpecError.at(
            "checkpoint",
            f"{counted(len(state), 'byte')} of state",
            f"files of at most {limits.STATE_BYTES} are read",
        )
    about = Header(
        format=7,
        version=version(),
        state_bytes=len(state),
        checksum=_checksum(text, state, judged),
        cycle=cycle,
        tables=tables,
        judged=judged,
        **records,
    )
    with replacing(file) as out:
        for part in (SIMULATION, about.model_dump_json().encode(), b"\n", text, b"\n", state):
            out.write(part)


def _checksum(text: bytes, state: bytes, judged: Judged | None) -> int:
    """Of the spec, of what is known of the load, and of the state."""
    known = b"" if judged is None else judged.model_dump_json().encode()
    return zlib.crc32(state, zlib.crc32(known, zlib.crc32(text)))


def read(file: str | Path) -> tuple[Experiment, Header, bytes]:
    """What a file holds: the spec, what it says of itself, and the state.

    Raises
    ------
    SpecError
        It is not a saved simulation, has another version, is cut off or damaged.
    """
    name = show_file(file)
    with opened(file, limits.STATE_BYTES) as source:
        if source.stream.read(len(SIMULATION)) != SIMULATION:
            raise SpecError(f"{name}: is not a saved simulation; flitloom simulate --checkpoint writes them")
        about = source.stream.readline(limits.LINE_BYTES).rstrip(b"\n")
        text = source.stream.readline(limits.STATE_BYTES).rstrip(b"\n")
        state = source.content()
    try:
        fields = parse_json(about.decode(), f"{name}: header")
    except UnicodeDecodeError:
        raise SpecError(f"{name}: header: is not UTF-8 text; the file is damaged") from None
    if isinstance(fields, dict) and fields.get("format") not in FORMATS:
        raise SpecError(
            f"{name}: format: is {str(fields.get('format'))[:20]}; "
            f"this flitloom reads formats {FORMATS[0]} to {FORMATS[-1]}"
        )
    try:
        header = Header.model_validate(fields)
    except ValidationError as error:
        raise SpecError(f"{name}: header: {explain(error)}") from None
    if header.version != version():
        raise SpecError(
            f"{name}: version: written by flitloom {header.version[:40]}, this is {version()}; "
            "a simulation continues only with the version that began it"
        )
    if len(state) != header.state_bytes:
        raise SpecError(
            f"{name}: state_bytes: {header.state_bytes} are announced, {len(state)} are there; "
            "the file is cut off or damaged"
        )
    if _checksum(text, state, header.judged) != header.checksum:
        raise SpecError(f"{name}: checksum: does not fit spec and state; the file is damaged")
    try:
        spec = Experiment.model_validate_json(text)
    except ValidationError as error:
        raise SpecError(f"{name}: {explain(error)}") from None
    topology, renumbered = spec.topology, 0
    if spec.router.model == "pipelined" and topology.has_tables:
        if topology.failed_nodes and topology.grid is not None:
            renumbered = 7
        elif len(topology.dimensions) > 1:
            renumbered = 6 if topology.failed_nodes else 5
    if header.format < renumbered:
        raise SpecError(
            f"{name}: format: is {header.format}, in which hosts of {topology} had another order; "
            "simulate it from the beginning"
        )
    return spec, header, state
