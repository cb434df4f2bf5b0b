"""Which format a file has, and what is read, checked and written whichever it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flitloom.collectives.collective_plan import CollectivePlan
from flitloom.collectives.reading import read_collective
from flitloom.collectives.telling import Told, untold
from flitloom.errors import SpecError, show_file
from flitloom.formats import known
from flitloom.formats.format import Format, Writing
from flitloom.ground import limits
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_output
from flitloom.ground.reading import opened, placed
from flitloom.spec.ground import Ground
from flitloom.traces.goal import parse_goal
from flitloom.traces.operations import Ranks


def format_of(file: str | Path) -> Format | None:
    """The format of a file; None if it has none of them.

    Every XML file counts as one of the formats in XML, so that what is wrong with it is told by its reader.

    Raises
    ------
    SpecError
        The file cannot be read, or is an empty one of JSON.

    Examples
    --------
    >>> from flitloom.formats import format_of
    >>> format_of("trace.0.et").name, format_of("experiment.toml")
    ('chakra', None)
    """
    path = Path(file)
    fitting = [one for one in known.FORMATS if path.name.endswith(one.endings)]
    named = next((one for one in fitting if one.sniff is None), None)
    if named is not None or not fitting or not path.is_file():
        return named
    with opened(file, limits.TABLE_BYTES) as source:
        start = source.start()[:4096]
    if not start and path.suffix == ".json":
        raise SpecError(f"{show_file(file)}: the file is empty")
    return next((one for one in fitting if one.sniff is not None and one.sniff(start)), None)


def message_endings() -> tuple[str, ...]:
    """How the names of message graphs end.

    >>> from flitloom.formats import message_endings
    >>> message_endings()
    ('.goal', '.bin', '.et')
    """
    return tuple(ending for one in known.FORMATS if one.read_messages is not None for ending in one.endings)


def written_endings() -> tuple[str, ...]:
    """How the names of files that are written end, without what stands before the last point.

    >>> from flitloom.formats import written_endings
    >>> written_endings()
    ('.json', '.xml', '.goal', '.bin', '.et')
    """
    return tuple(dict.fromkeys(Path(f"x{one.target}").suffix for one in known.FORMATS if one.target))


def is_messages(file: str | Path) -> bool:
    """Whether the name of a file is that of a message graph."""
    return Path(file).name.endswith(message_endings())


def target_format(file: str | Path) -> Format:
    """The format that a file of this name is written in: the one whose ending is the longest that fits.

    Raises
    ------
    SpecError
        No format ends so.

    Examples
    --------
    >>> from flitloom.formats import target_format
    >>> target_format("plan.mscclpp.json").name, target_format("plan.json").name
    ('mscclpp', 'plan')
    """
    fitting = [one for one in known.FORMATS if one.target and Path(file).name.endswith(one.target)]
    if not fitting:
        raise SpecError(f"TARGET: {show_file(file)} must end in {' or '.join(written_endings())}")
    return max(fitting, key=lambda one: len(one.target))


def check(file: str | Path, ground: Ground | None, told: Told = untold) -> dict[str, Any]:
    """Check a plan of a collective operation in any format: whether it does what it claims.

    Parameters
    ----------
    file : path
        The plan.
    ground : Ground, optional
        The network, which third-party formats do not name; MSCCL and MSCCL++ are replayed without, too.
    told : function
        Told now and then how much of how much is done.

    Returns
    -------
    dict
        ``passed``, ``steps``, ``problems``, ``operation``, ``gpus``, ``chunks``, and with a network ``bound``
        and ``optimal``.

    Raises
    ------
    SpecError
        The file cannot be read, or is a message graph.
    """
    form = format_of(file)
    if form is None:
        with opened(file, limits.FOREIGN_BYTES):
            pass
        raise SpecError(f"{show_file(file)}: is not a plan in a format that is known")
    if form.check_plan is None:
        problem = "a message graph promises nothing to check"
        raise SpecError.at(show_file(file), problem, "flitloom simulate runs it")
    return form.check_plan(file, ground, *([told] if form.tells else []))


def read_plan(file: str | Path, ground: Ground | None = None, told: Told = untold) -> CollectivePlan:
    """Read a plan of a collective operation in any format.

    Parameters
    ----------
    file : path
        The plan.
    ground : Ground, optional
        The network, which third-party formats do not name.
    told : function
        Told now and then how much of how much is done.

    Raises
    ------
    SpecError
        The file cannot be read, or does not do what it claims.
    """
    form = format_of(file)
    if form is None or form.read_plan is None:
        return read_collective(file)
    return form.read_plan(file, ground, *([told] if form.tells else []))


def read_messages(file: str | Path) -> str | Ranks:
    """Read a message graph in any format: a GOAL text, or the operations of every rank.

    Raises
    ------
    SpecError
        The file cannot be read.
    """
    form = format_of(file)
    # A file of any other name is taken for GOAL.
    form = form if form is not None and form.read_messages is not None else named("goal")
    assert form.read_messages is not None
    return form.read_messages(file)


def named(name: str) -> Format:
    """The format of a name.

    Raises
    ------
    SpecError
        There is none.
    """
    for one in known.FORMATS:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in known.FORMATS)
    raise SpecError.at("format", f"{name[:40]!r} is unknown", f"it is {names}")


def convert(source: Path, target: Path, ground: Ground | None, how: Writing | None = None) -> list[str]:
    """Write a plan or a message graph in the format that the name of `target` says.

    Returns
    -------
    list of str
        Notes on what was written.

    Raises
    ------
    SpecError
        `source` cannot be read, or `target` cannot hold it.
    """
    how = Writing() if how is None else how
    check_output(target, written_endings(), "TARGET")
    form, given = target_format(target), format_of(source)
    of_messages = given is not None and given.plan_messages is not None and form.write_messages is not None
    if how.by_hop and not of_messages:
        raise SpecError.at("--by-hop", "is for plans in rounds that become message graphs", "leave it out")
    if is_messages(source) and form.write_messages is not None and not how.as_collective:
        found = read_messages(source)
        ranks = placed(show_file(source), lambda: parse_goal(found)) if isinstance(found, str) else found
        form.write_messages(ranks, target)
        return []
    if given is not None and given.read_plan is None:
        endings = [one.target for one in known.FORMATS if one.write_messages is not None]
        listed = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise SpecError(f"TARGET: {target.name}: a message graph becomes {listed}")
    if given is not None and given.plan_messages is not None and form.write_messages is not None:
        if how.as_collective:
            problem = "a plan in rounds is written as its messages"
            raise SpecError.at("--as-collective", problem, "leave it out")
        form.write_messages(given.plan_messages(source, how), target)
        return []
    plan = read_plan(source, ground, how.told_of_reading)
    if form.write_plan is None:
        raise SpecError(f"TARGET: {target.name}: holds message graphs, no plans")
    notes = form.write_plan(plan, target, how)
    return notes if form.keeps_links else notes + _lost(plan)


def _lost(plan: CollectivePlan) -> list[str]:
    """What of a plan most formats have no place for."""
    notes = []
    if plan.latency:
        notes.append(
            f"the format cannot hold the latency of links ({counted(plan.latency, 'step')} besides the "
            "one in which a link is busy)"
        )
    if max(plan.ground.width, default=1) > 1:
        width = ",".join(map(str, plan.ground.width))
        notes.append(f"the format cannot hold how many parallel links a dimension has ({width})")
    return notes
