"""The dimensions of a network as factors: rings, lines and full meshes."""

from __future__ import annotations

import re
from typing import NamedTuple

#: What a dimension can be.
KINDS = ("ring", "line", "full")
#: Most parallel links of a factor.
WIDEST = 64
_FACTOR = re.compile(rf"({'|'.join(KINDS)})([0-9]{{1,7}})(?:\*([0-9]{{1,2}}))?")
_BETWEEN = re.compile(r"\s+x\s+|(?<=[0-9])x(?=[a-z])")


class Factor(NamedTuple):
    """A dimension: a ring, a line or a full mesh.

    >>> print(Factor("ring", 4, 6))
    ring4*6
    """

    kind: str
    size: int
    width: int = 1

    def __str__(self) -> str:
        return f"{self.kind}{self.size}" + (f"*{self.width}" if self.width > 1 else "")


def parse_factors(text: str) -> list[Factor | str]:
    """The factors that a text names; a part that is none as it is written.

    >>> parse_factors("full8 x ring4*6 x tree3")
    [Factor(kind='full', size=8, width=1), Factor(kind='ring', size=4, width=6), 'tree3']
    """
    parts = [part.strip() for part in _BETWEEN.split(text.strip())]
    found = [(part, _FACTOR.fullmatch(part)) for part in parts]
    return [Factor(one[1], int(one[2]), int(one[3] or 1)) if one else part for part, one in found]


def factors_of(network: str) -> tuple[Factor, ...]:
    """The factors of a text that has been checked.

    >>> [factor.size for factor in factors_of("full8 x ring4*6")]
    [8, 4]
    """
    return tuple(factor for factor in parse_factors(network) if isinstance(factor, Factor))
