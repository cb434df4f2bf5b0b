"""What all tests share: every picture that one of them draws is looked at."""

import sys

import pytest

#: Read by type checkers only, never run.
collect_ignore = ["typed_user.py"]


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
