"""The matrix of ``nvidia-smi topo -m``: GPUs and their NVLinks."""

from __future__ import annotations

import re
from itertools import combinations

from flitloom.errors import SpecError, show
from flitloom.fabric.assembly import Assembly, Node
from flitloom.ground.reading import text_lines

#: A heading of devices, and the row of the first GPU.
_HEAD = re.compile(r"^[^\S\n]*(?:\x1b\[4m[^\S\n]*)?GPU0\b", re.MULTILINE)
_FIRST = re.compile(r"^[^\S\n]*GPU0[^\S\n]+X[^\S\n]", re.MULTILINE)
#: How a terminal is told to underline.
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_LINKS = re.compile(r"NV(\d{1,2})")
#: NVLinks of a GPU; one that has more to others has them to NVSwitches, which all others share.
_MOST = 18


def looks_like(text: str) -> bool:
    """Whether a text is such a matrix."""
    return _HEAD.search(text) is not None and _FIRST.search(text) is not None


def parse(text: str, source: str) -> Assembly:
    """Read a matrix: GPUs are hosts, ``NV2`` two links between them; other ways between GPUs are left out.

    Where GPUs name more links than any has, these lead to NVSwitches, which are taken for one.

    Raises
    ------
    SpecError
        No GPU has an NVLink, or a row is damaged.

    Examples
    --------
    >>> rows = ["     GPU0 GPU1 CPU Affinity", "GPU0  X   NV2  0-7", "GPU1 NV2   X   0-7"]
    >>> found = parse("\\n".join(rows), "smi.txt").finish()
    >>> [host.name for host in found.hosts], len(found.cables)
    (['gpu0', 'gpu1'], 2)
    """
    assembly, links = Assembly(source), _links(text, source)
    gpus = list(links)
    for gpu in gpus:
        assembly.nodes[gpu] = Node("host", gpu.lower())
    pairs = {(a, b): links[a].get(b, 0) for a, b in combinations(gpus, 2)}
    for (a, b), count in pairs.items():
        if links[b].get(a, 0) != count:
            raise SpecError(f"{source}: {a} has {count} links to {b}, which has {links[b].get(a, 0)} to it")
    if not any(pairs.values()):
        raise SpecError(f"{source}: none of its GPUs has an NVLink; only these are read")
    if max(sum(row.values()) for row in links.values()) > _MOST:
        assembly.nodes["nvswitch"] = Node("switch", "nvswitch")
        for gpu in gpus:
            if most := max(links[gpu].values(), default=0):
                assembly.join(gpu, "nvswitch", source)
                assembly.leave_out("width", f"NV{most}")
        assembly.remarks.append(
            "GPUs that name more links than they have are joined by NVSwitches, here by one"
        )
    else:
        for (a, b), count in pairs.items():
            for _ in range(count):
                assembly.join(a, b, f"{source}, {a} - {b}")
    assembly.remarks.append("only NVLinks are read; CPUs, PCI switches and NICs are left out")
    return assembly


def _links(text: str, source: str) -> dict[str, dict[str, int]]:
    """The links of every GPU to the others, as its row says."""
    heading: list[str] = []
    links: dict[str, dict[str, int]] = {}
    for number, line in enumerate(text_lines(text, source), start=1):
        words = _ESCAPE.sub("", line).split()
        if not words or not words[0].startswith("GPU"):
            continue
        if not heading:
            # Behind the devices are affinities.
            heading = words[: words.index("CPU") if "CPU" in words else None]
            continue
        place, name, cells = f"{source}, line {number}", words[0], words[1 : 1 + len(heading)]
        if name in links or name not in heading:
            raise SpecError(f"{place}: {show(name)} is not in the heading, or stands twice")
        if len(cells) < len(heading) or cells[heading.index(name)] != "X":
            raise SpecError(f"{place}: the row of {name} does not fit the heading: was the file cut off?")
        found = {device: _LINKS.fullmatch(cell) for device, cell in zip(heading, cells, strict=True)}
        links[name] = {device: int(match[1]) for device, match in found.items() if match}
    if missing := [name for name in heading if name.startswith("GPU") and name not in links]:
        raise SpecError(f"{source}: the row of {missing[0]} is missing: was the file cut off?")
    return links
