"""What a campaign consists of: one job per combination of parameters and repetition."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pydantic
from pydantic import BeforeValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from flitloom.errors import SpecError, show
from flitloom.genetic import GENES, GeneticSettings
from flitloom.ground import provenance
from flitloom.ground.limits import SEARCHES
from flitloom.ground.reading import read_toml
from flitloom.jobs.job import Job
from flitloom.networks.kinds import OrName, described, folder_of
from flitloom.networks.network import Network
from flitloom.spec import OTHER_NAMES, PATTERNS, PERMUTATIONS, SCHEMES, Collective, Router, Topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.base import (
    Checked,
    Problems,
    SpecModel,
    each,
    listed,
    name_of,
    one_of,
    problem,
    refusal,
    whole,
)


def _torus(value: Any, info: ValidationInfo) -> Any:
    """The torus or mesh that a network, or a text that names one, is; a table of fields as it is."""
    if not isinstance(value, str | AnyNetwork):
        return value
    try:
        known = described(value, folder=folder_of(info))
        known.require_rings("campaigns are")
        return known if known.twist else known.torus("campaigns")
    except SpecError as error:
        raise problem(error.problem, error.advice) from None


def _grid(value: Any, info: ValidationInfo) -> dict[str, tuple[Any, ...]]:
    """Check the values of every parameter, each as a search would."""
    if not isinstance(value, dict):
        raise problem(f"{show(value)} is not a table of lists")
    known = GeneticSettings.model_fields
    for name in value:
        if name not in known:
            raise problem(f"{show(name)} is unknown", "it must be a parameter of the genetic search")

    def valid(name: str) -> Callable[[Any, Any], Any]:
        def check(entry: Any, _: Any) -> Any:
            try:
                GeneticSettings.model_validate({name: entry})
            except pydantic.ValidationError as error:
                found = refusal(error)
                raise problem(found.problem, found.advice) from None
            return entry

        return check

    problems = Problems()
    found = {}
    for name, entries in value.items():
        try:
            found[name] = each(valid(name), SEARCHES)(entries, info)
        except PydanticCustomError as error:
            problems.add(name, error)
    problems.end()
    return found


_GRID = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        name: listed(field, SEARCHES)
        for name, field in GeneticSettings.model_json_schema()["properties"].items()
    },
}


class Search(Job):
    """One genetic search.

    Parameters
    ----------
    spec : dict
        Everything it depends on, its seed and flitloom's version included.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__("search", spec)

    @property
    def network(self) -> Network:
        """Its network."""
        return Network(Topology(**self.spec["topology"]), Router(**self.spec["router"]))

    @property
    def collective(self) -> Collective:
        """What is sent."""
        return Collective(**self.spec["collective"])

    @property
    def settings(self) -> GeneticSettings:
        """Parameters of the search."""
        return GeneticSettings(**self.spec["genetic"])


