"""Which tests of the quick part take a second of CPU time and more, written into costly.txt.

``FLITLOOM_TESTS=quick PYTHONPATH=tests pytest -p costs -n 0 -m "not long"``
"""

import os
from collections import Counter
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("costly.txt")
#: CPU seconds, those of processes that were started and have ended among them.
MUCH = 1.0


def costly():
    """The tests of the list, as FILE::FUNCTION below this folder."""
    return frozenset(LIST.read_text().split())


class Measured:
    """What every test takes, all its cases together."""

    def __init__(self):
        self.seconds = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        begin = sum(os.times()[:4])
        ended = yield
        function = item.nodeid.partition("[")[0].removeprefix("tests/")
        self.seconds[function] += sum(os.times()[:4]) - begin
        return ended

    def pytest_sessionfinish(self):
        LIST.write_text("".join(f"{one}\n" for one in sorted(self.seconds) if self.seconds[one] >= MUCH))


def pytest_configure(config):
    config.pluginmanager.register(Measured(), "measured")
