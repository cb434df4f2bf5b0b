"""The network that a text or a file names: sizes, a product, a family, cables, or what flitloom wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.limits import COLLECTIVE_BYTES
from flitloom.reading import read_json, read_toml
from flitloom.spec.factors import parse_factors
from flitloom.spec.families import is_family

_GRID = re.compile(r"(?:(torus|mesh|twisted)\s+)?([0-9]{1,9}(?:x[0-9]{1,9})*)")
#: How names of files end that are about networks.
_ENDINGS = (".json", ".toml", ".csv", ".graphml", ".topo", ".net", ".txt", ".yaml", ".conf")
#: How a network is written.
KNOWN = (
    "write factors like full8 x ring4*6 x line4, a family like dragonfly(4,2,2), sizes like 8x8x8, mesh 8x8 "
    "or twisted 4x4x8, or the name of a file"
)


def fields_of(what: str | Path, place: str = "network") -> dict[str, Any]:
    """The fields of a topology that a text or a file names.

    Parameters
    ----------
    what : str or path
        Sizes of a torus (``8x8x8``), ``mesh 8x8``, ``twisted 4x4x8``, a product, a family, or a file: of
        cables, or a plan, placement, result, certificate, tables or experiment that flitloom wrote.
    place : str
        What messages call it.

    Raises
    ------
    SpecError
        It names no network.

    Examples
    --------
    >>> fields_of("twisted 4x4x8")
    {'kind': 'torus', 'sizes': '4x4x8', 'twist': True}
    >>> fields_of("full8 x ring4*6")
    {'network': 'full8 x ring4*6'}
    """
    text = str(what).strip()
    if isinstance(what, str) and (match := _GRID.fullmatch(text)):
        kind, sizes = match[1] or "torus", match[2]
        twist = {"twist": True} if kind == "twisted" else {}
        return {"kind": "mesh" if kind == "mesh" else "torus", "sizes": sizes, **twist}
    if isinstance(what, str) and is_family(text):
        return {"network": text}
    file = Path(what)
    if isinstance(what, Path) or (text and _is_file(file)):
        return _of_file(file, place)
    for factor in parse_factors(text):
        if isinstance(factor, str):
            if file.suffix in _ENDINGS:
                raise SpecError.at(place, f"{show(text)} is not a file", KNOWN)
            raise SpecError.at(place, f"{show(factor)} is not a factor", KNOWN)
    return {"network": text}


def _is_file(file: Path) -> bool:
    try:
        return file.exists()
    except (OSError, ValueError):
        return False


def _of_file(file: Path, place: str) -> dict[str, Any]:
    """The fields of the network that a file is about: any but flitloom's describes switches and cables."""
    if file.is_dir():
        problem = f"{show(str(file))} is a folder, which does not say what network it is of"
        raise SpecError.at(place, problem, "name the network, and the folder with --tables")
    if file.suffix == ".toml":
        return _within(read_toml(file), file, place, ("topology",))
    if file.suffix != ".json":
        return {"graph": str(file.absolute())}
    document = read_json(file, COLLECTIVE_BYTES)
    if document.get("format") == "flitloom-certificate" and "sizes" in document:
        return _of_certificate(document, file, place)
    return _within(document, file, place, ("topology",), ("spec", "topology"))


def _within(document: Mapping[str, Any], file: Path, place: str, *paths: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a topology that stand at one of some places of a document."""
    for path in paths:
        found: Any = document
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping):
            # A plan of a collective operation says beside its network whether it is twisted.
            twist = {"twist": True} if document.get("twist") is True else {}
            return {name: value for name, value in {**found, **twist}.items() if value is not None}
    raise SpecError.at(place, f"{show(str(file))} does not say what network it is of", KNOWN)


def _of_certificate(document: Mapping[str, Any], file: Path, place: str) -> dict[str, Any]:
    """The torus or mesh of a certificate."""
    if document.get("full"):
        raise SpecError.at(place, f"{show(str(file))} is a certificate of a product", KNOWN)
    wrap = document.get("wraps")
    return {"kind": "torus", "sizes": document["sizes"], "wrap": wrap} | (
        {"wrap": None, "twist": True} if document.get("twist") else {}
    )
