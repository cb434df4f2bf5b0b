"""Advice on collective operations as labelled arrays, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flitloom.collectives.advice import Advice, weigh
from flitloom.collectives.beside import one_network
from flitloom.collectives.collective_plan import OperationName
from flitloom.fabric.networks import direct_network
from flitloom.ground.lazy import xr
from flitloom.ground.units import read_bandwidth, read_seconds, read_size
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.machine import Machine
from flitloom.spec.speeds import in_equal_links, latencies_of


@one_network
def advise(
    topology: AnyNetwork | str | Path,
    sizes: Sequence[float | str],
    alpha: float | str = "1us",
    bandwidth: float | str = "50GB/s",
    *,
    operation: OperationName | str = "all-reduce",
    root: int | None = None,
    message: float | str | None = None,
    machine: Machine | str | Path | None = None,
) -> xr.Dataset:
    """Compare the algorithms of an operation by message size, each replayed on the links that are left.

    Parameters
    ----------
    topology : AnyNetwork, str or path
        The network with its failed parts, or what names it; see `flitloom.Network`.
    sizes : sequence of float or str
        Bytes of the vector of every node, also as ``"64KiB"``.
    alpha : float or str
        Seconds a round costs besides its bytes, also as ``"1us"``.
    bandwidth : float or str
        Bytes per second of a link in one direction, also as ``"400Gb/s"``.
    operation : str
        ``all-reduce``, ``all-gather``, ``reduce-scatter``, ``all-to-all``, ``broadcast`` or ``reduce``.
    root : int, optional
        The root of a broadcast or reduce; the first node that takes part without.
    message : float or str, optional
        Seconds of every message of a node over a link beyond the first one of a round, also as ``"50ns"``;
        without it a node sends at most as many messages as it has links.
    machine : Machine, str or path, optional
        A file that says `alpha`, `bandwidth`, `message` and what links differ in, instead of these.

    Returns
    -------
    xarray.Dataset
        By ``size`` and ``algorithm`` the ``seconds``; by size the ``bound``, the name of the ``best``
        algorithm, its ``algbw`` and ``busbw`` (bytes/s); by algorithm its ``rounds`` and ``source``.

    Examples
    --------
    >>> import flitloom as fl
    >>> advice = fl.collectives.advise(fl.Torus(8, 8), ["1KiB", "1MiB", "128MiB"])
    >>> advice.best.values.tolist()
    ['family (sums over all)', 'family (Swing, 4 of 6 halved)', 'spheres']
    >>> advice = fl.collectives.advise(fl.Torus(8, 8), ["256KiB"], message="50ns")
    >>> advice.best.values.tolist()
    ['nested sets (2)']
    >>> (advice.seconds / advice.bound).plot(hue="algorithm", xscale="log")  # doctest: +SKIP
    """
    given = [read_size(size, "sizes") if isinstance(size, str) else float(size) for size in sizes]
    alpha = read_seconds(alpha, "alpha") if isinstance(alpha, str) else alpha
    bandwidth = read_bandwidth(bandwidth, "bandwidth") if isinstance(bandwidth, str) else bandwidth
    if isinstance(topology, str | Path):
        topology = direct_network(topology)
    message = read_seconds(message, "message", none=True) if isinstance(message, str) else message
    latencies = None
    if machine is not None:
        read = machine if isinstance(machine, Machine) else Machine.read(machine)
        latencies = latencies_of(topology, read)
        topology, equal = in_equal_links(topology, read)
        alpha, bandwidth, message = equal.round, equal.bandwidth, equal.message
    found = weigh(
        topology,
        given,
        alpha,
        bandwidth,
        operation=operation,
        root=root,
        message=message,
        latencies=latencies,
    )
    return _labelled(found, str(topology))


def _labelled(found: Advice, network: str) -> xr.Dataset:
    """Advice as labelled arrays."""
    rows = range(len(found.sizes))
    names = [one.name for one in found.algorithms]
    by_size = {"units": "bytes/s"}
    rates = [found.bandwidths(row) for row in rows]
    return xr.Dataset(
        {
            "seconds": (("size", "algorithm"), [list(row) for row in found.seconds], {"units": "s"}),
            "bound": ("size", list(found.bounds), {"units": "s"}),
            "best": ("size", [names[found.best(row)] for row in rows]),
            "algbw": ("size", [rate[0] for rate in rates], by_size),
            "busbw": ("size", [rate[1] for rate in rates], by_size),
            "rounds": ("algorithm", [one.rounds for one in found.algorithms]),
            "source": ("algorithm", [one.source for one in found.algorithms]),
        },
        {"size": ("size", list(found.sizes), {"units": "bytes"}), "algorithm": names},
        {"operation": found.operation, "network": network, "members": found.members},
    )
