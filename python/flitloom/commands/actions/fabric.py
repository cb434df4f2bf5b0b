"""What ``flitloom fabric show`` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.commands import pictures
from flitloom.commands.fabric import Where
from flitloom.commands.options import sizes_of_fabric
from flitloom.commands.screen import echo, print_json, print_table
from flitloom.errors import SpecError
from flitloom.fabric import Recognition, recognise
from flitloom.fabric.identifiers import with_identifiers
from flitloom.fabric.networks import fabric
from flitloom.fabric.torus_config import configured, read_torus_config
from flitloom.ground.extras import check_picture
from flitloom.ground.numerals import counted
from flitloom.spec.what import fields_of


def run(
    where: Where,
    torus: tuple[str | None, Path | None],
    picture: Path | None,
    as_json: bool,
) -> None:
    """Recognise a fabric and print what it is; `torus` are the sizes or the configuration of one."""
    sizes, config = torus
    file, network = where.file, where.network
    if sizes is not None and config is not None:
        raise SpecError("--sizes and --torus-config both say what the torus is; give one")
    named = file if network is None else network
    if named is None or (file is not None and network is not None):
        raise SpecError("name a file, or a network with --network")
    if picture is not None:
        check_picture(picture, "--picture")
    subnet = fabric(named)
    if config is None:
        found = recognise(subnet, sizes_of_fabric(sizes))
    else:
        found = configured(with_identifiers(subnet), read_torus_config(config))
    if picture is not None and (network is None or "graph" in fields_of(network)):
        pictures.draw_fabric(found, picture)
    elif picture is not None and network is not None:
        pictures.draw_network(network, picture)
    if as_json:
        print_json(facts(found))
    else:
        _print(found)


def _print(found: Recognition) -> None:
    subnet = found.subnet
    echo(found.describe())
    counts = f"{counted(len(subnet.switches), 'switch')}, {subnet.count_hosts()}"
    echo(f"{counts}, {counted(len(subnet.cables), 'cable')} between switches")
    for line in found.swap_lines():
        echo(f"swapped: {line}")
    for index in found.misfits:
        if not any(index in swap for swap in found.swaps):
            echo(f"misfit: {subnet.channel_name(2 * index).replace(' -> ', ' - ')}")
    for place in found.missing_switches:
        echo(f"missing switch: ({','.join(map(str, place))})")
    for a, b in found.missing_cables:
        echo(f"missing cable: {found.place(a)} - {found.place(b)}")
    if found.damaged is not None:
        for group in found.damaged.switches:
            echo(f"missing switch: in {found.group(group)}")
        for one, other in found.damaged.between:
            echo(f"missing cable: between {found.group(one)} and {found.group(other)}")
    if found.member is not None:
        for near in found.member.switches:
            echo(f"missing switch: beside {', '.join(subnet.switches[switch].name for switch in near)}")
    for switch, has, most in found.uneven():
        name = subnet.switches[switch].name
        echo(f"uneven: {name} has {counted(has, 'cable')} up, most switches of its level have {most}")
    if not found.coordinates:
        return
    hosts: list[list[str]] = [[] for _ in subnet.switches]
    for host in subnet.hosts:
        hosts[host.switch].append(host.name)
    echo()
    print_table(
        ("switch", "coordinates", "hosts"),
        [
            (switch.name, found.where(number), " ".join(names))
            for number, (switch, names) in enumerate(zip(subnet.switches, hosts, strict=True))
        ],
    )


def facts(found: Recognition) -> dict[str, Any]:
    """Everything about a fabric as plain values."""
    subnet = found.subnet
    return {
        "kind": found.kind,
        "sizes": list(found.sizes),
        "wraps": list(found.wraps),
        "factors": list(found.factors),
        "switches": len(subnet.switches),
        "hosts": len(subnet.ports_of_hosts()),
        "cables": len(subnet.cables),
        "missing_switches": found.missing()[0],
        "missing_cables": found.missing()[1],
        "misfits": len(found.misfits),
        "description": found.describe(),
        "missing_switch_coordinates": [list(place) for place in found.missing_switches],
        "missing_cable_ends": [
            [subnet.switches[a].name, subnet.switches[b].name] for a, b in found.missing_cables
        ],
        "misfit_cables": [subnet.channel_name(2 * index).replace(" -> ", " - ") for index in found.misfits],
        "swapped": found.swap_lines(),
        "coordinates": {
            name(switch.name, switch.guid): list(place)
            for switch, place in zip(
                subnet.switches, found.coordinates or [()] * len(subnet.switches), strict=True
            )
        },
        "host_names": [host.name for host in subnet.hosts],
        "remarks": list(subnet.remarks),
        "levels": {
            name(switch.name, switch.guid): level
            for switch, level in zip(subnet.switches, found.levels, strict=False)
        },
        "host_order": [subnet.hosts[host].name for host in found.host_order()],
        "uneven": [subnet.switches[switch].name for switch, _, _ in found.uneven()],
    }


def name(text: str, guid: int | None) -> str:
    """A switch by its GUID, which is unique, or by its name."""
    return text if guid is None else f"0x{guid:016x}"
