"""What exists: the shape of the network and its failed parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeGuard

from pydantic import Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from flitloom._core import LIMITS
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.spec.any_network import AnyNetwork, Grid
from flitloom.spec.base import (
    Checked,
    boolean,
    each,
    listed,
    one_of,
    problem,
    show,
    whole,
    whole_number,
)
from flitloom.spec.factors import factors_of, split_twist

#: Names of the dimensions, in the order of coordinates.
DIMENSION_NAMES = ("x", "y", "z", "u", "v", "w")
_LAST_NODE = LIMITS["nodes"] - 1

Node = Annotated[int, whole(0, _LAST_NODE)]
#: The check of a node's number, whatever the network.
node_number = whole_number(0, _LAST_NODE)


def parse_sizes(value: Any) -> Any:
    """Read ``16x16`` as sizes; leave anything else alone.

    >>> parse_sizes("4x2x2")
    (4, 2, 2)
    """
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"[0-9]{1,9}(x[0-9]{1,9})*", value, re.ASCII):
        raise problem(f"{show(value)} is not a size", "write sizes like 16x16 or 4x2x2x2")
    return tuple(int(size) for size in value.split("x"))


def sizes_at(text: str, place: str) -> tuple[int, ...]:
    """Read ``16x16`` as sizes, for a field or option that messages name.

    >>> sizes_at("4x4x8", "--sizes")
    (4, 4, 8)
    """
    try:
        return tuple(parse_sizes(text))
    except PydanticCustomError as error:
        raise SpecError.at(place, error.message()) from None


def parse_cable(value: Any) -> Any:
    """Read ``3-4`` as the cable between nodes 3 and 4; leave anything else alone."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}-[0-9]{1,9}", value, re.ASCII):
        return tuple(int(node) for node in value.split("-"))
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise problem(f"{show(value)} is not a link", 'name its two end nodes, as [3, 4] or "3-4"')
    return value


#: JSON schemas of a node, and of what `parse_sizes` and `parse_cable` read.
NODE = {"type": "integer", "minimum": 0, "maximum": _LAST_NODE}
SIZES = {
    "anyOf": [
        {"type": "string", "pattern": "^[0-9]+(x[0-9]+)*$"},
        listed({"type": "integer", "minimum": 2, "maximum": LIMITS["nodes"]}, LIMITS["dimensions"], 1),
    ]
}
_DIGITS = r"\([0-9]+(,[0-9]+)*\)"
NODE_OR_PLACE = {"anyOf": [NODE, {"type": "string", "pattern": f"^{_DIGITS}$"}]}
CABLE = {
    "anyOf": [
        {"type": "string", "pattern": f"^([0-9]+-[0-9]+|{_DIGITS}-{_DIGITS}|{_DIGITS}[+-][a-z])$"},
        listed(NODE, 2, 2),
    ]
}
_MOST_CABLES = LIMITS["dimensions"] * LIMITS["nodes"]

#: What routes on twisted tori, where source routes do not.
BY_DESTINATION = (
    "tables by destination are: flitloom route --torus 4x4x8 --twist, fl.tables.make(fl.tables.fabric(...))"
)
_ends = each(node_number, 2)
_each_size = each(whole_number(2, LIMITS["nodes"], "routers"), LIMITS["dimensions"], 1)


def has_twist(sizes: Sequence[int]) -> bool:
    """Whether a torus of these sizes can be twisted: all multiples of the least one, those larger even.

    >>> has_twist((4, 8, 8)), has_twist((4, 4)), has_twist((4, 6))
    (True, False, False)
    """
    short = min(sizes)
    longer = [size for size in sizes if size > short]
    return bool(longer) and all(size % short == 0 and size % 2 == 0 for size in longer)


#: What tori have a twist.
TWIST = (
    "a twisted torus wraps around in every dimension and has short dimensions of size K and long ones of an "
    "even size nK, e.g. 4x4x8 or 4x8x8"
)
_PLACE = r"\(([0-9]{1,9}(?:,[0-9]{1,9})*)\)"
_PLACES = re.compile(f"{_PLACE}-{_PLACE}")
_STEP = re.compile(rf"{_PLACE}([+-])([{''.join(DIMENSION_NAMES)}])")


def _sizes_given(info: ValidationInfo) -> Sequence[int] | None:
    """The sizes of the network whose parts are read, if they could be read."""
    if "network" in info.data:
        return [factor.size for factor in factors_of(info.data["network"])]
    return info.data.get("sizes")


def _node_at(digits: str, info: ValidationInfo) -> int:
    """The number of the node at coordinates."""
    place = [int(part) for part in digits.split(",")]
    sizes = _sizes_given(info)
    if sizes is None:
        raise problem(f"({digits}): coordinates need the sizes of the network")
    if len(place) != len(sizes) or any(at >= size for at, size in zip(place, sizes, strict=True)):
        last = ",".join(str(size - 1) for size in sizes)
        raise problem(
            f"({digits}) is not a node; coordinates go from ({','.join('0' * len(sizes))}) to ({last})"
        )
    number = 0
    for at, size in zip(reversed(place), reversed(sizes), strict=True):
        number = number * size + at
    return number


