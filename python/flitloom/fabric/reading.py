"""Files that describe fabrics, from any program."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from flitloom.errors import SpecError, remarks
from flitloom.fabric import (
    cables,
    graphs,
    link_lists,
    nccl,
    netlist,
    ns3,
    nvidia_smi,
    recipes,
    slurm,
    subnet_list,
    tenstorrent,
)
from flitloom.fabric.assembly import Assembly
from flitloom.fabric.kinds import OF_ALL
from flitloom.fabric.model import NO_HOSTS, Subnet
from flitloom.ground import limits
from flitloom.ground.garbage import uncollected
from flitloom.ground.reading import opened
from flitloom.spec.what import host_lists


def _begins(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    """Whether some line of a text begins so."""
    found = re.compile(rf"^[ \t]*{pattern}", re.MULTILINE | flags).search
    return lambda text: found(text) is not None


_CABLES = re.compile(r"^[^\n,;\t{(]+[,;\t][^\n]+", re.MULTILINE)
#: The closed list of what describes fabrics: whether a text is such, and what reads it; the first that fits.
READERS: tuple[tuple[Callable[[str], bool], Callable[[str, str], Assembly]], ...] = (
    (netlist.looks_like, netlist.parse),
    (subnet_list.looks_like, subnet_list.parse),
    (link_lists.looks_like, link_lists.parse),
    (tenstorrent.is_cluster, tenstorrent.parse_cluster),
    (tenstorrent.is_system, tenstorrent.parse_system),
    (tenstorrent.is_mesh_graph, tenstorrent.parse_mesh_graph),
    (lambda text: "<graphml" in text, graphs.parse_graphml),
    (nccl.looks_like, nccl.parse),
    (nvidia_smi.looks_like, nvidia_smi.parse),
    (recipes.is_simgrid, recipes.parse_simgrid),
    (recipes.is_astra, recipes.parse_astra),
    (recipes.is_htsim, recipes.parse_htsim),
    (ns3.looks_like, ns3.parse),
    (_begins(r"(?:SwitchName|BlockName)[ \t]*=", re.IGNORECASE), slurm.parse_slurm),
    (_begins(r"(?:-[ \t]*)?(?:switch|block)[ \t]*:"), slurm.parse_slurm_yaml),
    (_begins(r"router[ \t]+\d+"), graphs.parse_anynet),
    # JSON and the like have commas, too.
    (
        lambda text: text.lstrip()[:1] not in "[{<" and _CABLES.search(text) is not None,
        cables.parse_cables,
    ),
)


def describes_fabric(file: Path) -> bool:
    """Whether a file describes a network, by its beginning; a table of routes begins with its heading."""
    with opened(file, limits.FABRIC_BYTES) as source:
        beginning = source.start().decode("utf-8-sig", "replace")
    return not beginning.startswith("source,") and any(is_one(beginning) for is_one, _ in READERS)


def read_fabric(
    file: str | Path, hosts: str | Sequence[str] | None = None, *, one_way: bool = False
) -> Subnet:
    """Read the description of a fabric; the contents decide how, not the name.

    Known are what ``ibnetdiscover``, ``ibnetdiscover -p`` and ``iblinkinfo`` print, ibsim's netlists,
    ``opensm-subnet.lst``, GraphML, BookSim's anynet, Slurm's ``topology.conf`` (trees and blocks) and
    ``topology.yaml`` (trees), descriptors of Tenstorrent pods (cluster, physical system, mesh graph),
    topologies of HPCC and SimAI for ns-3, of ASTRA-sim's analytical backend and of htsim, a cluster of
    SimGrid, NCCL's description of a machine, the matrix of ``nvidia-smi topo -m``, and CSV tables of cables.

    Parameters
    ----------
    file : path
        The description.
    hosts : str or sequence of str, optional
        Which nodes are hosts, where the file does not say what its nodes are: a list like ``"n[0-3],gw"``, a
        file that has one, or several lists; an empty sequence for none. The others are relays. They are
        guessed without.
    one_way : bool
        Whether links between switches may lead one way only, as in a directed graph.

    Raises
    ------
    SpecError
        The file cannot be read, a line is damaged, or two lines contradict each other; the message
        names the line.
    """
    with opened(file, limits.FABRIC_BYTES) as source:
        name = _from_here(source.name)
        # Descriptions of nodes come in any encoding.
        subnet = parse_fabric(source.content().decode("utf-8-sig", "replace"), name, hosts, one_way=one_way)
    told = [text for text in subnet.remarks if text != NO_HOSTS]
    is_guessed = NO_HOSTS in subnet.remarks and hosts is None
    if told or is_guessed:
        remarks.tell(f"{name} is taken for {subnet.taken_for()}{OF_ALL if is_guessed else ''}")
    for text in told:
        remarks.tell(text)
    return subnet


def _from_here(name: str) -> str:
    """The name of a file as seen from the current folder: specs have whole names."""
    try:
        return os.path.relpath(name) if Path(name).is_relative_to(Path.cwd()) else name
    except OSError:
        # The current folder is gone.
        return name


def parse_fabric(
    text: str,
    source: str = "fabric",
    hosts: str | Sequence[str] | None = None,
    *,
    one_way: bool = False,
) -> Subnet:
    """Read a fabric from a text; see `read_fabric`.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> text = 'Switch 8 "one"\\n[1] "two"[2]\\n\\nSwitch 8 "two"\\n[2] "one"[1]\\n'
    >>> [switch.name for switch in parse_fabric(text).switches]
    ['one', 'two']
    >>> chain = "a,b\\nb,c\\nc,d\\n"
    >>> [host.name for host in parse_fabric(chain, hosts="a,d").hosts]
    ['a', 'd']
    """
    for is_one, parse in READERS:
        if is_one(text):
            named = None if hosts is None else host_lists(hosts)
            with uncollected():
                return parse(text, source).finish(named, one_way=one_way)
    if _begins(r"Connections[ \t]+\d+", re.IGNORECASE)(text):
        raise SpecError(f"{source}: says who sends what, no network; flitloom place --traffic takes it")
    raise SpecError(
        f"{source}: no fabric in it; known are the output of ibnetdiscover, netlists of ibsim, "
        "opensm-subnet.lst, GraphML, anynet, topology.conf, descriptors of Tenstorrent pods, topologies of "
        "HPCC, SimAI, ASTRA-sim, htsim, SimGrid and NCCL, nvidia-smi topo -m, and CSV tables of cables"
    )
