"""What should my torus give: the best all-reduce per message size, beside the bound."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from flitloom.collectives.algorithms import Algorithm, algorithms, lower_bound
from flitloom.collectives.search import collective
from flitloom.errors import SpecError
from flitloom.spec import Topology

#: Largest torus that algorithms are replayed on.
MOST_NODES = 4096

_SIZES = {"": 1, "B": 1, **{f"{unit}B": 1000**power for power, unit in enumerate("kMGT", 1)}}
_SIZES |= {"KB": 1000, **{f"{unit}iB": 1024**power for power, unit in enumerate("KMGT", 1)}}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def read_size(text: str, place: str) -> float:
    """Bytes of a text like ``64KiB``.

    >>> read_size("64KiB", "--size")
    65536.0
    """
    return _read(text, place, _SIZES, "a size like 64KiB or 1GB")


def read_seconds(text: str, place: str) -> float:
    """Seconds of a text like ``1us``."""
    return _read(text, place, _TIMES, "a time like 1us or 500ns")


def read_bandwidth(text: str, place: str) -> float:
    """Bytes per second of a text like ``50GB/s``."""
    wanted = "a bandwidth like 50GB/s"
    if not text.endswith("/s"):
        raise SpecError(f"{place} {text}: write {wanted}")
    return _read(text[:-2], place, _SIZES, wanted)


def _read(text: str, place: str, units: dict[str, float] | dict[str, int], wanted: str) -> float:
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)", text)
    if found is None or found[2] not in units or float(found[1]) <= 0:
        raise SpecError(f"{place} {text}: write {wanted}")
    return float(found[1]) * units[found[2]]


@dataclass(frozen=True)
class Advice:
    """Algorithms by message size.

    Attributes
    ----------
    sizes : tuple of float
        Bytes of the vector every node has.
    algorithms : tuple of Algorithm
        Every algorithm that applies.
    seconds : tuple of tuple of float
        Per size and algorithm the time.
    bounds : tuple of float
        Per size a lower bound on the time.
    """

    sizes: tuple[float, ...]
    algorithms: tuple[Algorithm, ...]
    seconds: tuple[tuple[float, ...], ...]
    bounds: tuple[float, ...]

    def best(self, row: int) -> int:
        """The fastest algorithm for a size."""
        times = self.seconds[row]
        return min(range(len(times)), key=lambda number: (times[number], number))

    def crossovers(self) -> list[tuple[float, str]]:
        """From which of the sizes on which algorithm is the fastest."""
        found: list[tuple[float, str]] = []
        for row, size in enumerate(self.sizes):
            name = self.algorithms[self.best(row)].name
            if not found or found[-1][1] != name:
                found.append((size, name))
        return found


def advise(
    topology: Topology, sizes: Sequence[float], alpha: float, bandwidth: float, *, twist: bool = False
) -> Advice:
    """Compare all-reduce algorithms: a round costs `alpha` plus the bytes of the fullest link by `bandwidth`.

    On a torus without failures and twist every algorithm of `algorithms` is replayed on links; elsewhere the
    planned one stands alone.

    Parameters
    ----------
    topology : Topology
        A torus; with failures or a twist only the planned algorithm applies.
    sizes : sequence of float
        Bytes of the vector every node has.
    alpha : float
        Seconds a round costs whatever it carries.
    bandwidth : float
        Bytes per second of a link in one direction.
    twist : bool
        Whether the torus is twisted.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.collectives.advise import advise
    >>> advice = advise(fl.Torus(8, 8), [1024, 2**20, 2**27], 1e-6, 50e9)
    >>> [advice.algorithms[advice.best(row)].name for row in range(3)]
    ['family (sums over all)', 'family (Swing, 4 of 6 halved)', 'spheres']
    """
    if topology.nodes > MOST_NODES:
        raise SpecError.at(
            "topology", f"{topology.nodes} nodes", f"algorithms are compared on at most {MOST_NODES}"
        )
    plan = collective(topology, "all-reduce", twist=twist)
    share = 1 / len(plan.members)
    known = [Algorithm("planned steps", (share,) * plan.steps, "this project")]
    if plan.ground.whole and not twist:
        known = [*algorithms(topology.sizes), *known]
    count = len(plan.members)
    if plan.ground.whole and not twist:
        bounds = [lower_bound(topology.sizes, size, alpha, bandwidth) for size in sizes]
    else:
        # The links of all nodes together, as in the bound of the plan.
        links = prod(topology.sizes) * sum(plan.ground.directions.values()) if plan.ground.whole else 0
        links = links or sum(plan.ground.links.values())
        bounds = [max(alpha, 2 * (count - 1) * size / links / bandwidth) for size in sizes]
    seconds = [tuple(one.seconds(size, alpha, bandwidth) for one in known) for size in sizes]
    return Advice(tuple(sizes), tuple(known), tuple(seconds), tuple(bounds))


def powers(low: float, high: float) -> list[float]:
    """Sizes from `low` to at most `high`, each twice the one before."""
    if not 1 <= low <= high <= 2**50:
        raise SpecError.at("--size", "write two sizes from 1B to 1024TiB, the smaller first, as 1KiB:1GiB")
    found = [low]
    while found[-1] * 2 <= high:
        found.append(found[-1] * 2)
    return found


def show_size(size: float) -> str:
    """A size in binary units.

    >>> show_size(65536), show_size(1500)
    ('64KiB', '1500B')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power and size % 1024**power == 0:
            return f"{size / 1024**power:.0f}{unit}"
    return f"{size:.0f}B"


def compare(topology: Topology, twist: bool = False) -> list[dict[str, object]]:
    """What failures and a twist change: steps of planned operations beside those of the plain, whole torus.

    Returns
    -------
    list of dict
        ``operation``, ``steps``, ``bound``, ``without`` (steps on the plain torus) and ``ratio``, steps by
        steps without; empty if nothing has failed and nothing is twisted.
    """
    if not (twist or topology.failed_nodes or topology.failed_links):
        return []
    plain = Topology(kind=topology.kind, sizes=topology.sizes, wrap=topology.wrap)
    rows: list[dict[str, object]] = []
    for operation in ("all-gather", "all-reduce", "all-to-all"):
        if operation == "all-to-all" and topology.nodes > 256 and not plain_is_enough(topology):
            continue
        here, there = collective(topology, operation, twist=twist), collective(plain, operation)
        rows.append(
            {
                "operation": operation,
                "steps": here.steps,
                "bound": here.bound,
                "without": there.steps,
                "ratio": round(here.steps / there.steps, 4),
            }
        )
    return rows


def in_words(row: dict[str, object]) -> str:
    """What a row of `compare` means.

    >>> in_words({"operation": "all-gather", "steps": 21, "without": 16})
    'an all-gather takes 31 % longer than on the plain, whole torus'
    >>> in_words({"operation": "all-to-all", "steps": 74, "without": 128})
    'an all-to-all is 1.73 times as fast as on the plain, whole torus'
    """
    steps, without = int(str(row["steps"])), int(str(row["without"]))
    where = "on the plain, whole torus"
    if steps == without:
        return f"an {row['operation']} takes as long as {where}"
    if steps < without:
        return f"an {row['operation']} is {without / steps:.2f} times as fast as {where}"
    return f"an {row['operation']} takes {100 * (steps / without - 1):.0f} % longer than {where}"


def plain_is_enough(topology: Topology) -> bool:
    """Whether plans are orbits, which are quick on any size."""
    return not topology.failed_nodes and not topology.failed_links
