"""Where files of the repository are that tests read."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
