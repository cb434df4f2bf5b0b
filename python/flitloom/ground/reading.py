"""Every file is opened here: of a known kind, never more than its limit, text and numbers bounded."""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from flitloom.errors import SpecError, require_file, show_file
from flitloom.ground import limits
from flitloom.ground.lazy import np, tomllib
from flitloom.ground.numerals import counted

if TYPE_CHECKING:
    import zipfile
    from xml.etree import ElementTree

    from numpy.typing import NDArray

Made = TypeVar("Made")

#: Told how many bytes of how many were read, now and then.
Progress = Callable[[int, int], None]

#: Bytes read at a time from a pipe, or a file that grows.
_PIECE = 1 << 22
#: Lines between two reports of progress.
_REPORT = 20_000
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"')
#: What may be one half of a character, without the other.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
#: A dotted key of more parts than any spec has; reading one takes time by the square of its length.
_KEY = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w.-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{limits.DEPTH}}}")


@dataclass(frozen=True)
class Source:
    """An open file; `name` is how messages show it, `most` the bytes it may have."""

    name: str
    stream: BinaryIO
    most: int
    #: Bytes it has; 0 for a pipe.
    size: int

    def start(self) -> bytes:
        """The first bytes that are not blank, which are still to be read."""
        assert isinstance(self.stream, io.BufferedReader)
        return self.stream.peek(1 << 16).removeprefix(codecs.BOM_UTF8).lstrip()

    def content(self) -> bytes:
        """All that is left."""
        # Reading takes memory for as much as is asked for, whatever there is.
        pieces = [self.stream.read(min(self.size, self.most) + 1)]
        size = len(pieces[0])
        while size <= self.most and (piece := self.stream.read(min(_PIECE, self.most + 1 - size))):
            pieces.append(piece)
            size += len(piece)
        self._check(size)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def pieces(self) -> Iterator[bytes]:
        """All that is left, piece by piece, so that large files take no memory."""
        size = 0
        while piece := self.stream.read(_PIECE):
            size += len(piece)
            self._check(size)
            yield piece

    def text(self) -> str:
        """All that is left, as text; a byte order mark is dropped."""
        try:
            return self.content().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SpecError(f"{self.name}: byte {error.start} is not UTF-8 text") from None

    def lines(self, progress: Progress | None = None) -> Iterator[tuple[int, str]]:
        """The lines with their numbers, from 1, and their ends; each of bounded length."""
        seen = 0
        for number in range(1, self.most + 2):
            line = self.stream.readline(limits.LINE_BYTES + 1)
            if not line:
                return
            if len(line) > limits.LINE_BYTES:
                raise SpecError(f"{self.name}, line {number}: longer than {limits.LINE_BYTES} bytes")
            seen += len(line)
            self._check(seen)
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise SpecError(f"{self.name}, line {number}: is not UTF-8 text") from None
            if progress is not None and number % _REPORT == 0:
                progress(seen, self.size)
            yield number, text

    def _check(self, size: int) -> None:
        if size > self.most:
            raise SpecError(f"{self.name}: {_too_large(size, self.most)}")


def text_lines(text: str, place: str = "text") -> Iterator[str]:
    """The lines of a text one after the other, without their ends.

    A list of all of them can take twenty times as much memory as the text.

    Raises
    ------
    SpecError
        A line is longer than any that means something.

    Examples
    --------
    >>> list(text_lines("a\\nb\\r\\n\\nc"))
    ['a', 'b', '', 'c']
    """
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        if end - begin > limits.LINE_BYTES:
            raise SpecError(f"{place}: a line is longer than {limits.LINE_BYTES} characters")
        yield from text[begin:end].splitlines()
        begin = end


def _too_large(size: int, most: int) -> str:
    return f"{counted(size, 'byte')} or more; files of this kind have at most {most}"


