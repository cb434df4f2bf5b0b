"""Descriptors of Tenstorrent pods: what cables join which chips, and which meshes a program asks for.

Three kinds are read: the cluster descriptor of tt-umd (YAML; the chips and Ethernet links of a host), the
physical system descriptor of tt-metal (text form of protocol buffers; those of all hosts), and its mesh graph
descriptor, version 2 (the same form; the meshes, rings and connections that a program asks for).
Every chip is a switch with one host.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from flitloom.errors import SpecError, show
from flitloom.fabric.assembly import Assembly, Node
from flitloom.fabric.textproto import Message, parse
from flitloom.ground.extras import need
from flitloom.ground.limits import FABRIC_PARTS
from flitloom.ground.numerals import counted

#: Lists within lists of a YAML file.
_DEPTH = 32
#: Fields of a mesh that add links which are not understood here.
_UNKNOWN_LINKS = ("express_links",)


def is_cluster(text: str) -> bool:
    """Whether a text is a cluster descriptor."""
    return re.search(r"^ethernet_connections[ \t]*:", text, re.MULTILINE) is not None


def is_system(text: str) -> bool:
    """Whether a text is a physical system descriptor."""
    return re.search(r"^[ \t]*asic_connectivity_graph[ \t]*:?[ \t]*\{", text, re.MULTILINE) is not None


def is_mesh_graph(text: str) -> bool:
    """Whether a text is a mesh graph descriptor, of either version."""
    return re.search(r"^[ \t]*(?:mesh_descriptors\b|ChipSpec[ \t]*:)", text, re.MULTILINE) is not None


def parse_cluster(text: str, source: str) -> Assembly:
    """Read a cluster descriptor: its chips, and a cable per Ethernet link between two of them.

    Channel c of a chip is port c + 1. Links to chips of other hosts are counted in the remarks.
    """
    fields = _yaml(text, source)
    assembly = Assembly(source)
    for name in ("arch", "chips"):
        for chip in _mapping(fields.get(name) or {}, f"{source}: {name}"):
            _add(assembly, _index(chip, f"{source}: {name}"))
    for number, link in enumerate(
        _list(fields.get("ethernet_connections") or [], f"{source}: ethernet_connections")
    ):
        place = f"{source}: ethernet_connections[{number}]"
        ends = [end for end in _list(link, place) if isinstance(end, dict) and "chan" in end]
        if len(ends) != 2:
            raise SpecError(f"{place}: a link has two ends, each with chip and chan")
        here, there = (_chip_end(assembly, end, place) for end in ends)
        assembly.connect(here, there, place)
    remote = fields.get("ethernet_connections_to_remote_devices") or []
    if remote:
        assembly.remarks.append(
            f"{len(_list(remote, source))} links lead to chips of other hosts; a physical system "
            "descriptor has all of them"
        )
    return assembly


def _chip_end(assembly: Assembly, end: Mapping[str, Any], place: str) -> tuple[str, int]:
    return _add(assembly, _index(end.get("chip"), f"{place}: chip")), _port(end.get("chan"), place)


def parse_system(text: str, source: str) -> Assembly:
    """Read a physical system descriptor: the chips of all hosts, and a cable per Ethernet link."""
    fields = parse(text, source)
    assembly = Assembly(source)
    where: dict[int, str] = {}
    for entry in _messages(fields, "asic_descriptors", source):
        chip = _one(entry, "asic_id", int, f"{source}: asic_descriptors")
        told = next(iter(_messages(entry, "asic_descriptor", source)), {})
        parts = [told.get(name, [None])[0] for name in ("host_name", "tray_id", "asic_location")]
        if all(part is not None for part in parts):
            where[chip] = f"{parts[0]}/{parts[1]}/{parts[2]}"
    for graph in _messages(fields, "system_graph", source):
        for host in _messages(graph, "asic_connectivity_graph", source):
            for asic in _messages(host, "asic_topologies", source):
                _add_asic(assembly, asic, where, source)
    return assembly


def _add_asic(assembly: Assembly, asic: Message, where: Mapping[int, str], source: str) -> None:
    """Add a chip with its links; every one stands at both ends."""

    def known(chip: int) -> str:
        key = f"asic {chip:x}"
        if key not in assembly.nodes:
            assembly.nodes[key] = Node("switch", where.get(chip, key))
        return key

    own = _one(asic, "asic_id", int, f"{source}: asic_topologies")
    place = f"{source}: asic_topologies {own}"
    key = known(own)
    for topology in _messages(asic, "topology", source):
        for edge in _messages(topology, "asic_connections", source):
            other = known(_one(edge, "dst_asic_id", int, place))
            for link in _messages(edge, "eth_connections", source):
                # Fields of value 0 are left out.
                ends = [_port(link.get(name, [0])[0], place) for name in ("src_chan", "dst_chan")]
                assembly.connect((key, ends[0]), (other, ends[1]), place)


def parse_mesh_graph(text: str, source: str) -> Assembly:
    """Read a mesh graph descriptor, version 2: every device of its meshes, and a cable per channel.

    Devices of a mesh are numbered with the last dimension fastest. A connection between meshes that
    names no devices has its channels spread over devices of equal numbers; a remark says so.
    """
    if "ChipSpec" in text:
        raise SpecError(
            f"{source}: is a mesh graph descriptor of version 1, whose topologies count chips or boards; "
            "give the .textproto of version 2"
        )
    return _Meshes(parse(text, source), source).assembled()


class _Meshes:
    """The instances of a mesh graph descriptor, down to their devices."""

    def __init__(self, fields: Message, source: str) -> None:
        self.source = source
        self.assembly = Assembly(source)
        self.meshes = self._named(fields, "mesh_descriptors")
        self.graphs = self._named(fields, "graph_descriptors")
        self.top = fields.get("top_level_instance", [])
        #: Connections between meshes of which no devices are named.
        self.spread = 0
        self.devices = self.cables = 0

    def _named(self, fields: Message, kind: str) -> dict[str, Message]:
        found: dict[str, Message] = {}
        for entry in _messages(fields, kind, self.source):
            name = _one(entry, "name", str, f"{self.source}: {kind}")
            if name in found:
                raise SpecError(f"{self.source}: {kind}: {show(name)} is described twice")
            found[name] = entry
        return found

    def assembled(self) -> Assembly:
        if len(self.top) != 1:
            raise SpecError(f"{self.source}: top_level_instance: {len(self.top)} given; there is exactly one")
        self.instance(self.top[0], "", ())
        if self.spread:
            self.assembly.remarks.append(
                f"{self.spread} connections between meshes name no devices; their channels are spread over "
                "devices of equal numbers"
            )
        return self.assembly

    def instance(self, node: Any, above: str, around: tuple[str, ...]) -> tuple[str, list[str]]:
        """Build a mesh or graph; its label among its siblings, and its devices."""
        kind, name, number, _ = self._reference(node)
        label = f"{name}({number})"
        path = f"{above}:{label}" if above else label
        if kind == "mesh":
            return label, self.mesh(self._descriptor(self.meshes, "mesh_descriptors", name), path)
        if name in around:
            raise SpecError(f"{self.source}: graph_descriptors: {show(name)} contains itself")
        return label, self.graph(
            self._descriptor(self.graphs, "graph_descriptors", name), path, (*around, name)
        )

    def _descriptor(self, known: Mapping[str, Message], kind: str, name: str) -> Message:
        if name not in known:
            raise SpecError(f"{self.source}: {kind}: {show(name)} is described nowhere")
        return known[name]

    def _reference(self, node: Any) -> tuple[str, str, int, Message]:
        """What a node is, its descriptor, its number, and the reference itself."""
        for kind in ("mesh", "graph"):
            if isinstance(node, dict) and kind in node:
                place = f"{self.source}: {kind}"
                entry = next(iter(_messages(node, kind, self.source)))
                name = _one(entry, f"{kind}_descriptor", str, place)
                return kind, name, entry.get(f"{kind}_id", [0])[0], entry
        raise SpecError(f"{self.source}: an instance is {show(node)}; it must be a mesh or a graph")

    def mesh(self, entry: Message, path: str) -> list[str]:
        place = f"{self.source}: mesh_descriptors {path}"
        for name in _UNKNOWN_LINKS:
            if name in entry:
                raise SpecError(
                    f"{place}: {name} is not supported; express_connections names links one by one"
                )
        topology = _one(entry, "device_topology", dict, place)
        sizes = [_index(size, f"{place}: dims") for size in topology.get("dims", [])]
        if not sizes or min(sizes) < 1:
            raise SpecError(f"{place}: dims are {show(sizes)}; they must be positive whole numbers")
        devices = 1
        for size in sizes:
            devices = min(devices * size, FABRIC_PARTS + 1)
        self.devices += devices
        if self.devices > FABRIC_PARTS:
            raise SpecError(f"{place}: more than {FABRIC_PARTS} devices")
        kinds = topology.get("dim_types", topology.get("types", []))
        if not set(map(str, kinds)) <= {"LINE", "RING"} or len(kinds) > len(sizes):
            raise SpecError(f"{place}: types are {show(kinds)}; they must be LINE or RING, one per dimension")
        channels = self._channels(entry, place)
        rings = [kind == "RING" for kind in kinds]
        self.cables += channels * _count_of_links(sizes, rings)
        Assembly.require_cables(self.cables, place)
        names = [f"{path}:D{number}" for number in range(devices)]
        for name in names:
            self.assembly.nodes[name] = Node("switch", name)
        for a, b in _grid_links(sizes, rings):
            self._cables(names[a], names[b], channels, place)
        for link in _messages(entry, "express_connections", self.source):
            src, dst = (
                self._device(names, link.get(name, [0])[0], f"{place}: express_connections")
                for name in ("src", "dst")
            )
            self._cables(src, dst, channels, place)
        return names

    def graph(self, entry: Message, path: str, around: tuple[str, ...]) -> list[str]:
        place = f"{self.source}: graph_descriptors {path}"
        members: dict[str, list[str]] = {}
        for node in entry.get("instances", []):
            label, devices = self.instance(node, path, around)
            if label in members:
                raise SpecError(f"{place}: {label} is an instance twice")
            members[label] = devices
        if not members:
            raise SpecError(f"{place}: has no instances")
        labels = list(members)
        for shape in entry.get("graph_topology", []):
            if shape not in ("ALL_TO_ALL", "RING"):
                raise SpecError(f"{place}: graph_topology is {show(shape)}; it must be ALL_TO_ALL or RING")
            pairs = combinations(labels, 2) if shape == "ALL_TO_ALL" or len(labels) < 4 else _around(labels)
            for a, b in pairs:
                self._spread(members[a], members[b], self._channels(entry, place), place)
        for link in _messages(entry, "connections", self.source):
            if link.get("directional", ["false"])[0] in ("true", 1):
                raise SpecError(f"{place}: a connection is directional; cables have both directions")
            nodes = link.get("nodes", [])
            if len(nodes) != 2:
                raise SpecError(f"{place}: a connection has {counted(len(nodes), 'node')}; it must have two")
            here, there = (self._end(node, members, path, place) for node in nodes)
            self._spread(here, there, self._channels(link, place), place)
        return [device for devices in members.values() for device in devices]

    def _end(self, node: Any, members: Mapping[str, list[str]], path: str, place: str) -> list[str]:
        """The devices that an end of a connection names."""
        label, prefix, devices = "", path, None
        while True:
            kind, name, number, entry = self._reference(node)
            label = f"{name}({number})"
            prefix = f"{prefix}:{label}"
            if devices is None:
                if label not in members:
                    raise SpecError(f"{place}: {label} is connected, but no instance")
                devices = members[label]
            else:
                devices = [device for device in devices if device.startswith(f"{prefix}:")]
                if not devices:
                    raise SpecError(f"{place}: {prefix} is connected, but described nowhere")
            if kind == "mesh":
                if "device_id" in entry:
                    return [self._device(devices, entry["device_id"][0], place)]
                return devices
            if "mesh" not in entry and "graph" not in entry:
                return devices
            node = entry

    def _device(self, devices: Sequence[str], number: Any, place: str) -> str:
        index = _index(number, f"{place}: device")
        if index >= len(devices):
            raise SpecError(f"{place}: device {index} does not exist; devices are 0 to {len(devices) - 1}")
        return devices[index]

    def _channels(self, entry: Message, place: str) -> int:
        count = _index(_one(_one(entry, "channels", dict, place), "count", int, f"{place}: channels"), place)
        if not 0 < count < 255:
            raise SpecError(f"{place}: channels: count is {count}; it must be 1 to 254")
        return count

    def _spread(self, a: Sequence[str], b: Sequence[str], channels: int, place: str) -> None:
        self.spread += len(a) > 1 or len(b) > 1
        for channel in range(channels):
            a_end, b_end = (
                devices[
                    channel * len(devices) // channels if channels < len(devices) else channel % len(devices)
                ]
                for devices in (a, b)
            )
            self._cables(a_end, b_end, 1, place)

    def _cables(self, a: str, b: str, count: int, place: str) -> None:
        for _ in range(count):
            self.assembly.join(a, b, place)


def _count_of_links(sizes: Sequence[int], rings: Sequence[bool]) -> int:
    """How many links `_grid_links` makes.

    >>> _count_of_links([3, 4], [True]) == len(list(_grid_links([3, 4], [True])))
    True
    """
    devices = math.prod(sizes)
    closed = [number < len(rings) and rings[number] and size > 2 for number, size in enumerate(sizes)]
    return sum(devices // size * (size - (not ring)) for size, ring in zip(sizes, closed, strict=True))


def _grid_links(sizes: Sequence[int], rings: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Neighbours of a grid, by their numbers, the last dimension fastest."""
    strides = [1] * len(sizes)
    for dimension in range(len(sizes) - 2, -1, -1):
        strides[dimension] = strides[dimension + 1] * sizes[dimension + 1]
    for number, at in enumerate(product(*map(range, sizes))):
        for dimension, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            closes = dimension < len(rings) and rings[dimension] and size > 2
            if at[dimension] + 1 < size:
                yield number, number + stride
            elif closes:
                yield number, number - (size - 1) * stride


