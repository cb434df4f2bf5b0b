"""What a campaign consists of: one job per combination of parameters and repetition."""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pydantic
from pydantic import Field, model_validator

from flitloom import provenance
from flitloom.errors import SpecError
from flitloom.genetic import GENES, GeneticSettings
from flitloom.network import Network
from flitloom.spec import PERMUTATIONS, Collective, Router, Topology
from flitloom.spec.base import SpecModel, explain, one_of, problem, whole

#: Most jobs in one campaign.
MOST_JOBS = 1_000_000


@dataclass(frozen=True)
class Job:
    """One genetic search.

    Attributes
    ----------
    spec : dict
        Everything it depends on, its seed and flitloom's version included.
    """

    spec: dict[str, Any]

    @property
    def id(self) -> str:
        """SHA-256 of everything it depends on."""
        text = json.dumps(self.spec, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

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
    topology, router
        The network, as in an experiment.
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
    topology: Topology
    router: Router = Field(default_factory=Router)
    patterns: tuple[str, ...] = PERMUTATIONS
    payload: Annotated[int, whole(1, 1 << 20, "flits")] = 14
    slices: Annotated[int, whole(1, 1 << 20)] = 2
    arbitrations: tuple[str, ...] = ("C00",)
    genes: Annotated[str, one_of(*GENES)] = "full"
    genetic: GeneticSettings = Field(default_factory=GeneticSettings)
    grid: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    restarts: Annotated[str, one_of("one", "any")] = "any"
    repeats: Annotated[int, whole(1, 1_000_000)] = 1
    seed: Annotated[int, whole(0, (1 << 63) - 1)] = 1
    extrapolate: Annotated[int, whole(0, 1 << 20)] = 0

    @model_validator(mode="after")
    def _known(self) -> Any:
        for name, values in self.grid.items():
            if name not in GeneticSettings.model_fields:
                raise problem(f"grid.{name} is unknown; it must be a parameter of the genetic search")
            for index, value in enumerate(values):
                try:
                    GeneticSettings.model_validate({name: value})
                except pydantic.ValidationError as error:
                    reason = explain(error).removeprefix(f"{name}: ")
                    raise problem(f"grid.{name}[{index}]: {reason}") from None
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

    def jobs(self) -> list[Job]:
        """All searches, the first repetition of everything first."""
        combinations = self.combinations()
        count = len(combinations) * self.repeats * len(self.patterns) * len(self.arbitrations)
        if not 0 < count <= MOST_JOBS:
            raise SpecError(f"campaign: it has {count} searches; it must have 1 to {MOST_JOBS}")
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
            jobs.append(Job(json.loads(json.dumps(spec))))
        return jobs


def parse_campaign(fields: dict[str, Any]) -> Campaign:
    """Build a campaign from the fields of a file.

    Raises
    ------
    SpecError
        The fields are not right; the message names each.
    """
    try:
        return Campaign.model_validate(fields)
    except pydantic.ValidationError as error:
        raise SpecError(explain(error, "campaign")) from None


def read_campaign(file: str | Path) -> Campaign:
    """Read a campaign from a TOML file."""
    try:
        fields = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SpecError(f"{file}: is no TOML: {error}") from None
    return parse_campaign({"name": Path(file).stem, **fields})
