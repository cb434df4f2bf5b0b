"""The walks of the site, one per role, do what they say: commands, Python and what both print.

``...`` in a page stands for anything. ``python tests/test_walks.py`` prints what every block gives here.
"""

import doctest
import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

WALKS = sorted((Path(__file__).parents[1] / "docs" / "walks").glob("*.md"))
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def steps(page):
    """Pairs of a block that is run and what it prints, None where the page does not say."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    for number, (kind, text) in enumerate(blocks):
        if kind != "text":
            after = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            yield kind, text, after[1] if after[0] == "text" else None


def outcomes(page, folder):
    """What every block of a page prints, run in a folder."""
    names = {}
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for kind, text, expected in steps(page):
        if kind == "sh":
            done = subprocess.run(
                ["bash", "-e", "-c", text],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{text}{done.stderr}"
            yield text, expected, done.stdout
        else:
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(text, str(page), "exec"), names)
            yield text, expected, printed.getvalue()


@pytest.mark.parametrize("page", WALKS, ids=lambda page: page.stem)
def test_a_walk_prints_what_it_says(page, tmp_path):
    compared = 0
    for text, expected, printed in outcomes(page, tmp_path):
        if expected is None:
            continue
        compared += 1
        same = doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)
        assert same, f"{text}\n{printed}\nis not\n{expected}"
    assert compared >= 3


def test_there_is_a_walk_for_every_role():
    index = (WALKS[0].parents[1] / "index.md").read_text(encoding="utf-8")
    assert len(WALKS) == 9
    assert all(f"(walks/{page.name})" in index for page in WALKS)


if __name__ == "__main__":
    import tempfile

    for walk in WALKS:
        with tempfile.TemporaryDirectory() as place:
            for command, _, output in outcomes(walk, Path(place)):
                print(f"{walk.name}\n{command}--\n{output}==")
