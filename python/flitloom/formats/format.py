"""What a format of files is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.search import collective
from flitloom.collectives.telling import Told, untold
from flitloom.errors import SpecError
from flitloom.spec import Torus
from flitloom.spec.ground import Ground
from flitloom.traces.operations import Ranks


@dataclass(frozen=True)
class Writing:
    """How a plan is written.

    Attributes
    ----------
    chunk_bytes : int
        Bytes of a chunk, where messages have sizes.
    as_collective : bool
        Whether every rank has one node for the operation instead of its messages.
    by_hop : bool
        Whether a plan in rounds is written chunk by chunk over every link, as routers run it, instead of one
        message per round and pair of nodes.
    loader : str, optional
        The program that is to load the file; what is above its limits is refused.
    told : function
        Told now and then how much of how much is written.
    told_of_reading : function
        The same while the source is read, where that takes long.
    """

    chunk_bytes: int = 1024
    as_collective: bool = False
    by_hop: bool = False
    loader: str | None = None
    told: Told = field(default=untold)
    told_of_reading: Told = field(default=untold)


@dataclass(frozen=True)
class Format:
    """A format of files that hold a plan of a collective operation, or a message graph.

    Attributes
    ----------
    name : str
        Its short name; formats are told apart by it.
    title : str
        What people call it.
    endings : tuple of str
        How the names of files that are read end.
    limit : int
        Most bytes of a file.
    form : {"json", "xml", "text", "binary"}
        What files are made of; a fuzzer changes them accordingly.
    seed : function
        Gives a good file, from which a fuzzer makes wrong ones.
    sniff : function, optional
        Whether a file that begins with these bytes is one; without it the ending says so.
    target : str
        How the name of a file to be written ends; empty: none is written.
    read_plan : function, optional
        Reads a plan, for a network if the file names none.
    check_plan : function, optional
        Reports whether a file does what it claims: ``passed``, ``steps``, ``problems``, ``operation``, ...
    write_plan : function, optional
        Writes a plan; gives notes on the file.
    read_messages : function, optional
        Reads a message graph: a GOAL text, or the operations of every rank.
    write_messages : function, optional
        Writes the operations of every rank.
    plan_messages : function, optional
        Reads a plan as the operations of every rank, where its messages are from end to end.
    keeps_links : bool
        Whether the format holds the latency of links and how many are parallel.
    tells : bool
        Whether `read_plan` and `check_plan` take long, and so a third argument: what is told now and then how
        much of how much is done.
    """

    name: str
    title: str
    endings: tuple[str, ...]
    limit: int
    form: Literal["json", "xml", "text", "binary"]
    seed: Callable[[], bytes]
    sniff: Callable[[bytes], bool] | None = None
    target: str = ""
    read_plan: Callable[..., CollectivePlan] | None = None
    check_plan: Callable[..., dict[str, Any]] | None = None
    write_plan: Callable[[CollectivePlan, Path, Writing], list[str]] | None = None
    read_messages: Callable[[str | Path], str | Ranks] | None = None
    write_messages: Callable[[Ranks, Path], None] | None = None
    plan_messages: Callable[[str | Path, Writing], Ranks] | None = None
    keeps_links: bool = False
    tells: bool = False


def needed(ground: Ground | None) -> Ground:
    """The network of a file that names none.

    Raises
    ------
    SpecError
        Nobody named it.
    """
    if ground is None:
        raise SpecError.at(
            "topology", "is missing", "say what links there are with --torus 4x4 or --mesh 4x4"
        )
    return ground


@cache
def sample(operation: str = "all-gather") -> CollectivePlan:
    """A small plan, for seeds."""
    return collective(Torus(3, 2), operation)
