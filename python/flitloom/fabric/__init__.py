"""Real fabrics: in from ibnetdiscover, out to OpenSM, and the check of any tables."""

from flitloom.fabric.checking import SubnetReport, check_subnet
from flitloom.fabric.model import Cable, Host, Subnet, Switch
from flitloom.fabric.reading import parse_fabric, read_fabric
from flitloom.fabric.recognition import Recognition, recognise
from flitloom.fabric.routing import SubnetTables, route_subnet

__all__ = [
    "Cable",
    "Host",
    "Recognition",
    "Subnet",
    "SubnetReport",
    "SubnetTables",
    "Switch",
    "check_subnet",
    "parse_fabric",
    "read_fabric",
    "recognise",
    "route_subnet",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
