"""Runs the command line in a process of its own whose memory and time are bounded."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

_CHILD = """
import json, resource, signal, sys
memory, seconds, runs = json.load(sys.stdin)
from flitloom.commands import run
import contextlib, io, traceback
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
for arguments in runs:
    out, err = io.StringIO(), io.StringIO()
    # On a busy machine seconds pass without work; what waits for ever is ended in the end.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(15 * seconds)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(arguments)
    except BaseException:
        code = "".join(traceback.format_exc().splitlines(True)[-4:])[:600]
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=sys.__stdout__, flush=True)
"""


@dataclass
class Ended:
    """How a command ended; `code` is a text after an exception or a signal."""

    code: object
    out: str
    err: str


def run_limited(runs, folder, memory=2 << 30, seconds=20):
    """Run command lines in turn in `folder`, each within `seconds` of work, all within `memory` bytes.

    One that takes longer, or ends the process, is followed by a fresh process for the others.
    """
    ended = []
    while len(ended) < len(runs):
        ended += _run(runs[len(ended) :], folder, memory, seconds)
    return ended


def _run(runs, folder, memory, seconds):
    child = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps([memory, seconds, [list(map(str, arguments)) for arguments in runs]]),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "2"},
        check=False,
    )
    ended = [Ended(*json.loads(line)) for line in child.stdout.splitlines()]
    if len(ended) < len(runs):
        ended.append(Ended(f"died with {child.returncode}: {child.stderr[-2000:]}", "", ""))
    return ended
