"""Ctrl-C on the command line: one line, exit code 130, within half a second, at any time."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager, suppress

from flitloom.ground.launched import speaks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

#: Exit code after Ctrl-C.
INTERRUPTED = 130
#: Seconds that the work has to answer Ctrl-C, before a thread outside Python ends the process.
PATIENCE = 0.3
#: Removes a progress bar from a terminal and shows the cursor again.
CLEAR = b"\r\x1b[K\x1b[?25h"


class _State:
    """What a press of Ctrl-C finds."""

    def __init__(self) -> None:
        #: Whether something can be kept, so that Ctrl-C is an exception.
        self.keeping = False
        #: Whether it is only noted, since others have to be told first.
        self.noting = False
        #: Whether something is done that is not to be left half-done, and whether it was pressed meanwhile.
        self.busy = self.postponed = False
        #: Whether it was pressed, and whether the user was told.
        self.pressed = False
        self.told = False
        #: Whether a thread of the core watches.
        self.watched = False
        #: What is to be undone when the process ends at once.
        self.undo: list[Callable[[], object]] = []


_state = _State()


def arm() -> None:
    """Answer Ctrl-C from now on; called before anything that takes time is imported."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Whoever started this process does not want it to end so.
        return
    signal.signal(signal.SIGINT, _pressed)
    from flitloom import _core

    # Python's own handler only runs between two steps of the interpreter; the core's thread always does.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # A signal that the starting thread took would not reach the interpreter before it does something else.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    _core.watch_interrupts(reader, PATIENCE)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    _state.watched = True
    if not speaks():
        # Whoever asks after this is told that somebody else was first.
        _core.first_to_tell()


def disarm() -> None:
    """The work is done and the exit code known: Ctrl-C changes nothing any more."""
    if _state.watched:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def keeping() -> Iterator[None]:
    """A block in which Ctrl-C is a `KeyboardInterrupt`, because there is something to keep."""
    before, _state.keeping = _state.keeping, True
    try:
        yield
    except Exception as error:
        # A library may wrap what ends a function that it calls, as pydantic does in serializers.
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None
        raise
    finally:
        _state.keeping = before


@contextmanager
def noting() -> Iterator[None]:
    """A block in which the first Ctrl-C is only noted (`pressed`), to be shared with other processes."""
    before, _state.noting = _state.noting, True
    try:
        yield
    finally:
        _state.noting = before


@contextmanager
def later() -> Iterator[None]:
    """A short block that Ctrl-C does not leave half-done; it is answered behind it."""
    _state.busy = True
    try:
        yield
    finally:
        _state.busy = False
        if _state.postponed:
            _state.postponed = False
            _pressed(signal.SIGINT, None)


def kept() -> None:
    """Results are in hand after Ctrl-C, and may take their time to be written."""
    if _state.watched:
        from flitloom import _core

        _core.hold_interrupts()


def pressed() -> bool:
    """Whether Ctrl-C was pressed."""
    return _state.pressed


def tell(text: str = "interrupted") -> None:
    """Write the one line about it, unless that was done."""
    if _state.told:
        return
    _state.told = True
    if not _state.watched or _first_to_tell():
        # A standard error that is full or closed is no reason to lose the work.
        with suppress(OSError, AttributeError):
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def reset() -> None:
    """Nothing was pressed yet."""
    _state.pressed = _state.told = False


def undo_on_exit(action: Callable[[], object]) -> Callable[[], None]:
    """Have something undone if Ctrl-C ends the process; returns how to take that back."""
    _state.undo.append(action)
    return lambda: _state.undo.remove(action)


def _pressed(_number: int, _frame: FrameType | None) -> None:
    if _state.busy:
        _state.postponed = True
        return
    again = _state.pressed
    _state.pressed = True
    if _state.noting and not again:
        kept()
        return
    if _state.keeping and not again:
        raise KeyboardInterrupt
    for action in reversed(_state.undo):
        try:
            action()
        except Exception:
            # It is more important to end than to tidy up.
            continue
    if _first_to_tell():
        line = b"interrupted\n"
        os.write(2, CLEAR + line if os.isatty(2) else line)
    else:
        # The core's thread may be about to.
        time.sleep(0.02)
    os._exit(INTERRUPTED)


def _first_to_tell() -> bool:
    from flitloom import _core

    return _core.first_to_tell()
