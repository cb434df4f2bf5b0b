"""Fabrics to try things on: tori, twisted tori, and graphs that are none."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product

from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.model import Subnet
from flitloom.spec import Topology, families
from flitloom.spec.families import Pair
from flitloom.spec.ground import Ground


def subnet(
    pairs: Iterable[Pair],
    hosts: int | Callable[[str], int] = 1,
    source: str = "example",
    order: Iterable[str] = (),
) -> Subnet:
    """A subnet of the given cables, with hosts at every switch, GUIDs and LIDs.

    Switches are in the given order, or as the cables name them.

    Examples
    --------
    >>> from flitloom.fabric import recognise
    >>> from flitloom.fabric.examples import subnet
    >>> recognise(subnet((f"s{n}", f"s{(n + 1) % 6}") for n in range(6))).describe()
    '6 torus'
    """
    assembly = Assembly(source)
    pairs = list(pairs)
    for name in dict.fromkeys([*order, *(name for pair in pairs for name in pair)]):
        number = len(assembly.nodes) + 1
        assembly.nodes[name] = Node("switch", name, 0x200000 + number, number)

    for a, b in pairs:
        assembly.join(a, b, source)
    for name in list(assembly.nodes):
        for number in range(hosts if isinstance(hosts, int) else hosts(name)):
            host, index = f"{name}-host{number}", len(assembly.nodes) + 1
            assembly.nodes[host] = Node("host", host, 0x100000 + 2 * index, index)
            assembly.join(host, name, source)
    return assembly.finish()


def torus(sizes: Sequence[int], cables: int = 0, switches: int = 0, seed: int = 1) -> Subnet:
    """A torus less some cables and switches, drawn at random."""
    draw = random.Random(seed)
    nodes = list(product(*map(range, reversed(sizes))))
    gone = set(draw.sample(nodes, switches))
    pairs = [
        (switch_name(reversed(node)), switch_name(reversed(other)))
        for node, other in families.ring_links(nodes, tuple(reversed(sizes)))
        if not {node, other} & gone
    ]
    lost = set(draw.sample(range(len(pairs)), cables))
    return subnet(pair for index, pair in enumerate(pairs) if index not in lost)


def twisted_torus(sizes: Sequence[int]) -> Subnet:
    """A torus where a step over the edge of a short dimension moves half of every long one as well."""
    ground = Ground(Topology(sizes=tuple(sizes), twist=True))
    return subnet(
        (switch_name(node), switch_name(ground.normal((*node[:d], node[d] + 1, *node[d + 1 :]))))
        for node in product(*map(range, sizes))
        for d in range(len(sizes))
    )


def express_mesh(side: int, express: int) -> Subnet:
    """A square mesh with cables that skip `express` switches along both dimensions."""
    pairs = []
    for x, y in product(range(side), range(side)):
        for step in (1, express):
            if x + step < side and (step == 1 or x % express == 0):
                pairs.append((switch_name((x, y)), switch_name((x + step, y))))
            if y + step < side and (step == 1 or y % express == 0):
                pairs.append((switch_name((x, y)), switch_name((x, y + step))))
    return subnet(pairs)


def hyperx(sizes: Sequence[int]) -> Subnet:
    """Every two switches that differ in one coordinate are joined (Ahn et al. 2009)."""
    nodes = list(product(*map(range, sizes)))
    joined = (pair for pair in combinations(nodes, 2) if sum(p != q for p, q in zip(*pair, strict=True)) == 1)
    return subnet((switch_name(a), switch_name(b)) for a, b in joined)


def dragonfly(group: int, ports: int) -> Subnet:
    """Complete groups of `group` switches with `ports` global cables each (Kim et al. 2008)."""
    return subnet(families.dragonfly(group, ports))


def fat_tree(arity: int) -> Subnet:
    """Three levels of switches with `arity` ports, hosts below the lowest (Al-Fares et al. 2008)."""
    return subnet(families.fat_tree(arity), lambda name: arity // 2 if name.startswith("edge") else 0)


def random_regular(switches: int, degree: int, seed: int = 1) -> Subnet:
    """A graph drawn at random in which every switch has `degree` neighbours (Singla et al. 2012)."""
    return subnet(families.random_regular(switches, degree, seed))


def switch_name(place: Iterable[int]) -> str:
    """The name of the switch at a place of a grid or a product.

    >>> switch_name((1, 0))
    'S1-0'
    """
    return "S" + "-".join(map(str, place))
