"""The command line: one file per verb, imported only when it is used or listed."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

from flitloom.errors import FlitloomError

#: Every verb is a module of this package with a function ``command`` or a Typer group ``app``.
VERBS = ["demo", "papers", "version"]


def build(verbs: list[str]) -> typer.Typer:
    """Assemble the command line of the given verbs."""
    app = typer.Typer(
        name="flitloom",
        help="Simulate, schedule and route traffic on torus and mesh networks - exactly.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
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
    try:
        build(wanted)(arguments, prog_name="flitloom")
    except FlitloomError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except BrokenPipeError:
        # The reader has seen enough; nothing may be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    return 0


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))
