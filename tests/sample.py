"""What ``make test`` leaves to ``make test-all``: of long loops it runs a sample, the same one every time."""

import os

#: Whether a sample will do, and workers that have imported what they need.
QUICK = os.environ.get("FLITLOOM_TESTS") == "quick"


def sampled(every, step):
    """All of a sequence, or each `step`-th where a sample will do."""
    return every[:: step if QUICK else 1]
