"""A file of BookSim2 at constant load, judged by its source queues, beside BookSim2's own verdict."""

from __future__ import annotations

import math

from flitloom import _core
from flitloom.analysis.utilisation import GROWING, UNDECIDED, Utilisation
from flitloom.booksim.options import Options
from flitloom.booksim.running import begun, refused

#: Cycles before the first look, and at most.
FIRST, LIMIT = 10_000, 160_000


class Judged:
    """A run at constant load, without the phases of BookSim2.

    Parameters
    ----------
    options : Options
        What the file says.

    Raises
    ------
    SpecError
        If an option has a value that is not known here, or BookSim2 itself ends.
    """

    def __init__(self, options: Options) -> None:
        self._run = begun(options, _core.Judged)

    def look(self, cycle: int) -> list[Utilisation | None]:
        """Continue to a cycle; how busy the source queues of each class are.

        Nothing of classes with reads and writes, whose replies wait in the same queues.

        Examples
        --------
        >>> options = Options.of({"topology": "mesh", "k": "4", "routing_function": "dor"})
        >>> run = Judged(options.at(injection_rate=0.9))
        >>> [found.verdict for found in run.look(10_000)]
        ['growing']
        """
        found, ended = self._run.look(cycle)
        if ended is not None:
            raise refused(*ended)
        return [None if one is None else Utilisation(one[0], math.exp(one[1]), *one[1:]) for one in found]

    def judged(self, limit: int = LIMIT) -> list[Utilisation | None]:
        """Look after more and more cycles, until every class has a verdict, or a limit."""
        cycle = min(FIRST, limit)
        while True:
            found = self.look(cycle)
            is_open = any(one is not None and one.verdict == UNDECIDED for one in found)
            if not is_open or any(one is not None and one.verdict == GROWING for one in found):
                return found
            if 2 * cycle > limit:
                return found
            cycle *= 2
