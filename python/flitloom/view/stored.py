"""Results that were written to files, to be simulated again."""

from __future__ import annotations

import io
import re
import struct
from contextlib import suppress
from pathlib import Path

from flitloom import limits
from flitloom.errors import SpecError, show_file
from flitloom.reading import json_fields, opened
from flitloom.spec import Experiment, build_experiment


def read_result(file: Path) -> tuple[Experiment, str]:
    """What was simulated for a NetCDF file that `Result.to_netcdf` wrote, and the fingerprint.

    Raises
    ------
    SpecError
        The file cannot be read, or is not a result.
    """
    import h5py

    name = show_file(file)
    texts: list[object] = []
    # HDF5 has no error type of its own.
    with opened(file, limits.RESULT_BYTES) as source, suppress(Exception):
        content = source.stream.read()
        if _heaps_are_sound(content):
            with h5py.File(io.BytesIO(content), "r") as result:
                texts = [result.attrs[field] for field in ("spec", "fingerprint")]
    match texts:
        case [str(spec), str(fingerprint)]:
            return build_experiment(json_fields(spec, f"{name}: spec")), fingerprint
    raise SpecError(f"{name}: is not a result of flitloom simulate --out, or damaged")


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
