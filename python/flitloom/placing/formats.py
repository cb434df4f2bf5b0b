"""Files of placements, by ending: for flitloom, spreadsheets, launchers of MPI jobs, JAX."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.ground.outputs import check_output, write_text
from flitloom.placing.traffic import Traffic
from flitloom.spec.any_network import AnyNetwork

#: Endings with what they hold.
ENDINGS = {
    ".json": "the placement with its bounds and their certificates",
    ".csv": "rank, node, coordinates, host",
    ".rankfile": "Open MPI: rank 0=host3 slot=0",
    ".hosts": "a host per rank in order: SLURM_HOSTFILE with --distribution=arbitrary, or -f of MPICH",
    ".mpich": "MPICH_RANK_ORDER of Cray MPICH: ranks in the order of nodes",
    ".jax": "JSON: the device of every place of the logical mesh, last axis fastest",
    ".vcoord": "coordinates per rank, a line each, as Fujitsu MPI's VCOORDFILE",
}


@dataclass(frozen=True)
class Seating:
    """What files say of a placement.

    Attributes
    ----------
    topology : AnyNetwork
        The network.
    traffic : Traffic
        Bytes between ranks.
    nodes, coordinates : array of int
        The node of every rank, and a row of its coordinates.
    per_node : int
        Ranks that a node can have.
    hosts : list of str
        What nodes are called.
    document : function
        Gives the placement with its bounds and their certificates.
    """

    topology: AnyNetwork
    traffic: Traffic
    nodes: NDArray[np.int64]
    coordinates: NDArray[np.int64]
    per_node: int
    hosts: list[str]
    document: Callable[[], dict[str, Any]]


def ending_of(file: str | Path) -> str:
    """The ending that decides the format; ``.jax.json`` counts as ``.jax``.

    Raises
    ------
    SpecError
        It is none of those known.

    Examples
    --------
    >>> ending_of("p.jax.json"), ending_of("run.hosts")
    ('.jax', '.hosts')
    """
    path = Path(file)
    ending = ".jax" if path.name.endswith(".jax.json") else path.suffix
    if ending not in ENDINGS:
        known = ", ".join(".jax.json" if name == ".jax" else name for name in ENDINGS)
        raise SpecError.at("--out", f"{path.name} has no ending that says a format; there are {known}")
    return ending


def require_coordinates(topology: AnyNetwork, file: str | Path) -> None:
    """Refuse a file of coordinates where nodes have none.

    Raises
    ------
    SpecError
        The nodes are hosts of switches.
    """
    if topology.grid is None and ending_of(file) == ".vcoord":
        raise SpecError.at(
            "--out", f"hosts of {topology} have no coordinates for a .vcoord file", "write .hosts or .csv"
        )


def write(seating: Seating, file: str | Path) -> None:
    """Write a placement in the format of the file's ending.

    Parameters
    ----------
    seating : Seating
        What is written.
    file : path
        Where to.

    Raises
    ------
    SpecError
        The ending is none of those known, or the file cannot be written.
    """
    ending = ending_of(file)
    require_coordinates(seating.topology, file)
    check_output(file)
    write_text(file, _WRITERS[ending](seating))


def _json(seating: Seating) -> str:
    document = seating.document()
    document["hosts"] = [seating.hosts[node] for node in seating.nodes]
    return json.dumps(document) + "\n"


def _csv(seating: Seating) -> str:
    topology = seating.topology
    subnet = topology.subnet
    if subnet is not None:
        letters = ["switch"]
        places = [[subnet.switches[subnet.hosts[node].switch].name] for node in seating.nodes.tolist()]
    else:
        letters = list("xyzuvw"[: len(topology.sizes)])
        places = seating.coordinates.tolist()
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["rank", "node", *letters, "host"])
    for rank, (node, place) in enumerate(zip(seating.nodes.tolist(), places, strict=True)):
        rows.writerow([rank, node, *place, seating.hosts[node]])
    return text.getvalue()


def _rankfile(seating: Seating) -> str:
    seats = enumerate(zip(seating.nodes.tolist(), _slots(seating.nodes), strict=True))
    return "".join(f"rank {rank}={seating.hosts[node]} slot={slot}\n" for rank, (node, slot) in seats)


def _hosts(seating: Seating) -> str:
    return "".join(f"{seating.hosts[node]}\n" for node in seating.nodes)


def _mpich(seating: Seating) -> str:
    order = sorted(range(len(seating.nodes)), key=lambda rank: (seating.nodes[rank], rank))
    return ",".join(map(str, order)) + "\n"


def _slots(nodes: NDArray[np.int64]) -> list[int]:
    """Per rank, how many ranks of lower numbers are on its node.

    >>> _slots(np.array([3, 3, 1, 1]))
    [0, 1, 0, 1]
    """
    slots: list[int] = []
    taken: Counter[int] = Counter()
    for node in nodes.tolist():
        slots.append(taken[node])
        taken[node] += 1
    return slots


def _jax(seating: Seating) -> str:
    """JAX reshapes with the last axis fastest, so axes stand in reverse."""
    shape = list(reversed(seating.traffic.mesh or (seating.traffic.ranks,)))
    # Devices are listed node by node.
    order = (seating.nodes * seating.per_node + _slots(seating.nodes)).tolist()
    document = {
        "mesh_shape": shape,
        "axis_names": [axis.name for axis in reversed(seating.traffic.axes)],
        "order": order,
        "coordinates": seating.coordinates.tolist(),
    }
    return json.dumps(document) + "\n"


def _vcoord(seating: Seating) -> str:
    return "".join(f"({','.join(map(str, place))})\n" for place in seating.coordinates.tolist())


_WRITERS = {
    ".json": _json,
    ".csv": _csv,
    ".rankfile": _rankfile,
    ".hosts": _hosts,
    ".mpich": _mpich,
    ".jax": _jax,
    ".vcoord": _vcoord,
}
