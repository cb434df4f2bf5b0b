"""The network that a file or folder of flitloom, or a file of BookSim2, is about."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show, show_file
from flitloom.ground import limits
from flitloom.ground.digests import require_same
from flitloom.ground.reading import json_fields, opened, read_array, read_json, read_toml
from flitloom.spec.product import network_of, with_beside

#: How a simulation in a file begins.
SIMULATION = b"flitloom simulation\n"
#: How names of files end that flitloom writes, or BookSim2 reads.
ENDINGS = (".json", ".toml", ".nc", ".npz", ".flit", ".cfg")


def topology_of(file: Path, place: str, advice: str) -> dict[str, Any]:
    """The fields of the topology that a file or a folder of tables is about.

    Parameters
    ----------
    file : Path
        A folder, or a file whose name ends as one of `ENDINGS`.
    place : str
        What messages call it.
    advice : str
        How a network is written.

    Raises
    ------
    SpecError
        It does not say what network it is of.
    """
    if file.is_dir():
        return _of_folder(file, place)
    if file.suffix == ".cfg":
        return _of_booksim(file, place)
    paths: list[tuple[str, ...]]
    if file.suffix == ".toml":
        document, paths = read_toml(file), [("topology",)]
    elif file.suffix == ".nc":
        found = attributes(file, "spec")
        document, paths = json_fields(found[0], f"{show_file(file)}: spec") if found else {}, [("topology",)]
    elif file.suffix == ".npz":
        document, paths = _of_packed(file), [("topology",)]
    elif file.suffix == ".flit":
        document, paths = _of_simulation(file), [("topology",)]
    else:
        document, paths = read_json(file, limits.COLLECTIVE_BYTES), [("topology",), ("spec", "topology")]
        if document.get("format") == "flitloom-certificate" and "sizes" in document:
            return _of_certificate(document, file, place, advice)
    return _within(document, file, place, advice, *paths)


def _within(
    document: Mapping[str, Any], file: Path, place: str, advice: str, *paths: tuple[str, ...]
) -> dict[str, Any]:
    """The fields of a topology that stand at one of some places of a document."""
    for path in paths:
        found: Any = document
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping):
            if "options" in found:
                problem = f"{show(str(file))} is of a network as a file of BookSim2 has it"
                raise SpecError.at(place, problem, "give that file to flitloom simulate, sweep or load")
            direct = found.get("direct")
            found = _unchanged(direct if isinstance(direct, Mapping) else found, file, place)
            fields = {name: value for name, value in found.items() if value is not None}
            # Plans of collective operations of before say these beside their network.
            twist, width = document.get("twist") is True, document.get("width")
            if "sizes" in fields and (twist or width) and isinstance(width or [], list):
                network = with_beside(network_of(fields), twist, width or ())
                return network.model_dump(mode="json", exclude_none=True)
            return fields
    raise SpecError.at(place, f"{show(str(file))} does not say what network it is of", advice)


def _of_certificate(document: Mapping[str, Any], file: Path, place: str, advice: str) -> dict[str, Any]:
    """The torus or mesh of a certificate."""
    if document.get("full"):
        raise SpecError.at(place, f"{show(str(file))} is a certificate of a product", advice)
    wrap = document.get("wraps")
    return {"kind": "torus", "sizes": document["sizes"], "wrap": wrap} | (
        {"wrap": None, "twist": True} if document.get("twist") else {}
    )


def _of_folder(folder: Path, place: str) -> dict[str, Any]:
    """The network of a folder of tables by destination, with these tables where packets follow them."""
    report = folder / "report.json"
    if not report.is_file():
        problem = f"{show(str(folder))} is a folder without tables that flitloom route wrote"
        raise SpecError.at(place, problem, "name a file, or a folder with a report.json")
    found = read_json(report).get("topology")
    if not isinstance(found, Mapping):
        problem = f"{show(str(folder))} does not say what network its tables are of"
        raise SpecError.at(place, problem, "name the network, and the folder with --tables")
    fields = _unchanged(found, folder, place)
    has_hosts = "graph" in fields or ("network" in fields and "failed_nodes" not in fields)
    return {**fields, "tables": str(folder.absolute())} if has_hosts else fields


def _unchanged(found: Mapping[str, Any], file: Path, place: str) -> dict[str, Any]:
    """The fields of a network, whose file must be what it was."""
    fields = dict(found)
    if "graph" in fields and "tables" not in fields:
        graph, content = Path(str(fields["graph"])), fields.pop("content", ())
        if not graph.is_file():
            problem = f"{show(str(file))} is of the network in {show(str(graph))}, which is not there"
            raise SpecError.at(place, problem, "name that file where it is now")
        # Placements do not say what the file held.
        require_same([graph] if content else [], content, place)
    return fields


def _of_packed(file: Path) -> dict[str, Any]:
    """What packed tables say of themselves."""
    broken = suppress(zipfile.BadZipFile, ValueError, EOFError)
    with opened(file, limits.TABLE_BYTES) as source, broken, zipfile.ZipFile(source.stream) as archive:
        return json_fields(str(read_array(archive, "about", show_file(file))), show_file(file))
    raise SpecError(f"{show_file(file)}: is not a file of packed tables, or damaged")


def _of_simulation(file: Path) -> dict[str, Any]:
    """The spec of a simulation in a file."""
    with opened(file, limits.STATE_BYTES) as source:
        if source.stream.read(len(SIMULATION)) != SIMULATION:
            problem = "is not a saved simulation; flitloom simulate --checkpoint writes them"
            raise SpecError(f"{show_file(file)}: {problem}")
        source.stream.readline(limits.LINE_BYTES)
        text = source.stream.readline(limits.STATE_BYTES)
    return json_fields(text.decode("utf-8", "replace"), f"{show_file(file)}: spec")


def _of_booksim(file: Path, place: str) -> dict[str, Any]:
    """The torus, the mesh or the file of cables of a file of BookSim2."""
    from flitloom.booksim.options import read

    options = read(file)
    kind = options["topology"]
    if kind in ("torus", "mesh"):
        return {"kind": kind, "sizes": "x".join([options["k"]] * int(options["n"]))}
    if kind == "anynet":
        return {"graph": str((file.parent / options["network_file"]).absolute())}
    problem = f"{show(str(file))} is of a {kind} of BookSim2, which its own router knows"
    raise SpecError.at(place, problem, "simulate the file itself: flitloom simulate FILE.cfg")


def attributes(file: Path, *names: str) -> list[str]:
    """Texts that a NetCDF file has at its top; none if one is missing, or the file is damaged."""
    import h5py

    texts: list[Any] = []
    # HDF5 has no error type of its own.
    with opened(file, limits.RESULT_BYTES) as source, suppress(Exception):
        content = source.stream.read()
        if _heaps_are_sound(content):
            with h5py.File(io.BytesIO(content), "r") as result:
                texts = [result.attrs[name] for name in names]
    return texts if all(isinstance(text, str) for text in texts) else []


#: A heap of texts begins with this and its size; each of its objects has a number and a size.
_HEAP = re.compile(rb"GCOL\x01\0\0\0(.{8})", re.DOTALL)
_OBJECT = struct.Struct("<HHIQ")


def _heaps_are_sound(content: bytes) -> bool:
    """Whether each walk through a heap of HDF5 ends; the library goes round for ever in some damaged ones."""
    for found in _HEAP.finditer(content):
        at, end = found.end(), found.start() + int.from_bytes(found[1], "little")
        if end > len(content):
            return False
        while at + _OBJECT.size <= end:
            number, _, _, size = _OBJECT.unpack_from(content, at)
            # Number 0 is the free rest, whose size counts its own head.
            step = size if number == 0 else _OBJECT.size + (size + 7) // 8 * 8
            if step < _OBJECT.size or at + step > end:
                return False
            at += step
    return True
