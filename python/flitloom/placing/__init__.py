"""Where each rank sits: placements of ranks on nodes, bounds with proofs, files for launchers."""

from flitloom.placing.axes import Axis, parse_axes
from flitloom.placing.checking import PlacementReport, check_placement
from flitloom.placing.fitting import Fit, fit
from flitloom.placing.ground import Grid, Ground, ground_of, ground_of_fabric
from flitloom.placing.placement import Placement, read_placement
from flitloom.placing.running import as_packets
from flitloom.placing.search import place
from flitloom.placing.traffic import Traffic, axes_traffic, pairs_traffic, read_traffic, stencil_traffic

__all__ = [
    "Axis",
    "Fit",
    "Grid",
    "Ground",
    "Placement",
    "PlacementReport",
    "Traffic",
    "as_packets",
    "axes_traffic",
    "check_placement",
    "fit",
    "ground_of",
    "ground_of_fabric",
    "pairs_traffic",
    "parse_axes",
    "place",
    "read_placement",
    "read_traffic",
    "stencil_traffic",
]
