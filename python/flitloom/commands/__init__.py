"""The command line: one file per verb, imported only when it is used or listed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from flitloom.commands.screen import ReaderLeftError
from flitloom.errors import FlitloomError

#: Exit code after Ctrl-C.
INTERRUPTED = 130
#: Every verb with its summary. It is a module of this package with a function ``command`` or a Typer group
#: ``app``, and imported only when it is used; its own help begins with the same words.
VERBS = {
    "demo": "Six collectives on a 16x16 torus: whole packets, slices at the best interval, and the best "
    "schedule.",
    "simulate": "Simulate traffic on a network, cycle by cycle.",
    "stack": "Find the best interval between slices that all nodes send in unison (simple stacking).",
    "schedule": "Find when every packet should start so that none ever waits, and prove how good that is.",
    "jitter": "Compare ways of sending when nodes are late: mean durations over patterns and trials, in "
    "cycles.",
    "campaign": "Run many genetic searches over combinations of parameters; stop and resume at will.",
    "route": "Make balanced, deadlock-free routing tables and report how good they are.",
    "check": "Check a plan or routing tables.",
    "bench": "Measure how fast flitloom is here, on one core, in CPU time.",
    "papers": "Reproduce published tables and figures, ours beside theirs.",
    "cite": "Name the papers behind what flitloom does.",
    "version": 'Print the version, and the commit it was made from ("+": with changes).',
}


def build(arguments: Sequence[str]) -> typer.Typer:
    """Assemble the command line: the verb that is asked for, and the summaries of the others."""
    app = typer.Typer(
        name="flitloom",
        help="Simulate, schedule and route traffic on torus and mesh networks - exactly.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )

    @app.callback()
    def _for_all_verbs(
        _version: Annotated[
            bool,
            typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version."),
        ] = False,
    ) -> None:
        """Keep the verbs apart, and offer what goes before them."""

    wanted = next((word for word in arguments if not word.startswith("-")), "")
    for verb, summary in VERBS.items():
        if verb != wanted:
            app.command(verb, help=summary)(_not_loaded)
            continue
        module = import_module(f"flitloom.commands.{verb}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            app.command(verb)(module.command)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from flitloom.commands.version import command

        command()
        raise typer.Exit


def _not_loaded() -> None:
    """Stand for a verb of which only the summary is needed."""


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    # A shell that completes a line tells it in a variable.
    line = os.environ.get("COMP_WORDS", "").split()[1:] if "_FLITLOOM_COMPLETE" in os.environ else arguments
    code: object = 0
    try:
        try:
            build(line)(arguments, prog_name="flitloom")
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
