"""Reads MSCCL XML. What cannot be read raises; what can be read and cannot run is listed as a flaw."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from flitloom import limits
from flitloom.collectives.contents import Buffers
from flitloom.errors import SpecError, show_file

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
_TIMES = re.compile(r" steps of plan:( \d{1,9}){1,1000000} ", re.ASCII)
#: Most GPUs, and most chunks of all buffers of all GPUs together.
MOST_GPUS = 4096
MOST_CHUNKS = 1 << 22
#: Most chunks that all steps together move.
MOST_MOVED = 1 << 22


@dataclass
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
        It is no such file; the message names GPU, threadblock and step.
    """
    from flitloom.reading import placed, read_text

    text = read_text(file, limits.FOREIGN_BYTES)
    return placed(show_file(file), lambda: _algorithm(parse_xml(text)))


def parse_xml(text: str) -> ElementTree.Element:
    """The root of an XML text without document types and entities.

    Raises
    ------
    SpecError
        It is no XML; the message says in which GPU, threadblock and step the text ends or goes wrong.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SpecError("document types and entities are not read")
    if not text.strip():
        raise SpecError("is no XML: the file is empty")
    if text.count("<") > limits.XML_ELEMENTS:
        raise SpecError(f"more than {limits.XML_ELEMENTS} elements")
    try:
        builder = ElementTree.TreeBuilder(insert_comments=True)
        return ElementTree.fromstring(text, ElementTree.XMLParser(target=builder))
    except ElementTree.ParseError as error:
        raise SpecError(f"is no XML: {error}{_reached(text)}") from None
    except ValueError:
        raise SpecError("is no XML: it names an encoding that is not that of the text") from None


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
    element: ElementTree.Element, name: str, where: str, default: int | None = None, least: int = 0
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
        found = "is missing" if text is None else f"{text[:40]!r} is no whole number from {least}"
        raise SpecError(f"{where}: {name}: {found}")
    return int(text)


def only(element: ElementTree.Element, name: str, where: str) -> None:
    """Refuse elements of another name in an element: nobody knows what they stand for."""
    for child in element:
        if isinstance(child.tag, str) and child.tag != name:
            raise SpecError.at(where, f"<{child.tag[:40]}> is not read", f"<{name}> is")


def _algorithm(root: ElementTree.Element) -> Algorithm:
    if root.tag != "algo":
        raise SpecError(f"<{root.tag[:40]}> is no MSCCL algorithm; the file begins with <algo")
    gpus = whole(root, "ngpus", "algo", least=1)
    if gpus > MOST_GPUS:
        raise SpecError.at("algo", f"ngpus: {gpus}", f"at most {MOST_GPUS} are read")
    name = root.get("coll", "")
    if name not in COLLECTIVES:
        found = f"{name[:40]!r} is unknown" if name else "is missing"
        raise SpecError.at("algo", f"coll: {found}", f"it is {', '.join(COLLECTIVES)}")
    chunks: dict[int, dict[str, int]] = {}
    blocks: list[Block] = []
    flaws: list[str] = []
    only(root, "gpu", "algo")
    for element in root.iter("gpu"):
        gpu = whole(element, "id", "gpu")
        if gpu >= gpus or gpu in chunks:
            raise SpecError(f"gpu {gpu}: is given twice or is not below ngpus ({gpus})")
        where = f"gpu {gpu}"
        only(element, "tb", where)
        chunks[gpu] = {
            short: whole(element, f"{short}_chunks", where, 0 if short == "s" else None) for short in "ios"
        }
        blocks += [_block(part, gpu, gpus, chunks[gpu], flaws) for part in element.iter("tb")]
    if len(chunks) != gpus:
        missing = next(gpu for gpu in range(gpus) if gpu not in chunks)
        raise SpecError.at("algo", f"{len(chunks)} of {gpus} gpus are described", f"gpu {missing} is missing")
    if sum(sum(sizes.values()) for sizes in chunks.values()) > MOST_CHUNKS:
        raise SpecError.at("algo", f"more than {MOST_CHUNKS} chunks in all buffers")
    moved = sum(step.count for block in blocks for step in block.steps)
    if moved > MOST_MOVED:
        raise SpecError.at("algo", f"{moved} chunks are moved in all", f"at most {MOST_MOVED} are followed")
    _check_dependencies(blocks, flaws)
    inplace = whole(root, "inplace", "algo", 0) == 1 and whole(root, "outofplace", "algo", 0) == 0
    buffers = Buffers(COLLECTIVES[name], gpus, inplace, chunks)
    return Algorithm(root.get("name", ""), buffers, blocks, flaws)


def _block(part: ElementTree.Element, gpu: int, gpus: int, sizes: dict[str, int], flaws: list[str]) -> Block:
    number = whole(part, "id", f"gpu {gpu}, threadblock")
    where = f"gpu {gpu}, threadblock {number}"
    block = Block(
        gpu,
        number,
        whole(part, "send", where, least=-1),
        whole(part, "recv", where, least=-1),
        whole(part, "chan", where, 0),
    )
    for peer in (block.send, block.receive):
        if peer >= gpus or peer == gpu:
            raise SpecError(f"{where}: its peer {peer} is itself or no gpu")
    only(part, "step", where)
    for child in part:
        text = child.text or ""
        if not isinstance(child.tag, str) and _TIMES.fullmatch(text):
            block.times = [int(word) for word in text.split()[3:]]
    for place, element in enumerate(part.iter("step")):
        here = f"{where}, step {place}"
        if whole(element, "s", here) != place:
            raise SpecError(f"{here}: s: steps are numbered in order, from 0")
        kind = element.get("type", "")
        if kind not in TYPES:
            found = f"{kind[:40]!r} is unknown" if kind else "is missing"
            raise SpecError(f"{here}: type: {found}; it is {', '.join(TYPES)}")
        receives, sends, reads, writes = TYPES[kind]
        if (receives and block.receive < 0) or (sends and block.send < 0):
            raise SpecError(f"{here}: type: {kind} needs a peer, and the threadblock has none")
        count = 1 if kind == "nop" else whole(element, "cnt", here, 1, least=1)
        ends = []
        for side, used in (("src", reads), ("dst", writes)):
            buffer, offset = element.get(f"{side}buf", "i"), whole(element, f"{side}off", here, 0, least=-1)
            if used and (buffer not in sizes or not 0 <= offset <= sizes[buffer] - count):
                last = f" to {offset + count - 1}" if count > 1 else ""
                has = f"has {sizes[buffer]}" if buffer in sizes else "does not exist"
                flaws.append(f"{here}: {side}off: chunk {offset}{last}; buffer {buffer[:8]!r} {has}")
            ends.append((buffer, offset))
        depends = (whole(element, "depid", here, -1, -1), whole(element, "deps", here, -1, -1))
        block.steps.append(
            Step(
                kind, ends[0], ends[1], count,
                None if depends[0] < 0 else depends,
                whole(element, "hasdep", here, 0) == 1,
            )
        )  # fmt: skip
    return block


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
            named = f"step {step.depends[1]} of threadblock {step.depends[0]}"
            if other_block is None or not 0 <= step.depends[1] < len(other_block.steps):
                flaws.append(f"{block.at(place)}: depid, deps: waits for {named}, which does not exist")
            elif other_block is block and step.depends[1] >= place:
                flaws.append(f"{block.at(place)}: waits for itself ({named})")
            elif not other_block.steps[step.depends[1]].has_dependent:
                flaws.append(f"{block.at(place)}: waits for {named}, whose hasdep is not 1")
