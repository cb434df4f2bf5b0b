"""What the cup-stacking papers' experiments share: the 16x16 torus and its six patterns."""

from __future__ import annotations

import flitloom as fl

#: The permutations of cup-stacking-2022, Table 1.
PATTERNS = ("bcmp", "brev", "brot", "shfl", "torn", "trns")
#: The channel-selection schemes of cup-stacking-extended-2023, Table 1.
SCHEMES = tuple(f"C{number:02}" for number in range(10))

ROUTER_REMARK = (
    "The papers describe their router in words; flitloom takes the plainest reading, fixed to the cycle in "
    "docs/router.md. Cells that differ come from details the papers do not give."
)


def network(size: int = 16, arbitration: str = "C00", variant: str = "queues") -> fl.Network:
    """The papers' network: a square torus with their router, in one of its readings."""
    return fl.Network(fl.Torus(size, size), fl.Router(arbitration=arbitration, variant=variant))
