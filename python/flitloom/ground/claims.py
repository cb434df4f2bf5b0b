"""What a file says of itself beside what is computed anew: the one place where the two are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from flitloom.errors import show

#: What reports call the claims of files; what is not here is called as in the file.
WORDS = {
    "algorithm_bound": "bound of any algorithm",
    "bound": "lower bound",
    "bound_exact": "exact bound",
    "channels": "virtual channels",
    "flitloom": "version",
    "free_slices": "slices",
    "interval": "interval between slices",
    "max_distance": "longest route",
    "max_load": "largest load",
    "min_load": "smallest load",
    "optimal": "optimality",
    "perfect_load": "mean load",
    "proof": "proof of the bound",
    "reproducible": "reproducibility",
    "sigma4": "sigma(4)",
    "spread": "spare time",
}


@dataclass
class Claims:
    """A judgement of everything a file claims; nothing in it is believed.

    Attributes
    ----------
    verified : list of str
        Fields that were computed anew and are what the file says.
    not_verified : dict of str to str
        Fields that a check cannot compute anew, and why.
    problems : list of str
        Fields that say something else than what was found.

    Examples
    --------
    >>> claims = Claims()
    >>> claims.equal("max_load", 12, 10)
    >>> claims.problems
    ['max_load: the file says 12, it is 10']
    """

    verified: list[str] = field(default_factory=list)
    not_verified: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def equal(self, name: str, claimed: object, found: float, tolerance: float = 0.0) -> None:
        """Hold a number against the one that was found, up to a relative tolerance."""
        number = isinstance(claimed, int | float if tolerance else int) and not isinstance(claimed, bool)
        # Comparing keeps an int too large for a float from being converted.
        close = number and (claimed == found or (bool(tolerance) and _close(claimed, found, tolerance)))
        if close:
            self.verified.append(name)
        else:
            self.problems.append(f"{name}: the file says {show(claimed)}, it is {found}")

    def hold(self, name: str, holds: bool, problem: str) -> None:
        """Note whether a claim holds; `problem` says what is wrong otherwise."""
        if holds:
            self.verified.append(name)
        else:
            self.problems.append(f"{name}: {problem}")

    def leave(self, name: str, why: str) -> None:
        """Note a claim that cannot be computed anew."""
        self.not_verified[name] = why

    def lines(self) -> list[tuple[str, str]]:
        """Rows for a report, as text: what was verified, and what was not.

        >>> Claims(["max_load", "routes"], {"seed": "nothing says so"}).lines()
        [('verified', 'largest load, routes'), ('not verified', 'seed: nothing says so')]
        """
        by_reason: dict[str, list[str]] = {}
        for name, why in self.not_verified.items():
            by_reason.setdefault(why, []).append(WORDS.get(name, name))
        verified = [WORDS.get(name, name) for name in self.verified]
        rows = [("verified", ", ".join(verified))] if verified else []
        return rows + [("not verified", f"{', '.join(names)}: {why}") for why, names in by_reason.items()]


def _close(claimed: Any, found: float, tolerance: float) -> bool:
    try:
        return math.isclose(claimed, found, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:
        return False
