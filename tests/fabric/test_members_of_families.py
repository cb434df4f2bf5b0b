"""Slim Flies and circulant networks, whole and with parts missing, in any order of their switches."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import flitloom as fl
from fabrics import command
from flitloom.fabric import Recognition, recognise, route_subnet
from flitloom.fabric.examples import subnet
from flitloom.spec.families import build

#: Families, and what they are called where steps that mean the same are smaller.
NAMES = {
    "slimfly(5)": "slimfly(5)",
    "slimfly(7)": "slimfly(7)",
    "circulant(24;3,5,12)": "circulant(24;1,9,12)",
    "circulant(24;5,7,11)": "circulant(24;1,5,7)",
    "circulant(40;1,2)": "circulant(40;1,2)",
    "circulant(64;6,20,1)": "circulant(64;1,6,20)",
    "circulant(45;4,18)": "circulant(45;1,18)",
}


def left_of(name: str, switches: int, cables: int, seed: int) -> tuple[Recognition, set[frozenset[str]]]:
    """What a network is recognised as in a drawn order less drawn parts, and the cables that were taken."""
    draw = random.Random(seed)
    whole = build(name)
    gone = set(draw.sample(whole.names, switches))
    pairs = [(whole.names[a], whole.names[b]) for a, b in whole.cables]
    there = [pair for pair in pairs if gone.isdisjoint(pair)]
    draw.shuffle(there)
    return recognise(subnet(there[cables:])), {frozenset(pair) for pair in there[:cables]}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("switches", "cables"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)])
def test_what_is_missing_is_named(name: str, switches: int, cables: int) -> None:
    found, lost = left_of(name, switches, cables, switches + 2 * cables)
    member = found.member
    if member is None:
        # Some circulant networks are twisted tori, and have that name already.
        assert (found.kind, name) == ("twisted", "circulant(45;4,18)")
        return
    assert (member.name, found.missing()) == (NAMES[name], (switches, cables))
    assert {
        frozenset((found.subnet.switches[a].name, found.subnet.switches[b].name)) for a, b in member.cables
    } == lost
    # All cables of the whole network are there or named as missing, at places of their own.
    whole = build(member.name)
    at = dict(zip(member.places, range(len(member.places)), strict=True))
    assert len(at) == len(found.subnet.switches) == len(whole.names) - switches
    there = {frozenset((cable.a, cable.b)) for cable in found.subnet.cables}
    assert there | set(map(frozenset, member.cables)) == {
        frozenset((at[a], at[b])) for a, b in whole.cables if a in at and b in at
    }
    beside = [
        {at[b if a == place else a] for a, b in whole.cables if place in (a, b)}
        for place in range(len(whole.names))
        if place not in at
    ]
    assert [set(near) for near in member.switches] == beside


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("random(24,4)", "graph"),
        ("random(24,3)", "graph"),
        ("dragonfly(4,2)", "dragonfly"),
        ("circulant(100;3,20)", "twisted"),
        ("fattree(4)", "fat tree"),
        # Several names fit a network in which nearly all are neighbours.
        ("circulant(8;1,3)", "graph"),
        ("circulant(9;1,2,3)", "graph"),
    ],
)
def test_other_networks_keep_their_names(name: str, kind: str) -> None:
    whole = fl.tables.fabric(name)
    found = recognise(whole)
    assert (found.kind, found.member) == (kind, None)


def test_a_cable_too_many_or_too_few_of_them_is_no_member() -> None:
    pairs = [(f"s{a}", f"s{b}") for a, b in build("circulant(24;1,5,7)").cables]
    assert recognise(subnet(pairs)).kind == "circulant"
    # Nothing is there to explain a cable between switches that are none of each other's neighbours.
    assert recognise(subnet([*pairs, ("s0", "s2")])).kind == "graph"
    assert recognise(subnet(pairs[len(pairs) // 4 :])).kind == "graph"


def test_a_circulant_network_is_no_mesh_with_misfits() -> None:
    # Less these two cables it was taken for rings of 16 with 15 cables that join no neighbours.
    pairs = [(f"s{a}", f"s{b}") for a, b in build("circulant(256;1,16)").cables]
    draw = random.Random(2)
    lost = draw.sample(pairs, 2)
    found = recognise(subnet(pair for pair in pairs if pair not in lost))
    assert found.describe() == (
        "a circulant network, circulant(256;1,16), of 256 switches and 510 cables, two cables missing"
    )


def test_commands_name_the_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [(f"s{a}", f"s{b}") for a, b in build("slimfly(5)").cables if a and b]
    file = tmp_path / "fly.csv"
    file.write_text("".join(f"{a},{b}\n" for a, b in pairs[1:]))
    code, said, _ = command(capsys, "fabric", "show", file, "--picture", tmp_path / "f.png")
    assert code == 0
    lines = said.splitlines()
    assert lines[0] == (
        "a Slim Fly, slimfly(5), of 49 switches and 167 cables, one switch and one cable missing"
    )
    assert set(lines[2].removeprefix("missing cable: ").split(" - ")) == set(pairs[0])
    beside = {f"s{a or b}" for a, b in build("slimfly(5)").cables if 0 in (a, b)}
    assert set(lines[3].removeprefix("missing switch: beside ").split(", ")) == beside
    made = route_subnet(fl.tables.fabric("circulant(16;1,4)"))
    assert (made.method, made.report.passed) == ("balanced", True)
