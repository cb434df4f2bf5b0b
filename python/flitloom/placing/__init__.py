"""Where each rank sits: placements of ranks on nodes, bounds with proofs, files for launchers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flitloom.ground.lazy import names_of

if TYPE_CHECKING:
    from flitloom.placing.axes import Axis, parse_axes
    from flitloom.placing.boxes import boxes_for, is_closed
    from flitloom.placing.checking import PlacementReport
    from flitloom.placing.checking import check_placement as check
    from flitloom.placing.fitting import Fit, fit
    from flitloom.placing.ground import Ground, ground_of, ground_of_fabric
    from flitloom.placing.jobs import Job, Seated, Seating, read_jobs, seat
    from flitloom.placing.phases import Phase
    from flitloom.placing.placement import Placement
    from flitloom.placing.placement import read_placement as read
    from flitloom.placing.running import as_packets
    from flitloom.placing.search import place
    from flitloom.placing.streams import Demand, StreamReport, draw_stream, run_stream
    from flitloom.placing.traffic import (
        Traffic,
        axes_traffic,
        pairs_traffic,
        read_traffic,
        stencil_traffic,
    )

#: Where each name is. Runs and tables of placements need few of them, so nothing is imported here.
_HOMES = {
    "Axis": "axes",
    "Demand": "streams",
    "Fit": "fitting",
    "Ground": "ground",
    "Job": "jobs",
    "Phase": "phases",
    "Placement": "placement",
    "PlacementReport": "checking",
    "Seated": "jobs",
    "Seating": "jobs",
    "StreamReport": "streams",
    "Traffic": "traffic",
    "as_packets": "running",
    "axes_traffic": "traffic",
    "boxes_for": "boxes",
    "check": "flitloom.placing.checking:check_placement",
    "draw_stream": "streams",
    "fit": "fitting",
    "ground_of": "ground",
    "ground_of_fabric": "ground",
    "is_closed": "boxes",
    "pairs_traffic": "traffic",
    "parse_axes": "axes",
    "place": "search",
    "read": "flitloom.placing.placement:read_placement",
    "read_jobs": "jobs",
    "read_traffic": "traffic",
    "run_stream": "streams",
    "seat": "jobs",
    "stencil_traffic": "traffic",
}

__all__ = [
    "Axis",
    "Demand",
    "Fit",
    "Ground",
    "Job",
    "Phase",
    "Placement",
    "PlacementReport",
    "Seated",
    "Seating",
    "StreamReport",
    "Traffic",
    "as_packets",
    "axes_traffic",
    "boxes_for",
    "check",
    "draw_stream",
    "fit",
    "ground_of",
    "ground_of_fabric",
    "is_closed",
    "pairs_traffic",
    "parse_axes",
    "place",
    "read",
    "read_jobs",
    "read_traffic",
    "run_stream",
    "seat",
    "stencil_traffic",
]
#: Names of before, which stay for one release with a warning that says the new one.
_MOVED = {"check_placement": "check", "read_placement": "read"}

if not TYPE_CHECKING:
    _find = names_of("flitloom.placing", _HOMES)

    def __getattr__(name: str) -> Any:
        """What a public name means, or a name of before."""
        from flitloom.errors.renamed import moved

        if name not in _MOVED:
            return _find(name)
        return moved(f"flitloom.placing.{name}", f"flitloom.placing.{_MOVED[name]}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
