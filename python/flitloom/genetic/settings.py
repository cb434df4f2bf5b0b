"""Parameters of a genetic search."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import model_validator

from flitloom._core import LISTS
from flitloom.spec.base import SpecModel, one_of, problem, real, whole

_COUNT = 1 << 31


class GeneticSettings(SpecModel):
    """Parameters of one genetic search (cup-stacking-extended-2023, A.3; values used there in brackets).

    Parameters
    ----------
    chromosomes, generations : int
        Size of the population and number of generations, the random one included [50, 1000].
    training : int
        Generations of mutation only at the beginning [100].
    mutation_rate : float
        Probability r_m that a gene mutates [0.1, 0.05, 0.02].
    mutation_levels : int
        Every child draws its rate from this many: r_m, r_m / 4, r_m / 16 and so on [1].
    crossover_interval : int
        Generations i_c after which there is crossover instead of mutation [10, 20; in
        cup-stacking-2022 100, 200]; 0 for never.
    crossover_rate : float
        Probability r_c that a gene crosses over [0.1, 0.2, 0.4, 0.6, 0.8, 0.9]. With all pairs, high
        ones make nearly all chromosomes clones of the strongest.
    pairs : int
        Pairs that cross over in the order (1,2), (1,3), (2,3), ...; by default all pairs of 50.
    ties : str
        How chromosomes of equal score are sorted: random or age.
    lifetime : int
        Generations after which a chromosome that has not improved begins anew [0, 100, 200]; 0 for never.
    watchdog : int
        Generations without a new best after which all begin anew [0, 100, 200]; excludes a lifetime.
    beginning : str
        Values of new chromosomes: uniform (one scheme for all ports and one order for all port lists,
        drawn per chromosome, and no delays, which are then mutated once) or random. The papers do not
        say.
    timing_step : int
        Largest change of a delay or of the interval in one mutation, in cycles; 0 for any value within
        the limits, as the papers may be read.
    acceptance : str
        A mutated child survives if it is not-worse (cup-stacking-2022), only if it is better
        (cup-stacking-extended-2023), or, of equal score, if it is not-later: if the sum of the fourth
        powers of its packets' delivery times is not larger; crossover sorts ties in the same way.
    interval_limit : str
        Upper limit of the interval: the height of a slice less its length (A.3), or its thickness less
        its length (Eq. 5).
    objective : str
        What is made small: duration, thickness (T_e, the largest occupation of a link), span (of the network,
        what the papers print as T_e), or estimate (Eq. 8).
    estimated_slices : int
        Slices S the estimate is for.
    sort_key : str
        Second sort key (Table 5): score (none, T01), or (T02), ob (T03), thickness (T04),
        thickness-reversed (T05), tb (T06), lb (T07); or thickness-only (T09).
    perturbation : int
        Every evaluation tries all intervals this near and keeps the best (7.1) [0, 5].
    reinitialise_slices, interlock_slices : bool
        Slice re-initialisation (T08) and interlocking (T10).
    synonyms : bool
        Whether other chromosomes of the best score are recorded when one of their properties is the
        best so far (6.3).
    """

    place: ClassVar[str] = "genetic"
    positional: ClassVar[str] = ""

    chromosomes: Annotated[int, whole(2, 100_000)] = 50
    generations: Annotated[int, whole(1, _COUNT)] = 1000
    training: Annotated[int, whole(0, _COUNT)] = 100
    mutation_rate: Annotated[float, real(0, 1)] = 0.05
    mutation_levels: Annotated[int, whole(1, 16)] = 3
    crossover_interval: Annotated[int, whole(0, _COUNT)] = 10
    crossover_rate: Annotated[float, real(0, 1)] = 0.1
    pairs: Annotated[int, whole(1, _COUNT)] = 1225
    ties: Annotated[str, one_of(*LISTS["ties"])] = "random"
    lifetime: Annotated[int, whole(0, _COUNT)] = 0
    watchdog: Annotated[int, whole(0, _COUNT)] = 0
    beginning: Annotated[str, one_of(*LISTS["beginnings"])] = "uniform"
    timing_step: Annotated[int, whole(0, _COUNT)] = 8
    acceptance: Annotated[str, one_of(*LISTS["acceptances"])] = "not-later"
    interval_limit: Annotated[str, one_of(*LISTS["interval_limits"])] = "height"
    objective: Annotated[str, one_of(*LISTS["objectives"])] = "duration"
    estimated_slices: Annotated[int, whole(1, 1 << 20)] = 2
    sort_key: Annotated[
        str,
        one_of(*LISTS["sort_keys"]),
    ] = "score"
    perturbation: Annotated[int, whole(0, 10_000)] = 0
    reinitialise_slices: bool = False
    interlock_slices: bool = False
    synonyms: bool = False

    @model_validator(mode="after")
    def _one_restart(self) -> Any:
        if self.lifetime and self.watchdog:
            raise problem("lifetime and watchdog exclude each other", "set one of them to 0")
        return self
