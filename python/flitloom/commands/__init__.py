"""The command line: one file per verb, imported only when it is used or listed."""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from flitloom.ground import interrupts, settings
from flitloom.verbs import VERBS

__all__ = ["VERBS", "main", "run"]


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    from flitloom.commands.assembly import assembled, renamed
    from flitloom.commands.completion import advised, hyphenated, offer_values
    from flitloom.commands.screen import ReaderLeftError, complain, notes, say
    from flitloom.errors import FlitloomError, show_file

    interrupts.reset()
    settings.forget()
    begin = time.monotonic()
    # A shell that completes a line tells it in a variable.
    line = os.environ.get("COMP_WORDS", "").split()[1:] if "_FLITLOOM_COMPLETE" in os.environ else arguments
    code: object = 0
    command: Any = None
    try:
        try:
            with _all_ranks(arguments), notes():
                command = assembled(line)
                if line is not arguments:
                    offer_values(command)
                words = renamed(hyphenated(arguments))
                # Messages call options as they are written here.
                command(words, prog_name="flitloom", obj=words)
        except SystemExit as leaving:
            code = leaving.code
        if settings.get("verbosity") == "verbose":
            say(f"took {time.monotonic() - begin:.2f} s")
        if sys.stdout is not None:
            sys.stdout.flush()
    except FlitloomError as error:
        complain(advised(error, command, arguments))
        _write_nothing_more()
        return 2
    except ReaderLeftError:
        _write_nothing_more()
        return 0
    except KeyboardInterrupt:
        code = interrupts.INTERRUPTED
    except MemoryError:
        complain("there is not enough memory for this")
        return 2
    except OSError as error:
        _write_nothing_more()
        if error.errno == errno.EPIPE:
            # What it was going to end with, if that was known.
            return code if isinstance(code, int) else 0
        place = "standard output: cannot be written" if error.filename is None else show_file(error.filename)
        complain(f"{place}: {error.strerror or error}")
        return 2
    if code == interrupts.INTERRUPTED:
        interrupts.tell()
    return code if isinstance(code, int) else 0


def _all_ranks(arguments: list[str]) -> AbstractContextManager[None]:
    """Processes that ``mpiexec`` started simulate together; other verbs know nothing of each other."""
    if not {"simulate", "load"} & set(arguments[:3]):
        return nullcontext()
    from flitloom.commands.screen import complain
    from flitloom.ground import ranks
    from flitloom.ground.extras import need

    if ranks.started() == 1:
        return nullcontext()
    need("mpi", "a simulation on several ranks")
    return ranks.together(complain)


def _write_nothing_more() -> None:
    """Let what could not be written not be tried again when Python ends."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def main() -> None:
    """Entry point of the console script."""
    # Nothing here multiplies large matrices, and NumPy's other threads wait for work by turning in circles.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    interrupts.arm()
    code = _run_or_say_why(sys.argv[1:])
    _write_nothing_more()
    interrupts.disarm()
    sys.exit(code)


def _run_or_say_why(arguments: list[str]) -> int:
    """Run the command line; an extension that is older than the code is told in one sentence."""
    try:
        return run(arguments)
    except (ImportError, AttributeError, KeyError, TypeError) as error:
        from flitloom.commands.stale import reason

        told = None if {"-v", "--verbose"} & set(arguments) else reason(error)
        if told is None:
            raise
        with suppress(OSError):
            sys.stderr.write(f"error: {told}\n")
        return 2
