"""Specs: what a user may describe, checked once, at the door."""

from flitloom.spec.experiment import Experiment, build_experiment, read_experiment
from flitloom.spec.graph import Graph
from flitloom.spec.product import Product
from flitloom.spec.router import ROUTINGS, SCHEMES, Router
from flitloom.spec.topology import DIMENSION_NAMES, Mesh, Topology, Torus
from flitloom.spec.traffic import (
    OTHER_NAMES,
    PATTERNS,
    PERMUTATIONS,
    PROCESSES,
    Collective,
    Impulse,
    Load,
    Packets,
    Traffic,
    TrafficChange,
    TrafficClass,
    TrafficMatrix,
)

__all__ = [
    "DIMENSION_NAMES",
    "OTHER_NAMES",
    "PATTERNS",
    "PERMUTATIONS",
    "PROCESSES",
    "ROUTINGS",
    "SCHEMES",
    "Collective",
    "Experiment",
    "Graph",
    "Impulse",
    "Load",
    "Mesh",
    "Packets",
    "Product",
    "Router",
    "Topology",
    "Torus",
    "Traffic",
    "TrafficChange",
    "TrafficClass",
    "TrafficMatrix",
    "build_experiment",
    "read_experiment",
]
