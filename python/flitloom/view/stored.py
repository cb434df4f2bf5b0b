"""Results that were written to files, to be simulated again."""

from __future__ import annotations

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
        The file cannot be read, or is no result.
    """
    import h5py

    name = show_file(file)
    texts: list[object] = []
    # HDF5 has no error type of its own.
    with (
        opened(file, limits.RESULT_BYTES) as source,
        suppress(Exception),
        h5py.File(source.stream, "r") as result,
    ):
        texts = [result.attrs[field] for field in ("spec", "fingerprint")]
    match texts:
        case [str(spec), str(fingerprint)]:
            return build_experiment(json_fields(spec, f"{name}: spec")), fingerprint
    raise SpecError(f"{name}: is no result of flitloom simulate --out, or damaged")
