"""Where files of the repository are that tests read."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
#: Pages that are no walks and say what their blocks print; `tests/docs/test_walks.py` compares it.
COMPARED = [ROOT / "README.md", ROOT / "docs" / "machine.md", ROOT / "docs" / "three-routers.md"]
