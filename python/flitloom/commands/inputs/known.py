"""The closed list of inputs, and which of them a command line gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from flitloom.commands.inputs.input import Input
from flitloom.errors import SpecError, show_file


@dataclass(frozen=True)
class Entry:
    """When an input may be meant: its module, which imports what it needs, is looked at only then.

    Attributes
    ----------
    endings : tuple of str
        How names of such files end.
    options : tuple of str
        Names of options that may ask for it, instead of a file.
    others : bool
        Whether names of such files may also end as those of no input do.
    first : bool
        Whether options ask for it whatever the file is, which then is its tables.
    """

    endings: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    others: bool = False
    first: bool = False

    def may_be(self, file: Path) -> bool:
        """Whether a file may be one, by its name."""
        if file.suffix in self.endings:
            return True
        return self.others and not any(file.suffix in entry.endings for entry in INPUTS.values())


#: All inputs by the names of their modules. Of several that take a file, the first is meant, and of several
#: that options ask for; files go before options, but for those marked
#: so; what is meant otherwise is last.
INPUTS: dict[str, Entry] = {
    "mixture": Entry(options=("mix",), first=True),
    "fabric": Entry(options=("fabric", "network"), first=True),
    "twisted": Entry(options=("twist",), first=True),
    "booksim": Entry((".cfg", ".toml", "")),
    "campaign": Entry((".toml",)),
    "certificate": Entry((".json",)),
    "messages": Entry((".goal", ".bin", ".et")),
    "collective": Entry((".json",)),
    "rounds": Entry((".json",)),
    "cables": Entry((".xml", ""), others=True),
    "foreign": Entry((".json", ".xml"), others=True),
    "graph": Entry(options=("graph", "tables")),
    "plan": Entry((".json",), ("plan",)),
    "checkpoint": Entry((".flit",), ("resume",)),
    "placement": Entry((".json",), ("placement",)),
    "result": Entry((".nc",)),
    "experiment": Entry((".toml",)),
    "tables": Entry((".json", ".npz")),
}
#: What it is where nothing else is meant.
DEFAULTS = {
    "simulate": "experiment",
    "load curve": "experiment",
    "load saturation": "experiment",
    "check": "tables",
    "view": "tables",
    "convert": "collective",
}


def load(name: str) -> Input:
    """The input of a name."""
    found: Input = import_module(f"flitloom.commands.inputs.{name}").INPUT
    return found


def choose(verb: str, file: Path | None, given: Mapping[str, Any]) -> Input:
    """The input of a verb: what its first argument is, what an option means, or the default.

    Parameters
    ----------
    verb : str
        Words of the verb.
    file : path, optional
        Its first argument.
    given : mapping
        Options of the command line, names and values.

    Raises
    ------
    SpecError
        The file is something that the verb does not take.
    """
    others = {name: entry for name, entry in INPUTS.items() if name != DEFAULTS[verb]}
    said = given if file is None else {**given, "file": file}
    for name, entry in others.items():
        if entry.first and _is_asked(verb, name, entry, said):
            return load(name)
    for name, entry in others.items():
        if file is not None and entry.may_be(file):
            found = load(name)
            if found.sniff(file):
                return _for_verb(verb, file, found)
    for name, entry in others.items():
        if _is_asked(verb, name, entry, said):
            return load(name)
    return load(DEFAULTS[verb])


def _for_verb(verb: str, file: Path, found: Input) -> Input:
    """What a file is, if the verb takes it."""
    if verb in found.uses:
        return found
    takers = [*(f"flitloom {one}" for one in found.uses), *found.takers]
    listed = " or ".join(filter(None, (", ".join(takers[:-1]), takers[-1])))
    advice = f"{listed} take{'s' * (len(takers) == 1)} it"
    raise SpecError.at(show_file(file), f"is {found.title}, which flitloom {verb} does not take", advice)


def _is_asked(verb: str, name: str, entry: Entry, given: Mapping[str, Any]) -> bool:
    """Whether options ask for an input that a verb takes."""
    if not any(option in given for option in entry.options):
        return False
    found = load(name)
    return verb in found.uses and found.asked(given)


def refuse_others(verb: str, chosen: Input, written: Mapping[str, str]) -> None:
    """Refuse options that do not apply to an input.

    Parameters
    ----------
    written : mapping
        Options of the command line, and how they are written.

    Raises
    ------
    SpecError
        One of them does not apply.
    """
    use = chosen.uses[verb]
    for name, option in written.items():
        if use.takes is None or name in use.takes:
            continue
        for refusal in use.refusals:
            if name in refusal.names:
                raise refusal.error(option)
        owners = _owners(verb, name)
        if owners:
            titles = " or ".join(owner.title for owner in owners)
            raise SpecError.at(option, f"belongs to {titles}", owners[0].given)
        raise SpecError.at(option, f"does not go with {chosen.title}", use.otherwise)


def _owners(verb: str, name: str) -> list[Input]:
    """The inputs to which alone an option applies; none where others do with it, too."""
    plain = load(DEFAULTS[verb]).uses[verb]
    if name in (plain.takes or ()) or any(name in entry.options for entry in INPUTS.values()):
        return []
    every = [load(one) for one in INPUTS]
    return [one for one in every if verb in one.uses and name in (one.uses[verb].takes or ())]
