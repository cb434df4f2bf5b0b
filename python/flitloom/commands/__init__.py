"""The command line: one file per verb, imported only when it is used or listed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import typer

from flitloom.commands.screen import ReaderLeftError
from flitloom.errors import FlitloomError

#: Exit code after Ctrl-C.
INTERRUPTED = 130
#: Every verb is a module of this package with a function ``command`` or a Typer group ``app``.
VERBS = (
    "demo",
    "simulate",
    "stack",
    "schedule",
    "jitter",
    "campaign",
    "route",
    "check",
    "bench",
    "papers",
    "cite",
    "version",
)


def build(verbs: Sequence[str]) -> typer.Typer:
    """Assemble the command line of the given verbs."""
    app = typer.Typer(
        name="flitloom",
        help="Simulate, schedule and route traffic on torus and mesh networks - exactly.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )

    @app.callback()
    def _verbs() -> None:
        """Keep verbs apart even when only one is loaded."""

    for verb in verbs:
        module = import_module(f"flitloom.commands.{verb}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            app.command(verb)(module.command)
    return app


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    wanted = [verb for verb in VERBS if arguments[:1] == [verb]] or VERBS
    code: object = 0
    try:
        try:
            build(wanted)(arguments, prog_name="flitloom")
        except SystemExit as leaving:
            code = leaving.code
        sys.stdout.flush()
    except FlitloomError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except (BrokenPipeError, ReaderLeftError):
        return _reader_left()
    if code == INTERRUPTED:
        sys.stderr.write("interrupted\n")
    return code if isinstance(code, int) else 0


def _reader_left() -> int:
    """Nothing may be flushed into the closed pipe at exit; the reader has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))
