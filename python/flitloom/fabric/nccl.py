"""NCCL's description of a machine: GPUs and their NVLinks."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from flitloom.errors import SpecError
from flitloom.fabric.assembly import Assembly, Node
from flitloom.ground.reading import parse_xml

#: PCI class of NVSwitches.
_NVSWITCH = "0x068000"


def looks_like(text: str) -> bool:
    """Whether a text is such a description."""
    return text.lstrip().startswith("<system") and "<gpu" in text


def parse(text: str, source: str) -> Assembly:
    """Read the file that NCCL_TOPO_DUMP_FILE names: GPUs are hosts, NVSwitches switches.

    Raises
    ------
    SpecError
        No GPU has an NVLink, or one leads to what is described nowhere.
    """
    root, assembly = parse_xml(text, source), Assembly(source)
    gpus = {pci.get("busid", ""): gpu for pci in root.iter("pci") for gpu in pci.findall("gpu")}
    names = {bus: _name(gpu, place) for place, (bus, gpu) in enumerate(gpus.items())}
    for bus, name in names.items():
        assembly.add_node(bus, Node("host", name, place=f"{source}, gpu {bus}"))
    links: dict[tuple[str, str], int] = {}
    for bus, gpu in gpus.items():
        for link in gpu.findall("nvlink"):
            target, place = link.get("target", ""), f"{source}, gpu {bus}: nvlink"
            count = link.get("count", "1")
            if not count.isdecimal() or not 1 <= int(count[:4]) <= 64:
                raise SpecError(f"{place}: count {count[:20]!r}; it is 1 to 64")
            if target not in gpus and link.get("tclass") != _NVSWITCH:
                raise SpecError(f"{place}: {target[:40]!r} is described nowhere: was the file cut off?")
            if target not in assembly.nodes:
                assembly.nodes[target] = Node("switch", f"nvswitch {target}")
            # Two GPUs both name the links between them.
            pair = (min(bus, target), max(bus, target))
            if links.setdefault(pair, int(count)) != int(count):
                raise SpecError(f"{place}: {count} links to {target[:40]}, which names {links[pair]} of them")
    if not links:
        raise SpecError(f"{source}: no GPU in it has an NVLink; only these are read")
    for (a, b), cables in sorted(links.items()):
        for _ in range(cables):
            assembly.join(a, b, f"{source}, nvlink {a} - {b}")
    assembly.remarks.append("only NVLinks are read; CPUs, PCI switches and NICs are left out")
    return assembly


def _name(gpu: Element, place: int) -> str:
    return f"gpu{gpu.get('dev', place)}"
