"""Processes that work for this one, and end when it ends, however that happens."""

from __future__ import annotations

import os
import pickle
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from flitloom.errors import FlitloomError

Made = TypeVar("Made")
#: The program of a worker.
PROGRAM = Path(__file__).with_name("worker.py")
#: Bytes that say how long a message is.
PREFIX = 8


class Workers(ThreadPoolExecutor):
    """An executor whose calls run in separate processes, one per calling thread.

    A worker ends when the pipe from its parent is closed, so none outlives a parent that was killed. It
    does not see Ctrl-C; `stop` ends all of them at once.

    Parameters
    ----------
    count : int, optional
        Number of processes; by default one per core that this process may use. They start when needed.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     list(workers.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, count: int | None = None) -> None:
        super().__init__(count or usable_cores(), initializer=_hold_interrupts)
        self._own = threading.local()
        self._guard = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stopped = False

    def submit(self, fn: Callable[..., Made], /, *args: Any, **kwargs: Any) -> Future[Made]:
        """Call a function of a module in a worker; what it raises is raised here."""
        return super().submit(self._ask, pickle.dumps((fn, args, kwargs)))

    def stop(self) -> None:
        """End all workers at once; what they were doing is lost."""
        with self._guard:
            self._stopped = True
            for process in self._processes:
                process.kill()
        self.shutdown(cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and end the workers when the last one is done."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            for process in self._processes:
                for pipe in (process.stdin, process.stdout):
                    assert pipe is not None
                    # What a worker that ended was not told is sent once more by this, in vain.
                    with suppress(OSError):
                        pipe.close()
                process.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.shutdown()
        else:
            self.stop()

    def _ask(self, question: bytes) -> Any:
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        try:
            if process is None:
                process = self._own.process = self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            send(process.stdin, question)
            works, value = pickle.loads(receive(process.stdout))
        except (EOFError, OSError) as error:
            code = None if process is None else process.wait()
            self._own.process = None
            cause = f"signal {-code}: killed, perhaps because memory ran out" if code and code < 0 else error
            raise FlitloomError(f"a worker process ended before its work did ({cause})") from None
        if works:
            return value
        raise value

    def _start(self) -> subprocess.Popen[bytes]:
        with self._guard:
            if self._stopped:
                raise EOFError("the workers were stopped")
            process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._processes.append(process)
        assert process.stdin is not None
        send(process.stdin, pickle.dumps(sys.path))
        return process


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_file(file: str, function: str, *arguments: Any) -> Any:
    """Call a function of a Python file, for programs that import nothing of flitloom."""
    return runpy.run_path(file)[function](*arguments)


def send(pipe: Any, message: bytes) -> None:
    """Write a message and its length."""
    pipe.write(len(message).to_bytes(PREFIX, "little"))
    pipe.write(message)
    pipe.flush()


def receive(pipe: Any) -> bytes:
    """Read a message."""
    prefix = pipe.read(PREFIX)
    length = int.from_bytes(prefix, "little")
    message: bytes = pipe.read(length)
    if len(prefix) < PREFIX or len(message) < length:
        raise EOFError("the pipe was closed")
    return message


def _hold_interrupts() -> None:
    """Keep Ctrl-C from this thread, and so from the processes it starts, from their first moment on."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
