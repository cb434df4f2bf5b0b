"""Options that `flitloom view` would ignore are refused."""

from pathlib import Path

import pytest

from places import ROOT
from verbs import made, refused

TORUS = ROOT / "examples" / "fabrics" / "torus-4x4x2.topo"


pytestmark = pytest.mark.usefixtures("own_folder")


#: Files by the commands that make them, and what `view` does not do with each.
SHOWN = {
    "result.nc": ("simulate --torus 4x4 --pattern shfl -o result.nc", "--torus 4x4", "--fail node:3"),
    "tables.json": ("route --torus 4x4 -o tables.json", "--stop-at 3", "--preset cup-stacking"),
    "plan.json": ("schedule --torus 4x4 --pattern shfl -o plan.json", "--mesh 4x4", "--preset cup-stacking"),
    "steps.json": ("collective all-gather --torus 4x4 -o steps.json", "--fail node:3", "--preset s07"),
    "p.json": ("place --torus 4x4 --stencil 4x4 -o p.json", "--torus 4x4", "--stop-at 3"),
    "load.toml": ("examples copy load.toml -o .", "--torus 4x4", "--fail node:3"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_view_refuses_what_it_would_ignore(name, capsys):
    command, *options = SHOWN[name]
    made(command)
    for option in options:
        said = refused(f"view {name} -o page.html {option}", capsys)
        assert said.startswith(option.split()[0] + ": "), said
    assert not Path("page.html").exists()


def test_view_of_a_fabric_and_live_pages_refuse_what_they_would_ignore(capsys):
    fabric = f"view --fabric {TORUS} -o page.html"
    assert refused(f"{fabric} --torus 4x4", capsys) == "--torus: does not go with a fabric; leave it out"
    assert refused(f"{fabric} --stop-at 3", capsys).startswith("--stop-at: belongs to what moves")
    assert refused("view --live --torus 4x4 -o page.html", capsys) == "--torus does not go with --live"
