"""What networks of switches with hosts answer alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from flitloom.spec.any_network import AnyNetwork

if TYPE_CHECKING:
    from flitloom.fabric.model import Subnet


class OfSwitches(AnyNetwork):
    """A network of switches; its nodes are the hosts, which have numbers and no coordinates.

    Examples
    --------
    >>> from flitloom.networks.fabric import Fabric
    >>> tree = Fabric(network="fattree(4)")
    >>> tree.nodes == len(tree.subnet.hosts), tree.node_names[0]
    (True, 'edge0-0-host0')
    """

    #: What has failed is not in it.
    failed_nodes: ClassVar[tuple[int, ...]] = ()
    failed_links: ClassVar[tuple[tuple[int, int], ...]] = ()
    twist: ClassVar[bool] = False
    place: ClassVar[str] = "topology"

    if TYPE_CHECKING:

        @property
        def subnet(self) -> Subnet:
            """Its switches, cables and hosts."""

    @property
    def nodes(self) -> int:
        """Number of hosts."""
        return len(self.subnet.hosts)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Refused: its hosts have no coordinates."""
        return self.require_grid("coordinates are").sizes

    @property
    def node_names(self) -> tuple[str, ...]:
        """What its hosts are called."""
        return tuple(host.name for host in self.subnet.hosts)
