"""Packed headers (``.npz``): one number for every pair, and everything needed to read them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.ground.limits import ARRAY_BYTES
from flitloom.ground.outputs import write_bytes
from flitloom.ground.reading import Progress, Source, json_fields, placed, read_array
from flitloom.spec import Topology
from flitloom.tables.by_source.rules import RouterRules
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.form import Format
from flitloom.tables.formats.format import describe, part_of, premises, system_of, topology_of


def _read(
    opened: Source, given: Topology | None, wanted: str | RouterRules | None, progress: Progress | None
) -> Tables:
    file = opened.name
    try:
        # From memory, so that no damage leaves the file open.
        with zipfile.ZipFile(io.BytesIO(opened.content())) as archive:
            headers, text = (read_array(archive, name, file) for name in ("headers", "about"))
    except SpecError:
        raise
    except Exception as error:
        # zip, zlib and the array parser have error types of their own.
        raise SpecError(f"{file}: is not a file of packed headers, or damaged: {error}") from None
    if text.dtype.kind != "U" or text.shape != ():
        raise SpecError(f"{file}: about: a text is needed")
    about = json_fields(str(text), f"{file}: about")
    if "rules" not in about:
        raise SpecError(f"{file}: rules: are missing; packed headers cannot be read without their order")
    judged = topology_of(file, about, given)
    # The headers are hops in their own network and order, whatever they are judged by.
    own = part_of(file, about, "topology", Topology)
    if headers.shape != (own.nodes, own.nodes) or headers.dtype != np.uint32:
        raise SpecError(f"{file}: headers: {own.nodes} x {own.nodes} headers of 32 bits are needed")
    rules, said = premises(file, about, own, None)
    system = system_of(file, about, own, rules, said)
    table = placed(file, lambda: _core.RoutingTable.from_headers(system, np.ascontiguousarray(headers)))
    tables = Tables.given(own, rules, system, table, said, progress=progress)
    return tables if wanted is None and judged == own else tables.under(wanted, judged, progress)


def write(tables: Tables, file: str | Path | None) -> None:
    """Write packed headers as ``.npz``."""
    assert file is not None
    # zipfile hides a full disk behind errors of its own, so it writes to memory.
    image = io.BytesIO()
    np.savez_compressed(image, headers=tables.headers(), about=np.array(json.dumps(describe(tables))))
    write_bytes(file, image.getbuffer())


FORMAT = Format(_read, write, None, ARRAY_BYTES, lists=False)
