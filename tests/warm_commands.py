"""The command line for pages and sessions with hundreds of commands, which a warm process forks.

A command imports for longer than most of those in the documents compute. A forked one has the folder, the
environment and the open files of who calls it. `tests/house/test_start.py` starts commands as users do.
"""

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

from warm import stand_in

#: The largest message: arguments and an environment.
LONGEST = 1 << 17
#: The exit code of a command that drew a picture with a fault, and of one that ended without a code.
FAULTY, BROKEN = 70, 71
#: What a page or a session calls: it imports next to nothing.
CLIENT = """\
#!{python} -IS
import os, pickle, socket, sys
asks = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
asks.connect({place!r})
socket.send_fds(asks, [pickle.dumps((os.getcwd(), dict(os.environ), sys.argv))], [0, 1, 2])
sys.exit(int(asks.recv(20) or {broken}))
"""


@contextmanager
def command_line(*, looking=False):
    """A folder with a program ``flitloom``, to be first in PATH. With ``looking`` pictures are looked at."""
    with tempfile.TemporaryDirectory() as made:
        place = str(Path(made, "asked"))
        program = Path(made, "flitloom")
        program.write_text(CLIENT.format(python=sys.executable, place=place, broken=BROKEN), encoding="utf-8")
        program.chmod(0o755)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listens:
            listens.bind(place)
            listens.listen()
            words = [sys.executable, __file__, str(listens.fileno()), str(looking)]
            server = subprocess.Popen(
                words,
                pass_fds=[listens.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"},
            )
            try:
                yield made
            finally:
                server.kill()
                server.wait()


def serve(listens, looking):
    """Fork a command for every connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        link, _ = listens.accept()
        with link:
            message, ends, _, _ = socket.recv_fds(link, LONGEST, 3)
            if os.fork() == 0:
                _be(message, ends, link, looking)
            for end in ends:
                os.close(end)


def _be(message, ends, link, looking):
    """Be a command, and tell its exit code."""
    code = BROKEN
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        folder, environment, sys.argv = pickle.loads(message)
        stand_in(folder, environment, ends)
        for end in ends:
            os.close(end)
        code = commands.run(sys.argv[1:])
        if wrong := [fault for _, found in looking or () for fault in found]:
            print(*wrong, sep="\n", file=sys.stderr)
            code = FAULTY
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        link.send(str(code).encode())
        os._exit(code)


if __name__ == "__main__":
    # What xarray looks for when it makes its first array.
    import dask.array  # noqa: F401
    import xarray  # noqa: F401
    from matplotlib.figure import Figure

    import flitloom
    from flitloom import commands

    for module in pkgutil.walk_packages(flitloom.__path__, "flitloom."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    seen = []
    if sys.argv[2] == "True":
        from pictures import looked_at

        Figure.savefig = looked_at(Figure.savefig, seen)
    serve(socket.socket(fileno=int(sys.argv[1])), seen)
