"""Results that were written to files, to be simulated again."""

from __future__ import annotations

import json
from pathlib import Path

from flitloom.errors import SpecError
from flitloom.spec import Experiment, build_experiment


def read_result(file: Path) -> tuple[Experiment, str]:
    """What was simulated for a NetCDF file that `Result.to_netcdf` wrote, and the fingerprint.

    Raises
    ------
    SpecError
        The file cannot be read, or is no result.
    """
    import h5netcdf

    try:
        with h5netcdf.File(file, "r") as opened:
            attributes = dict(opened.attrs)
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror or error}") from None
    try:
        fields, fingerprint = json.loads(attributes["spec"]), str(attributes["fingerprint"])
    except (KeyError, TypeError, ValueError):
        raise SpecError(f"{file}: is no result of flitloom simulate --out") from None
    return build_experiment(fields), fingerprint
