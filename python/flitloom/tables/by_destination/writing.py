"""The files that load tables by destination, written piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flitloom.fabric.netlist import written
from flitloom.fabric.torus_2qos import torus_2qos
from flitloom.ground.outputs import folder_for, write_files
from flitloom.tables.by_destination.back import MOVED, back_from
from flitloom.tables.by_destination.colours import RISES, rises
from flitloom.tables.by_destination.manual import manual, options
from flitloom.tables.by_destination.qos_policy import qos_policy
from flitloom.tables.by_destination.remembered import FABRIC, FIRST, LOADED
from flitloom.tables.by_destination.stages import BACK, FOLDER, moved_pairs, stages_of, told
from flitloom.tables.by_destination.tables import LEVELS, own_lanes, source_guids

if TYPE_CHECKING:
    from flitloom.fabric.model import Switch
    from flitloom.tables.by_destination.known import MadeTables

#: The list of cables whose repair moves levels.
SURVIVE = "survive.txt"
#: Files that some tables have and others have not.
_OPTIONAL = (
    "path-sl.txt",
    "slvl.txt",
    "sl2vl.dump",
    RISES,
    "qos-policy.conf",
    "partitions.conf",
    "torus-2QoS.conf",
    "host-order.txt",
    "STAGES.txt",
    "moved-pairs.txt",
    MOVED,
    SURVIVE,
)
#: What the report of a stage says.
_REPORTED = ("managers", "sm_sl", "multicast_sl", "service_levels")
#: The partition that OpenSM makes by itself, with a level of its multicast groups.
_PARTITION = "Default=0x7fff, ipoib, sl={level} : ALL=full;\n"


def write_tables(tables: MadeTables, folder: str | Path) -> Path:
    """Write all files of tables into a folder; optional ones that these tables lack are removed from it.

    Service levels are written only where some are not 0.
    """
    configuration, policy = torus_2qos(tables.recognition), qos_policy(tables)
    facts, stages, back = tables.facts(), stages_of(tables), back_from(tables)
    known, absent = tables.first if tables.first and tables.first.is_there else None, {}
    if known and back and tables.levels.any() and known.names(tables.subnet, all_of_it=False):
        # Hosts behind a failed switch keep their levels.
        absent = {"path-sl.txt": levels_text(back.now)}
        policy = policy and qos_policy(back.now)
    order = "".join(f"{tables.subnet.hosts[host].name}\n" for host in tables.recognition.host_order())
    texts: dict[str, str | Iterable[str | bytes]] = {
        **_loaded(tables, policy, facts | {"topology": tables.subnet.named}),
        **({"slvl.txt": _slvl(tables)} if tables.rising is None else {}),
        **({"host-order.txt": order} if order else {}),
        **({"torus-2QoS.conf": configuration} if configuration else {}),
        "README.txt": manual(tables, bool(configuration), bool(policy), bool(stages or back)),
        FABRIC: written(tables.subnet),
        **absent,
    }
    if stages or back:
        texts["STAGES.txt"] = told(
            stages, None if back is None else back.stages, options(tables, bool(policy), "cur/")
        )
    if tables.update is not None and tables.update.moved:
        texts["moved-pairs.txt"] = moved_pairs(tables)
    if back is not None and len(moved := list(moved_pairs(back.tables))) > 1:
        texts[MOVED] = moved
    if known is not None and tables.again and known.names(tables.subnet):
        files = known.files()
        texts |= {name: files[name] for name in files if name != "report.json"}
    report = {name: facts[name] for name in _REPORTED}
    there, again = _Texts(), _Texts()
    folders: dict[str, dict[str, str | Iterable[str | bytes]]] = {
        FOLDER.format(number): _loaded(stage.tables, policy, report, there)
        for number, stage in enumerate(stages[:-1], start=1)
    }
    for number, stage in enumerate(back.stages[:-1] if back else (), start=1):
        rules = again.policy(stage.tables) if policy else None
        folders[BACK.format(number)] = _loaded(stage.tables, rules, report, again)
    if known is not None and not tables.again:
        folders[FIRST] = {**known.files()}
    with folder_for(folder) as place:
        for name, files in folders.items():
            with folder_for(place / name) as below:
                write_files({below / each: text for each, text in files.items()})
        write_files({place / name: text for name, text in texts.items()})
        _remove(place, [name for name in _OPTIONAL if name not in texts])
        _forget(place, folders)
    return place


def _forget(place: Path, folders: Iterable[str]) -> None:
    """Take away stages and first tables of a repair that was written there before."""
    for below in place.iterdir():
        kind, _, number = below.name.rpartition("-")
        own = below.name == FIRST or (kind in ("stage", "back") and number.isdecimal())
        if own and below.is_dir() and below.name not in folders:
            _remove(below, LOADED)
            with suppress(OSError):
                below.rmdir()


def _remove(folder: Path, names: Iterable[str]) -> None:
    """Remove files of tables that were there before."""
    for name in names:
        with suppress(FileNotFoundError):
            (folder / name).unlink()


class _Texts:
    """What stages on one fabric have in common: most entries of switches, and files that do not differ."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, bytes], str] = {}
        self.groups: dict[tuple[int, bytes], str] = {}
        self._policies: dict[bytes, str | None] = {}
        self._levels: dict[bytes, list[str]] = {}
        self._lanes: list[str] = []

    def policy(self, tables: MadeTables) -> str | None:
        """The policy of the levels of tables."""
        key = tables.levels.tobytes()
        if key not in self._policies:
            self._policies[key] = qos_policy(tables, self.groups)
        return self._policies[key]

    def levels(self, tables: MadeTables) -> list[str]:
        """Their levels."""
        key = tables.levels.tobytes()
        if key not in self._levels:
            self._levels[key] = list(levels_text(tables))
        return self._levels[key]

    def lanes(self, tables: MadeTables) -> list[str]:
        """Their lanes, which stages do not change."""
        self._lanes = self._lanes or list(_sl2vl(tables))
        return self._lanes


