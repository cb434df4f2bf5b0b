"""Fabrics that the command line names, and the hosts of a job in them."""

from __future__ import annotations

from flitloom.commands.screen import say
from flitloom.fabric import Subnet
from flitloom.fabric.allocation import names_of_hosts, part_of
from flitloom.fabric.networks import fabric
from flitloom.spec import Topology


def job_hosts(subnet: Subnet, nodes: str, others: str) -> list[int]:
    """Numbers of the hosts of ``--nodes``; says what that means for the `others`."""
    job = sorted(names_of_hosts(subnet).listed(nodes, "--nodes"))
    if left_out := len(subnet.hosts) - len(job):
        say(f"note: {left_out} hosts are not in --nodes; {others}")
    return job


def allocated(subnet: Subnet, nodes: str, others: str) -> Subnet:
    """The hosts of ``--nodes``, over all switches; says what that means for the `others`."""
    return part_of(subnet, job_hosts(subnet, nodes, others))


def twisted(sizes: str, parts: list[str]) -> Subnet:
    """A twisted torus with a host per switch, without the parts of ``--fail``."""
    return fabric(Topology(sizes=sizes, twist=True), fail=parts)
