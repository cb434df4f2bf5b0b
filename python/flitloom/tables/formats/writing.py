"""Writes routing tables: JSON, packed headers."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flitloom.errors import SpecError
from flitloom.limits import LISTED_NODES
from flitloom.numerals import counted
from flitloom.outputs import replacing, write_bytes
from flitloom.provenance import version

if TYPE_CHECKING:
    from flitloom.tables.by_source.tables import Tables

#: What a file of tables says it is.
FORMAT = "flitloom-routing-tables"
#: Version of the form; files of version 1 differ in nothing but ``rules.any_walk``, which they lack.
VERSION = 2
#: Largest number of nodes whose tables are made into a text.
TEXT_NODES = 1024
#: Routes that are written at a time.
CHUNK = 4096


def json_text(tables: Tables) -> str:
    """The tables as JSON."""
    if tables.topology.nodes > TEXT_NODES:
        raise SpecError.at(
            "output",
            f"a JSON text is made for at most {TEXT_NODES} nodes",
            f"write {counted(tables.topology.nodes, 'node')} to a .json file",
        )
    return "".join(_json_chunks(tables))


def write_json(tables: Tables, file: str | Path) -> None:
    """Write the tables as JSON, a few routes at a time."""
    if tables.topology.nodes > LISTED_NODES:
        raise SpecError.at(
            "output",
            f"JSON lists every route and is for at most {LISTED_NODES} nodes",
            f"write {counted(tables.topology.nodes, 'node')} to an .npz file",
        )
    with replacing(file) as out:
        out.writelines(text.encode() for text in _json_chunks(tables))


def _json_chunks(tables: Tables) -> Iterator[str]:
    """The text of a JSON file in pieces, a route per line."""
    sources, destinations, offsets, nodes = tables.listed()
    yield json.dumps(describe(tables), indent=1)[:-2] + ',\n "routes": [\n  '
    for start in range(0, len(sources), CHUNK):
        stop = min(start + CHUNK, len(sources))
        bounds = offsets[start : stop + 1].tolist()
        visited = nodes[bounds[0] : bounds[-1]].tolist()
        lines = []
        for at, (source, destination) in enumerate(
            zip(sources[start:stop].tolist(), destinations[start:stop].tolist(), strict=True)
        ):
            first, last = bounds[at] - bounds[0], bounds[at + 1] - bounds[0]
            line = f'{{"source": {source}, "destination": {destination}, "nodes": {visited[first:last]}'
            if tables.channels is not None:
                line += f', "channels": {tables.channels[bounds[at] : bounds[at + 1] - 1].tolist()}'
            lines.append(line + "}")
        yield (",\n  " if start else "") + ",\n  ".join(lines)
    yield "\n ]\n}\n"


def describe(tables: Tables) -> dict[str, Any]:
    """Everything about tables but their routes."""
    turns, withheld = tables.system.turns()
    # Tables that were read without turns leave open which ones are permitted.
    known = tables.source is None or tables.source.turns
    permitted = {"turns": list(map(list, turns)), "withheld_turns": list(map(list, withheld))}
    return {
        "format": FORMAT,
        "version": VERSION,
        "flitloom": version(),
        "topology": tables.topology.model_dump(mode="json"),
        "rules": tables.rules.model_dump(mode="json"),
        **(permitted if known else {}),
        "method": tables.method,
        "seed": tables.seed,
        "weighted": tables.traffic is not None or (tables.source is not None and tables.source.weighted),
        "max_load": tables.max_load,
        "min_load": tables.min_load,
        "perfect_load": tables.perfect_load,
        "sigma4": tables.sigma4,
        "max_distance": tables.max_distance,
        "bound": tables.bound,
        "bound_exact": str(tables.bound_value.value),
        "proof": tables.bound_value.proof,
        "optimal": tables.optimal,
    }


def save_headers(tables: Tables, file: str | Path) -> None:
    """Write packed headers as ``.npz``."""
    # zipfile hides a full disk behind errors of its own, so it writes to memory.
    image = io.BytesIO()
    np.savez_compressed(image, headers=tables.headers(), about=np.array(json.dumps(describe(tables))))
    write_bytes(file, image.getbuffer())
