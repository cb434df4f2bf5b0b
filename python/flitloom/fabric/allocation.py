"""The hosts of a job, by their names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flitloom.errors import SpecError, show
from flitloom.fabric.identifiers import has_none, with_identifiers
from flitloom.fabric.model import Subnet


def hosts_named(subnet: Subnet, names: Iterable[str], place: str = "nodes") -> list[int]:
    """Numbers of the hosts of a list in `subnet.hosts`.

    Parameters
    ----------
    names : iterable of str
        Names of hosts, or the first words of their names (``node3`` for ``node3 HCA-1``).
    place : str
        Where the list stands, for messages.

    Raises
    ------
    SpecError
        No host has the name.

    Examples
    --------
    >>> from flitloom.fabric.allocation import hosts_named
    >>> from flitloom.fabric.examples import torus
    >>> hosts_named(torus((4,)), ["S2-host0", "S0-host0"])
    [0, 2]
    """
    known: dict[str, list[int]] = {}
    for index, host in enumerate(subnet.hosts):
        for name in dict.fromkeys([host.name, host.name.split()[0] if host.name.split() else host.name]):
            known.setdefault(name, []).append(index)
    kept: set[int] = set()
    for name in names:
        if name not in known:
            raise SpecError(f"{place}: no host is called {show(name)}; {_example(subnet, name)}")
        kept.update(known[name])
    if not kept:
        raise SpecError(f"{place}: no hosts in the list")
    return sorted(kept)


def part_of(subnet: Subnet, hosts: Iterable[int]) -> Subnet:
    """The subnet with all its switches and cables, but only some of its hosts, by their numbers."""
    if has_none(subnet):
        # The same identifiers as in tables of the whole subnet.
        subnet = with_identifiers(subnet)
    return replace(subnet, hosts=tuple(subnet.hosts[index] for index in hosts))


def _example(subnet: Subnet, name: str) -> str:
    """A name as a list could have it: one that the unknown one is a word of, or any."""
    longer = next((host.name for host in subnet.hosts if name in host.name.split()), None)
    if longer is None or '"' in longer:
        return f"{show(subnet.hosts[0].name)} is one"
    return f'a name with blanks stands in quotes: "{show(longer)[1:-1]}"'
