"""What can go wrong, as exceptions: one base class, one class per named outcome."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

#: Problems that a message lists; the others are counted.
PROBLEMS = 10
#: Characters of a line in a message.
MESSAGE_LINE = 600


class FlitloomError(Exception):
    """Base of every error flitloom raises on purpose; its text is one message for the user.

    However much was wrong, the message stays short: few lines, each of bounded length.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(UnreachableError("no way", [(0, 3)]))).pairs
    [(0, 3)]
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(_bounded(str(message)))

    def __reduce__(self) -> tuple[object, ...]:
        """Errors travel between processes with all attributes, whatever their constructor takes."""
        return _restored, (type(self), self.args, self.__dict__)


class SpecError(FlitloomError, ValueError):
    """A description of a network, its traffic or an output that cannot be right.

    The message says where (the path to the field), what is wrong and what would be right.

    Attributes
    ----------
    field : str
        Path to the field, ``router.buffer``; empty where the message is not in parts. Where several fields
        are wrong, the first.
    problem : str
        What is wrong with it; the whole message where that is not in parts.
    advice : str
        What would be right; may be empty.
    names : tuple of str
        The names there are, where one is unknown. The nearest to what was given is part of the advice.

    Examples
    --------
    >>> import flitloom as fl
    >>> fl.Router(buffer=0)
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: router.buffer: 0 is out of range; it must be 1 to 1024 flits
    >>> try:
    ...     fl.Network(fl.Torus(4, 4), fl.Router(routing="o1turn", channels=3))
    ... except fl.SpecError as error:
    ...     error.field, error.problem, error.advice
    ('router.channels', 'is 3', 'routing o1turn needs 6 on this shape')
    >>> try:
    ...     fl.Operation("all-gathr")
    ... except fl.SpecError as error:
    ...     error.problem, error.advice[:25], error.names[1]
    ("'all-gathr' is unknown", 'did you mean all-gather? ', 'all-gather')
    """

    def __init__(
        self,
        message: object = "",
        field: str = "",
        problem: str = "",
        advice: str = "",
        given: str = "",
        names: Iterable[str] = (),
    ) -> None:
        self.names = tuple(names)
        near = nearest(given, self.names)
        if near is not None:
            meant = f"did you mean {near}? {advice[:1].upper()}{advice[1:]}"
            message, advice = str(message).removesuffix(advice) + meant, meant
        super().__init__(message)
        self.field = field
        self.problem = problem or self.args[0]
        self.advice = advice

    @classmethod
    def at(cls, field: str, problem: str, advice: str = "", names: Iterable[str] = ()) -> SpecError:
        """An error at a field, where a name is unknown with those that there are.

        >>> str(SpecError.at("seed", "-1 is out of range", "it must be 0 to 9"))
        'seed: -1 is out of range; it must be 0 to 9'
        """
        return cls(f"{field}: {joined(problem, advice)}", field, problem, advice, names=names)


class MissingExtraError(FlitloomError, ImportError):
    """Packages that are installed only on demand are missing; the message names the extra to install."""


class UnreachableError(FlitloomError):
    """Packets need a failed node or link.

    Attributes
    ----------
    pairs : list of (int, int)
        Source and destination of such packets, at most 1000 pairs.
    """

    def __init__(self, message: str, pairs: list[tuple[int, int]]) -> None:
        super().__init__(message)
        self.pairs = pairs


class DeadlockError(FlitloomError):
    """Some flits can never move again.

    Attributes
    ----------
    cycle : int
        Cycle in which the deadlock was found.
    channels : list of dict
        The cycle of waiting channels, each waiting for the next and the last for the first: ``node``,
        ``arrived_along`` (direction, ``None`` at the processor), ``channel``, ``wants`` and
        ``wants_channel``. Of pipelined routers: the name of the ``queue`` and, where it lies behind a link,
        the number of that ``link``.
    stuck_flits : int
        Flits that can never move again.
    """

    def __init__(self, message: str, cycle: int, channels: list[dict[str, object]], stuck_flits: int) -> None:
        super().__init__(message)
        self.cycle = cycle
        self.channels = channels
        self.stuck_flits = stuck_flits


