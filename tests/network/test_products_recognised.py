"""Products of full meshes, rings and lines are recognised, and get tables of dimension order."""

import itertools
import json
import math
import random

import numpy as np
import pytest

from flitloom import SpecError
from flitloom.commands import run
from flitloom.fabric import parse_fabric, recognise, route_subnet
from flitloom.fabric.layout import stand
from flitloom.fabric.networks import named_subnet
from flitloom.view.cables import Cables
from flitloom.view.pack import Packer
from sample import sampled


def joined(kind, size, one, other):
    """Whether two places of a factor are neighbours."""
    apart = abs(one - other)
    return one != other and (kind == "full" or apart == 1 or (kind == "ring" and apart == size - 1))


def cables_of(factors):
    """Cables of a product by their ends, as coordinates."""
    places = list(itertools.product(*(range(size) for _, size in factors)))
    return places, [
        (a, b)
        for a, b in itertools.combinations(places, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
        and all(x == y or joined(*factor, x, y) for factor, x, y in zip(factors, a, b, strict=True))
    ]


def fabric_of(cables, seed, gone=()):
    """The fabric of these cables, its switches and cables in another order."""
    lines = [
        ",".join("s" + "-".join(map(str, end)) for end in cable)
        for cable in cables
        if not set(cable) & set(gone)
    ]
    random.Random(seed).shuffle(lines)
    return parse_fabric("\n".join(lines))


PRODUCTS = [
    [("full", 8), ("full", 8)],
    [("full", 4), ("full", 4), ("full", 4)],
    [("full", 8), ("ring", 8)],
    [("ring", 5), ("full", 4), ("line", 3)],
    [("full", 4), ("ring", 4)],
    [("full", 6)],
]


@pytest.mark.parametrize("factors", PRODUCTS)
def test_products_are_recognised_whatever_the_order_of_their_cables(factors):
    _, cables = cables_of(factors)
    found = recognise(fabric_of(cables, 1))
    assert found.kind == "product"
    assert sorted(found.factors) == sorted(f"{kind}{size}" for kind, size in factors)
    # Neighbours differ in one coordinate, and are neighbours in that factor.
    kinds = [(name.rstrip("0123456789"), size) for name, size in zip(found.factors, found.sizes, strict=True)]
    for cable in found.subnet.cables:
        one, other = found.coordinates[cable.a], found.coordinates[cable.b]
        (factor,) = [n for n, (x, y) in enumerate(zip(one, other, strict=True)) if x != y]
        assert joined(*kinds[factor], one[factor], other[factor])
    assert len(set(found.coordinates)) == len(found.subnet.switches)


@pytest.mark.parametrize("factors", PRODUCTS[:5])
def test_missing_cables_and_a_missing_switch_are_named(factors):
    places, cables = cables_of(factors)
    names = lambda found, pair: {found.subnet.switches[end].name for end in pair}  # noqa: E731
    for seed in sampled(range(5), 2):
        lost = random.Random(seed).sample(cables, 1 if ("line", 3) in factors else 2)
        found = recognise(fabric_of([cable for cable in cables if cable not in lost], seed))
        if ("line", 3) in factors and found.kind == "graph":
            continue
        assert sorted(sorted(names(found, pair)) for pair in found.missing_cables) == sorted(
            sorted("s" + "-".join(map(str, end)) for end in cable) for cable in lost
        )
    if ("line", 3) not in factors:
        found = recognise(fabric_of(cables, 2, gone=[places[7]]))
        assert (len(found.missing_switches), found.missing_cables) == (1, ())
        assert "less one switch" in found.describe()


def test_other_fabrics_are_no_products():
    rng = np.random.default_rng(4)
    for _ in sampled(range(200), 4):
        count = int(rng.integers(6, 20))
        pairs = [pair for pair in itertools.combinations(range(count), 2) if rng.random() < 0.3]
        ring = [(n, (n + 1) % count) for n in range(count)]
        lines = "\n".join(f"s{a},s{b}" for a, b in sorted({*pairs, *ring}))
        assert recognise(parse_fabric(lines)).kind != "product"


@pytest.mark.parametrize(
    ("factors", "load", "lanes"),
    [(PRODUCTS[0], 8, 1), (PRODUCTS[1], 16, 1), (PRODUCTS[2], 64, None), ([("full", 4), ("line", 4)], 16, 1)],
)
def test_dimension_order_meets_the_bound(factors, load, lanes):
    tables = route_subnet(fabric_of(cables_of(factors)[1], 3))
    assert (tables.method, tables.report.max_load, tables.bound["value"]) == ("dor", load, load)
    assert (tables.report.deadlock, tables.report.unreachable) == (False, 0)
    assert lanes is None or tables.lanes == lanes


def test_tables_go_around_what_is_missing():
    places, cables = cables_of(PRODUCTS[0])
    tables = route_subnet(fabric_of(cables, 3, gone=[places[9]]))
    assert (tables.report.deadlock, tables.report.unreachable) == (False, 0)
    assert tables.report.max_load <= tables.bound["value"] + 1


def test_fabric_show_names_the_factors(capsys):
    assert run(["fabric", "show", "--network", "full8 x ring6", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["factors"]) == ("product", ["full8", "ring6"])
    assert run(["fabric", "show", "--network", "full8 x full8"]) == 0
    assert capsys.readouterr().out.startswith("full8 x full8\n")


def test_dor_is_for_products_only():
    ring = parse_fabric("\n".join(f"s{n},s{(n + 1) % 5}" for n in range(5)))
    with pytest.raises(SpecError, match="fabrics of kind product"):
        route_subnet(ring, method="dor")


def test_pictures_show_the_order_that_was_found():
    """Members of a full mesh are beside each other, a missing switch has its place, and trees have levels."""
    _, cables = cables_of([("full", 5), ("full", 4)])
    whole = recognise(fabric_of(cables, 1))
    places = stand(whole)
    turns = sorted(range(20), key=lambda n: round(math.atan2(*places[n][::-1]) % (2 * math.pi), 6))
    at = [whole.coordinates[n] for n in turns]
    assert at == sorted(at, key=lambda place: place[::-1])

    less = recognise(fabric_of(cables, 1, gone=[(3, 2)]))
    assert len(less.missing_switches) == 1
    assert len(set(stand(less))) == 20
    assert Cables(less.subnet).head(Packer())["fabric"]["failed_nodes"] == [19]

    tree = recognise(named_subnet("fattree(4)"))
    heights = [height for _, height in stand(tree)]
    assert sorted(set(heights)) == [heights[tree.levels.index(level)] for level in range(3)]
    assert len(set(stand(tree))) == len(tree.levels)


@pytest.mark.parametrize(("name", "load"), [("dragonfly(4,2)", 17), ("dragonfly(6,3)", 37)])
def test_dragonflies_are_routed_at_the_bound(name, load):
    subnet = named_subnet(name)
    cables = [f"g{cable.a},g{cable.b}" for cable in subnet.cables]
    random.Random(name).shuffle(cables)
    made = route_subnet(parse_fabric("\n".join(cables)))
    assert made.recognition.kind == "dragonfly"
    assert (made.method, made.report.max_load, made.bound["value"], made.lanes) == (
        "dragonfly",
        load,
        load,
        2,
    )
    # Every route leaves its group over one cable at most.
    groups = made.recognition.groups
    counted = [sum(groups[a] != groups[b] for a, b in itertools.pairwise(way)) for way in ways(made)]
    assert max(counted) == 1


def ways(made):
    """The switches of every route."""
    ends = np.repeat(made.recognition.subnet.cable_ends(), 2, axis=0)
    ends[1::2] = ends[1::2, ::-1]
    for row, owner in zip(made.following, made.owners, strict=True):
        root = made.recognition.subnet.hosts[owner].switch
        for start in range(len(row)):
            way = [start]
            while way[-1] != root:
                way.append(int(ends[row[way[-1]]][1]))
            yield way


def test_dragonflies_with_several_cables_between_groups_share_them():
    # Three groups of four switches, three cables between every two.
    inside = [(f"{g}{a}", f"{g}{b}") for g in "abc" for a, b in itertools.combinations(range(4), 2)]
    between = [(f"{one}{n}", f"{other}{(n + 1) % 4}") for one, other in ("ab", "bc", "ca") for n in range(3)]
    made = route_subnet(parse_fabric("\n".join(",".join(cable) for cable in inside + between)))
    assert made.recognition.describe() == "a dragonfly of 3 groups of 4 switches and 27 cables"
    assert not made.report.deadlock
    assert made.report.max_load <= 1.2 * made.bound["value"]


def test_what_lacks_a_cable_in_a_group_is_a_dragonfly_less_that_cable():
    subnet = named_subnet("dragonfly(4,2)")
    cables = [f"g{cable.a},g{cable.b}" for cable in subnet.cables if (cable.a, cable.b) != (0, 1)]
    found = recognise(parse_fabric("\n".join(cables)))
    assert (found.kind, found.missing(), found.missing_cables) == ("dragonfly", (0, 1), ((0, 1),))
