"""The command line for pages and sessions with hundreds of commands, which a warm process forks.

A command imports for longer than most of those in the documents compute, and so does every worker of one. A
forked one has the folder, the environment and the open files of who calls it. Its workers are forked, too.
`tests/house/test_start.py` starts commands as users do.
"""

import gc
import importlib
import os
import pickle
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import warm

#: The largest message: arguments and an environment.
LONGEST = 1 << 17
#: The exit code of a command that drew a picture with a fault, and of one that ended without a code.
FAULTY, BROKEN = 70, 71
#: The folder, beside the program, of one whose pictures are looked at.
LOOKS = "looks"
#: What a page or a session calls: it imports next to nothing.
CLIENT = """\
#!{python} -IS
import os, pickle, socket, sys
asks = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
asks.connect({place!r})
socket.send_fds(asks, [pickle.dumps((os.getcwd(), dict(os.environ), sys.argv, {looking}))], [0, 1, 2])
sys.exit(int(asks.recv(20) or {broken}))
"""


@contextmanager
def command_line():
    """A folder with a program ``flitloom``, to be first in PATH; that in `LOOKS` looks at its pictures."""
    with tempfile.TemporaryDirectory() as made:
        place = str(Path(made, "asked"))
        for folder, looking in ((Path(made), False), (Path(made, LOOKS), True)):
            folder.mkdir(exist_ok=True)
            program = folder / "flitloom"
            text = CLIENT.format(python=sys.executable, place=place, broken=BROKEN, looking=looking)
            program.write_text(text, encoding="utf-8")
            program.chmod(0o755)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listens:
            listens.bind(place)
            listens.listen()
            server = subprocess.Popen(
                [sys.executable, __file__, str(listens.fileno())],
                pass_fds=[listens.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"},
            )
            try:
                yield made
            finally:
                server.kill()
                server.wait()


def serve(listens):
    """Fork a command for every connection, or what forks its workers: it sends one end of a link to that."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        link, _ = listens.accept()
        with link:
            message, ends, _, _ = socket.recv_fds(link, LONGEST, 3)
            if os.fork() == 0:
                if len(ends) == 1:
                    _fork_workers(listens, link, *ends)
                _be(message, ends, link, listens.getsockname())
            for end in ends:
                os.close(end)


def _fork_workers(listens, link, end):
    """Fork workers for a command until it ends."""
    listens.close()
    link.close()
    try:
        warm.serve(socket.socket(fileno=end))
    finally:
        os._exit(0)


def _be(message, ends, link, place):
    """Be a command, and tell its exit code."""
    code = BROKEN
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        folder, environment, sys.argv, is_looking = pickle.loads(message)
        warm.stand_in(folder, environment, ends)
        for end in ends:
            os.close(end)
        starts_warm(place)
        seen = []
        if is_looking:
            Figure.savefig = looked_at(Figure.savefig, seen)
        code = commands.run(sys.argv[1:])
        if wrong := [fault for _, found in seen for fault in found]:
            print(*wrong, sep="\n", file=sys.stderr)
            code = FAULTY
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        link.send(str(code).encode())
        os._exit(code)


def starts_warm(place):
    """Let the workers of this command be forked, too."""

    def start(*words, **pipes):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asks:
            asks.connect(place)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                socket.send_fds(asks, [b"workers"], [theirs.fileno()])
        warm.use(ours)
        workers.subprocess.Popen = warm.Worker
        return warm.Worker(*words, **pipes)

    workers.subprocess = SimpleNamespace(Popen=start, PIPE=subprocess.PIPE)


if __name__ == "__main__":
    # What xarray looks for when it makes its first array.
    import dask.array  # noqa: F401
    import xarray  # noqa: F401
    from matplotlib.figure import Figure

    import flitloom
    from flitloom import commands
    from flitloom.ground import workers
    from pictures import looked_at

    for module in pkgutil.walk_packages(flitloom.__path__, "flitloom."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    # What is there now is not looked through, and so not copied, in every command.
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
