"""The cup-stacking papers' genetic search for injection times and arbitration orders.

Examples
--------
>>> import flitloom as fl
>>> from flitloom import genetic
>>> net = fl.Network(fl.Torus(8, 8))
>>> settings = genetic.GeneticSettings(generations=20, training=10)
>>> found = genetic.search(net, fl.Collective("brev", payload=14, slices=2), settings)
>>> fl.simulate(found.network, found.collective).duration == found.duration
True
"""

from flitloom.genetic.chromosome import Chromosome, save_chromosome
from flitloom.genetic.reading import load_chromosome
from flitloom.genetic.search import GENES, GeneticResult, extrapolate, replay, search
from flitloom.genetic.settings import GeneticSettings

__all__ = [
    "GENES",
    "Chromosome",
    "GeneticResult",
    "GeneticSettings",
    "extrapolate",
    "load_chromosome",
    "replay",
    "save_chromosome",
    "search",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
