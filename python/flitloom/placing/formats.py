"""Files of placements, by ending: for flitloom, spreadsheets, launchers of MPI jobs, JAX."""

from __future__ import annotations

import csv
import json
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from flitloom.errors import SpecError
from flitloom.ground.outputs import check_output, write_text
from flitloom.spec.any_network import AnyNetwork

if TYPE_CHECKING:
    from flitloom.placing.placement import Placement

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


def write(placement: Placement, file: str | Path, hosts: list[str] | None = None) -> None:
    """Write a placement in the format of the file's ending.

    Parameters
    ----------
    placement : Placement
        What is written.
    file : path
        Where to.
    hosts : list of str, optional
        Host names by node; without, node 3 is ``node3``, and hosts of switches have their own names.

    Raises
    ------
    SpecError
        The ending is none of those known, or the file cannot be written.
    """
    ending = ending_of(file)
    require_coordinates(placement.topology, file)
    check_output(file)
    names = placement.hosts() if hosts is None else hosts
    write_text(file, _WRITERS[ending](placement, names))


def _json(placement: Placement, hosts: list[str]) -> str:
    document = placement.document()
    document["hosts"] = [hosts[node] for node in placement.nodes]
    return json.dumps(document) + "\n"


def _csv(placement: Placement, hosts: list[str]) -> str:
    topology = placement.topology
    subnet = topology.subnet
    if subnet is not None:
        letters = ["switch"]
        places = [[subnet.switches[subnet.hosts[node].switch].name] for node in placement.nodes.tolist()]
    else:
        letters = list("xyzuvw"[: len(topology.sizes)])
        places = placement.coordinates().tolist()
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["rank", "node", *letters, "host"])
    for rank, (node, place) in enumerate(zip(placement.nodes.tolist(), places, strict=True)):
        rows.writerow([rank, node, *place, hosts[node]])
    return text.getvalue()


def _rankfile(placement: Placement, hosts: list[str]) -> str:
    seats = enumerate(zip(placement.nodes.tolist(), _slots(placement), strict=True))
    return "".join(f"rank {rank}={hosts[node]} slot={slot}\n" for rank, (node, slot) in seats)


def _hosts(placement: Placement, hosts: list[str]) -> str:
    return "".join(f"{hosts[node]}\n" for node in placement.nodes)


def _mpich(placement: Placement, _hosts: list[str]) -> str:
    order = sorted(range(len(placement.nodes)), key=lambda rank: (placement.nodes[rank], rank))
    return ",".join(map(str, order)) + "\n"


def _slots(placement: Placement) -> list[int]:
    """Per rank, how many ranks of lower numbers are on its node.

    >>> import flitloom as fl
    >>> from flitloom.placing import place, stencil_traffic
    >>> _slots(place(fl.Torus(2, 2), stencil_traffic((4,)), per_node=2, effort=1))
    [0, 1, 0, 1]
    """
    slots: list[int] = []
    taken: Counter[int] = Counter()
    for node in placement.nodes.tolist():
        slots.append(taken[node])
        taken[node] += 1
    return slots


def _jax(placement: Placement, _hosts: list[str]) -> str:
    """JAX reshapes with the last axis fastest, so axes stand in reverse."""
    shape = list(reversed(placement.traffic.mesh or (placement.traffic.ranks,)))
    # Devices are listed node by node.
    order = (placement.nodes * placement.per_node + _slots(placement)).tolist()
    document = {
        "mesh_shape": shape,
        "axis_names": [axis.name for axis in reversed(placement.traffic.axes)],
        "order": order,
        "coordinates": placement.coordinates().tolist(),
    }
    return json.dumps(document) + "\n"


def _vcoord(placement: Placement, _hosts: list[str]) -> str:
    return "".join(f"({','.join(map(str, place))})\n" for place in placement.coordinates().tolist())


_WRITERS = {
    ".json": _json,
    ".csv": _csv,
    ".rankfile": _rankfile,
    ".hosts": _hosts,
    ".mpich": _mpich,
    ".jax": _jax,
    ".vcoord": _vcoord,
}