def _around(labels: Sequence[str]) -> list[tuple[str, str]]:
    return [(labels[number - 1], label) for number, label in enumerate(labels)]


def _yaml(text: str, source: str) -> Mapping[str, Any]:
    need("graphs", "a cluster descriptor")
    import yaml

    depth = deepest = 0
    for sign in re.findall(r"[\[\]{}]|^[ \t]*(?:[-?][ \t]+)+", text, re.MULTILINE):
        depth += 1 if sign in "[{" else -1 if sign in "]}" else 0
        deepest = max(deepest, depth, sign.count("-") + sign.count("?"))
    if deepest > _DEPTH:
        raise SpecError(f"{source}: more than {_DEPTH} lists within each other")
    try:
        fields = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise SpecError(
            f"{source}{line}: no valid YAML: {getattr(error, 'problem', None) or error}"
        ) from None
    return _mapping(fields, source)


def _mapping(value: Any, place: str) -> Mapping[Any, Any]:
    if not isinstance(value, dict):
        raise SpecError(f"{place}: is {show(value)}; it must be a mapping")
    return value


def _list(value: Any, place: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise SpecError(f"{place}: is {show(value)}; it must be a list")
    return value


def _messages(fields: Mapping[str, Any], name: str, source: str) -> Iterator[Message]:
    for value in fields.get(name, []):
        if not isinstance(value, dict):
            raise SpecError(f"{source}: {name} is {show(value)}; it must be a message {{ ... }}")
        yield value


def _one(fields: Message, name: str, kind: type, place: str) -> Any:
    values = fields.get(name, [])
    if len(values) != 1 or not isinstance(values[0], kind):
        what = {int: "a whole number", str: "a name", dict: "a message"}[kind]
        raise SpecError(f"{place}: {name} is {show(values[0]) if values else 'missing'}; it must be {what}")
    return values[0]


def _index(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise SpecError(f"{place}: is {show(value)}; it must be a whole number from 0")
    return value


def _port(channel: Any, place: str) -> int:
    port = _index(channel, f"{place}: channel") + 1
    if port > 254:
        raise SpecError(f"{place}: channel {port - 1}; channels are 0 to 253")
    return port


def _add(assembly: Assembly, chip: int) -> str:
    key = f"chip{chip}"
    if key not in assembly.nodes:
        assembly.nodes[key] = Node("switch", key)
    return key
