"""Files that describe fabrics, from any program."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from flitloom import limits
from flitloom.errors import SpecError
from flitloom.fabric import graphs, link_lists, netlist, subnet_list, tenstorrent
from flitloom.fabric.model import Subnet
from flitloom.reading import opened


def _begins(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    """Whether some line of a text begins so."""
    found = re.compile(rf"^[ \t]*{pattern}", re.MULTILINE | flags).search
    return lambda text: found(text) is not None


_CABLES = re.compile(r"^[^\n,;\t{(]+[,;\t][^\n]+", re.MULTILINE)
#: The closed list of what describes fabrics: whether a text is such, and what reads it; the first that fits.
READERS: tuple[tuple[Callable[[str], bool], Callable[[str, str], Subnet]], ...] = (
    (netlist.looks_like, netlist.parse),
    (subnet_list.looks_like, subnet_list.parse),
    (link_lists.looks_like, link_lists.parse),
    (tenstorrent.is_cluster, tenstorrent.parse_cluster),
    (tenstorrent.is_system, tenstorrent.parse_system),
    (tenstorrent.is_mesh_graph, tenstorrent.parse_mesh_graph),
    (lambda text: "<graphml" in text, graphs.parse_graphml),
    (_begins(r"(?:SwitchName|BlockName)[ \t]*=", re.IGNORECASE), graphs.parse_slurm),
    (_begins(r"(?:-[ \t]*)?(?:switch|block)[ \t]*:"), graphs.parse_slurm_yaml),
    (_begins(r"router[ \t]+\d+"), graphs.parse_anynet),
    # JSON and the like have commas, too.
    (
        lambda text: text.lstrip()[:1] not in "[{<" and _CABLES.search(text) is not None,
        graphs.parse_cables,
    ),
)


def read_fabric(file: str | Path) -> Subnet:
    """Read the description of a fabric; the contents decide how, not the name.

    Known are what ``ibnetdiscover``, ``ibnetdiscover -p`` and ``iblinkinfo`` print, ibsim's netlists,
    ``opensm-subnet.lst``, GraphML, BookSim's anynet, Slurm's ``topology.conf`` and ``topology.yaml`` (trees),
    descriptors of Tenstorrent pods (cluster, physical system, mesh graph), and CSV tables of cables.

    Raises
    ------
    SpecError
        The file cannot be read, a line is damaged, or two lines contradict each other; the message
        names the line.
    """
    with opened(file, limits.FABRIC_BYTES) as source:
        # Descriptions of nodes come in any encoding.
        return parse_fabric(source.content().decode("utf-8-sig", "replace"), source.name)


def parse_fabric(text: str, source: str = "fabric") -> Subnet:
    """Read a fabric from a text; see `read_fabric`.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> text = 'Switch 8 "one"\\n[1] "two"[2]\\n\\nSwitch 8 "two"\\n[2] "one"[1]\\n'
    >>> [switch.name for switch in parse_fabric(text).switches]
    ['one', 'two']
    """
    for is_one, parse in READERS:
        if is_one(text):
            return parse(text, source)
    raise SpecError(
        f"{source}: no fabric in it; known are the output of ibnetdiscover, netlists of ibsim, "
        "opensm-subnet.lst, GraphML, anynet, topology.conf, descriptors of Tenstorrent pods and CSV tables "
        "of cables"
    )
