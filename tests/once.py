"""What is made once in a run of the tests, whichever of its processes asks first."""

import fcntl
import os


def shared(tmp_path_factory, name):
    """A folder for all processes of a run of the tests."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    place.mkdir(exist_ok=True)
    return place


def once(place, name, make):
    """A folder that ``make(folder)`` fills, and what it returned: a text, made by the first who asks."""
    folder, said = place / name, place / f"{name}.txt"
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            folder.mkdir()
            said.write_text(make(folder), encoding="utf-8")
    return folder, said.read_text(encoding="utf-8")
