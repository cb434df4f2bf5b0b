"""Reads MSCCL XML. What cannot be read raises; what can be read and cannot run is listed as a flaw."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from flitloom.collectives.contents import Buffers
from flitloom.errors import SpecError, show_file
from flitloom.ground import limits
from flitloom.ground.reading import placed, read_text

#: Names of operations in MSCCL files, and here.
COLLECTIVES = {
    "allgather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "reducescatter": "reduce-scatter",
    "allreduce": "all-reduce",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
    "reduce": "reduce",
}
#: Types of steps: whether they receive, send, read their source buffer, and write their destination buffer.
TYPES = {
    "s": (False, True, True, False),
    "r": (True, False, False, True),
    "rcs": (True, True, False, True),
    "rrc": (True, False, True, True),
    "rrs": (True, True, True, False),
    "rrcs": (True, True, True, True),
    "cpy": (False, False, True, True),
    "re": (False, False, True, True),
    "nop": (False, False, False, False),
}
#: Elements, from the outermost one.
_NESTED = ("algo", "gpu", "tb", "step")
_TIMES = re.compile(r" steps of plan:( \d{1,9}){1,1000000} ", re.ASCII)
#: Most GPUs, and most chunks of all buffers of all GPUs together.
MOST_GPUS = 4096
MOST_CHUNKS = 1 << 22
#: Most chunks that all steps together move.
MOST_MOVED = 1 << 22


@dataclass(slots=True)
class Step:
    """One step of a threadblock."""

    kind: str
    source: tuple[str, int]
    target: tuple[str, int]
    count: int
    depends: tuple[int, int] | None
    has_dependent: bool


@dataclass
class Block:
    """A threadblock: steps in order, at most one peer to send to and one to receive from."""

    gpu: int
    number: int
    send: int
    receive: int
    channel: int
    steps: list[Step] = field(default_factory=list)
    done: int = 0
    #: Steps of the plan that it was written from, if a comment tells them.
    times: list[int] = field(default_factory=list)

    def at(self, place: int) -> str:
        """The name of one of its steps."""
        return f"gpu {self.gpu}, threadblock {self.number}, step {place}"

    def __str__(self) -> str:
        return self.at(self.done)


@dataclass
class Algorithm:
    """An MSCCL algorithm.

    Attributes
    ----------
    name : str
        Its name in the file.
    buffers : Buffers
        The operation, and the buffers of all GPUs.
    blocks : list of Block
        All threadblocks.
    flaws : list of str
        What keeps it from running: steps that wait for themselves or for nothing, chunks beyond a buffer,
        channels that two threadblocks share.
    """

    name: str
    buffers: Buffers
    blocks: list[Block]
    flaws: list[str] = field(default_factory=list)


def read_msccl(file: str | Path) -> Algorithm:
    """Read an MSCCL XML file.

    Raises
    ------
    SpecError
        It is not such a file; the message names GPU, threadblock and step.
    """
    return placed(show_file(file), lambda: _algorithm(read_text(file, limits.FOREIGN_BYTES)))


def _algorithm(text: str) -> Algorithm:
    _check_text(text)
    reader, parser = _Reader(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CommentHandler = reader.comment
    try:
        parser.Parse(text, True)
        return reader.algorithm()
    except expat.ExpatError as error:
        raise SpecError(f"is not XML: {error}{_reached(text)}") from None
    except SpecError:
        # What is not XML further on is called that.
        try:
            expat.ParserCreate().Parse(text, True)
        except expat.ExpatError as error:
            raise SpecError(f"is not XML: {error}{_reached(text)}") from None
        raise


def parse_xml(text: str) -> ElementTree.Element:
    """The root of an XML text without document types and entities.

    Raises
    ------
    SpecError
        It is not XML; the message says in which GPU, threadblock and step the text ends or goes wrong.
    """
    _check_text(text)
    try:
        builder = ElementTree.TreeBuilder(insert_comments=True)
        return ElementTree.fromstring(text, ElementTree.XMLParser(target=builder))
    except ElementTree.ParseError as error:
        raise SpecError(f"is not XML: {error}{_reached(text)}") from None
    except ValueError:
        raise SpecError("is not XML: it names an encoding that is not that of the text") from None


def _check_text(text: str) -> None:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SpecError("document types and entities are not read")
    if not text or text.isspace():
        raise SpecError("is not XML: the file is empty")
    if text.count("<") > limits.XML_ELEMENTS:
        raise SpecError(f"more than {limits.XML_ELEMENTS} elements")


def _reached(text: str) -> str:
    """The step up to which a text can be read."""
    names = {"gpu": "gpu", "tb": "threadblock", "step": "step"}
    order = list(names)
    last: dict[str, str] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag in order:
            for inner in order[order.index(tag) + 1 :]:
                last.pop(inner, None)
            last[tag] = attributes.get("s" if tag == "step" else "id", "?")[:12]

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    with suppress(expat.ExpatError):
        parser.Parse(text, True)
    found = ", ".join(f"{names[tag]} {last[tag]}" for tag in order if tag in last)
    return f"; the last that can be read is {found}" if found else ""


def whole(
    element: ElementTree.Element | dict[str, str],
    name: str,
    where: str,
    default: int | None = None,
    least: int = 0,
) -> int:
    """A whole number of an element.

    Raises
    ------
    SpecError
        It is missing, or none from `least`.
    """
    text = element.get(name)
    if text is None and default is not None:
        return default
    digits = (text or "").removeprefix("-")
    if text is None or not (digits.isascii() and digits.isdecimal()) or len(text) > 12 or int(text) < least:
        found = "is missing" if text is None else f"{text[:40]!r} is not a whole number from {least}"
        raise SpecError(f"{where}: {name}: {found}")
    return int(text)


def only(element: ElementTree.Element, name: str, where: str) -> None:
    """Refuse elements of another name in an element: nobody knows what they mean."""
    for child in element:
        if isinstance(child.tag, str) and child.tag != name:
            raise SpecError.at(where, f"<{child.tag[:40]}> is not read", f"<{name}> is")


class _Reader:
    """Makes an algorithm of the elements of a text, as they come: no tree of them is kept."""

    def __init__(self) -> None:
        self.gpus = 0
        self.name = self.collective = ""
        self.inplace = False
        self.chunks: dict[int, dict[str, int]] = {}
        self.blocks: list[Block] = []
        self.flaws: list[str] = []
        self.moved = 0
        self._open: list[str] = []
        self._gpu = -1
        #: Whole numbers by their texts, and pairs, each once: most come again and again.
        self._numbers: dict[str | None, int] = {}
        self._pairs: dict[tuple[Any, int], tuple[Any, int]] = {}

    def start(self, tag: str, element: dict[str, str]) -> None:
        depth = len(self._open)
        self._open.append(tag)
        if depth == 3 and tag == "step":
            self._step(self.blocks[-1], element)
        elif depth < len(_NESTED) and tag == _NESTED[depth]:
            (self._algo, self._described, self._block)[depth](element)
        elif depth == 0:
            raise SpecError(f"<{tag[:40]}> is not an MSCCL algorithm; the file begins with <algo")
        else:
            known = f"<{_NESTED[depth]}> is" if depth < len(_NESTED) else "a step holds no elements"
            raise SpecError.at(self._where(depth), f"<{tag[:40]}> is not read", known)

    def end(self, _tag: str) -> None:
        self._open.pop()

    def comment(self, text: str) -> None:
        if len(self._open) == 3 and _TIMES.fullmatch(text):
            self.blocks[-1].times = [int(word) for word in text.split()[3:]]

    def _where(self, depth: int) -> str:
        block = self.blocks[-1] if depth > 2 else None
        if block is None:
            return "algo" if depth == 1 else f"gpu {self._gpu}"
        where = f"gpu {block.gpu}, threadblock {block.number}"
        return where if depth == 3 else block.at(len(block.steps) - 1)

    def _algo(self, element: dict[str, str]) -> None:
        self.gpus = whole(element, "ngpus", "algo", least=1)
        if self.gpus > MOST_GPUS:
            raise SpecError.at("algo", f"ngpus: {self.gpus}", f"at most {MOST_GPUS} are read")
        name = element.get("coll", "")
        if name not in COLLECTIVES:
            found = f"{name[:40]!r} is unknown" if name else "is missing"
            raise SpecError.at("algo", f"coll: {found}", f"it is {', '.join(COLLECTIVES)}")
        self.name, self.collective = element.get("name", ""), COLLECTIVES[name]
        out = whole(element, "outofplace", "algo", 0)
        self.inplace = whole(element, "inplace", "algo", 0) == 1 and out == 0

    def _described(self, element: dict[str, str]) -> None:
        gpu = whole(element, "id", "gpu")
        if gpu >= self.gpus or gpu in self.chunks:
            raise SpecError(f"gpu {gpu}: is given twice or is not below ngpus ({self.gpus})")
        self._gpu = gpu
        self.chunks[gpu] = {
            short: whole(element, f"{short}_chunks", f"gpu {gpu}", 0 if short == "s" else None)
            for short in "ios"
        }

    def _block(self, element: dict[str, str]) -> None:
        number = whole(element, "id", f"gpu {self._gpu}, threadblock")
        where = f"gpu {self._gpu}, threadblock {number}"
        block = Block(
            self._gpu,
            number,
            whole(element, "send", where, least=-1),
            whole(element, "recv", where, least=-1),
            whole(element, "chan", where, 0),
        )
        for peer in (block.send, block.receive):
            if peer >= self.gpus or peer == self._gpu:
                raise SpecError(f"{where}: its peer {peer} is itself or no gpu")
        self.blocks.append(block)

    def _number(
        self, element: dict[str, str], name: str, block: Block, default: int | None = None, least: int = 0
    ) -> int:
        """The same as `whole`, for an attribute of the next step of a threadblock."""
        text = element.get(name)
        known = self._numbers.get(text, -2)
        if known < least or text is None:
            known = whole(element, name, block.at(len(block.steps)), default, least)
            if text is not None:
                self._numbers[text] = known
        return known

    def _pair(self, first: Any, second: int) -> tuple[Any, int]:
        pair = (first, second)
        return self._pairs.setdefault(pair, pair)

    def _step(self, block: Block, element: dict[str, str]) -> None:
        number, place = self._number, len(block.steps)
        if number(element, "s", block) != place:
            raise SpecError(f"{block.at(place)}: s: steps are numbered in order, from 0")
        kind = element.get("type", "")
        if kind not in TYPES:
            found = f"{kind[:40]!r} is unknown" if kind else "is missing"
            raise SpecError(f"{block.at(place)}: type: {found}; it is {', '.join(TYPES)}")
        receives, sends, reads, writes = TYPES[kind]
        if (receives and block.receive < 0) or (sends and block.send < 0):
            raise SpecError(f"{block.at(place)}: type: {kind} needs a peer, and the threadblock has none")
        count = 1 if kind == "nop" else number(element, "cnt", block, 1, 1)
        self.moved += count
        if self.moved > MOST_MOVED:
            raise SpecError.at(
                "algo", f"more than {MOST_MOVED} chunks are moved in all", "no more are followed"
            )
        sizes = self.chunks[block.gpu]
        ends = []
        for side, used, named in (("srcbuf", reads, "srcoff"), ("dstbuf", writes, "dstoff")):
            buffer, offset = element.get(side, "i"), number(element, named, block, 0, -1)
            if used and not 0 <= offset <= sizes.get(buffer, 0) - count:
                last = f" to {offset + count - 1}" if count > 1 else ""
                has = f"has {sizes[buffer]}" if buffer in sizes else "does not exist"
                self.flaws.append(
                    f"{block.at(place)}: {named}: chunk {offset}{last}; buffer {buffer[:8]!r} {has}"
                )
            ends.append(self._pair(sys.intern(buffer), offset))
        depends, deps = number(element, "depid", block, -1, -1), number(element, "deps", block, -1, -1)
        block.steps.append(
            Step(
                sys.intern(kind), ends[0], ends[1], count,
                None if depends < 0 else self._pair(depends, deps),
                number(element, "hasdep", block, 0) == 1,
            )
        )  # fmt: skip

    def algorithm(self) -> Algorithm:
        chunks, gpus = self.chunks, self.gpus
        if len(chunks) != gpus:
            missing = next(gpu for gpu in range(gpus) if gpu not in chunks)
            raise SpecError.at(
                "algo", f"{len(chunks)} of {gpus} gpus are described", f"gpu {missing} is missing"
            )
        if sum(sum(sizes.values()) for sizes in chunks.values()) > MOST_CHUNKS:
            raise SpecError.at("algo", f"more than {MOST_CHUNKS} chunks in all buffers")
        _check_dependencies(self.blocks, self.flaws)
        buffers = Buffers(self.collective, gpus, self.inplace, chunks)
        return Algorithm(self.name, buffers, self.blocks, self.flaws)


def _check_dependencies(blocks: list[Block], flaws: list[str]) -> None:
    """Note dependencies that cannot come true, and connections of which two threadblocks hold an end."""
    known = {(block.gpu, block.number): block for block in blocks}
    if len(known) != len(blocks):
        (gpu, number), _ = Counter((block.gpu, block.number) for block in blocks).most_common(1)[0]
        raise SpecError(f"gpu {gpu}, threadblock {number}: is given twice")
    ends: dict[str, dict[tuple[int, int, int], Block]] = {"sends": {}, "receives": {}}
    for block in blocks:
        kinds = [TYPES[step.kind] for step in block.steps]
        for what, key in (
            ("sends", (block.gpu, block.send, block.channel)),
            ("receives", (block.receive, block.gpu, block.channel)),
        ):
            if any(kind[what == "sends"] for kind in kinds):
                other = ends[what].setdefault(key, block)
                if other is not block:
                    flaws.append(
                        f"gpu {block.gpu}, threadblock {block.number}: {what} over channel {block.channel} "
                        f"from gpu {key[0]} to {key[1]}, as threadblock {other.number} does"
                    )
        for place, step in enumerate(block.steps):
            if step.depends is None:
                continue
            other_block = known.get((block.gpu, step.depends[0]))
            if other_block is None or not 0 <= step.depends[1] < len(other_block.steps):
                flaws.append(
                    f"{block.at(place)}: depid, deps: waits for {_named(step.depends)}, which does not exist"
                )
            elif other_block is block and step.depends[1] >= place:
                flaws.append(f"{block.at(place)}: waits for itself ({_named(step.depends)})")
            elif not other_block.steps[step.depends[1]].has_dependent:
                flaws.append(f"{block.at(place)}: waits for {_named(step.depends)}, whose hasdep is not 1")


def _named(depends: tuple[int, int]) -> str:
    return f"step {depends[1]} of threadblock {depends[0]}"
