"""What happened in a network over time, in windows of equal length, as a labelled dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flitloom.ground.lazy import xr

if TYPE_CHECKING:
    from flitloom.networks.network import Network
    from flitloom.spec.any_traffic import AnyTraffic

#: Variables over windows: their units and what they are.
VARIABLES = {
    "offered_flits": ("flits", "flits at the load's rate"),
    "generated_flits": ("flits", "flits of the packets generated, sent or not"),
    "injected_packets": ("packets", "packets whose header left the processor queue"),
    "ejected_flits": ("flits", "flits ejected"),
    "delivered_packets": ("packets", "packets whose tail was ejected"),
    "age_sum": ("cycles", "sum of ages, from generation to the tail's ejection, plus 2"),
    "network_age_sum": ("cycles", "sum of network ages, from the header's injection, plus 2"),
    "age_max": ("cycles", "largest age"),
    "network_age_max": ("cycles", "largest network age"),
    "in_flight": ("packets", "packets in the network at the window's end"),
}

#: Variables over slots and source queues.
BY_SOURCE = {
    "generated_by_source": ("packets", "packets generated, by source queue"),
    "sent_by_source": ("packets", "packets whose header left their source queue"),
    "busy_by_source": ("cycles", "cycles in which a source queue has something to send or is sending"),
}


def make_series(
    network: Network,
    traffic: AnyTraffic,
    raw: dict[str, Any],
    window_cycles: int,
    seed: int = 1,
) -> xr.Dataset:
    """The dataset of what the core counted; see `Simulation.windows`."""
    counted = raw["generated_flits"]
    window = np.arange(len(counted)) * window_cycles
    silent = traffic.silent(network, seed)
    edges = np.arange(len(counted) + 1) * window_cycles
    offered = traffic.offered_flits(edges, network.nodes - len(silent))
    columns = {
        "offered_flits": counted.astype(float) if offered is None else offered,
        **{name: raw[name] for name in list(VARIABLES)[1:]},
    }
    variables: dict[str, Any] = {
        name: ("window", columns[name], {"units": unit, "long_name": text})
        for name, (unit, text) in VARIABLES.items()
    }
    variables["delivered_by_source"] = ("node", raw["delivered_by_source"], {"units": "packets"})
    variables |= _of_slots(raw, network.nodes)
    coordinates: dict[str, Any] = {
        "window": ("window", window, {"units": "cycles", "long_name": "first cycle of the window"}),
        "node": np.arange(network.nodes),
        "slot": _slots(raw, network.nodes),
    }
    if silent:
        sends = np.ones(network.nodes, dtype=bool)
        sends[list(silent)] = False
        coordinates["sends"] = ("node", sends, {"long_name": "whether the node sends anything"})
    for name in ("age", "network_age"):
        least, count = raw[f"{name}_histogram"]
        variables[f"{name}_histogram"] = (name, count, {"units": "packets"})
        coordinates[name] = (name, least, {"units": "cycles", "long_name": "least age of the class"})
    begin, end = raw["stretch"]
    generated, delivered = raw["of_stretch"]
    attributes = {
        "window_cycles": window_cycles,
        "slot_cycles": raw["slot_cycles"],
        "nodes": network.nodes,
        "packet_length": traffic.common_length,
        "measured_from": begin,
        # An end that was not set is none.
        "measured_to": end if end < 2**63 else -1,
        "measured_packets": generated,
        "measured_delivered": delivered,
    }
    return xr.Dataset(variables, coordinates, attributes)


def _slots(raw: dict[str, Any], nodes: int) -> tuple[str, NDArray[np.int64], dict[str, str]]:
    """The slots of source queues, by the first cycle of each."""
    first = np.arange(len(raw["generated_for"]) // nodes) * raw["slot_cycles"]
    return ("slot", first, {"units": "cycles", "long_name": "first cycle of the slot"})


def _of_slots(raw: dict[str, Any], nodes: int) -> dict[str, Any]:
    """What nodes generated and sent in slots, by source queue, and for whom."""
    queues = raw["source_queues"]
    shape = (-1, nodes) if queues == 1 else (-1, nodes, queues)
    dimensions = ("slot", "node") if queues == 1 else ("slot", "node", "queue")
    variables = {
        name: (dimensions, raw[name].reshape(shape), {"units": unit, "long_name": text})
        for name, (unit, text) in BY_SOURCE.items()
    }
    text = "flits of the packets generated for a node"
    generated_for = raw["generated_for"].reshape(-1, nodes)
    return {
        **variables,
        "generated_for": (("slot", "node"), generated_for, {"units": "flits", "long_name": text}),
    }
