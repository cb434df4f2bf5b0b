"""What an input is: a first argument of a verb, or what an option gives in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from flitloom.errors import SpecError


class OptionsOfGroup(Protocol):
    """A group of options."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of the options."""


def names_of(*parts: type[OptionsOfGroup] | str) -> frozenset[str]:
    """Names of options, given one by one or as groups.

    >>> from flitloom.commands.options import Run
    >>> sorted(names_of("torus", Run))
    ['cycle_limit', 'seed', 'settings', 'stop_at', 'throttle', 'torus']
    """
    return frozenset(name for part in parts for name in ((part,) if isinstance(part, str) else part.names()))


@dataclass(frozen=True)
class Refusal:
    """Why options do not apply to an input; ``{option}`` in the texts is the option as it was written.

    Attributes
    ----------
    names : frozenset of str
        The options.
    place, problem, advice : str
        The parts of the message.
    """

    names: frozenset[str]
    place: str
    problem: str
    advice: str = ""

    @classmethod
    def plain(cls, names: frozenset[str], text: str) -> Refusal:
        """A refusal in one sentence, which names no field."""
        return cls(names, "", text)

    def error(self, option: str) -> SpecError:
        """The message."""
        if not self.place:
            return SpecError(self.problem.replace("{option}", option))
        return SpecError.at(
            *(text.replace("{option}", option) for text in (self.place, self.problem, self.advice))
        )


@dataclass(frozen=True)
class Use:
    """What a verb does with an input.

    Attributes
    ----------
    run : callable
        Does it; takes what the command line says.
    takes : frozenset of str, optional
        Names of the options that apply; all without.
    refusals : tuple of Refusal
        What is said of others; the first that names the option counts.
    otherwise : str
        What is said of all others.
    several_ranks : bool
        Whether several ranks of MPI do it together.
    """

    run: Callable[[Any], None]
    takes: frozenset[str] | None = None
    refusals: tuple[Refusal, ...] = ()
    otherwise: str = "leave it out"
    several_ranks: bool = False


@dataclass(frozen=True)
class Input:
    """A kind of input.

    Attributes
    ----------
    title : str
        What messages call it, with its article.
    given : str
        How it is given, for messages about options that belong to it.
    uses : mapping of str to Use
        What verbs do with it.
    sniff : callable
        Whether a file is one.
    asked : callable
        Whether options, by their names and values, ask for it.
    takers : tuple of str
        Commands beside those of `uses` that take it.
    """

    title: str
    given: str
    uses: Mapping[str, Use]
    sniff: Callable[[Path], bool] = field(default=lambda _: False)
    asked: Callable[[Mapping[str, Any]], bool] = field(default=lambda _: False)
    takers: tuple[str, ...] = ()
