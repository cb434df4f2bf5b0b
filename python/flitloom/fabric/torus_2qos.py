"""The configuration of OpenSM's routing engine torus-2QoS for a recognised torus or mesh."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from flitloom.fabric.recognition import Recognition

#: Switches from which the engine may begin, so that it still finds the torus when one fails.
_SEEDS = 4
#: Ports between two switches, or of hosts and management at one, that the engine takes without being told.
_PORTS = 16


def torus_2qos(recognition: Recognition) -> str | None:
    """The text of ``torus-2QoS.conf``, or None where that engine cannot route the fabric.

    It routes plain tori and meshes of two and three dimensions, and needs a switch with a cable up every
    dimension to begin at. All beginnings have the datelines at the edges of the same coordinates.

    Examples
    --------
    >>> from flitloom.fabric import examples, recognise
    >>> from flitloom.fabric.torus_2qos import torus_2qos
    >>> print(*torus_2qos(recognise(examples.torus((5, 3)))).splitlines()[1:4], sep="\\n")
    torus 3t 5t 1
    <BLANKLINE>
    xp_link 0x0000000000200001 0x0000000000200002
    """
    if (
        recognition.kind not in ("torus", "mesh")
        or recognition.service
        or not 2 <= len(recognition.sizes) <= 3
    ):
        return None
    sizes = [
        f"{size}{'t' if wrap else 'm'}"
        for size, wrap in zip(recognition.sizes, recognition.wraps, strict=True)
    ]
    seeds: list[list[int]] = []
    taken = set[int]()
    for seed in _seeds(recognition):
        if len(seeds) < _SEEDS and not taken & set(seed):
            taken |= set(seed)
            seeds.append(seed)
    if not seeds:
        return None
    parts = [_seed(recognition, seed, first=not number) for number, seed in enumerate(seeds)]
    head = f"# {recognition.describe()}\n{recognition.kind} {' '.join([*sizes, '1'][:3])}\n"
    return head + "".join("\n" + part for part in parts) + _groups(recognition)


def _seeds(recognition: Recognition) -> Iterator[list[int]]:
    """A switch and its neighbours: up every dimension, then down every ring of four."""
    joined = {(cable.a, cable.b) for cable in recognition.subnet.cables}
    joined |= {(b, a) for a, b in joined}
    index = {place: switch for switch, place in enumerate(recognition.coordinates)}
    for place, switch in sorted(index.items()):
        found = [switch]
        for d, step in _steps(recognition):
            other = list(place)
            other[d] += step
            if recognition.wraps[d]:
                other[d] %= recognition.sizes[d]
            beside = index.get(tuple(other))
            if beside is None or (switch, beside) not in joined:
                break
            found.append(beside)
        else:
            yield found


def _steps(recognition: Recognition) -> list[tuple[int, int]]:
    up = [(d, 1) for d in range(len(recognition.sizes))]
    rings = zip(recognition.sizes, recognition.wraps, strict=True)
    return up + [(d, -1) for d, (size, wrap) in enumerate(rings) if size == 4 and wrap]


def _seed(recognition: Recognition, seed: list[int], first: bool) -> str:
    guids = [f"0x{recognition.subnet.switches[switch].guid or 0:016x}" for switch in seed]
    lines = [] if first else ["next_seed"]
    for (d, step), guid in zip(_steps(recognition), guids[1:], strict=True):
        lines.append(f"{'xyz'[d]}{'p' if step == 1 else 'm'}_link {guids[0]} {guid}")
    place = recognition.coordinates[seed[0]]
    lines += [f"{'xyz'[d]}_dateline {-at}" for d, at in enumerate(place) if at and recognition.wraps[d]]
    return "\n".join(lines) + "\n"


def _groups(recognition: Recognition) -> str:
    subnet = recognition.subnet
    parallel = Counter(frozenset((cable.a, cable.b)) for cable in subnet.cables)
    # The management port of a switch counts as one of its hosts.
    most = max([*parallel.values(), *(hosts + 1 for hosts in subnet.hosts_per_switch())])
    return f"\nportgroup_max_ports {most}\n" if most > _PORTS else ""