def _beside(digits: str, sign: str, name: str, info: ValidationInfo) -> tuple[int, int]:
    """A node and its neighbour in a direction, over the edge as well."""
    here = _node_at(digits, info)
    sizes, dimension = _sizes_given(info) or (), DIMENSION_NAMES.index(name)
    if dimension >= len(sizes):
        raise problem(f"({digits}){sign}{name}: the network has no dimension {name}")
    place = [int(part) for part in digits.split(",")]
    place[dimension] += 1 if sign == "+" else -1
    over = not 0 <= place[dimension] < sizes[dimension]
    place[dimension] %= sizes[dimension]
    twisted = info.data.get("twist") or split_twist(info.data.get("network", ""))[0]
    if over and twisted and sizes[dimension] == min(sizes):
        place = [
            at if size == min(sizes) else (at + size // 2) % size
            for at, size in zip(place, sizes, strict=True)
        ]
    return here, _node_at(",".join(map(str, place)), info)


def read_node(value: Any, info: ValidationInfo) -> Any:
    """A node by its number, or as ``(1,2,0)``."""
    if isinstance(value, str) and (match := re.fullmatch(_PLACE, value)):
        return _node_at(match[1], info)
    return node_number(value, info)


def _sizes(value: Any, info: ValidationInfo) -> Any:
    return _each_size(parse_sizes(value), info)


def read_cable(value: Any, info: ValidationInfo) -> Any:
    """A cable by its ends, also as ``(0,1)-(1,1)`` or ``(0,1)+x``."""
    if isinstance(value, str) and (match := _PLACES.fullmatch(value)):
        return _node_at(match[1], info), _node_at(match[2], info)
    if isinstance(value, str) and (match := _STEP.fullmatch(value)):
        return _beside(match[1], match[2], match[3], info)
    return _ends(parse_cable(value), info)


class Topology(AnyNetwork):
    """A torus or mesh of 1 to 6 dimensions with its failed nodes and links.

    Parameters
    ----------
    kind : {"torus", "mesh"}
        Whether dimensions wrap around where `wrap` does not say otherwise.
    sizes : sequence of int or str
        Routers along each dimension, x first; also written ``"16x16"``. Each from 2 (one pair of links,
        which never wraps), up to 2^20 routers in all.
    wrap : sequence of bool, optional
        Per dimension, whether it wraps around.
    twist : bool
        Twisted torus: a step over the edge of a short dimension (the least size, K) also moves half of every
        long one (an even multiple of K, or an even number and a multiple of K), as in 4x4x8 or 4x8x8.
    failed_nodes : sequence of int
        Nodes that do not work, nor any of their links. Node ``y*Nx + x`` has the coordinates (x, y) and may
        be written ``"(x,y)"``.
    failed_links : sequence of (int, int)
        Cables between two neighbours that do not work, in both directions; also written ``"3-4"``,
        ``"(0,1)-(1,1)"`` or ``"(0,1)+x"``.
    """

    place: ClassVar[str] = "topology"

    kind: Annotated[str, one_of("torus", "mesh")] = "torus"
    sizes: Annotated[
        tuple[int, ...], Checked(_sizes, SIZES), Field(min_length=1, max_length=LIMITS["dimensions"])
    ]
    wrap: (
        Annotated[
            tuple[bool, ...],
            Checked(each(boolean, LIMITS["dimensions"]), listed({"type": "boolean"}, LIMITS["dimensions"])),
        ]
        | None
    ) = None
    twist: Annotated[bool, Checked(boolean, {"type": "boolean"})] = False
    failed_nodes: Annotated[tuple[int, ...], Checked(each(read_node), listed(NODE_OR_PLACE))] = ()
    failed_links: Annotated[
        tuple[tuple[int, int], ...], Checked(each(read_cable, _MOST_CABLES), listed(CABLE, _MOST_CABLES))
    ] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            kind: Literal["torus", "mesh"] | str = "torus",
            sizes: Sequence[int] | str,
            wrap: Sequence[bool] | None = None,
            twist: bool = False,
            failed_nodes: Iterable[int | str] = (),
            failed_links: Iterable[Sequence[int] | str] = (),
        ) -> None: ...

    @model_validator(mode="after")
    def _one_wrap_per_dimension(self) -> Topology:
        if self.wrap is not None and len(self.wrap) != len(self.sizes):
            raise problem(
                f"wrap has {counted(len(self.wrap), 'entry')}; one per dimension "
                f"({len(self.sizes)}) is needed"
            )
        return self

    @model_validator(mode="after")
    def _can_be_twisted(self) -> Topology:
        plain = self.kind == "torus" and (self.wrap is None or all(self.wrap))
        if self.twist and not (plain and has_twist(self.sizes)):
            raise problem(f"twist: a {'x'.join(map(str, self.sizes))} {self.kind} has none", TWIST)
        return self

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Whether each dimension wraps around (never for size 2, but in a twisted torus)."""
        if self.twist:
            return (True,) * len(self.sizes)
        wrap = self.wrap if self.wrap is not None else (self.kind == "torus",) * len(self.sizes)
        return tuple(wraps and size > 2 for wraps, size in zip(wrap, self.sizes, strict=True))

    @property
    def grid(self) -> Grid:
        """Its rings and lines."""
        none = len(self.sizes)
        return Grid(
            self.sizes,
            self.wraps,
            (False,) * none,
            ((),) * none,
            (1,) * none,
            self.twist,
            self.failed_nodes,
            self.failed_links,
        )

    @property
    def has_tables(self) -> bool:
        """Whether parts have failed, which tables go around."""
        return self.damaged

    @property
    def nodes(self) -> int:
        """Number of routers."""
        product = 1
        for size in self.sizes:
            product *= size
        return product

    def torus(self, what: str, advice: str = "") -> Topology:
        """Itself; a twisted torus is refused."""
        self.require_plain(what, advice)
        return self

    def __eq__(self, other: object) -> bool:
        if is_grid(self) and is_grid(other):
            return self.__dict__ == other.__dict__
        return super().__eq__(other)

    def __str__(self) -> str:
        text = f"{'x'.join(map(str, self.sizes))} {'twisted ' if self.twist else ''}{self.kind}"
        failed = len(self.failed_nodes) + len(self.failed_links)
        return text + (f" with {counted(failed, 'failed part')}" if failed else "")


class _BySizes(Topology):
    """A topology that is made, and shown, with its sizes one by one."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """The sizes, and what differs from the defaults."""
        yield from ((None, size) for size in self.sizes)
        yield from ((name, value) for name, value in super().__repr_args__() if name not in ("kind", "sizes"))


class Torus(_BySizes):
    """A torus: every dimension wraps around, unless `wrap` says otherwise.

    Parameters
    ----------
    *sizes : int or str
        Routers along each dimension, x first, or one text like ``"16x16"``.
    wrap, twist, failed_nodes, failed_links
        As in `Topology`.

    Examples
    --------
    >>> import flitloom as fl
    >>> torus = fl.Torus(16, 16, failed_nodes=[3])
    >>> torus.nodes
    256
    >>> print(torus)
    16x16 torus with 1 failed part
    >>> print(fl.Torus(4, 4, 8, twist=True))
    4x4x8 twisted torus
    """

    def __init__(
        self,
        *sizes: int | str,
        wrap: Sequence[bool] | None = None,
        twist: bool = False,
        failed_nodes: Iterable[int | str] = (),
        failed_links: Iterable[Sequence[int] | str] = (),
    ) -> None:
        _init(self, "torus", sizes, wrap, failed_nodes, failed_links, twist)


class Mesh(_BySizes):
    """A mesh: no dimension wraps around, unless `wrap` says otherwise.

    Parameters are those of `Torus`, except for `twist`.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Mesh(4, 4, wrap=[False, True]).wraps
    (False, True)
    """

    def __init__(
        self,
        *sizes: int | str,
        wrap: Sequence[bool] | None = None,
        failed_nodes: Iterable[int | str] = (),
        failed_links: Iterable[Sequence[int] | str] = (),
    ) -> None:
        _init(self, "mesh", sizes, wrap, failed_nodes, failed_links)


def _init(
    self: Topology,
    kind: str,
    sizes: tuple[int | str, ...],
    wrap: Sequence[bool] | None,
    failed_nodes: Iterable[int | str],
    failed_links: Iterable[Sequence[int] | str],
    twist: bool = False,
) -> None:
    """Let pydantic check the fields of a topology given by position."""
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], str) else sizes
    fields: dict[str, Any] = {
        "kind": kind,
        "sizes": given,
        "wrap": wrap,
        "twist": twist,
        "failed_nodes": tuple(failed_nodes),
        "failed_links": tuple(failed_links),
    }
    super(Topology, self).__init__(**fields)


def is_grid(value: object) -> TypeGuard[Topology]:
    """Whether this is a torus or mesh, whatever made it, and nothing that is more than that.

    >>> import flitloom as fl
    >>> is_grid(fl.Torus(4, 4)), is_grid(fl.Product("full4 x ring3"))
    (True, False)
    >>> fl.Torus(4, 4) == Topology(sizes="4x4"), fl.Torus(4, 4) == fl.Mesh(4, 4)
    (True, False)
    """
    return type(value) in (Topology, Torus, Mesh)
