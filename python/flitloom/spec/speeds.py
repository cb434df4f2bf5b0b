"""Links of unequal speed: a network in which a link that is k times as fast is k links side by side.

Their latency is listed by link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from flitloom.errors import SpecError, show
from flitloom.ground.numerals import counted
from flitloom.spec.any_network import AnyNetwork, Grid
from flitloom.spec.factors import WIDEST, Factor
from flitloom.spec.graph import Graph
from flitloom.spec.ground import Ground
from flitloom.spec.machine import Machine
from flitloom.spec.product import Product

#: Names of dimensions.
DIMENSIONS = "xyzuvw"
Cable = tuple[int, int]


def in_equal_links(topology: AnyNetwork, machine: Machine) -> tuple[AnyNetwork, Machine]:
    """A network with links of one speed that transfers as many bytes, and the machine with that speed.

    A link that is k times as fast as others is k parallel links, for messages, too. Where speeds differ by
    dimension only it is a product, else a graph.

    Parameters
    ----------
    topology : AnyNetwork
        The network.
    machine : Machine
        The machine, whose ``links`` say speeds by dimension (``x``, ``y``, ...) or cable (``3-4``).

    Raises
    ------
    SpecError
        The machine names what the network does not have, or the ratio of speeds is not one of small whole
        numbers.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.machine import Machine
    >>> network, machine = in_equal_links(fl.Torus(4, 4), Machine(**{"links": {"x": "100GB/s"}}))
    >>> print(network, machine.bandwidth)
    ring4*2 x ring4 50000000000.0
    """
    if not machine.links:
        return topology, machine
    ground = Ground(topology).without_failures()
    named = machine.speeds
    by_cable = _by_cable(ground, named)
    speeds = {ends: round(speed) for ends, speed in _of_links(ground, named, machine.bandwidth).items()}
    unit = gcd(*speeds.values())
    widths = {ends: speed // unit for ends, speed in speeds.items()}
    if max(widths.values()) > WIDEST:
        listed = " and ".join(f"{speed / 1e9:g} GB/s" for speed in sorted({*speeds.values()}))
        raise SpecError.at(
            "machine.links",
            f"the ratio of {listed} is not one of whole numbers up to {WIDEST}",
            "round the speeds",
        )
    equal = machine.model_copy(update={"bandwidth": float(unit), "links": {}})
    if not named:
        return topology, equal
    if by_cable or ground.twist or topology.grid is None:
        return _graph(topology, ground, widths), equal
    return _product(topology, ground, widths), equal


def latencies_of(topology: AnyNetwork, machine: Machine) -> dict[Cable, float]:
    """Seconds of links that have a latency, by the nodes from and to which they lead.

    Raises
    ------
    SpecError
        The machine names what the network does not have.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.machine import Machine
    >>> latencies_of(fl.Mesh(3), Machine(**{"links": {"1-2": {"latency": "2us"}}}))
    {(1, 2): 2e-06, (2, 1): 2e-06}
    """
    if not machine.latencies:
        return {}
    every = _of_links(Ground(topology).without_failures(), machine.latencies, 0.0)
    return {ends: value for ends, value in every.items() if value}


def _of_links(ground: Ground, named: Mapping[str, float], usual: float) -> dict[Cable, float]:
    """What is said of every link by its cable, else by its dimension; `usual` of others."""
    by_cable = _by_cable(ground, named)
    return {
        ends: by_cable[ends] if ends in by_cable else _along(ground, ends, named, usual)
        for ends in ground.links
    }


def require_speeds(ground: Ground, machine: Machine) -> Machine:
    """The machine with the speed of one of the links of a plan, whose fast links are several.

    Raises
    ------
    SpecError
        The plan is for links of other speeds.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.spec.ground import Ground
    >>> from flitloom.spec.machine import Machine
    >>> machine = Machine(**{"links": {"x": "100GB/s"}})
    >>> require_speeds(Ground(fl.Product("ring4*2 x ring4")), machine).bandwidth
    50000000000.0
    """
    machine.require_no_latencies("links of routers have one latency")
    if not machine.links:
        return machine
    network, equal = in_equal_links(ground.topology.single, machine)
    if Ground(network).links != ground.links:
        raise SpecError.at(
            "machine.links",
            f"the plan is for a {ground}, in which links of these speeds are others",
            "plan with the same machine",
        )
    return equal


def _by_cable(ground: Ground, named: Mapping[str, float]) -> dict[Cable, float]:
    """What is said of links whose cables are named by the numbers or names of their nodes.

    Raises
    ------
    SpecError
        A name is that of no dimension and no cable.
    """
    grid = ground.topology.grid
    dimensions = 0 if grid is None else len(grid.sizes)
    names = ground.topology.node_names
    texts = {f"{a}-{b}": (a, b) for a, b in ground.links}
    if names:
        texts |= {f"{names[a]}-{names[b]}": (a, b) for a, b in ground.links}
    found: dict[Cable, float] = {}
    for name, value in named.items():
        if name in DIMENSIONS:
            if DIMENSIONS.index(name) >= dimensions:
                many = counted(dimensions, "dimension")
                raise SpecError.at(f"machine.links.{name}", f"{ground.topology} has {many}")
            continue
        if name not in texts:
            raise SpecError.at(
                f"machine.links.{show(name)[1:-1]}",
                f"is neither a dimension nor a cable of the {ground}",
                'write e.g. x = "100GB/s", or "0-1" = "25GB/s" for a cable',
            )
        a, b = texts[name]
        found |= {(a, b): value, (b, a): value}
    return found


def _along(ground: Ground, ends: Cable, named: Mapping[str, float], usual: float) -> float:
    """What is said of a link by its dimension."""
    if not any(name in DIMENSIONS for name in named):
        return usual
    here, there = (ground.point(node) for node in ends)
    place = next((number for number, (a, b) in enumerate(zip(here, there, strict=True)) if a != b), 0)
    return named.get(DIMENSIONS[place], usual)


def _product(topology: AnyNetwork, ground: Ground, widths: Mapping[Cable, int]) -> AnyNetwork:
    """A grid whose dimensions have parallel links."""
    wide = []
    for number, plain in enumerate(_factors(topology.require_grid("speeds by dimension are"))):
        ends = next((one for one in widths if one[0] == 0 and _is_along(ground, one, number)), None)
        wide.append(plain._replace(width=plain.width * (widths[ends] if ends else 1)))
    return _of_factors(topology, wide)


def _factors(grid: Grid) -> list[Factor]:
    """The factors of a grid without a twist."""
    found = []
    for number, size in enumerate(grid.sizes):
        ring = "ring" if grid.wraps[number] and size > 2 else "line"
        kind = "circulant" if grid.steps[number] else "full" if grid.full[number] else ring
        found.append(Factor(kind, size, grid.width[number], grid.steps[number]))
    return found


def _of_factors(topology: AnyNetwork, factors: Sequence[Factor]) -> Product:
    """The product of factors, less what has failed of a network."""
    text = " x ".join(map(str, factors))
    return Product(text, failed_nodes=topology.failed_nodes, failed_links=topology.failed_links)


def _is_along(ground: Ground, ends: Cable, dimension: int) -> bool:
    here, there = (ground.point(node) for node in ends)
    return all(
        (a != b) == (number == dimension) for number, (a, b) in enumerate(zip(here, there, strict=True))
    )


def _graph(topology: AnyNetwork, ground: Ground, widths: Mapping[Cable, int]) -> AnyNetwork:
    """Nodes and cables, fast ones listed as often as they are fast."""
    if topology.one_way_links:
        raise SpecError.at("machine.links", f"{topology} has links that lead one way", "leave them out")
    cables = [
        ends for ends, count in ground.links.items() if ends[0] < ends[1] for _ in range(count * widths[ends])
    ]
    if topology.cable_ends:
        return topology.model_copy(update={"cables": tuple(cables)})
    return Graph(
        cables,
        nodes=ground.nodes,
        name=f"{ground} with fast links",
        failed_nodes=topology.failed_nodes,
        failed_links=topology.failed_links,
    )
