"""Waiting for events of other processes: each ends as soon as it happens, or fails after a limit."""

import contextlib
import os
import time
from pathlib import Path

#: Seconds after which an event counts as missing, on a machine that is busy with other things, too.
LIMIT = 300


def until(happens, what, limit=LIMIT):
    """The first true value of `happens`."""
    end = time.monotonic() + limit
    while not (found := happens()):
        assert time.monotonic() < end, f"within {limit} s not: {what}"
        time.sleep(0.02)
    return found


def stat(pid):
    """State, parent, group, session and so on of a process; they follow its name, which may hold anything."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return None


def processes():
    """All processes there are, as numbers with their facts: `ps` is a program that a machine may lack."""
    numbers = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return {number: facts for number in numbers if (facts := stat(number))}


def children_of(parent):
    """Processes that the process started and that have not ended."""
    return [pid for pid, facts in processes().items() if int(facts[1]) == parent and facts[0] != "Z"]


def session(leader):
    """Processes of a session."""
    return [pid for pid, facts in processes().items() if int(facts[3]) == leader]


def cpu_seconds(*pids):
    """What processes and those of their children that have ended took of the cores."""
    facts = [found for pid in pids if (found := stat(pid))]
    return sum(int(ticks) for found in facts for ticks in found[11:15]) / os.sysconf("SC_CLK_TCK")


def at_work(pid):
    """Wait until the first thread of a process sleeps, or has worked for a tenth of a second from now on."""
    start = cpu_seconds(pid)
    until(
        lambda: not (facts := stat(pid)) or facts[0] in "SZ" or cpu_seconds(pid) > start + 0.1,
        f"process {pid} is at work",
    )
