"""The dimensions of a network as factors: rings, lines, full meshes and circulants."""

from __future__ import annotations

import re
from typing import NamedTuple

#: What a dimension can be, beside a circulant.
KINDS = ("ring", "line", "full")
#: Most steps of a circulant that is a factor.
MOST_STEPS = 8
#: Most parallel links of a factor.
WIDEST = 64
#: What a text says first if the torus of its factors is twisted.
TWISTED = "twisted "
_FACTOR = re.compile(rf"({'|'.join(KINDS)})([0-9]{{1,7}})(?:\*([0-9]{{1,2}}))?")
_STEP = r"\s*[0-9]{1,7}\s*"
_CIRCULANT = re.compile(rf"circulant\(({_STEP});((?:{_STEP},)*{_STEP})\)(?:\*([0-9]{{1,2}}))?")
_BETWEEN = re.compile(r"\s+x\s+|(?<=[0-9)])x(?=[a-z])")


class Factor(NamedTuple):
    """A dimension: a ring, a line, a full mesh or a circulant, which has steps.

    >>> print(Factor("ring", 4, 6), Factor("circulant", 16, 1, (1, 4)))
    ring4*6 circulant(16;1,4)
    """

    kind: str
    size: int
    width: int = 1
    steps: tuple[int, ...] = ()

    def __str__(self) -> str:
        steps = f"({self.size};{','.join(map(str, self.steps))})"
        return f"{self.kind}{steps if self.steps else self.size}" + (
            f"*{self.width}" if self.width > 1 else ""
        )


def parse_factors(text: str) -> list[Factor | str]:
    """The factors that a text names; a part that is none as it is written.

    >>> parse_factors("full8 x ring4*6 x tree3")
    [Factor(kind='full', size=8, width=1, steps=()), Factor(kind='ring', size=4, width=6, steps=()), 'tree3']
    >>> [str(factor) for factor in parse_factors("circulant(16; 4, 1)xring4")]
    ['circulant(16;1,4)', 'ring4']
    """
    return [_factor(part.strip()) for part in _BETWEEN.split(text.strip())]


def _factor(part: str) -> Factor | str:
    if one := _FACTOR.fullmatch(part):
        return Factor(one[1], int(one[2]), int(one[3] or 1))
    if one := _CIRCULANT.fullmatch(part):
        steps = tuple(sorted(int(step) for step in one[2].split(",")))
        return Factor("circulant", int(one[1]), int(one[3] or 1), steps)
    return part


def are_factors(text: str) -> bool:
    """Whether a text with brackets is written like factors: there are several, or it has parallel links.

    >>> [are_factors(text) for text in ("circulant(8;1,3) x ring4", "circulant(8;1,3)*1", "circulant(8;1,3)")]
    [True, True, False]
    """
    outside = re.sub(r"\([^()]*\)", "()", text.strip())
    return bool(_BETWEEN.search(outside)) or bool(re.search(r"\)\*", outside))


def factors_of(network: str) -> tuple[Factor, ...]:
    """The factors of a text that has been checked.

    >>> [factor.size for factor in factors_of("full8 x ring4*6")]
    [8, 4]
    """
    return tuple(factor for factor in parse_factors(split_twist(network)[1]) if isinstance(factor, Factor))


def split_twist(text: str) -> tuple[bool, str]:
    """Whether a text says first that a torus is twisted, and its factors.

    >>> split_twist("twisted ring4*2 x ring8")
    (True, 'ring4*2 x ring8')
    """
    factors = text.strip().removeprefix(TWISTED)
    return factors != text.strip(), factors
