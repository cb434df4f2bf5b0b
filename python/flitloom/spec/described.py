"""Options of BookSim2 in specs, and what they say of meshes, tori and routers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flitloom._core import pipelined_options
from flitloom.errors import SpecError, show, unknown_parts
from flitloom.spec.base import Problems, problem
from flitloom.spec.topology import Mesh, Topology, Torus

_DEFAULTS = dict(pipelined_options())
#: JSON schema of options.
OPTIONS = {
    "type": "object",
    "propertyNames": {"enum": [*_DEFAULTS]},
    "additionalProperties": {"type": "string"},
}


def options_of(value: Any, _: Any = None) -> dict[str, str]:
    """Options of BookSim2 by their names, as its files have them."""
    if not isinstance(value, Mapping):
        raise problem(f"{show(value)} is not a table", 'write options = { num_vcs = "4" }')
    problems = Problems()
    for name, given in value.items():
        if name not in _DEFAULTS:
            problems.add(str(name), problem(*unknown_parts(name, _DEFAULTS)))
        elif not isinstance(given, str):
            problems.add(name, problem(f"{show(given)} is not a text", f'write {name} = "{given}"'))
    problems.end()
    return dict(value)


def grid_of_options(options: Mapping[str, str]) -> Topology | None:
    """The mesh or torus that they describe; none for other networks.

    Raises
    ------
    SpecError
        A size is not a whole number.

    Examples
    --------
    >>> print(grid_of_options({"topology": "mesh", "k": "4", "n": "3"}))
    4x4x4 mesh
    """
    kind = options.get("topology", _DEFAULTS["topology"])
    if kind not in ("mesh", "torus"):
        return None
    sizes = (_whole(options, "k"),) * _whole(options, "n")
    return (Torus if kind == "torus" else Mesh)(*sizes)


def fields_of_options(options: Mapping[str, str]) -> dict[str, int]:
    """Channels of a link, places of a queue and cycles of a link that they give routers.

    Links of other networks than meshes and tori have latencies of their own.

    Examples
    --------
    >>> fields_of_options({"topology": "torus", "num_vcs": "4", "vc_buf_size": "8"})
    {'channels': 4, 'buffer': 8, 'latency': 2}
    """
    said = {**_DEFAULTS, **options}
    channels, places = _whole(options, "num_vcs"), _whole(options, "buf_size")
    buffer = places // max(1, channels) if places > 0 else _whole(options, "vc_buf_size")
    # Links of a torus are folded, so that all have one length.
    latency = 2 if said["topology"] == "torus" and said["use_noc_latency"] == "1" else 1
    return {"channels": channels, "buffer": max(1, buffer), "latency": latency}


def _whole(options: Mapping[str, str], name: str) -> int:
    """A whole number."""
    text = options.get(name, _DEFAULTS[name])
    try:
        return int(text)
    except (TypeError, ValueError):
        raise SpecError.at(name, f"{text!r} is not a whole number") from None
