"""Symbolic contents of the buffers of GPUs: what they hold at first, and what an operation wants at the end.

A chunk is known by its number in the input and by the set of GPUs whose inputs were added up in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

#: Problems of a kind that are listed.
MOST_PROBLEMS = 20

#: A chunk: its number in the input, and the GPUs whose inputs are added up in it, as bits.
Content = tuple[int, int]
Place = tuple[str, int]


class Named(Protocol):
    """What has numbered steps or operations with names."""

    def at(self, place: int) -> str:
        """The name of one of them."""


class At(NamedTuple):
    """A step or operation, whose name is made when it is needed."""

    block: Named
    place: int

    def __str__(self) -> str:
        return self.block.at(self.place)


@dataclass(slots=True)
class Hop:
    """One chunk over one link in a replay."""

    step: int
    start: int
    end: int
    content: Content
    adds: bool
    #: The step of the plan that the file was written from; -1 if it does not say.
    given: int = -1


@dataclass
class Buffers:
    """What an algorithm has and promises.

    Attributes
    ----------
    collective : str
        The operation.
    gpus : int
        Number of GPUs.
    inplace : bool
        Whether input and output share their memory.
    chunks : dict
        Per GPU the sizes of its buffers ``i``, ``o`` and ``s``.
    """

    collective: str
    gpus: int
    inplace: bool
    chunks: dict[int, dict[str, int]]


class Contents:
    """The memory of all GPUs, and problems found in it.

    Attributes
    ----------
    problems : list of str
        What is wrong, each with GPU, threadblock and step where there is one.
    memory : dict
        Per GPU what its places hold.
    """

    def __init__(self, buffers: Buffers) -> None:
        self.buffers = buffers
        self.problems: list[str] = []
        self.memory = {gpu: self._initial(gpu) for gpu in range(buffers.gpus)}

    def inputs(self, gpu: int) -> int:
        """Input chunks of a GPU."""
        buffers, sizes = self.buffers, self.buffers.chunks[gpu]
        if buffers.inplace and buffers.collective == "all-gather":
            return sizes["o"] // buffers.gpus
        if buffers.collective == "all-gather" and sizes["i"] == sizes["o"] > 0 and buffers.gpus > 1:
            # ForestColl gives the input of every node its place in the whole.
            return sizes["o"] // buffers.gpus
        return sizes["i"] or (sizes["o"] if buffers.inplace else 0)

    def place(self, gpu: int, place: Place) -> Place:
        """The memory behind a place: in place, input and output share it."""
        buffers = self.buffers
        buffer, offset = place
        if not buffers.inplace or buffer != "i":
            if buffers.inplace and buffers.collective == "reduce-scatter" and buffer == "o":
                return "i", gpu * self.buffers.chunks[gpu]["i"] // buffers.gpus + offset
            return place
        if buffers.collective == "all-gather":
            return "o", gpu * self.inputs(gpu) + offset
        return ("i", offset) if buffers.collective == "reduce-scatter" else ("o", offset)

    def _initial(self, gpu: int) -> dict[Place, Content]:
        buffers, count, sizes = self.buffers, self.inputs(gpu), self.buffers.chunks[gpu]
        first = 0
        if buffers.collective == "all-gather" and not buffers.inplace and sizes["i"] != count:
            first = gpu * count
        return {
            self.place(gpu, ("i", first + chunk)): (chunk, 1 << gpu) for chunk in range(count)
        }  # fmt: skip

    def writer(self, gpu: int, place: Place) -> object | None:
        """Who wrote last to a place of a GPU, for `str` to name; None if nobody has."""
        raise NotImplementedError

    def problem(self, text: str) -> None:
        """Note what is wrong, up to a number that can be read."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)

    def sum(self, block: object, own: Content | None, other: Content | None) -> Content | None:
        """Two chunks added up by a threadblock; one of which nothing is known counts for nothing."""
        if own is None or other is None:
            return own or other
        if own[0] != other[0]:
            self.problem(f"{block}: adds chunk {other[0]} to chunk {own[0]}")
        elif own[1] & other[1]:
            self.problem(f"{block}: something is added twice ({self.show((own[0], own[1] & other[1]))})")
        return own[0], own[1] | other[1]

    def wanted(self) -> Iterator[tuple[int, Place, Content]]:
        """What must be where at the end: gpu, place and content."""
        buffers = self.buffers
        gpus, everybody = range(buffers.gpus), (1 << buffers.gpus) - 1
        for gpu in gpus:
            total = self.inputs(gpu)
            each = total // buffers.gpus
            if buffers.collective == "all-gather":
                for other in gpus:
                    for chunk in range(total):
                        yield gpu, ("o", other * total + chunk), (chunk, 1 << other)
            elif buffers.collective == "all-reduce":
                for chunk in range(total):
                    yield gpu, ("o", chunk), (chunk, everybody)
            elif buffers.collective == "reduce-scatter":
                for chunk in range(each):
                    yield gpu, ("o", chunk), (gpu * each + chunk, everybody)
            elif buffers.collective == "all-to-all":
                for other in gpus:
                    for chunk in range(each):
                        yield gpu, ("o", other * each + chunk), (gpu * each + chunk, 1 << other)

    def outcome(self) -> None:
        """Compare what is there at the end with what the operation wants."""
        sizes = {self.inputs(gpu) for gpu in range(self.buffers.gpus)}
        if len(sizes) > 1 or not min(sizes):
            self.problem("i_chunks: all gpus need the same number of input chunks, at least one")
            return
        if self.buffers.collective in ("reduce-scatter", "all-to-all") and min(sizes) % self.buffers.gpus:
            self.problem(f"i_chunks: {min(sizes)} chunks cannot be dealt to {self.buffers.gpus} gpus")
            return
        if self.buffers.collective in ("broadcast", "reduce"):
            if self.root() is None:
                what = {
                    "broadcast": "no gpu's chunks are in all output buffers",
                    "reduce": "the sums of all gpus' chunks are in no output buffer",
                }[self.buffers.collective]
                self.problem(f"{self.buffers.collective}: {what}")
            return
        wrong: list[str] = []
        empty: list[str] = []
        for gpu, place, content in self.wanted():
            at = self.place(gpu, place)
            found = self.memory[gpu].get(at)
            if found == content:
                continue
            where = f"chunk {place[1]} of buffer {place[0]}"
            writer = self.writer(gpu, at) or f"gpu {gpu}"
            if found is None:
                empty.append(f"{writer}: {where} holds nothing instead of {self.show(content)}")
            else:
                wrong.append(f"{writer}: {where} holds {self.show(found)} instead of {self.show(content)}")
        self.problems += some([*wrong, *empty])

    def root(self) -> int | None:
        """The GPU whose input is in all outputs at the end, or whose output holds the sums of all inputs."""
        count = self.inputs(0)
        if self.buffers.collective == "reduce":
            everybody = (1 << self.buffers.gpus) - 1
            return next(
                (
                    gpu
                    for gpu in range(self.buffers.gpus)
                    if all(
                        self.memory[gpu].get(self.place(gpu, ("o", chunk))) == (chunk, everybody)
                        for chunk in range(count)
                    )
                ),
                None,
            )
        for root in range(self.buffers.gpus):
            if all(
                self.memory[gpu].get(self.place(gpu, ("o", chunk))) == (chunk, 1 << root)
                for gpu in range(self.buffers.gpus)
                for chunk in range(count)
            ):
                return root
        return None

    def show(self, content: Content) -> str:
        """A chunk as the input chunks (gpu, number) that are added up in it."""
        chunk, gpus = content
        names: list[str] = []
        while gpus and len(names) < 4:
            low = gpus & -gpus
            names.append(f"({low.bit_length() - 1}, {chunk})")
            gpus ^= low
        return " + ".join(names) + (" + ..." if gpus else "")

    @property
    def chunks(self) -> int:
        """Chunks per node, or per pair, as plans count them."""
        total = self.inputs(0)
        if self.buffers.collective in ("reduce-scatter", "all-to-all", "all-reduce"):
            return max(total // self.buffers.gpus, 1)
        return total


def some(lines: list[str]) -> list[str]:
    """The first lines, and how many more there are."""
    if len(lines) <= MOST_PROBLEMS:
        return list(lines)
    return [*lines[:MOST_PROBLEMS], f"and {len(lines) - MOST_PROBLEMS} more"]
