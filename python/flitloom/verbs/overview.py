"""What ``flitloom --help`` prints, without the parser of the command line, which takes most of the time.

The text is the parser's own: `tests/house/test_start.py` compares both in every width.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator

from flitloom.verbs import VERBS

#: What flitloom is for, in a line.
ABOUT = "Simulate, schedule and route traffic on torus and mesh networks - exactly."
#: Options that may precede a verb, with their help.
VERSION = "Print the version."
QUIET = "Print results and errors only: no progress, no remarks."
VERBOSE = "Say also how long it took."
#: The widest line.
WIDEST = 100

_OPTIONS = {
    "--version": VERSION,
    "-q, --quiet": QUIET,
    "-v, --verbose": VERBOSE,
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the installation.",
    "-h, --help": "Show this message and exit.",
}


def tell() -> int:
    """Print the overview, and return the exit code."""
    if sys.stdout is None:
        return _unwritten("it is closed")
    try:
        sys.stdout.write(overview(_columns()))
        sys.stdout.flush()
    except OSError as error:
        # What is left is not written again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        # A reader may leave early.
        return 0 if error.errno == errno.EPIPE else _unwritten(error.strerror or str(error))
    return 0


def _unwritten(reason: str) -> int:
    sys.stderr.write(f"error: standard output: cannot be written: {reason}\n")
    return 2


def overview(columns: int) -> str:
    """The overview for a terminal of this many columns.

    >>> overview(80).splitlines()[0]
    'Usage: flitloom [OPTIONS] COMMAND [ARGS]...'
    """
    width = max(min(columns, WIDEST) - 2, 50)
    longest = max(map(len, VERBS))
    briefly = {verb: _shortened(summary, width - 6 - longest) for verb, summary in VERBS.items()}
    lines = [
        "Usage: flitloom [OPTIONS] COMMAND [ARGS]...",
        "",
        *(f"  {line}" for line in _wrapped(ABOUT, width - 2)),
        "",
        "Options:",
        *_listed(_OPTIONS, width),
        "",
        "Commands:",
        *_listed(briefly, width),
    ]
    return "\n".join(lines) + "\n"


def _columns() -> int:
    """Columns of the terminal, as `shutil.get_terminal_size` finds them, which takes long to import."""
    try:
        columns = int(os.environ.get("COLUMNS", 0))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


def _listed(rows: dict[str, str], width: int) -> Iterator[str]:
    aside = max(map(len, rows)) + 2
    for name, text in rows.items():
        first, *others = _wrapped(text, max(width - aside - 2, 10))
        yield f"  {name:<{aside}}{first}"
        yield from (f"{'':<{aside + 2}}{line}" for line in others)


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}".lstrip()
    yield line


def _shortened(text: str, longest: int) -> str:
    """The first sentence if there is room for it; otherwise as many words as there is room for."""
    words: list[str] = []
    for word in text.split():
        if len(" ".join([*words, word])) > longest:
            break
        words.append(word)
        if word.endswith("."):
            return " ".join(words)
    while len(" ".join(words)) + 3 > longest:
        words.pop()
    return " ".join(words) + "..."
