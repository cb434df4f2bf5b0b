"""The network that a text or a file names: sizes, a product, a family, cables, or what flitloom wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.ground.limits import NODES_BYTES
from flitloom.ground.reading import read_text, read_toml
from flitloom.spec.factors import parse_factors, split_twist
from flitloom.spec.families import is_family
from flitloom.spec.written import ENDINGS, topology_of

_GRID = re.compile(r"(?:(torus|mesh|twisted)\s+)?([0-9]{1,9}(?:x[0-9]{1,9})*)")
#: What follows a file of cables and says which of its nodes are hosts.
_HOSTS = re.compile(r"\s+(?:no\s+hosts$|hosts\s+)")
#: How names of files end that are about networks.
_ENDINGS = (*ENDINGS, ".csv", ".graphml", ".topo", ".net", ".txt", ".yaml", ".conf")
#: How a network is written.
KNOWN = (
    "write factors like full8 x ring4*6 x line4, a family like dragonfly(4,2,2), sizes like 8x8x8, mesh 8x8 "
    "or twisted 4x4x8, or the name of a file"
)


def fields_of(what: str | Path, place: str = "network", folder: Path = Path()) -> dict[str, Any]:
    """The fields of a topology that a text or a file names.

    Parameters
    ----------
    what : str or path
        Sizes of a torus (``8x8x8``), ``mesh 8x8``, ``twisted 4x4x8``, a product, a family, or a file: of
        cables, or a plan, placement, result, certificate, tables (also a folder) or experiment that flitloom
        wrote. Behind a file of cables may stand which nodes are hosts: ``cables.csv hosts n[0-3],gw``, or
        ``cables.csv no hosts``.
    place : str
        What messages call it.
    folder : Path
        The folder that names of files are relative to.

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
    file = folder / what
    if isinstance(what, Path) or (text and _is_file(file)):
        return _of_file(file, place)
    for said in _HOSTS.finditer(text):
        file = folder / text[: said.start()]
        if _is_file(file):
            hosts = text[said.end() :]
            return with_hosts(_of_file(file, place), host_lists(hosts, folder) if hosts else ())
    for factor in parse_factors(split_twist(text)[1]):
        if isinstance(factor, str):
            if file.suffix in _ENDINGS:
                raise SpecError.at(place, f"{show(text)} is not a file", KNOWN)
            raise SpecError.at(place, f"{show(factor)} is not a factor", KNOWN)
    return {"network": text}


def with_network(fields: dict[str, Any], folder: Path = Path()) -> dict[str, Any]:
    """The fields of an experiment, whose topology may also be a text that names a network.

    >>> with_network({"topology": "mesh 4x4", "seed": 2})
    {'topology': {'kind': 'mesh', 'sizes': '4x4'}, 'seed': 2}
    """
    named = fields.get("topology")
    return {**fields, "topology": fields_of(named, "topology", folder)} if isinstance(named, str) else fields


def host_lists(hosts: str | Sequence[str], folder: Path = Path()) -> tuple[str, ...]:
    """Lists of nodes that are hosts, of a text which is one or names the file that has it.

    Raises
    ------
    SpecError
        The list is empty.

    Examples
    --------
    >>> host_lists("n[0-3],gw"), host_lists(["a", "b"])
    (('n[0-3],gw',), ('a', 'b'))
    """
    if not isinstance(hosts, str):
        return tuple(map(str, hosts))
    # No file has a name as long as a list may be.
    file = folder / hosts if len(hosts) < 4096 else None
    text = read_text(file, NODES_BYTES) if file is not None and _is_plain(file) else hosts
    if not text.strip():
        raise SpecError.at("hosts", "name no node", "write names, or say that there are no hosts")
    return (text,)


def with_hosts(fields: dict[str, Any], hosts: str | Sequence[str]) -> dict[str, Any]:
    """The fields of a network in a file of cables, with the nodes of it that are hosts.

    Raises
    ------
    SpecError
        It is of another network, or says them itself.

    Examples
    --------
    >>> with_hosts({"graph": "ring.csv"}, "n[0-3]")
    {'graph': 'ring.csv', 'hosts': ('n[0-3]',)}
    """
    if "graph" not in fields:
        problem = "say which nodes of a file of cables are hosts, and another network is named"
        raise SpecError.at("hosts", problem, "leave them out")
    if "hosts" in fields:
        raise SpecError.at("hosts", "are stated by the file that names the network", "leave them out")
    return {**fields, "hosts": host_lists(hosts)}


def without_tables(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a network alone, where its own tables are not asked for.

    >>> without_tables({"network": "fattree(4)", "tables": "out", "content": ["5be08c96"]})
    {'network': 'fattree(4)'}
    """
    return {name: value for name, value in fields.items() if name not in ("tables", "content")}


def _is_file(file: Path) -> bool:
    try:
        return file.exists()
    except (OSError, ValueError):
        return False


def _is_plain(file: Path) -> bool:
    try:
        return file.is_file() or file.is_fifo()
    except (OSError, ValueError):
        return False


def _of_file(file: Path, place: str) -> dict[str, Any]:
    """The fields of the network that a file is about: any but flitloom's describes switches and cables."""
    if file.suffix == ".toml" and isinstance(named := read_toml(file).get("topology"), str):
        if named.strip().endswith(".toml"):
            problem = f"{show(str(file))} names another experiment for its network, {show(named)}"
            raise SpecError.at(place, problem, "name that one")
        return fields_of(named, place, file.parent)
    if file.suffix in ENDINGS or file.is_dir():
        return topology_of(file, place, KNOWN)
    return {"graph": str(file.absolute())}
