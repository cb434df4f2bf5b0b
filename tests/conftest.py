"""What all tests share: every picture that one of them draws is looked at."""

import signal
import sys

import pytest

# Who runs the tests in the background of a shell passes on that Ctrl-C is ignored; tests of it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Read by type checkers only, never run; sessions of users, which run in folders of their own.
collect_ignore = ["typed_user.py", "walks"]


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
