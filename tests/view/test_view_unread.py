"""A page is written even if nobody reads the totals that are printed."""

import os
import subprocess
import sys

import pytest

from flitloom.commands import run


@pytest.mark.parametrize("kind", ["placement", "tables", "network"])
def test_a_page_is_written_whoever_reads(kind, tmp_path):
    file, page = tmp_path / "made.json", tmp_path / "page.html"
    shown = {"network": ["--network", "dragonfly(3,1,2)"]}.get(kind, [str(file)])
    if kind == "placement":
        assert run(["place", "--torus", "4x4", "--stencil", "4x4", "--out", str(file)]) == 0
    elif kind == "tables":
        assert run(["route", "--torus", "4x4", "--out", str(file)]) == 0
    end, begin = os.pipe()
    os.close(end)
    words = [sys.executable, "-m", "flitloom", "view", *shown, "-o", str(page)]
    subprocess.run(words, stdout=begin, stderr=subprocess.PIPE, check=False)
    os.close(begin)
    assert page.read_text(encoding="utf-8").startswith("<!")
