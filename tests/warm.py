"""Workers that are forked from a process that has imported what they need.

A worker imports NumPy, xarray and flitloom for longer than most of what the tests ask of it takes. One from
here has the folder, the environment, the limits and the standard error of the process that asks for it, as a
new one has.
"""

import atexit
import gc
import os
import pickle
import resource
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress

#: Limits that a child process inherits.
LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE)
#: The largest message: an environment.
LONGEST = 1 << 17
#: The process that forks, and a connection to it, which ends with this process.
_server = []


class Worker:
    """A worker with what `flitloom.ground.workers` uses of `subprocess.Popen`."""

    def __init__(self, command, stdin, stdout):
        from flitloom.ground.workers import PROGRAM

        assert (command, stdin, stdout) == ([sys.executable, "-P", str(PROGRAM)], *2 * [subprocess.PIPE])
        asks, questions = os.pipe()
        answers, replies = os.pipe()
        self._ended, ends = os.pipe()
        limits = [resource.getrlimit(one) for one in LIMITS]
        link = _link()
        socket.send_fds(
            link, [pickle.dumps((os.getcwd(), dict(os.environ), limits))], [asks, replies, 2, ends]
        )
        self.pid = int(link.recv(20))
        for end in (asks, replies, ends):
            os.close(end)
        self.stdin, self.stdout = os.fdopen(questions, "wb"), os.fdopen(answers, "rb")
        self.returncode = None

    def poll(self):
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self):
        if self.returncode is None:
            # At the end the process that forks, which tells it, may be gone first.
            self.returncode = int(os.read(self._ended, 20) or -signal.SIGKILL)
            os.close(self._ended)
        return self.returncode

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def use(link):
    """Fork workers from the process that serves at the other end of a connection, in this process."""
    _server[:] = link, None


def _link():
    """The connection to the process that forks."""
    if not _server:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            end = theirs.fileno()
            command = [sys.executable, __file__, str(end)]
            _server[:] = ours, subprocess.Popen(command, pass_fds=[end], stdin=subprocess.DEVNULL)
        atexit.register(_end, os.getpid())
    return _server[0]


def _end(owner):
    """End the process that forks with the one that started it; not with what this one has forked."""
    link, process = _server
    link.close()
    if os.getpid() == owner:
        process.wait()


def serve(link):
    """Fork a worker for every message, and tell how it ended."""
    # As `flitloom.ground.workers` has it: Ctrl-C is the parent's.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    ended, wakes = os.pipe()
    for end in (ended, wakes):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    tells = {}
    while True:
        ready = select.select([link, ended], [], [])[0]
        if ended in ready:
            os.read(ended, 4096)
            while tells and (found := os.waitpid(-1, os.WNOHANG))[0]:
                tell = tells.pop(found[0])
                with suppress(OSError):
                    os.write(tell, str(os.waitstatus_to_exitcode(found[1])).encode())
                os.close(tell)
        if link in ready:
            message, ends, _, _ = socket.recv_fds(link, LONGEST, 4)
            if not message:
                return
            pid = os.fork()
            if pid == 0:
                _work(message, ends)
            tells[pid] = ends[3]
            for end in ends[:3]:
                os.close(end)
            link.send(str(pid).encode())


def stand_in(folder, environment, ends):
    """Have the folder, the environment and the standard streams of who asked for this process."""
    for number, end in enumerate(ends):
        os.dup2(end, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115


def _work(message, ends):
    """Be a worker."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    folder, environment, limits = pickle.loads(message)
    stand_in(folder, environment, ends[:3])
    os.closerange(3, 1024)
    for one, limit in zip(LIMITS, limits, strict=True):
        resource.setrlimit(one, limit)
    from flitloom.ground import worker

    try:
        worker.main()
    finally:
        os._exit(1)


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # What xarray looks for when it makes its first array.
    import dask.array  # noqa: F401
    import xarray  # noqa: F401

    import flitloom.analysis.switch_loads
    import flitloom.campaign
    import flitloom.load.running
    import flitloom.networks.pipelined
    import flitloom.sweep  # noqa: F401

    # What is there now is not looked through, and so not copied, in every worker.
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