class CycleLimitError(FlitloomError):
    """A simulation did not finish within its limit of cycles.

    Attributes
    ----------
    cycles : int
        The limit.
    delivered : int
        Packets delivered by then.
    """

    def __init__(self, message: str, cycles: int, delivered: int) -> None:
        super().__init__(message)
        self.cycles = cycles
        self.delivered = delivered


def joined(problem: str, advice: str) -> str:
    """What is wrong and what would be right, as a message says it.

    >>> joined("0 is out of range", "it must be 1 to 9"), joined("is missing", "")
    ('0 is out of range; it must be 1 to 9', 'is missing')
    """
    return f"{problem}; {advice}" if advice else problem


def _restored(
    kind: type[FlitloomError], arguments: tuple[object, ...], attributes: dict[str, object]
) -> object:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


def _bounded(message: str) -> str:
    """The message with long lines cut off, and with a count in place of too many of them."""
    most = PROBLEMS + 2
    lines = message.split("\n", most + 1)
    if len(lines) > most:
        rest = message.count("\n") + 1 - PROBLEMS
        lines = [*lines[:PROBLEMS], f"and {rest} more lines"]
    return "\n".join(line if len(line) <= MESSAGE_LINE else line[:MESSAGE_LINE] + " ..." for line in lines)


class _Brief(reprlib.Repr):
    """`repr` that looks at no more of a value than it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxstring, self.maxother = 3, 10, 60, 60
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxarray = 20

    def repr_int(self, x: int, level: int) -> str:
        """A whole number; of long ones only the length."""
        del level
        digits = int(x.bit_length() * 0.30103) + 1
        return repr(x) if digits <= 40 else f"a whole number of some {digits} digits"


_BRIEF = _Brief()


def show(value: object) -> str:
    """Show a value in a message, shortened.

    >>> show("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
    >>> show(10**5000)
    'a whole number of some 5001 digits'
    """
    try:
        text = _BRIEF.repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."


def require_kind(place: str, value: object, kind: Any, what: str, advice: str) -> None:
    """Refuse a value of another kind, with how to make one of this.

    >>> require_kind("traffic", "shfl", int, "collective", "fl.Collective(...)")
    Traceback (most recent call last):
    ...
    flitloom.errors.SpecError: traffic: 'shfl' is not a collective; give fl.Collective(...)
    """
    if not isinstance(value, kind):
        article = "an" if what[0] in "aeiou" else "a"
        raise SpecError(f"{place}: {show(value)} is not {article} {what}; give {advice}")


def require_file(file: object) -> None:
    """Refuse what is not the name of a file."""
    require_kind("file", file, str | PathLike, "name of a file", "a text or a pathlib.Path")


def show_file(file: str | Path) -> str:
    """Show the name of a file in a message, without characters that would disturb a terminal."""
    name = str(file)
    name = name if len(name) <= 300 else f"{name[:100]}...{name[-100:]}"
    return name if name.isprintable() else repr(name)


def unknown_parts(
    value: object, names: Iterable[str], others: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """What is wrong with a name that is none of `names`, and what would be right; see `unknown`."""
    names, others = list(names), others or {}
    near = nearest(value, [*names, *others])
    listed = f"must be one of {', '.join(names)}"
    hint = f"it {listed}" if near is None else f"did you mean {others.get(near, near)}? It {listed}"
    return f"{show(value)} is unknown", hint


def unknown(value: object, names: Iterable[str], others: Mapping[str, str] | None = None) -> str:
    """What to say of a name that is none of `names`, with the nearest one if it is near.

    Parameters
    ----------
    value : object
        What was given.
    names : iterable of str
        What would be right.
    others : mapping, optional
        Further names that are understood, with the name that each replaces.

    Examples
    --------
    >>> unknown("shufle", ["shfl", "torn"])
    "'shufle' is unknown; did you mean shfl? It must be one of shfl, torn"
    >>> unknown("x", ["shfl", "torn"])
    "'x' is unknown; it must be one of shfl, torn"
    """
    return joined(*unknown_parts(value, names, others))


def nearest(value: object, names: Iterable[str]) -> str | None:
    """The name that looks most like a value, if one does.

    >>> nearest("Shufle", ["shfl", "torn"])
    'shfl'
    """
    near = difflib.get_close_matches(str(value)[:60].lower(), list(names), n=1)
    return near[0] if near else None
