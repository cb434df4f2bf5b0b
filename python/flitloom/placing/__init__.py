"""Where each rank sits: placements of ranks on nodes, bounds with proofs, files for launchers."""

from flitloom.placing.axes import Axis, parse_axes
from flitloom.placing.boxes import boxes_for, is_closed
from flitloom.placing.checking import PlacementReport, check_placement
from flitloom.placing.fitting import Fit, fit
from flitloom.placing.ground import Grid, Ground, ground_of, ground_of_fabric
from flitloom.placing.jobs import Job, Seated, Seating, read_jobs, seat
from flitloom.placing.placement import Placement, read_placement
from flitloom.placing.running import as_packets
from flitloom.placing.search import place
from flitloom.placing.streams import Demand, StreamReport, draw_stream, run_stream
from flitloom.placing.traffic import Traffic, axes_traffic, pairs_traffic, read_traffic, stencil_traffic

__all__ = [
    "Axis",
    "Demand",
    "Fit",
    "Grid",
    "Ground",
    "Job",
    "Placement",
    "PlacementReport",
    "Seated",
    "Seating",
    "StreamReport",
    "Traffic",
    "as_packets",
    "axes_traffic",
    "boxes_for",
    "check_placement",
    "draw_stream",
    "fit",
    "ground_of",
    "ground_of_fabric",
    "is_closed",
    "pairs_traffic",
    "parse_axes",
    "place",
    "read_jobs",
    "read_placement",
    "read_traffic",
    "run_stream",
    "seat",
    "stencil_traffic",
]
