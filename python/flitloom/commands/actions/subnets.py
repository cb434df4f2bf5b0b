"""Fabrics that the command line names, and the hosts of a job in them."""

from __future__ import annotations

from pathlib import Path

from flitloom.commands.screen import say
from flitloom.errors import show_file
from flitloom.fabric import Subnet
from flitloom.fabric.allocation import hosts_named, part_of
from flitloom.fabric.hostlist import expand
from flitloom.fabric.networks import fabric
from flitloom.limits import NODES_BYTES
from flitloom.reading import read_text
from flitloom.spec import Topology


def job_hosts(subnet: Subnet, nodes: Path, others: str) -> list[int]:
    """Numbers of the hosts in a file of ``--nodes``; says what that means for the `others`."""
    place = show_file(nodes)
    job = hosts_named(subnet, expand(read_text(nodes, NODES_BYTES), place), place)
    if left_out := len(subnet.hosts) - len(job):
        say(f"note: {left_out} hosts are not in {place}; {others}")
    return job


def allocated(subnet: Subnet, nodes: Path, others: str) -> Subnet:
    """The hosts in a file of ``--nodes``, over all switches; says what that means for the `others`."""
    return part_of(subnet, job_hosts(subnet, nodes, others))


def twisted(sizes: str, parts: list[str]) -> Subnet:
    """A twisted torus with a host per switch, without the parts of ``--fail``."""
    return fabric(Topology(sizes=sizes, twist=True), fail=parts)
