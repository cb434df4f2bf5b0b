"""What a sweep consists of: one simulation per combination of values and seed."""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.ground import provenance
from flitloom.ground.digests import require_files
from flitloom.ground.numerals import counted
from flitloom.jobs.job import Job
from flitloom.networks.experiment import Experiment, build_experiment, change
from flitloom.sweep.values import MOST_POINTS, Value

#: What is stored of a simulation: raised when it changes, so that older stores are not taken for newer ones.
COLUMNS = 4


class Point(Job):
    """One simulation of a sweep; its id is that of everything it depends on.

    Parameters
    ----------
    spec : dict
        The experiment, the values of the grid, the seed and flitloom's version.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__("simulation", spec)

    @property
    def experiment(self) -> Experiment:
        """What is simulated.

        Raises
        ------
        SpecError
            A file that it names has changed since.
        """
        return build_experiment(self.spec["experiment"])

    @property
    def earlier(self) -> set[str]:
        """The ids of earlier versions, which judged loads otherwise and knew files by their paths."""
        fields = self.spec["experiment"]
        older: list[dict[str, Any]] = [{"columns": COLUMNS - 1}]
        if fields["topology"].get("content"):
            topology = {name: value for name, value in fields["topology"].items() if name != "content"}
            by_path = {"experiment": {**fields, "topology": topology}}
            older += [by_path, {**by_path, "columns": COLUMNS - 1}]
        return {Job(self.kind, {**self.spec, **one}).id for one in older}

    @property
    def values(self) -> dict[str, Value]:
        """Values of the fields of the grid."""
        return dict(self.spec["values"])


class Sweep:
    """An experiment over a grid of values of its fields.

    Parameters
    ----------
    fields : dict
        Fields of the experiment, as in a TOML file.
    grid : mapping of str to sequence
        Values by the path to their field, as ``traffic.rate``.
    seeds : int
        Simulations per combination, with the experiment's seed and those after it.
    folder : path
        Folder of files that the experiment names.

    Raises
    ------
    SpecError
        A field or value is not right for some combination; nothing has been simulated then.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        grid: Mapping[str, Sequence[Value]],
        seeds: int = 1,
        folder: Path = Path(),
    ) -> None:
        if not 1 <= seeds <= MOST_POINTS:
            raise SpecError.at("seeds", f"{show(seeds)} is out of range", f"it must be 1 to {MOST_POINTS}")
        for name, values in grid.items():
            if not values:
                raise SpecError.at("grid", f"{name} has no values")
        count = math.prod(map(len, grid.values())) * seeds
        if count > MOST_POINTS:
            raise SpecError.at("grid", counted(count, "simulation"), f"at most {MOST_POINTS} are supported")
        self.fields, self.grid, self.seeds, self.folder = fields, grid, seeds, folder

    def points(self) -> list[Point]:
        """All simulations, every combination with its first seed first."""
        made = []
        for values in itertools.product(*self.grid.values()):
            fields = copy.deepcopy(dict(self.fields))
            for name, value in zip(self.grid, values, strict=True):
                text = value if isinstance(value, str) else json.dumps(value)
                change(fields, f"{name}={text}")
            made.append((dict(zip(self.grid, values, strict=True)), build_experiment(fields, self.folder)))
        return [
            self._point(values, experiment, number)
            for number in range(self.seeds)
            for values, experiment in made
        ]

    def _point(self, values: dict[str, Value], experiment: Experiment, number: int) -> Point:
        fields = experiment.model_dump(mode="json", exclude_none=True)
        require_files(fields)
        fields["seed"] = seed = experiment.seed + number
        spec = {
            "experiment": fields,
            "values": values,
            "columns": COLUMNS,
            "seed": seed,
            "version": provenance.version(),
        }
        return Point(json.loads(json.dumps(spec)))
