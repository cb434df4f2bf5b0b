"""Networks that options of BookSim2 describe, with its numbers of routers and nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import model_validator

from flitloom._core import described_network
from flitloom.booksim.specs import TABLES
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.networks.of_switches import OfSwitches
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.base import Checked, Problems, one_of
from flitloom.spec.described import OPTIONS, grid_of_options, options_of

if TYPE_CHECKING:
    from flitloom.fabric.model import Subnet

#: Options that describe a network and its routing function.
_OF_NETWORKS = frozenset(f"{TABLES['topology']} routing_function".split())


class Described(OfSwitches):
    """A network of switches as a file of BookSim2 has it: a fat tree, a flattened butterfly, a dragonfly, ...

    Its nodes are those of the file, and its switches the routers.

    Parameters
    ----------
    options : dict of str to str
        The options of its network and routing function.

    Examples
    --------
    >>> tree = Described(options={"topology": "fattree", "k": "2", "n": "3", "routing_function": "nca"})
    >>> print(tree, "-", len(tree.subnet.switches), len(tree.subnet.cables))
    fattree of BookSim2 with 8 nodes - 12 16
    """

    kind: Annotated[str, one_of("booksim")] = "booksim"
    options: Annotated[dict[str, str], Checked(options_of, OPTIONS)]

    if TYPE_CHECKING:

        def __init__(self, *, options: Mapping[str, str]) -> None: ...

    @model_validator(mode="after")
    def _is_known(self) -> Described:
        try:
            grid = grid_of_options(self.options)
            if grid is not None:
                raise SpecError.at(
                    "topology", f"is {grid}, whose nodes have coordinates", f"give fl.{grid!r}"
                )
            self.subnet  # noqa: B018 - refuses what is not known
        except SpecError as error:
            problems = Problems()
            problems.add_field("options", error)
            problems.end()
        return self

    @property
    def subnet(self) -> Subnet:
        """Its routers, cables and nodes."""
        return _subnet(_sorted(self.options))

    def run_as(self, model: str | None) -> dict[str, Any] | None:
        """Itself, by pipelined routers only."""
        if model != "pipelined":
            raise SpecError.at("topology.options", "are of BookSim2", "give its router.options, too")
        return None

    @property
    def shape(self) -> tuple[object, ...]:
        """The options."""
        return (_sorted(self.options),)

    def __str__(self) -> str:
        return f"{self.options['topology']} of BookSim2 with {counted(self.nodes, 'node')}"


def _sorted(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Options in one order, whatever that of their file."""
    return tuple(sorted(options.items()))


@lru_cache(maxsize=16)
def _subnet(options: tuple[tuple[str, str], ...]) -> Subnet:
    """Routers, cables and nodes in the order of their numbers, each node at the next port of its router."""
    from flitloom.fabric.model import Cable, Host, Subnet, Switch

    places, routers, ends = parts_of_options(dict(options))
    used = [0] * routers

    def port(router: int) -> int:
        used[router] += 1
        return used[router]

    hosts = [
        Host(f"n{node}", None, None, None, 0, router, port(router)) for node, router in enumerate(places)
    ]
    cables = [Cable(a, port(a), b, port(b)) for a, b in ends]
    return Subnet(tuple(Switch(f"r{router}") for router in range(routers)), tuple(hosts), tuple(cables))


def parts_of_options(options: Mapping[str, str]) -> tuple[list[int], int, list[tuple[int, int]]]:
    """By node its router, how many routers there are, and the two ends of every cable.

    Raises
    ------
    SpecError
        A value is not known, links lead one way, or packets are of several kinds; by the name of the option.

    Examples
    --------
    >>> parts_of_options({"topology": "torus", "k": "3", "n": "1", "routing_function": "dim_order"})
    ([0, 1, 2], 3, [(0, 1), (0, 2), (1, 2)])
    """
    try:
        return described_network(list(options.items()))
    except ValueError as error:
        raise SpecError.at(*error.args) from None


def network_of_options(options: Mapping[str, str]) -> AnyNetwork:
    """The mesh, torus or other network that options describe.

    Raises
    ------
    SpecError
        A value is not known, or links lead one way.

    Examples
    --------
    >>> print(network_of_options({"topology": "mesh", "k": "4", "n": "3"}))
    4x4x4 mesh
    >>> print(network_of_options({"topology": "dragonflynew", "k": "2", "n": "1", "routing_function": "min"}))
    dragonflynew of BookSim2 with 72 nodes
    """
    grid = grid_of_options(options)
    if grid is not None:
        return grid
    said = {name: value for name, value in options.items() if name in _OF_NETWORKS}
    # Refuses what is not known by the name that the file has for it.
    _subnet(_sorted(said))
    return Described(options=said)


def require_described(topology: AnyNetwork, options: Mapping[str, str] | None) -> None:
    """Refuse routers that options describe on another network than these describe, or none on such a network.

    Examples
    --------
    >>> import flitloom as fl
    >>> require_described(fl.Mesh(4, 4), {"topology": "mesh", "k": "4"})
    >>> require_described(fl.Torus(4, 4), {"topology": "mesh", "k": "4"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: router.options: describe 4x4 mesh, and the network is 4x4 torus; give ...
    """
    if options is None:
        # Nothing else says which way packets go.
        if topology.subnet is not None and not topology.has_tables:
            raise SpecError.at("router.options", f"are missing for {topology}", "give them")
        return
    try:
        described = network_of_options(options)
    except SpecError as error:
        raise SpecError.at(f"router.options.{error.field}", error.problem, error.advice) from None
    if topology != described:
        raise SpecError.at(
            "router.options",
            f"describe {described}, and the network is {topology}",
            "give the network of the options",
        )
