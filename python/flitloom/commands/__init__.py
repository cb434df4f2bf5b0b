"""The command line: one file per verb, imported only when it is used or listed."""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from flitloom import interrupts, settings

#: Every verb with its summary. It is a module of this package with a function ``command`` or a Typer group
#: ``app``, and imported only when it is used; its own help begins with the same words.
VERBS = {
    "demo": "Six collectives on a 16x16 torus: whole packets, slices at the best interval, and the best "
    "schedule.",
    "simulate": "Simulate traffic on a network, cycle by cycle.",
    "load": "Where a network saturates, and how it behaves below and beyond: curves and responses.",
    "stack": "Find the best interval between slices that all nodes send in unison (simple stacking).",
    "schedule": "Find when every packet should start so that none ever waits, and prove how good that is.",
    "collective": "Plan collective operations that keep every link busy, and prove how good they are.",
    "convert": "Write a plan of a collective operation, a trace of messages, or a file of BookSim2 in "
    "another format.",
    "jitter": "Compare methods of sending when nodes are late: mean durations over patterns and trials, in "
    "cycles.",
    "campaign": "Run many genetic searches over combinations of parameters; stop and resume at will.",
    "sweep": "Simulate an experiment over a grid of any of its fields; stop and resume at will.",
    "plot": "Draw columns of a table as curves: means over seeds, with bands from the least to the largest.",
    "route": "Make balanced, deadlock-free routing tables and report how good they are.",
    "place": "Put ranks on nodes so that the fullest channel carries least, and say what no placement can "
    "beat.",
    "check": "Check a plan, routing tables or a placement.",
    "fabric": "Recognise a fabric described by ibnetdiscover, OpenSM, ibsim or Slurm.",
    "view": "Show a result, a plan, tables, a placement or a fabric as one HTML page that needs no network.",
    "bench": "Measure how fast flitloom is here, on one core, in CPU time.",
    "examples": "List the examples that come with flitloom, or copy them.",
    "recheck": "Verify a certificate by a program that shares nothing with flitloom.",
    "validate": "Compare flitloom with another simulator, on this machine.",
    "config": "Show how the command line behaves here, and why.",
    "papers": "Reproduce published tables and figures, ours beside theirs.",
    "cite": "Name the papers that flitloom is based on.",
    "version": 'Print the version, and the commit it was made from ("+": with changes).',
}


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    from typer.main import get_command

    from flitloom.commands.assembly import build, heard_everywhere, plain_numbers, renamed
    from flitloom.commands.completion import advised, find_anyway, hyphenated, offer_values
    from flitloom.commands.screen import ReaderLeftError, complain, say
    from flitloom.errors import FlitloomError

    interrupts.reset()
    settings.forget()
    begin = time.monotonic()
    # A shell that completes a line tells it in a variable.
    line = os.environ.get("COMP_WORDS", "").split()[1:] if "_FLITLOOM_COMPLETE" in os.environ else arguments
    code: object = 0
    command: Any = None
    try:
        try:
            with _all_ranks(arguments):
                command = get_command(build(line))
                heard_everywhere(command)
                plain_numbers(command)
                find_anyway(command)
                if line is not arguments:
                    offer_values(command)
                command(renamed(hyphenated(arguments)), prog_name="flitloom")
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
        place = "standard output: cannot be written" if error.filename is None else str(error.filename)
        complain(f"{place}: {error.strerror or error}")
        return 2
    if code == interrupts.INTERRUPTED:
        interrupts.tell()
    return code if isinstance(code, int) else 0


def _all_ranks(arguments: list[str]) -> AbstractContextManager[None]:
    """Processes that ``mpiexec`` started simulate together; other verbs know nothing of each other."""
    if not {"simulate", "load"} & set(arguments[:3]):
        return nullcontext()
    from flitloom import ranks
    from flitloom.commands.screen import complain
    from flitloom.extras import need

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
    code = run(sys.argv[1:])
    _write_nothing_more()
    interrupts.disarm()
    sys.exit(code)
