"""Tables, loads, bounds, proofs, verdicts and plans are those of the golden files.

``python tests/golden/compare.py`` compares all of them; here it is every fifth entry of those that are quick.
"""

import os

import pytest

from golden import files, kinds
from golden.catalogue import RANDOM, entries

ALL = os.environ.get("FLITLOOM_GOLDEN") == "all"
ENTRIES = entries()
GROUPS = list(dict.fromkeys(entry[0] for entry in ENTRIES))


@pytest.mark.parametrize("group", GROUPS)
def test_golden_files(group):
    chosen = [entry for entry in ENTRIES if entry[0] == group]
    stored = files.read(group)
    assert list(stored) == [files.key(entry) for entry in chosen]
    if not ALL:
        chosen = [] if group == "large" else chosen[::5]
    wrong = []
    for entry in chosen:
        name = files.key(entry)
        found = kinds.plain(kinds.facts(entry[1], entry[2]))
        wrong += [f"{name}: {line}" for line in kinds.differences(stored[name], found)]
    assert not wrong, "\n".join(wrong)


def test_golden_files_tell_of_failed_systems_of_each_kind():
    served = [facts for facts in files.read("failed").values() if "refused" not in facts]
    for field in ("routes", "entries", "plan"):
        assert sum(field in facts for facts in served) >= min(RANDOM, 85), field
    assert len(served) >= 285
    # Verdicts of both kinds.
    of_routes = [facts for name in ("by source", "failed") for facts in files.read(name).values()]
    assert {facts["passed"] for facts in of_routes if "passed" in facts} == {True, False}
    assert any("cycle" in facts for facts in of_routes)
    assert any(facts.get("cycle_on_one_lane") == [] for facts in of_routes)
