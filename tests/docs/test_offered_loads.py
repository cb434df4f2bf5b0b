"""Loads that documents call multiples of what links carry are that."""

import re

import pytest

import flitloom as fl
from flitloom.analysis.channel_loads import channel_loads
from flitloom.analysis.demands import make_demands
from places import ROOT


def offered():
    """Shape, mesh or not, pattern and offered load of every row of the table of throttles."""
    text = (ROOT / "docs" / "throttles.md").read_text(encoding="utf-8")
    table = text.partition("| network | pattern | offered |")[2].partition("\n\n")[0]
    network, found = "", set()
    for line in table.splitlines()[2:]:
        name, pattern, load = [cell.strip() for cell in line.split("|")[1:4]]
        network = name or network
        shape = re.match(r"\d+(x\d+)+", network)[0]
        found.add((shape, "mesh" in network, pattern, float(load)))
    return sorted(found)


@pytest.mark.parametrize(
    ("shape", "mesh", "pattern", "load"),
    [row for row in offered() if max(map(int, row[0].split("x"))) <= 32],
)
def test_throttles_are_compared_at_twice_what_links_carry(shape, mesh, pattern, load):
    topology = (fl.Mesh if mesh else fl.Torus)(*map(int, shape.split("x")))
    carried = channel_loads(make_demands(fl.Network(topology), fl.Collective(pattern))).ideal_throughput
    assert load == pytest.approx(min(1.0, 2 * float(carried)), abs=1e-4)


def test_the_table_has_its_rows():
    assert {shape for shape, _, _, _ in offered()} >= {"8x8", "8x8x8", "16x16", "32x32", "256x256"}
