"""Checks MSCCL files, and reads them as plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.members import links_between, members_of
from flitloom.collectives.msccl.read import read_msccl
from flitloom.collectives.msccl.replay import Replay
from flitloom.collectives.replayed import replayed_plan, report
from flitloom.errors import show_file
from flitloom.ground.reading import Progress, placed
from flitloom.spec.ground import Ground


def check_msccl(file: str | Path, ground: Ground | None, told: Progress | None = None) -> dict[str, Any]:
    """Replay an MSCCL file: whether it does what its name claims, over links that exist, without a deadlock.

    Returns
    -------
    dict
        ``passed``, ``steps`` (link steps of an as-soon-as-possible replay), ``problems``, ``operation``,
        ``gpus``, ``chunks``, and with a network ``bound`` and ``optimal``.

    Raises
    ------
    SpecError
        The file cannot be read, or its ranks are not known to be nodes of the network.
    """
    algorithm = read_msccl(file)
    if ground is None:
        return report(Replay(algorithm, None, told=told), None)
    members = members_of(ground, algorithm.buffers.gpus, file)
    return report(Replay(algorithm, links_between(ground, members), told=told), ground, members)


def msccl_plan(file: str | Path, ground: Ground, told: Progress | None = None) -> CollectivePlan:
    """Read an MSCCL file as a plan: its chunks over links, in the steps of a replay as soon as possible.

    Raises
    ------
    SpecError
        It is not such a file, does not do what it claims, or keeps several partial sums of a part at a node.

    Examples
    --------
    >>> import flitloom as fl, tempfile, pathlib
    >>> from flitloom.spec.ground import Ground
    >>> from flitloom.collectives.msccl import msccl_plan, write_msccl
    >>> plan = fl.collectives.plan(fl.Torus(4, 4), "all-gather")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "plan.xml"
    ...     write_msccl(plan, file)
    ...     msccl_plan(file, Ground(fl.Torus(4, 4))).moves == plan.expanded().moves
    True
    """
    algorithm = read_msccl(file)
    members = members_of(ground, algorithm.buffers.gpus, file)
    links = links_between(ground, members)
    return placed(
        show_file(file), lambda: replayed_plan(Replay(algorithm, links, told=told), ground, members)
    )
