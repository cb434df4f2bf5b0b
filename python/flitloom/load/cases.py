"""What is put under load: a network, where packets go, and whatever is to be compared."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError
from flitloom.spec import OTHER_NAMES
from flitloom.spec.experiment import Experiment, build_experiment, put
from flitloom.spec.router import ROUTING_NAMES

#: Values that tell cases apart, and the fields of an experiment that they stand for.
FIELDS = {
    "torus": "topology.sizes",
    "mesh": "topology.sizes",
    "pattern": "traffic.pattern",
    "routing": "router.routing",
    "throttle": "throttle",
}
#: Other names of patterns and routing functions, with ours.
OURS: Mapping[str, Mapping[str, str]] = {"pattern": OTHER_NAMES, "routing": ROUTING_NAMES}


@dataclass(frozen=True)
class Case:
    """One of several things that are compared under load.

    Attributes
    ----------
    labels : mapping of str to str
        What tells it from the others, as the size of its network and its pattern.
    fields : mapping
        Fields of an experiment, as in a TOML file, without a rate.
    folder : path
        Folder of files that the fields name.
    """

    labels: Mapping[str, str]
    fields: Mapping[str, Any]
    folder: Path = Path()

    def experiment(self, **traffic: Any) -> Experiment:
        """The experiment with these fields of its traffic.

        Examples
        --------
        >>> from flitloom.load import make_cases
        >>> [case] = make_cases({"traffic": {"length": 4}}, {"torus": ["8x8"], "pattern": ["torn"]})
        >>> case.experiment(kind="load", rate=0.1, cycles=100).traffic.rate
        0.1
        """
        fields = copy.deepcopy(dict(self.fields))
        fields["traffic"] = {**fields.get("traffic", {}), **traffic}
        return build_experiment(fields, self.folder)

    @property
    def name(self) -> str:
        """Its labels in words."""
        return ", ".join(self.labels.values())


def make_cases(
    fields: Mapping[str, Any],
    values: Mapping[str, Sequence[str]],
    folder: Path = Path(),
) -> list[Case]:
    """All combinations of values, each put into the fields of an experiment.

    Parameters
    ----------
    fields : mapping
        Fields that all cases have.
    values : mapping of str to sequence of str
        Values by the name of what they are of: torus, mesh, pattern, routing, throttle.
    folder : path
        Folder of files that the fields name.

    Raises
    ------
    SpecError
        Nothing is to be compared under such a name.
    """
    for name, given in values.items():
        if name not in FIELDS:
            raise SpecError.at("load", f"{name} is unknown", f"there are {', '.join(FIELDS)}")
        if not given:
            raise SpecError(f"--{name}: names nothing")
    # Rows say our names, whatever was given.
    values = {
        name: [OURS.get(name, {}).get(value, value) for value in given] for name, given in values.items()
    }
    cases = []
    for combination in itertools.product(*values.values()):
        labels = dict(zip(values, combination, strict=True))
        own = copy.deepcopy(dict(fields))
        for name, value in labels.items():
            if name in ("torus", "mesh"):
                put(own, "topology.kind", name, f"--{name}")
            put(own, FIELDS[name], value, f"--{name}")
        if "torus" in labels and own.get("topology", {}).get("twist") is True:
            labels["torus"] += " twisted"
        if "hots" in values.get("pattern", ()) and labels["pattern"] != "hots":
            # Its fields belong to no other pattern of the list.
            for name in ("hotspot_fraction", "hotspot_target"):
                own["traffic"].pop(name, None)
        cases.append(Case(labels, own, folder))
    return cases
