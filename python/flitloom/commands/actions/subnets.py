"""Fabrics that the command line names, and the hosts of a job in them."""

from __future__ import annotations

import re
from pathlib import Path

from flitloom.commands.screen import say
from flitloom.errors import SpecError, show
from flitloom.fabric import Subnet, with_port_lanes
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


def with_lanes(subnet: Subnet, lanes: str | None) -> tuple[Subnet, int | None]:
    """A fabric with the lanes of ports that the file of ``--lanes`` says, or the number that it is."""
    if lanes is None:
        return subnet, None
    if re.fullmatch(r"-?\d{1,9}", lanes):
        return subnet, int(lanes)
    if not Path(lanes).exists():
        problem = f"{show(lanes)} is neither a number nor a file"
        raise SpecError.at("--lanes", problem, "write 1 to 15, or a file with the output of saquery PIR")
    return with_port_lanes(subnet, lanes), None


def twisted(sizes: str, parts: list[str]) -> Subnet:
    """A twisted torus with a host per switch, without the parts of ``--fail``."""
    return fabric(Topology(sizes=sizes, twist=True), fail=parts)
