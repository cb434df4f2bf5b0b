"""What the cup-stacking papers' experiments share: the 16x16 torus and its six patterns."""

from __future__ import annotations

import flitloom as fl

#: The permutations of cup-stacking-2022, Table 1.
PATTERNS = ("bcmp", "brev", "brot", "shfl", "torn", "trns")
#: The channel-selection schemes of cup-stacking-extended-2023, Table 1.
SCHEMES = tuple(f"C{number:02}" for number in range(10))

#: The papers' router, by its name in specs.
PRESET = "cup-stacking"

#: Generations of a genetic search in a quick run.
QUICK = 100

ROUTER_REMARK = (
    "The router is the preset cup-stacking: the one rule found that gives every deterministic value of both "
    "papers (docs/papers.md)."
)
PLAIN_REMARK = (
    "Lines named plain are of the default router, the plainest reading of the papers' words (docs/router.md)."
)


def generations(is_quick: bool | None, times: int = 1) -> int:
    """Generations of a genetic search: the papers' 1000, or `times` times `QUICK` in a quick run."""
    return times * QUICK if is_quick else 1000


def network(size: int = 16, arbitration: str = "C00", preset: str | None = PRESET) -> fl.Network:
    """The papers' network: a square torus with their router; without a preset, with the default one."""
    return fl.Network(fl.Torus(size, size), fl.Router(arbitration=arbitration, preset=preset))
