"""Lists of names in Slurm notation."""

from __future__ import annotations

import re
from itertools import product

from flitloom.errors import SpecError, show
from flitloom.fabric.nodes import split_list

_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18})(?:[:/](\d{1,9}))?)?")
#: A name in quotes, between commas and blanks.
_QUOTED = re.compile(r"(?:^|(?<=[\s,]))([\"'])([^\n]*?)\1(?=[\s,]|$)")
#: More names than any list has.
_MOST = 1 << 20


def expand(text: str, place: str = "nodes") -> list[str]:
    """The names of a list such as ``r[0-1]n[01-10/3],login1``.

    Items are separated by commas or blanks; an item may have several brackets, ranges may have steps
    (``/3`` or ``:3``), and leading zeros are kept. What stands in quotes, double or single ones, is one name
    as it is, with its blanks, commas and brackets.

    Examples
    --------
    >>> from flitloom.fabric.hostlist import expand
    >>> expand("r[0-1]n[08-10],login")
    ['r0n08', 'r0n09', 'r0n10', 'r1n08', 'r1n09', 'r1n10', 'login']
    >>> expand("n[0-6/3]")
    ['n0', 'n3', 'n6']
    >>> expand('"node 3 HCA-1", n[0-1]')
    ['node 3 HCA-1', 'n0', 'n1']
    """
    names: list[str] = []
    begin = 0
    for quoted in _QUOTED.finditer(text):
        _expand(text[begin : quoted.start()], place, names)
        names.append(quoted[2])
        begin = quoted.end()
    _expand(text[begin:], place, names)
    return names


def _expand(text: str, place: str, names: list[str]) -> None:
    """Add the names of a list without quotes."""
    for item in split_list(text, place):
        if item[0] in "\"'":
            raise SpecError(f"{place}: the quote before {show(item[1:])} ends nowhere in its line")
        parts = re.split(r"\[([^\[\]]*)\]", item)
        choices = [
            [part] if number % 2 == 0 else _numbers(part, item, place) for number, part in enumerate(parts)
        ]
        count = 1
        for choice in choices:
            count *= len(choice)
        if len(names) + count > _MOST:
            raise SpecError(f"{place}: {item[:60]!r} names more than {_MOST} nodes")
        names.extend("".join(choice) for choice in product(*choices))


def _numbers(ranges: str, item: str, place: str) -> list[str]:
    numbers: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise SpecError(f"{place}: {part!r} in {item[:60]!r} is no range; write 0-7, 0-10/2 or 12")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step == 0:
            raise SpecError(f"{place}: the range {part} in {item[:60]!r} runs backwards or has no step")
        if len(numbers) + (last - first) // step >= _MOST:
            raise SpecError(f"{place}: {part!r} in {item[:60]!r} names more than {_MOST} nodes")
        width = len(match[1])
        numbers.extend(f"{number:0{width}d}" for number in range(first, last + 1, step))
    return numbers
