"""Results that were written to files, to be simulated again."""

from __future__ import annotations

from pathlib import Path

from flitloom.errors import SpecError, show_file
from flitloom.ground.reading import json_fields
from flitloom.networks.experiment import Experiment, build_experiment
from flitloom.spec.written import attributes


def read_result(file: Path) -> tuple[Experiment, str]:
    """What was simulated for a NetCDF file that `Result.to_netcdf` wrote, and the fingerprint.

    Raises
    ------
    SpecError
        The file cannot be read, or is not a result.
    """
    name = show_file(file)
    match attributes(file, "spec", "fingerprint"):
        case [spec, fingerprint]:
            return build_experiment(json_fields(spec, f"{name}: spec")), fingerprint
    raise SpecError(f"{name}: is not a result of flitloom simulate --out, or damaged")
