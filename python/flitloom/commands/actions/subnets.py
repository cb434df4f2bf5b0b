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


def job_hosts(subnet: Subnet, nodes: str | None, hca: str | None, others: str) -> list[int]:
    """Numbers of the hosts of ``--nodes`` and ``--hca``; says what that means for the `others`."""
    job = list(range(len(subnet.hosts)))
    if nodes is not None:
        job = sorted(names_of_hosts(subnet).listed(nodes, "--nodes"))
    if hca is not None:
        job = of_hca(subnet, job, hca)
    if left_out := len(subnet.hosts) - len(job):
        given = [option for option, text in (("--nodes", nodes), ("--hca", hca)) if text is not None]
        say(f"note: {left_out} hosts are not in {' and '.join(given)}; {others}")
    return job


def of_hca(subnet: Subnet, hosts: list[int], name: str) -> list[int]:
    """Those of some hosts that are called by a name and the name of an HCA behind it, as ``node1 mlx5_0``.

    Examples
    --------
    >>> from flitloom.fabric import parse_fabric
    >>> cables = ("n0 mlx5_0,a", "n0 mlx5_1,b", "n1 mlx5_0,a", "n1 mlx5_1,b", "a,b")
    >>> both = parse_fabric("\\n".join(cables))
    >>> [both.hosts[host].name for host in of_hca(both, [0, 1, 2, 3], "mlx5_1")]
    ['n0 mlx5_1', 'n1 mlx5_1']
    """
    called = [subnet.hosts[host].name.split()[1:] for host in hosts]
    found = [host for host, words in zip(hosts, called, strict=True) if name in words]
    if not found:
        names = sorted({word for words in called for word in words})
        advice = (
            f"there are {', '.join(names[:8])}"
            if names
            else "leave it out: no host has a name behind its own"
        )
        raise SpecError.at("--hca", f"no host has an HCA called {show(name)}", advice)
    return found


def allocated(subnet: Subnet, nodes: str | None, hca: str | None, others: str) -> Subnet:
    """The hosts of ``--nodes`` and ``--hca``, over all switches; says what that means for the `others`."""
    return part_of(subnet, job_hosts(subnet, nodes, hca, others))


def with_lanes(subnet: Subnet, lanes: str | None) -> tuple[Subnet, int | None]:
    """A fabric with the lanes of ports that the file of ``--lanes`` says, or the number that it is."""
    if lanes is None:
        return subnet, None
    if re.fullmatch(r"-?\d{1,9}", lanes):
        return subnet, int(lanes)
    if not Path(lanes).exists():
        problem = f"{show(lanes)} is neither a number nor a file"
        advice = "write 1 to 15, or a file with the output of saquery PortInfoRecord"
        raise SpecError.at("--lanes", problem, advice)
    return with_port_lanes(subnet, lanes), None


def twisted(sizes: str, parts: list[str]) -> Subnet:
    """A twisted torus with a host per switch, without the parts of ``--fail``."""
    return fabric(Topology(sizes=sizes, twist=True), fail=parts)
