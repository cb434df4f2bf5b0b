"""What all tests share: pictures that are drawn are looked at, and workers start warm."""

import fcntl
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import count
from types import SimpleNamespace

import pytest

import costs
import warm
from flitloom.ground import workers
from once import shared
from sample import QUICK

# Who runs the tests in the background of a shell passes on that Ctrl-C is ignored; tests of it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Cases of a test from which on a sample of them runs, but in rooms whose tests are short or sampled already.
MANY, WHOLE = 6, {"house", "conformance", "golden"}
#: Of so many costly tests, and cases, one runs.
STEP = 5
SEED = int(os.environ.get("PROPTEST_RNG_SEED", "1"))
#: Read by type checkers only, never run; sessions of users, which run in folders of their own.
collect_ignore = ["house/typed_user.py", "docs/walks"]


def pytest_collection_modifyitems(config, items):
    """Leave four of five costly tests, and of the cases of a test with many, to `make test-all`.

    Which, the seed says. Costly tests are measured only if all of them run.
    """
    if not QUICK:
        return
    left, cases = [], defaultdict(count)
    many = Counter(map(_function, items))
    costly = {} if config.pluginmanager.has_plugin("measured") else costs.costly()
    chosen = set(sorted(costly)[SEED % STEP :: STEP])
    for item in items:
        is_whole = item.path.parent.name in WHOLE
        is_left = _function(item) in costly and _function(item) not in chosen
        is_one = many[_function(item)] < MANY or next(cases[_function(item)]) % STEP == SEED % STEP
        left.append(is_whole or (is_one and not is_left))
    config.hook.pytest_deselected(items=[item for item, stays in zip(items, left, strict=True) if not stays])
    items[:] = [item for item, stays in zip(items, left, strict=True) if stays]


def _function(item):
    """What a case is one of."""
    return item.nodeid.partition("[")[0].removeprefix("tests/")


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """A folder for the files of one test, in which it runs."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def one_after_the_other(request, tmp_path_factory):
    """Tests that use signals, ports or clocks wait for each other, also those of other processes."""
    if request.node.get_closest_marker("alone") is None:
        yield
        return
    with (shared(tmp_path_factory, "alone") / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(autouse=True)
def workers_start_warm(request, monkeypatch):
    """Fork workers, but for tests of how they start and end."""
    if request.node.get_closest_marker("cold") is None:
        starts = SimpleNamespace(Popen=warm.Worker, PIPE=subprocess.PIPE)
        monkeypatch.setattr(workers, "subprocess", starts)


@pytest.fixture(autouse=True)
def pictures_are_looked_at(monkeypatch):
    """Fail where a picture has colliding texts, or the like, at one of two sizes; gives what was drawn."""
    if sys.modules.get("matplotlib", ...) is None:
        yield []
        return
    from matplotlib.figure import Figure

    from pictures import looked_at

    seen = []
    monkeypatch.setattr(Figure, "savefig", looked_at(Figure.savefig, seen))
    yield seen
    wrong = [fault for _, found in seen for fault in found]
    assert not wrong, "\n".join(wrong)
