"""Real fabrics: in from ibnetdiscover, out to OpenSM, and the check of any tables."""

from flitloom.fabric.model import Cable, Host, PortLanes, Subnet, Switch
from flitloom.fabric.port_lanes import with_port_lanes
from flitloom.fabric.reading import parse_fabric, read_fabric
from flitloom.fabric.recognition import Recognition, recognise
from flitloom.ground.lazy import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flitloom.tables.by_destination.checking import SubnetReport, check_subnet
    from flitloom.tables.by_destination.made import SubnetTables
    from flitloom.tables.by_destination.making import route_subnet
    from flitloom.tables.by_destination.mixing import MixtureReport, check_mixture
else:
    # Tables are made and checked by what uses fabrics.
    __getattr__ = names_of(
        "flitloom.fabric",
        {
            "SubnetReport": "flitloom.tables.by_destination.checking:SubnetReport",
            "SubnetTables": "flitloom.tables.by_destination.made:SubnetTables",
            "MixtureReport": "flitloom.tables.by_destination.mixing:MixtureReport",
            "check_mixture": "flitloom.tables.by_destination.mixing:check_mixture",
            "check_subnet": "flitloom.tables.by_destination.checking:check_subnet",
            "route_subnet": "flitloom.tables.by_destination.making:route_subnet",
        },
    )

__all__ = [
    "Cable",
    "Host",
    "MixtureReport",
    "PortLanes",
    "Recognition",
    "Subnet",
    "SubnetReport",
    "SubnetTables",
    "Switch",
    "check_mixture",
    "check_subnet",
    "parse_fabric",
    "read_fabric",
    "recognise",
    "route_subnet",
    "with_port_lanes",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