@contextmanager
def opened(file: str | Path, most: int) -> Iterator[Source]:
    """A file, opened for reading: a regular file or a pipe, of at most `most` bytes.

    Raises
    ------
    SpecError
        It cannot be read, is a folder or device, is larger, or was written to meanwhile: half of what it was
        and half of what it will be are neither.
    """
    require_file(file)
    name = show_file(file)
    try:
        # A pipe nobody writes to must not keep its reader waiting.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise SpecError(f"{name}: cannot be read: {_reason(error)}") from None
    try:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            raise SpecError(f"{name}: cannot be read: Is a directory")
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISFIFO(about.st_mode)):
            raise SpecError(f"{name}: cannot be read: it is neither a file nor a pipe")
        if about.st_size > most:
            raise SpecError(f"{name}: {_too_large(about.st_size, most)}")
        os.set_blocking(descriptor, True)
        with os.fdopen(descriptor, "rb", buffering=1 << 16, closefd=False) as stream:
            try:
                yield Source(name, stream, most, about.st_size)
            except Exception:
                # What is wrong with a file that changes says nothing of either of its contents.
                _check_unchanged(name, about, descriptor)
                raise
            _check_unchanged(name, about, descriptor)
    except OSError as error:
        raise SpecError(f"{name}: cannot be read: {_reason(error)}") from None
    finally:
        os.close(descriptor)


