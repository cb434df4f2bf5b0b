"""Run genetic searches and use what they found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flitloom import _core
from flitloom.errors import SpecError
from flitloom.genetic.chromosome import Chromosome
from flitloom.genetic.settings import GeneticSettings
from flitloom.ground.fixed import explained
from flitloom.networks.network import Network, network_of
from flitloom.spec import Collective, Router
from flitloom.spec.base import require_whole, show

#: What genetic searches are of, for messages.
CHROMOSOMES = "genetic searches are of"
#: Groups of genes that vary, by method (cup-stacking-extended-2023, 4.2 and 5.4).
GENES = {
    "full": ("interval", "delays", "schemes", "port_lists"),
    "timing": ("interval", "delays"),
    "without-timing": ("interval", "schemes", "port_lists"),
}


@explained
@dataclass(frozen=True)
class GeneticResult:
    """What a genetic search found.

    Attributes
    ----------
    records : tuple of Chromosome
        The first chromosome of the best score, then recorded synonyms.
    score : int
        The best score, in cycles.
    best, average : tuple
        Per generation the best score so far, and, if asked for, the mean score of the chromosomes
        evaluated in it (cup-stacking-extended-2023, Fig. 4).
    height, thickness : int
        t_d0 and T_e of the first single slice, which limit the genes' values, in cycles.
    genes, evaluations, simulations : int
        Genes that could make a difference, chromosomes evaluated, and simulations they took.
    stopped : bool
        Whether it was interrupted.
    """

    records: tuple[Chromosome, ...]
    score: int
    best: tuple[int, ...]
    average: tuple[float, ...]
    height: int
    thickness: int
    genes: int
    evaluations: int
    simulations: int
    stopped: bool

    @property
    def chromosome(self) -> Chromosome:
        """The best one."""
        return self.records[0]

    @property
    def duration(self) -> int:
        """Its duration, in cycles."""
        return self.chromosome.duration

    @property
    def collective(self) -> Collective:
        """The collective with its interval and delays."""
        return self.chromosome.collective

    @property
    def network(self) -> Network:
        """The network with its arbitration."""
        return self.chromosome.network


def search(
    network: Network | str | Path,
    collective: Collective,
    settings: GeneticSettings | None = None,
    *,
    genes: str | Sequence[str] = "full",
    seed: int = 1,
    averages: bool = False,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> GeneticResult:
    """Search for injection times and arbitration orders that make a collective fast.

    Parameters
    ----------
    network : Network, str or path
        The network; its arbitration holds where it is not searched for.
    collective : Collective
        What is sent; its interval and delays hold where they are not searched for.
    settings : GeneticSettings, optional
        Parameters of the search.
    genes : str or sequence of str
        What may vary: full, timing (interval and delays), without-timing (all but the delays), or any
        of interval, delays, schemes, port_lists.
    seed : int
        Seed of all random choices.
    averages : bool
        Whether the average score of every generation is wanted. Without, children are simulated only
        as long as they can survive, which saves time and changes nothing else.
    threads : int, optional
        Threads to use; the result does not depend on it.
    progress : callable, optional
        Called now and then with the generations done and the number of all.

    Returns
    -------
    GeneticResult
        Also after Ctrl-C: then what was found so far, with ``stopped`` set.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom import genetic
    >>> net = fl.Network(fl.Torus(8, 8))
    >>> few = genetic.GeneticSettings(generations=20, training=10)
    >>> found = genetic.search(net, fl.Collective("shfl", payload=14, slices=2), few, genes="timing")
    >>> found.evaluations >= 900, len(found.best)
    (True, 20)
    """
    settings = settings or GeneticSettings()
    network = network_of(network)
    collective = Collective.of(collective)
    if threads is not None:
        require_whole("threads", threads, 1, 4096)
    outcome = _core.genetic_search(
        network.one_cycle(CHROMOSOMES),
        collective.destinations_on(network, seed),
        _case(collective, genes),
        _settings(settings, seed, averages=averages),
        threads,
        (lambda done: progress(done, settings.generations)) if progress else None,
    )
    records = tuple(_chromosome(network, collective, settings, seed, entry) for entry in outcome["records"])
    return GeneticResult(
        records=records,
        score=outcome["best"][-1],
        best=tuple(outcome["best"]),
        average=tuple(outcome["average"] or ()),
        **{name: outcome[name] for name in ("height", "thickness", "genes", "evaluations", "simulations")},
        stopped=outcome["stopped"],
    )


def replay(chromosome: Chromosome) -> dict[str, int]:
    """Simulate a chromosome again: duration, thickness, ir, or, ib, ob, lb."""
    network = chromosome.network
    settings = GeneticSettings(
        reinitialise_slices=chromosome.reinitialise_slices, interlock_slices=chromosome.interlock_slices
    )
    shown: dict[str, int] = _core.genetic_replay(
        network.one_cycle(CHROMOSOMES),
        chromosome.collective.destinations_on(network, chromosome.seed),
        _case(chromosome.collective, "full"),
        _settings(settings, chromosome.seed),
        _plain(chromosome),
    )
    return shown


def extrapolate(
    chromosome: Chromosome, slices: int | None = None, *, threads: int | None = None
) -> Chromosome:
    """Stack slices shaped by a chromosome at the best interval (cup-stacking-extended-2023, 6.1).

    Parameters
    ----------
    chromosome : Chromosome
        From a search with any number of slices.
    slices : int, optional
        Number of slices to stack; by default its own.
    threads : int, optional
        Threads to use.

    Returns
    -------
    Chromosome
        The same with the number of slices, the interval and its duration.
    """
    own = chromosome.collective
    slices = slices or own.slices
    payload = (own.slice_length - 1) * slices
    collective = own.model_copy(update={"payload": payload, "slices": slices})
    network = chromosome.network
    settings = GeneticSettings(
        reinitialise_slices=chromosome.reinitialise_slices, interlock_slices=chromosome.interlock_slices
    )
    stacked = _core.genetic_extrapolate(
        network.one_cycle(CHROMOSOMES),
        collective.destinations_on(network, chromosome.seed),
        _case(collective, "full"),
        _settings(settings, chromosome.seed),
        _plain(chromosome),
        threads,
    )
    collective = collective.model_copy(update={"interval": stacked["chromosome"]["interval"]})
    moved = chromosome.model_copy(update={"collective": collective, "duration": stacked["duration"]})
    shown = replay(moved)
    properties = {name: shown[name] for name in ("ir", "or", "ib", "ob", "lb")}
    return moved.model_copy(update={"thickness": shown["thickness"], "properties": properties})


def _case(collective: Collective, genes: str | Sequence[str]) -> dict[str, Any]:
    groups = GENES.get(genes, (genes,)) if isinstance(genes, str) else tuple(genes)
    for group in groups:
        if group not in GENES["full"]:
            names = ", ".join([*GENES, *GENES["full"]])
            raise SpecError.at("genetic.genes", f"{show(group)} is unknown", f"it must be one of {names}")
    fields = ("payload", "slices", "packets", "interval")
    return {
        **{name: getattr(collective, name) for name in fields},
        "delays": list(collective.delays),
        "genes": list(groups),
    }


def _settings(settings: GeneticSettings, seed: int, *, averages: bool = False) -> dict[str, Any]:
    return {**settings.model_dump(), "seed": seed, "averages": averages}


def _plain(chromosome: Chromosome) -> dict[str, Any]:
    router, collective = chromosome.router, chromosome.collective
    schemes = [router.arbitration] if isinstance(router.arbitration, str) else list(router.arbitration)
    return {
        "interval": collective.interval,
        "delays": list(collective.delays) or [0] * chromosome.topology.nodes,
        "schemes": schemes,
        "port_lists": list(router.queue_order),
    }


def _chromosome(
    network: Network, collective: Collective, settings: GeneticSettings, seed: int, record: dict[str, Any]
) -> Chromosome:
    genes, shown = record["chromosome"], record["evaluation"]
    schemes = genes["schemes"]
    router = Router(
        **{
            **network.router.model_dump(),
            "arbitration": schemes[0] if len(schemes) == 1 else schemes,
            "queue_order": genes["port_lists"],
        }
    )
    return Chromosome(
        topology=network.topology,
        router=router,
        collective=collective.model_copy(
            update={"interval": genes["interval"], "delays": tuple(genes["delays"])}
        ),
        seed=seed,
        duration=shown["duration"],
        thickness=shown["thickness"],
        properties={name: shown[name] for name in ("ir", "or", "ib", "ob", "lb")},
        generation=record["generation"],
        reinitialise_slices=settings.reinitialise_slices,
        interlock_slices=settings.interlock_slices,
    )