def _loaded(
    tables: MadeTables, policy: str | None, report: dict[str, Any], known: _Texts | None = None
) -> dict[str, str | Iterable[str | bytes]]:
    """What is loaded, and what its check reads: all files of a stage; `known` are texts of other stages."""
    multicast = tables.beside.multicast_level
    levels, lanes = (levels_text, _sl2vl) if known is None else (known.levels, known.lanes)
    return {
        "opensm-lfts.dump": _forwarding(tables, None if known is None else known.rows),
        **({"path-sl.txt": levels(tables)} if tables.levels.any() else {}),
        **({"sl2vl.dump": lanes(tables)} if tables.rising is None else {}),
        **({} if tables.rising is None else {RISES: rises(tables.subnet, tables.rising)}),
        "report.json": json.dumps(report, indent=2) + "\n",
        **({"qos-policy.conf": policy} if policy else {}),
        **({"partitions.conf": _PARTITION.format(level=multicast)} if multicast else {}),
    }


def _forwarding(tables: MadeTables, known: dict[tuple[int, bytes], str] | None = None) -> Iterator[str]:
    """Out ports, switch by switch; texts of switches and rows that are known are taken, and others kept."""
    subnet, ports = tables.subnet, tables.ports()
    names = {}
    for lid, owner in zip(tables.lids.tolist(), tables.owners.tolist(), strict=True):
        host = subnet.hosts[owner]
        names[lid] = f"Channel Adapter portguid 0x{host.port_guid or 0:016x}: '{host.name}'"
    for switch in subnet.switches:
        if switch.lid:
            names[switch.lid] = f"Switch portguid 0x{switch.guid or 0:016x}: '{switch.name}'"
    order = sorted(names)
    tails = [f" : ({names[lid]})\n" for lid in order]
    heads = [f"0x{lid:04x} " for lid in order]
    texts = [f"{port:03d}" for port in range(256)]
    for index, switch in enumerate(subnet.switches):
        row = ports[index, order]
        yield (
            f"Unicast lids [0x0-0x{order[-1]:x}] of switch Lid {switch.lid or 0} guid "
            f"0x{switch.guid or 0:016x} ('{switch.name}'):\n"
            "  Lid  Out   Destination\n       Port     Info\n"
        )
        key = index, row.tobytes()
        text = None if known is None else known.get(key)
        if text is None:
            text = "".join(
                [
                    head + texts[port] + tail
                    for head, port, tail in zip(heads, row.tolist(), tails, strict=True)
                    if port != 255
                ]
            )
        if known is not None:
            known[key] = text
        yield text
        yield f"{np.count_nonzero(row != 255)} valid lids dumped\n"


