"""Sizes, times and bandwidths as text with units."""

from __future__ import annotations

import re

from flitloom.errors import SpecError, show

_SIZES = {"": 1, "B": 1, **{f"{unit}B": 1000**power for power, unit in enumerate("kMGT", 1)}}
_SIZES |= {"KB": 1000, **{f"{unit}iB": 1024**power for power, unit in enumerate("KMGT", 1)}}
_BITS = {f"{unit}{bit}": 1000**power / 8 for power, unit in enumerate("kMGT", 1) for bit in ("b", "bit")}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def read_size(text: str, place: str) -> float:
    """Bytes of a text like ``64KiB``.

    >>> read_size("64KiB", "--size")
    65536.0
    """
    return _read(text, place, _SIZES, "a size like 64KiB or 1GB")


def read_seconds(text: str, place: str, none: bool = False) -> float:
    """Seconds of a text like ``1us``; `none` allows 0."""
    if none and re.fullmatch(r"0(\.0*)?\s*(|ns|us|ms|s)", text):
        return 0.0
    return _read(text, place, _TIMES, "a time like 1us or 500ns")


def read_bandwidth(text: str, place: str) -> float:
    """Bytes per second of a text like ``50GB/s``, or ``400Gb/s`` in bits.

    >>> read_bandwidth("400Gb/s", "--bandwidth"), read_bandwidth("400Gbps", "--bandwidth")
    (50000000000.0, 50000000000.0)
    """
    wanted = "a bandwidth like 50GB/s, or 400Gb/s in bits"
    for ending, units in (("/s", _SIZES | _BITS), ("ps", _BITS)):
        if text.endswith(ending):
            return _read(text[:-2], place, units, wanted, text)
    raise SpecError.at(place, f"{show(text)} is not understood", f"write {wanted}")


def _read(
    text: str, place: str, units: dict[str, float] | dict[str, int], wanted: str, given: str | None = None
) -> float:
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)", text)
    if found is None or found[2] not in units or float(found[1]) <= 0:
        raise SpecError.at(place, f"{show(given or text)} is not understood", f"write {wanted}")
    return float(found[1]) * units[found[2]]


def show_size(size: float) -> str:
    """A size in binary units where it is a power of two, else in decimal or binary ones that are round.

    >>> show_size(65536), show_size(2e6), show_size(128e3), show_size(3 * 2**16), show_size(1500)
    ('64KiB', '2MB', '128kB', '192KiB', '1500B')
    """
    binary = _round(size, 1024, ("TiB", "GiB", "MiB", "KiB"))
    count = int(size)
    if binary is None or count & (count - 1):
        binary = _round(size, 1000, ("TB", "GB", "MB", "kB")) or binary
    return binary or f"{size:.0f}B"


def _round(size: float, base: int, units: tuple[str, ...]) -> str | None:
    """A size in the largest unit of which it is a whole number."""
    for power, unit in zip((4, 3, 2, 1), units, strict=True):
        if size >= base**power and size % base**power == 0:
            return f"{size / base**power:.0f}{unit}"
    return None
