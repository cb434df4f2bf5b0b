"""Specs: what a user may describe, checked once, at the door.

What stands here is imported when it is first asked for, so that the words of options cost no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flitloom.spec.graph import Graph
    from flitloom.spec.product import Product
    from flitloom.spec.router import ROUTINGS, SCHEMES, Router
    from flitloom.spec.topology import DIMENSION_NAMES, Mesh, Topology, Torus
    from flitloom.spec.traffic.collective import Collective
    from flitloom.spec.traffic.known import Traffic
    from flitloom.spec.traffic.load import PROCESSES, Impulse, Load, TrafficChange, TrafficClass
    from flitloom.spec.traffic.messages import Messages
    from flitloom.spec.traffic.packets import Packets
    from flitloom.spec.traffic.patterned import OTHER_NAMES, PATTERNS, PERMUTATIONS
    from flitloom.spec.traffic.traffic_matrix import TrafficMatrix

#: Where the names are.
_HOMES = {
    "graph": ("Graph",),
    "product": ("Product",),
    "router": ("ROUTINGS", "SCHEMES", "Router"),
    "topology": ("DIMENSION_NAMES", "Mesh", "Topology", "Torus"),
    "traffic.collective": ("Collective",),
    "traffic.known": ("Traffic",),
    "traffic.load": ("PROCESSES", "Impulse", "Load", "TrafficChange", "TrafficClass"),
    "traffic.messages": ("Messages",),
    "traffic.packets": ("Packets",),
    "traffic.patterned": ("OTHER_NAMES", "PATTERNS", "PERMUTATIONS"),
    "traffic.traffic_matrix": ("TrafficMatrix",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what a name means."""
        if name not in _HOME:
            raise AttributeError(f"module 'flitloom.spec' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"flitloom.spec.{_HOME[name]}"), name)
        return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)


__all__ = [
    "DIMENSION_NAMES",
    "OTHER_NAMES",
    "PATTERNS",
    "PERMUTATIONS",
    "PROCESSES",
    "ROUTINGS",
    "SCHEMES",
    "Collective",
    "Graph",
    "Impulse",
    "Load",
    "Mesh",
    "Messages",
    "Packets",
    "Product",
    "Router",
    "Topology",
    "Torus",
    "Traffic",
    "TrafficChange",
    "TrafficClass",
    "TrafficMatrix",
]