def levels_text(tables: MadeTables) -> Iterator[str]:
    """Service levels, source by source; written only where some are not 0."""
    heads = [f" {lid} " for lid in tables.lids.tolist()]
    texts = [f"{level}\n" for level in range(LEVELS)]
    owners = tables.owners.tolist()
    hosts, guids = tables.subnet.hosts, source_guids(tables.subnet)
    # Lines with the GUID of a node hold for all its ports, so those of other ports follow.
    for index in sorted(range(len(hosts)), key=lambda index: guids[index] != (hosts[index].guid or 0)):
        guid, levels = f"0x{guids[index]:016x}", tables.levels[:, hosts[index].switch].tolist()
        yield "".join(
            [
                guid + head + texts[level]
                for head, owner, level in zip(heads, owners, levels, strict=True)
                if owner != index
            ]
        )


def _slvl(tables: MadeTables) -> Iterator[str]:
    """Lanes in the form of ibdmchk: a hexadecimal digit per service level."""
    for switch, hosts, arriving in _switches(tables):
        guid = f"0x{switch.guid or 0:016x}"
        # Packets to a host keep the lane of their level; nothing waits behind them.
        to_hosts = [f" {port} {_digits(bytes(own_lanes(tables.lanes_there)))}" for port in hosts]
        for port_in, rows in arriving:
            lines = [f" {port} {_digits(lanes)}" for port, lanes in rows] + to_hosts
            yield "".join([f"{guid} {port_in}{line}" for line in lines])


def _sl2vl(tables: MadeTables) -> Iterator[str]:
    """The same as OpenSM dumps them."""
    levels = "#in out : " + " ".join(f"{level:<2d}" for level in range(LEVELS)).rstrip() + "\n"
    for switch, _, arriving in _switches(tables):
        yield f'Switch 0x{switch.guid or 0:016x}, base LID {switch.lid or 0}, "{switch.name}"\n{levels}'
        for port_in, rows in arriving:
            yield "".join([f"{port_in:<3d} {port:<3d} : {_numbers(lanes)}" for port, lanes in rows])


def _switches(
    tables: MadeTables,
) -> Iterator[tuple[Switch, list[int], Iterator[tuple[int, list[tuple[int, bytes]]]]]]:
    """Every switch, the ports of its hosts, and per port where packets arrive the lanes at other ports."""
    hosts: list[list[int]] = [[] for _ in tables.subnet.switches]
    for host in tables.subnet.hosts:
        hosts[host.switch].append(host.switch_port)
    for index, lists in enumerate(tables.subnet.outgoing()):
        outgoing = [port for _, port, _ in lists]
        yield tables.subnet.switches[index], hosts[index], _arriving(tables, index, outgoing, hosts[index])


def _arriving(
    tables: MadeTables, index: int, outgoing: list[int], hosts: list[int]
) -> Iterator[tuple[int, list[tuple[int, bytes]]]]:
    degree = len(outgoing)
    arriving = [(port, row) for row, port in enumerate(outgoing)] + [(port, degree) for port in hosts]
    for port_in, row in arriving:
        if tables.mode == "sl2vl":
            first = int(tables.lane_start[index]) + row * degree
            lanes = [entry.tobytes() for entry in tables.lane_rows[first : first + degree]]
        else:
            lanes = [bytes(own_lanes(tables.lanes_there))] * degree
        yield port_in, list(zip(outgoing, lanes, strict=True))


@cache
def _digits(lanes: bytes) -> str:
    """Lanes by service level, two digits a byte, and the end of the line."""
    return " ".join(f"0x{lanes[n]:x}{lanes[n + 1]:x}" for n in range(0, LEVELS, 2)) + "\n"


@cache
def _numbers(lanes: bytes) -> str:
    """Lanes by service level as OpenSM writes them, and the end of the line."""
    return " ".join(f"{lane:<2d}" for lane in lanes).rstrip() + "\n"
