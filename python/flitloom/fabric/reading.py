"""Files that describe fabrics, from any program."""

from __future__ import annotations

import re
from pathlib import Path

from flitloom import limits
from flitloom.errors import SpecError
from flitloom.fabric import graphs, link_lists, netlist, subnet_list, tenstorrent
from flitloom.fabric.model import Subnet
from flitloom.reading import opened


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
    if netlist.looks_like(text):
        return netlist.parse(text, source)
    if subnet_list.looks_like(text):
        return subnet_list.parse(text, source)
    if link_lists.looks_like(text):
        return link_lists.parse(text, source)
    if tenstorrent.is_cluster(text):
        return tenstorrent.parse_cluster(text, source)
    if tenstorrent.is_system(text):
        return tenstorrent.parse_system(text, source)
    if tenstorrent.is_mesh_graph(text):
        return tenstorrent.parse_mesh_graph(text, source)
    if "<graphml" in text:
        return graphs.parse_graphml(text, source)
    if re.search(r"^[ \t]*(?:SwitchName|BlockName)[ \t]*=", text, re.MULTILINE | re.IGNORECASE):
        return graphs.parse_slurm(text, source)
    if re.search(r"^[ \t]*(?:-[ \t]*)?(?:switch|block)[ \t]*:", text, re.MULTILINE):
        return graphs.parse_slurm_yaml(text, source)
    if re.search(r"^[ \t]*router[ \t]+\d+", text, re.MULTILINE):
        return graphs.parse_anynet(text, source)
    # JSON and the like have commas, too.
    if text.lstrip()[:1] not in "[{<" and re.search(r"^[^\n,;\t{(]+[,;\t][^\n]+", text, re.MULTILINE):
        return graphs.parse_cables(text, source)
    raise SpecError(
        f"{source}: no fabric in it; known are the output of ibnetdiscover, netlists of ibsim, "
        "opensm-subnet.lst, GraphML, anynet, topology.conf, descriptors of Tenstorrent pods and CSV tables "
        "of cables"
    )
