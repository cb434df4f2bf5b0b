"""The command line as Typer sees it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from flitloom.commands.completion import find_anyway
from flitloom.errors import SpecError
from flitloom.ground import settings
from flitloom.ground.numerals import real, whole
from flitloom.verbs import VERBS, overview

#: What options were called once; scripts that say so go on working.
RENAMED = {
    "--chart": "--picture",
    "--output": "--out",
    "--plot": "--picture",
    "--time": "--seconds",
    "--workers": "--threads",
}


def renamed(arguments: Sequence[str]) -> list[str]:
    """The arguments with options by the names of today.

    >>> renamed(["simulate", "--torus", "4x4", "--chart=a.png"])
    ['simulate', '--torus', '4x4', '--picture=a.png']
    """
    split = (word.partition("=") for word in arguments)
    return [RENAMED.get(name, name) + equals + value for name, equals, value in split]


def plain_numbers(command: Any) -> None:
    """Let numeric options of a command and of those below it take what `ground.numerals` takes alone."""
    for parameter in command.params:
        _let_check(parameter)
    for inner in getattr(command, "commands", {}).values():
        plain_numbers(inner)


def heard_everywhere(command: Any) -> None:
    """Let ``--quiet`` and ``--verbose`` of the whole command line follow a verb, too."""
    options = [_behind(option) for option in command.params if option.name in ("quiet", "verbose")]
    for below in command.commands.values():
        _add(below, options)


def _behind(option: Any) -> Any:
    def hear(_context: Any, _option: Any, asked: bool) -> None:
        if asked:
            settings.load(verbosity=option.name)

    same = copy(option)
    same.expose_value, same.hidden, same.callback = False, True, hear
    return same


def _add(command: Any, options: list[Any]) -> None:
    for below in getattr(command, "commands", {}).values():
        _add(below, options)
    if not hasattr(command, "commands"):
        command.params += options


def _let_check(parameter: Any) -> None:
    convert = parameter.process_value

    def process(context: Any, given: Any) -> Any:
        made = convert(context, given)
        texts, values = (given, made) if isinstance(made, list | tuple) else ([given], [made])
        for text, value in zip(texts or (), values, strict=False):
            if isinstance(text, str) and type(value) in (int, float):
                try:
                    (whole if type(value) is int else real)(text)
                except ValueError as error:
                    raise SpecError(f"{max(parameter.opts, key=len)}: {error}") from None
        return made

    parameter.process_value = process


def assembled(arguments: Sequence[str]) -> Any:
    """The parser of a command line, which further lines of the same verb share."""
    verb, inner = _asked(arguments)
    if verb not in VERBS:
        return _parser("", "")
    below = getattr(import_module(f"flitloom.commands.{verb}"), "BELOW", {})
    return _parser(verb, inner if inner in below else "")


@cache
def _parser(verb: str, inner: str) -> Any:
    command = get_command(build([verb, inner]))
    heard_everywhere(command)
    plain_numbers(command)
    find_anyway(command)
    return command


def _asked(arguments: Sequence[str]) -> tuple[str, str]:
    """The first word that is not an option, and the next word."""
    words = [*arguments, "", ""]
    at = next(at for at, word in enumerate(words) if not word.startswith("-"))
    return words[at], words[at + 1]


def build(arguments: Sequence[str]) -> typer.Typer:
    """Assemble the command line: the verb that is asked for, and the summaries of the others."""
    app = typer.Typer(
        name="flitloom",
        help=overview.ABOUT,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": overview.WIDEST},
    )

    @app.callback()
    def _for_all_verbs(
        _version: Annotated[
            bool,
            typer.Option("--version", is_eager=True, callback=_print_version, help=overview.VERSION),
        ] = False,
        quiet: Annotated[
            bool,
            typer.Option("--quiet", "-q", help=overview.QUIET),
        ] = False,
        verbose: Annotated[bool, typer.Option("--verbose", "-v", help=overview.VERBOSE)] = False,
    ) -> None:
        """Keep the verbs apart, and offer what goes before them."""
        settings.load(verbosity="quiet" if quiet else "verbose" if verbose else None)

    wanted, inner = _asked(arguments)
    for verb, summary in VERBS.items():
        if verb != wanted:
            app.command(verb, help=summary)(_not_loaded)
            continue
        module = import_module(f"flitloom.commands.{verb}")
        below = getattr(module, "BELOW", {})
        if inner in below:
            app.add_typer(_group_of(inner, below[inner]), name=verb)
        elif hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            app.command(verb)(module.command)
    return app


def _group_of(word: str, module: str) -> typer.Typer:
    """A verb of which only the word below it is asked for."""
    group = typer.Typer(rich_markup_mode=None)
    group.callback()(_not_loaded)
    group.command(word)(import_module(f"flitloom.commands.{module}").command)
    return group


def _print_version(asked: bool) -> None:
    if asked:
        from flitloom.commands.version import command

        command()
        raise typer.Exit


def _not_loaded() -> None:
    """Replace a verb of which only the summary is needed."""
