"""Which program a file of transfers comes from, and what to do with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom import limits
from flitloom.collectives.check import wrong_plan
from flitloom.collectives.foreign import plan_of_sends
from flitloom.collectives.foreign import report as report_of_sends
from flitloom.collectives.ground import Ground
from flitloom.collectives.mscclpp import Replay, read_mscclpp
from flitloom.collectives.plan import CollectivePlan, read_collective
from flitloom.collectives.replayed import replayed_plan, report
from flitloom.errors import SpecError, show_file
from flitloom.garbage import uncollected
from flitloom.reading import opened, placed


def format_of(file: str | Path) -> str | None:
    """The format of a file: plan, msccl, mscclpp, forestcoll, teccl, chakra; None if it is none of these.

    Every XML file counts as one of its two formats, so that what is wrong with it is told by its reader.

    Raises
    ------
    SpecError
        The file cannot be read, or is an empty one of JSON.
    """
    path = Path(file)
    if path.suffix == ".et":
        return "chakra"
    if path.suffix not in (".xml", ".json") or not path.is_file():
        return None
    with opened(file, limits.TABLE_BYTES) as source:
        start = source.start()[:4096]
    if not start and path.suffix == ".json":
        raise SpecError(f"{show_file(file)}: the file is empty")
    if path.suffix == ".xml":
        return "forestcoll" if b"<Algo" in start else "msccl"
    if b'"flitloom collective' in start:
        return "plan"
    # Older execution plans call it so.
    if b'"gpus"' in start and (b'"collective"' in start or b'"colletive"' in start):
        return "mscclpp"
    return "teccl" if b'"1-Epoch_Duration"' in start else None


def check_foreign(file: str | Path, ground: Ground | None) -> dict[str, Any]:
    """Check a file of somebody else's: whether it does what its name claims, and in how many steps.

    Parameters
    ----------
    file : path
        MSCCL XML, trees of ForestColl (.xml), an execution plan of MSCCL++ or a schedule of TE-CCL (.json),
        or a Chakra trace that was written from a plan (.et).
    ground : Ground, optional
        The network; files of MSCCL and MSCCL++ can be replayed without.

    Returns
    -------
    dict
        ``valid``, ``steps``, ``problems``, ``operation``, ``gpus``, ``chunks``, and with a network ``bound``
        and ``optimal``.

    Raises
    ------
    SpecError
        The file cannot be read.
    """
    from flitloom.collectives.chakra import chakra_plan
    from flitloom.collectives.forestcoll import read_forestcoll
    from flitloom.collectives.msccl import check_msccl
    from flitloom.collectives.teccl import read_teccl

    kind = format_of(file)
    if kind in ("msccl", "mscclpp"):
        with uncollected():
            return check_msccl(file, ground) if kind == "msccl" else report(_replay(file, ground), ground)
    if kind == "chakra":
        return chakra_plan(file)[1]
    readers = {"forestcoll": read_forestcoll, "teccl": read_teccl}
    if kind not in readers:
        with opened(file, limits.FOREIGN_BYTES):
            pass
        raise SpecError(f"{show_file(file)}: is no plan in a format that is known")
    return report_of_sends(readers[kind](file, _needed(ground)), _needed(ground))


def read_plan_of(file: str | Path, ground: Ground | None) -> CollectivePlan:
    """Read a plan of a collective operation in any format.

    Parameters
    ----------
    file : path
        A plan (.json), MSCCL XML, trees of ForestColl (.xml), an execution plan of MSCCL++ or a schedule of
        TE-CCL (.json), or a Chakra trace that was written from a plan (.et).
    ground : Ground, optional
        The network, which third-party formats do not name.

    Raises
    ------
    SpecError
        The file cannot be read, or does not do what it claims.
    """
    from flitloom.collectives.chakra import chakra_plan
    from flitloom.collectives.forestcoll import read_forestcoll
    from flitloom.collectives.msccl import msccl_plan
    from flitloom.collectives.teccl import read_teccl

    kind = format_of(file)
    if kind == "chakra":
        plan, found = chakra_plan(file)
        if found["problems"]:
            raise wrong_plan(show_file(file), found["problems"])
        return plan
    if kind == "msccl":
        return msccl_plan(file, _needed(ground))
    if kind == "mscclpp":
        return placed(
            show_file(file), lambda: replayed_plan(_replay(file, _needed(ground), True), _needed(ground))
        )
    readers = {"forestcoll": read_forestcoll, "teccl": read_teccl}
    if kind in readers:
        read = readers[kind]
        return placed(show_file(file), lambda: plan_of_sends(read(file, _needed(ground)), _needed(ground)))
    return read_collective(file)


def _replay(file: str | Path, ground: Ground | None, of_all: bool = False) -> Replay:
    """A replay of an execution plan of MSCCL++, whose GPUs may have to be all nodes."""
    plan = read_mscclpp(file)
    return Replay(plan, None if ground is None else ground.links_of_ranks(plan.buffers.gpus, file, of_all))


def _needed(ground: Ground | None) -> Ground:
    if ground is None:
        raise SpecError.at(
            "topology", "is missing", "say what links there are with --torus 4x4 or --mesh 4x4"
        )
    return ground
