"""Which version of flitloom made a result."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from flitloom._core import build


@cache
def version() -> str:
    """Version of flitloom."""
    return build()[0]


@cache
def commit() -> str:
    """The commit flitloom was made from, with a ``+`` if files have changed since; empty if unknown.

    In a Git checkout that is the commit checked out, otherwise the one the extension was built from.
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return build()[1]
    try:
        head = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return build()[1]
    return head + "+" * bool(changed)


def _git(root: Path, *arguments: str) -> str:
    # Asking takes no lock in the repository, which a run that is killed would leave behind.
    done = subprocess.run(
        ["git", "--no-optional-locks", "-C", str(root), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()
