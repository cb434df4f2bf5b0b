"""The stages in which repaired tables replace those of before, each with what must be loaded and judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flitloom.ground.numerals import counted
from flitloom.tables.by_destination.tables import NONE, host_levels

if TYPE_CHECKING:
    from flitloom.tables.by_destination.known import MadeTables

#: The folder of a stage, by its number.
FOLDER = "stage-{}"
#: That of a stage that leads back.
BACK = "back-{}"

_HEAD = """OpenSM reads the files of a folder by a link, so that tables and levels change at once:

    BEFORE=/path/of/the/folder/that/is/loaded/now NEXT=/path/of/this/folder
    ln -sfn $BEFORE cur
    opensm -R file,no_fallback -U cur/opensm-lfts.dump -Q{options} -D 0x43

Load stages in their order, each when the one before is in place. The check says whether the entries of
both may lie side by side in any order (exit code 0). README.txt has the check of the loaded tables.
now.topo is the fabric as it is: ibnetdiscover > now.topo
"""

_THERE = """
From the tables before to these, such that traffic need not stop: {count}
"""

_AGAIN = """
The way back, when all that has failed is there again: {count} to the first tables, which are in
$NEXT/first as they were. If not all is back, route --fabric now.topo --from $NEXT has tables for what is.
"""

_STOP = """
The way back, when all that has failed is there again: the first tables are in $NEXT/first as they were. No
order is known in which they may replace these while hosts send: stop the traffic.
"""

_STAGE = """
{number}. {folder}: {what}

    flitloom check --fabric now.topo {before} --mix {folder}
    ln -sfn {folder} new && mv -T new cur && kill -HUP $(pidof opensm)
"""


@dataclass(frozen=True)
class Stage:
    """Tables that are loaded between others.

    Attributes
    ----------
    what : str
        What differs from the stage before, and what it must wait for.
    tables : MadeTables
        Tables with the entries and the service levels of the stage.
    """

    what: str
    tables: MadeTables


def stages_of(tables: MadeTables) -> list[Stage]:
    """The stages of a repair; none where entries may change in any order, and no pair is lost by that.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import flitloom as fl
    >>> from flitloom.tables.by_destination.stages import stages_of
    >>> with TemporaryDirectory() as folder:
    ...     _ = fl.tables.make("dragonfly(4,2)").write(folder)
    ...     repaired = fl.tables.make(fl.tables.fabric("dragonfly(4,2)", fail=["node:g0s1"]), old=folder)
    >>> print("\\n".join(stage.what.partition(":")[0] for stage in stages_of(repaired)))
    3 entries that others wait for
    30 entries whose cable or switch is gone
    41 entries that balance the load, in any order
    2 entries that balance the load, in any order
    """
    update, old = tables.update, tables.old
    if update is None or old is None or not update.safe:
        return []
    if update.steps:
        steps = update.steps
        way = [
            Stage(step.what, replace(tables, following=step.following, levels=step.levels)) for step in steps
        ]
        return way if len(way) > 1 else []
    made: list[Stage] = []
    following = old.following
    if update.moved:
        pairs = f"{counted(update.moved, 'pair')} of hosts get the levels that moved-pairs.txt lists"
        what = (
            f"{pairs}:\ntheir connections must be opened anew, and old packets arrive, before the next stage"
        )
        made.append(Stage(what, replace(tables, following=following)))
    for places in update.places:
        following = following.copy()
        following.flat[list(places)] = tables.following.flat[list(places)]
        what = f"{counted(len(places), 'entry')} that others wait for"
        made.append(Stage(what, replace(tables, following=following)))
    broken = (following == NONE) & (tables.following != NONE)
    if broken.any() and (tables.following != following)[~broken].any():
        # Else a packet could turn to a switch whose entry is still missing.
        following = np.where(broken, tables.following, following)
        what = f"{counted(int(broken.sum()), 'entry')} whose cable or switch is gone"
        made.append(Stage(what, replace(tables, following=following)))
    rest = "the remaining entries, in any order"
    if update.last_places:
        held = tables.following.copy()
        held.flat[list(update.last_places)] = following.flat[list(update.last_places)]
        if (held != following).any():
            made.append(Stage(rest, replace(tables, following=held)))
        count = counted(len(update.last_places), "entry")
        rest = f"{count} through which no host sends, when old packets are gone"
    return [*made, Stage(rest, tables)] if made else []


def told(stages: Sequence[Stage], back: Sequence[Stage] | None, options: str) -> str:
    """How stages are loaded and judged, as plain text.

    Parameters
    ----------
    stages : sequence of Stage
        All of them; the last one has the folder that the text is in.
    back : sequence of Stage or None
        Those that lead back to the first tables: empty where no order is known, None for no first tables.
    options : str
        Further options of OpenSM.
    """
    text = _HEAD.format(options=options)
    if stages:
        text += _THERE.format(count=counted(len(stages), "stage"))
        text += _listed(stages, FOLDER, "$BEFORE", "$NEXT")
    if back is None:
        return text
    if not back:
        return text + _STOP
    text += _AGAIN.format(count=counted(len(back), "stage"))
    return text + _listed(back, BACK, "$NEXT", "$NEXT/first")


def _listed(stages: Sequence[Stage], name: str, before: str, last: str) -> str:
    """A paragraph for every stage."""
    text = ""
    for number, stage in enumerate(stages, start=1):
        folder = f"$NEXT/{name.format(number)}" if number < len(stages) else last
        text += _STAGE.format(number=number, folder=folder, what=stage.what, before=before)
        before = folder
    return text


def moved_pairs(tables: MadeTables) -> Iterator[str]:
    """Pairs of hosts whose level moves: source, destination, old and new level of every LID."""
    old, hosts = tables.old, tables.subnet.hosts
    assert old is not None
    assert old.pair_levels is not None
    new = host_levels(tables.subnet, tables.levels)
    yield "source\tdestination\told\tnew\n"
    differs = old.pair_levels != new
    differs[np.arange(len(tables.owners)), tables.owners] = False
    for row, host in np.argwhere(differs).tolist():
        levels = f"{old.pair_levels[row, host]}\t{new[row, host]}"
        yield f"{hosts[host].name}\t{hosts[tables.owners[row]].name}\t{levels}\n"