def _check_unchanged(name: str, before: os.stat_result, descriptor: int) -> None:
    now = os.fstat(descriptor)
    if stat.S_ISREG(now.st_mode) and (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise SpecError(
            f"{name}: was written to while it was read ({counted(before.st_size, 'byte')}, then "
            f"{now.st_size}); "
            "read it again when it is complete"
        )


def read_text(file: str | Path, most: int) -> str:
    """The text of a file of at most `most` bytes."""
    with opened(file, most) as source:
        return source.text()


def parse_json(text: str, place: str) -> Any:
    """The value of a JSON text."""
    if text.count("[") + text.count("{") > limits.DEPTH:
        _check_depth(text, place)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise SpecError(f"{place}: is not JSON: {error}") from None
    except (ValueError, RecursionError):
        raise SpecError(f"{place}: is not JSON that is read: a number has too many digits") from None
    if _HALF.search(text):
        try:
            json.dumps(data, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise SpecError(f"{place}: is not JSON that is read: a text has half a character") from None
    return data


def _check_depth(text: str, place: str) -> None:
    """Refuse lists and tables too far inside each other."""
    if _depth(text) > limits.DEPTH and _depth(_STRINGS.sub("", text)) > limits.DEPTH:
        raise SpecError(f"{place}: lists and tables are nested more than {limits.DEPTH} deep")


def _depth(text: str) -> int:
    """Most brackets that are open at a time, those in strings counted too."""
    deepest = level = 0
    for start in range(0, len(text), 1 << 20):
        piece = np.frombuffer(text[start : start + (1 << 20)].encode("utf-8", "replace"), dtype=np.uint8)
        steps = ((piece == 91) | (piece == 123)).astype(np.int8) - ((piece == 93) | (piece == 125))
        levels = np.cumsum(steps, dtype=np.int64) + level
        deepest, level = max(deepest, int(levels.max(initial=0))), int(levels[-1])
    return deepest


def read_json(file: str | Path, most: int = limits.JSON_BYTES) -> dict[str, Any]:
    """The fields of a JSON file."""
    return json_fields(read_text(file, most), show_file(file))


def json_fields(text: str, place: str) -> dict[str, Any]:
    """The fields of a JSON text."""
    data = parse_json(text, place)
    if not isinstance(data, dict):
        raise SpecError(f"{place}: is not a table of fields")
    return data


def read_json_list(
    source: Source, name: str, progress: Progress | None = None
) -> tuple[dict[str, Any], Iterator[Any] | None]:
    """The fields of a JSON file, and the entries of its list `name`; none if there is no such list.

    Files of more than `limits.JSON_BYTES` must be laid out as flitloom writes them, an entry a line.
    """
    if source.size <= limits.JSON_BYTES:
        whole = replace(source, most=min(source.most, limits.JSON_BYTES))
        data = json_fields(whole.text(), source.name)
        entries = data.pop(name, None)
        return data, iter(entries) if isinstance(entries, list) else None
    lines = source.lines(progress)
    head, size = [], 0
    for _, line in lines:
        if line.strip() == f'"{name}": [':
            break
        head.append(line)
        size += len(line)
        if size > limits.JSON_BYTES:
            text = (
                f"{counted(source.size, 'byte')}; above {limits.JSON_BYTES}, {name} must be a "
                "list with an entry a line"
            )
            raise SpecError(f"{source.name}: {text}")
    else:
        return {}, None
    data = json_fields("".join(head).rstrip().rstrip(",") + "}", source.name)
    return data, _entries(source.name, name, lines)


def _entries(place: str, name: str, lines: Iterator[tuple[int, str]]) -> Iterator[Any]:
    for number, line in lines:
        text = line.strip().removesuffix(",")
        if text == "]":
            return
        yield parse_json(text, f"{place}, line {number}")
    raise SpecError(f"{place}: the list {name} does not end; the file is cut off")


def parse_xml(text: str, place: str) -> ElementTree.Element:
    """The root of an XML text without document type."""
    from xml.etree import ElementTree

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SpecError(f"{place}: document types and entities are not read")
    if text.count("<") > limits.XML_ELEMENTS:
        raise SpecError(f"{place}: more than {limits.XML_ELEMENTS} elements")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise SpecError(f"{place}: is not XML: {error}") from None


#: Traces of other programs that are not read: a pattern that begins a line or key of theirs, and what to say.
_TRACES = (
    (
        re.compile(r"^MPI_[A-Z][a-z_]+:", re.MULTILINE),
        "is a trace of liballprof (the MPI calls of a rank)",
        "its Schedgen makes GOAL of it, which flitloom simulate reads",
    ),
    (
        re.compile(r'"phases"\s*:.*"transfers"\s*:|^phases:.*\btransfers:|"noc"\s*:.*"sx"\s*:', re.DOTALL),
        "is a workload or trace of tt-npe",
        "it is not read; messages are given as GOAL, Chakra or a table",
    ),
)


def _trace_of(text: str) -> tuple[str, str] | None:
    """What a text is that another program has traced, with advice; None if that is not known."""
    for pattern, what, advice in _TRACES:
        if pattern.search(text[:65536]):
            return what, advice
    return None


def read_toml(file: str | Path) -> dict[str, Any]:
    """The fields of a TOML file."""
    return parse_toml(read_text(file, limits.SPEC_BYTES), show_file(file))


def parse_toml(text: str, place: str) -> dict[str, Any]:
    """The fields of a TOML text."""
    if _LONG_KEY.search(text):
        raise SpecError(f"{place}: no valid TOML: a key of more than {limits.DEPTH} parts")
    try:
        fields = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _trace_of(text)
        if found is None and text.lstrip().startswith("{"):
            found = "is JSON, and TOML is needed here", 'plans and other files in JSON have a "format"'
        if found is not None:
            raise SpecError.at(place, *found) from None
        raise SpecError(f"{place}: no valid TOML: {error}") from None
    except (ValueError, RecursionError):
        raise SpecError(
            f"{place}: no valid TOML: nested too deeply, or a number of too many digits"
        ) from None
    _check_levels(fields, place)
    return fields


def _check_levels(fields: dict[str, Any], place: str) -> None:
    """Refuse tables and lists too far inside each other."""
    level: list[Any] = [fields]
    for _ in range(limits.DEPTH):
        inside = (entry.values() if isinstance(entry, dict) else entry for entry in level)
        level = [entry for entries in inside for entry in entries if isinstance(entry, dict | list)]
    if level:
        raise SpecError(f"{place}: lists and tables are nested more than {limits.DEPTH} deep")


def read_array(archive: zipfile.ZipFile, name: str, place: str) -> NDArray[Any]:
    """An array of an ``.npz`` file; its kind and its size are looked at before it is decompressed."""
    try:
        about = archive.getinfo(f"{name}.npy")
    except KeyError:
        raise SpecError(f"{place}: has no array {name}") from None
    if about.file_size > limits.ARRAY_BYTES:
        size = f"{counted(about.file_size, 'byte')}, decompressed"
        raise SpecError(f"{place}: {name}: {size}; at most {limits.ARRAY_BYTES} are read")
    with archive.open(about) as member:
        version = np.lib.format.read_magic(member)
        form = np.lib.format
        read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        shape, column_major, kind = read(member)
        count = math.prod(shape)
        if kind.hasobject or count < 0 or count * kind.itemsize > limits.ARRAY_BYTES:
            raise SpecError(f"{place}: {name}: an array of at most {limits.ARRAY_BYTES} bytes is needed")
        content = member.read(count * kind.itemsize)
    array = np.frombuffer(content, dtype=kind, count=count)
    return array.reshape(shape, order="F" if column_major else "C")


def placed(place: object, make: Callable[[], Made]) -> Made:
    """Put where it stands in front of what is wrong with something, unless it is there."""
    try:
        return make()
    except SpecError as error:
        text, parts = str(error), (error.field, error.problem, error.advice)
        there = text.startswith((f"{place}: ", f"{place}, line "))
        raise SpecError(text if there else f"{place}: {text}", *parts) from None


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return error.strerror or "no such file"
    return "its name has characters that no file has"
