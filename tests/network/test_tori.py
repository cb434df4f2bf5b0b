"""Tori of tori are named, built, and recognised with parts missing."""

import json
import random

import pytest

from flitloom import SpecError
from flitloom.commands import run
from flitloom.fabric import parse_fabric, recognise
from flitloom.fabric.failures import without
from flitloom.fabric.networks import named_subnet

NAMES = [
    "tori(8x4;4;8)",
    "tori(8x4;4x2;8)",
    "tori(8x4;3;16)",
    "tori(5x4x3;3x3;20)",
    "tori(5x3;6;4)",
    "tori(6x5;2;1)",
]


def shuffled(subnet, seed):
    """The same fabric, its switches without numbers that tell tori apart and all in another order."""
    draw = random.Random(seed)
    names = [f"s{n}" for n in range(len(subnet.switches))]
    draw.shuffle(names)
    lines = [f"{names[cable.a]},{names[cable.b]}" for cable in subnet.cables]
    draw.shuffle(lines)
    return parse_fabric("\n".join(lines))


def wired(name):
    """The cables of a name by a count of its own: inside tori, and links from places at equal steps."""
    inner, outer, links = ([int(size) for size in part.split("x")] for part in name[5:-1].split(";"))

    def ring_pairs(sizes):
        count = 1
        for size in sizes:
            count *= size
        pairs, stride = set(), count
        for size in sizes:
            stride //= size
            for at in range(count):
                digit = at // stride % size
                pairs.add(frozenset((at, at + ((digit + 1) % size - digit) * stride)))
        return count, pairs

    places, inside = ring_pairs(inner)
    blocks, outside = ring_pairs(outer)
    cables = {frozenset(block * places + at for at in pair) for block in range(blocks) for pair in inside}
    gates = [link * places // links[0] for link in range(links[0])]
    return cables | {frozenset(block * places + gate for block in pair) for pair in outside for gate in gates}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_built_as_they_say_and_recognised(name):
    subnet = named_subnet(name)
    cables = wired(name)
    degrees = sorted(sum(node in pair for pair in cables) for node in {n for pair in cables for n in pair})
    ends = [end for cable in subnet.cables for end in (cable.a, cable.b)]
    assert len(subnet.cables) == len(cables)
    assert sorted(ends.count(node) for node in range(len(subnet.switches))) == degrees
    ours = parse_fabric("\n".join(",".join(f"n{end}" for end in pair) for pair in cables))
    for seed in range(3):
        for fabric in (subnet, ours):
            found = recognise(shuffled(fabric, seed))
            assert (found.kind, found.nested and found.nested.name) == ("tori", name)
            assert (found.missing_switches, found.missing_cables) == ((), ())
            assert len({*found.coordinates}) == len(subnet.switches)


@pytest.mark.parametrize("name", NAMES[:5])
def test_what_is_missing_is_found(name):
    whole = named_subnet(name)
    draw = random.Random(name)
    known = 0
    for seed in range(6):
        gone = draw.sample(range(len(whole.switches)), seed % 2)
        less = {
            index
            for index in draw.sample(range(len(whole.cables)), 1 + seed % 3)
            if not {whole.cables[index].a, whole.cables[index].b} & {*gone}
        }
        found = recognise(shuffled(without(whole, {*gone}, less), seed))
        # Nobody may be sure; but nothing is ever taken for something else.
        assert found.kind in ("tori", "graph")
        if found.kind == "tori" and found.nested.name == name:
            known += 1
            assert (len(found.missing_switches), len(found.missing_cables)) == (len(gone), len(less))
    assert known >= 5


def test_a_cable_that_leads_elsewhere_is_no_torus_of_tori():
    whole = named_subnet("tori(8x4;4;8)")
    ends = [(cable.a, cable.b) for cable in whole.cables]
    (a, b), (c, d) = ends[5], ends[-1]
    ends[5], ends[-1] = (a, d), (c, b)
    swapped = parse_fabric("\n".join(f"s{one},s{other}" for one, other in ends))
    assert recognise(swapped).kind == "graph"


@pytest.mark.parametrize(
    "name", ["random(64,5)", "slimfly(5)", "dragonfly(4,2)", "circulant(64;1,9)", "fattree(4)"]
)
def test_other_networks_are_none(name):
    assert recognise(shuffled(named_subnet(name), 1)).kind != "tori"


def test_fabric_show_names_it_and_network_takes_the_name(capsys):
    assert run(["fabric", "show", "--network", "tori(8x4;3;8)", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["factors"]) == ("tori", ["ring8", "ring4", "ring3"])
    assert facts["description"].startswith(
        "tori(8x4;3;8), tori of tori: ring8 x ring4 on the places of ring3"
    )
    assert run(["collective", "all-gather", "--network", "tori(4x3;3;4)", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["steps"] >= plan["bound"] > 0


@pytest.mark.parametrize(
    "name", ["tori(8x4;4;32)", "tori(8x4;4;0)", "tori(8x4;4)", "tori(8x1;4;2)", "tori(8x4;4;8;1)"]
)
def test_names_that_cannot_be_say_what_would_be_right(name):
    with pytest.raises(SpecError, match="sizes of equal tori"):
        named_subnet(name)
