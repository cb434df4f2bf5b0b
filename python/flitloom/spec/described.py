"""What options of BookSim2 say of a mesh or torus and of its routers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flitloom._core import pipelined_options
from flitloom.errors import SpecError
from flitloom.spec.topology import Mesh, Topology, Torus

_DEFAULTS = dict(pipelined_options())


def grid_of_options(options: Mapping[str, str]) -> Topology:
    """The mesh or torus that they describe.

    Raises
    ------
    SpecError
        They describe another network, or a size is not a whole number.

    Examples
    --------
    >>> print(grid_of_options({"topology": "mesh", "k": "4", "n": "3"}))
    4x4x4 mesh
    """
    kind = options.get("topology", _DEFAULTS["topology"])
    if kind not in ("mesh", "torus"):
        raise SpecError.at("topology", f"is {kind}; records, pages and other packets are of mesh and torus")
    sizes = (_whole(options, "k"),) * _whole(options, "n")
    return (Torus if kind == "torus" else Mesh)(*sizes)


def fields_of_options(options: Mapping[str, str]) -> dict[str, int]:
    """Channels of a link, places of a queue and cycles of a link that they give routers of a mesh or torus.

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


def require_described(topology: Any, options: Mapping[str, str]) -> None:
    """Refuse routers that options describe on another network than these describe.

    Examples
    --------
    >>> require_described(Mesh(4, 4), {"topology": "mesh", "k": "4"})
    >>> require_described(Torus(4, 4), {"topology": "mesh", "k": "4"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: router.options: describe 4x4 mesh, and the network is 4x4 torus; give ...
    """
    try:
        grid = grid_of_options(options)
    except SpecError as error:
        raise SpecError.at(f"router.options.{error.field}", error.problem, error.advice) from None
    if topology != grid:
        raise SpecError.at(
            "router.options",
            f"describe {grid}, and the network is {topology}",
            "give the network of the options",
        )


def _whole(options: Mapping[str, str], name: str) -> int:
    """A whole number."""
    text = options.get(name, _DEFAULTS[name])
    try:
        return int(text)
    except (TypeError, ValueError):
        raise SpecError.at(name, f"{text!r} is not a whole number") from None