class Campaign(SpecModel):
    """Genetic searches over combinations of parameters.

    Parameters
    ----------
    name : str
        What the rows are called in exports.
    topology : Topology or str
        The torus or mesh: a table of fields, or a text as ``--network`` takes it, e.g. "8x8".
    router : table
        Its routers, as in an experiment.
    patterns : sequence of str
        Traffic patterns; by default the papers' six.
    payload, slices : int
        Payload of a packet in flits, and slices it is cut into.
    arbitrations : sequence of str
        Channel-selection schemes where they are not searched for.
    genes : str
        full, timing or without-timing.
    genetic : table
        Parameters that are the same in all searches.
    grid : table of lists
        Parameters that vary: every combination is run, except a lifetime with a watchdog.
    restarts : str
        Which combinations of a lifetime and a watchdog in the grid are run: one (exactly one of them
        is not 0: the papers' 288 combinations) or any (also none).
    repeats : int
        Searches per combination, with seeds `seed`, `seed` + 1 and so on.
    extrapolate : int
        Slices at which what was found is stacked at the best interval afterwards; 0 for none.
    """

    place: ClassVar[str] = "campaign"
    positional: ClassVar[str] = ""

    name: str = "campaign"
    topology: Annotated[Topology, BeforeValidator(_torus), OrName]
    router: Router = Field(default_factory=Router)
    patterns: Annotated[
        tuple[str, ...],
        Checked(
            each(name_of(*PATTERNS, others=OTHER_NAMES), len(PATTERNS), 1),
            listed({"enum": [*PATTERNS, *OTHER_NAMES]}, len(PATTERNS), 1),
        ),
    ] = PERMUTATIONS
    payload: Annotated[int, whole(1, 1 << 20, "flits")] = 14
    slices: Annotated[int, whole(1, 1 << 20)] = 2
    arbitrations: Annotated[
        tuple[str, ...],
        Checked(each(name_of(*SCHEMES), len(SCHEMES), 1), listed({"enum": [*SCHEMES]}, len(SCHEMES), 1)),
    ] = ("C00",)
    genes: Annotated[str, one_of(*GENES)] = "full"
    genetic: GeneticSettings = Field(default_factory=GeneticSettings)
    grid: Annotated[dict[str, tuple[Any, ...]], Checked(_grid, _GRID)] = Field(default_factory=dict)
    restarts: Annotated[str, one_of("one", "any")] = "any"
    repeats: Annotated[int, whole(1, 1_000_000)] = 1
    seed: Annotated[int, whole(0, (1 << 63) - 1)] = 1
    extrapolate: Annotated[int, whole(0, 1 << 20)] = 0

    @model_validator(mode="after")
    def _of_one_cycle(self) -> Any:
        if self.router.model == "pipelined":
            raise problem("router.model: is pipelined, and genetic searches are of routers of one cycle")
        return self

    @model_validator(mode="after")
    def _not_too_many(self) -> Any:
        runs = self.repeats * len(self.patterns) * len(self.arbitrations)
        count = math.prod(map(len, self.grid.values())) * runs
        if count > SEARCHES:
            raise problem(f"it has {count} searches", f"at most {SEARCHES} are supported")
        return self

    def combinations(self) -> list[GeneticSettings]:
        """Every combination of parameters."""
        found = []
        for values in itertools.product(*self.grid.values()):
            fields = {**self.genetic.model_dump(), **dict(zip(self.grid, values, strict=True))}
            restarts = bool(fields["lifetime"]) + bool(fields["watchdog"])
            if restarts == 2 or (restarts == 0 and self.restarts == "one"):
                continue
            found.append(GeneticSettings(**fields))
        return found

    def jobs(self) -> list[Search]:
        """All searches, the first repetition of everything first."""
        combinations = self.combinations()
        count = len(combinations) * self.repeats * len(self.patterns) * len(self.arbitrations)
        if not count:
            raise SpecError.at("campaign", "it has no searches", "grid excludes them all")
        jobs = []
        for repeat, settings, pattern, scheme in itertools.product(
            range(self.repeats), combinations, self.patterns, self.arbitrations
        ):
            collective = Collective(pattern, payload=self.payload, slices=self.slices)
            router = {**self.router.model_dump(), "arbitration": scheme}
            spec = {
                "campaign": self.name,
                "topology": self.topology.model_dump(),
                "router": router,
                "collective": collective.model_dump(exclude_none=True),
                "genes": self.genes,
                "genetic": settings.model_dump(),
                "extrapolate": self.extrapolate,
                "seed": self.seed + repeat,
                "version": provenance.version(),
            }
            jobs.append(Search(json.loads(json.dumps(spec))))
        return jobs


def parse_campaign(fields: dict[str, Any], folder: Path = Path()) -> Campaign:
    """Build a campaign from the fields of a file; files they name are relative to `folder`.

    Raises
    ------
    SpecError
        The fields are not right; the message names each.
    """
    try:
        return Campaign.model_validate(fields, context={"folder": folder})
    except pydantic.ValidationError as error:
        raise refusal(error, "campaign") from None


def read_campaign(
    file: str | Path, *, preset: str | None = None, topology: Topology | str | Path | None = None
) -> Campaign:
    """Read a campaign from a TOML file.

    Parameters
    ----------
    file : path
        The campaign.
    preset : str, optional
        Router of a paper instead of the file's; fields of the file's router still overrule it.
    topology : Topology, str or path, optional
        The network instead of the file's, or what names it.
    """
    fields = {"name": Path(file).stem, **read_toml(file)}
    if topology is not None:
        fields["topology"] = described(topology)
    if preset is not None and isinstance(router := fields.get("router", {}), dict):
        fields["router"] = {**router, "preset": preset}
    return parse_campaign(fields, Path(file).parent)
