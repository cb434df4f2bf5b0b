"""Repairs in which few pairs get another service level, where there is no other repair."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from flitloom.fabric import examples, route_subnet
from flitloom.fabric.failures import without
from flitloom.tables.by_destination import repairing
from flitloom.tables.by_destination.patching import reconnected
from flitloom.tables.by_destination.repairing import read_old
from flitloom.tables.by_destination.stages import stages_of
from flitloom.tables.by_destination.tables import NONE, destinations

FABRICS = {
    "petersen": examples.subnet([(f"s{a}", f"s{b}") for a, b in nx.petersen_graph().edges], lambda _: 1),
    "torus": examples.torus((4, 4)),
    "graph": examples.random_regular(20, 4, 3),
}


def waits_of(subnet, one, other):
    """Waits between channels on levels where each entry and each level is of either of two tables."""
    ends = [(cable.a, cable.b) for cable in subnet.cables]
    head = [there for a, b in ends for there in (b, a)]
    waits = nx.DiGraph()
    for row, owner in enumerate(one.owners):
        root = subnet.hosts[owner].switch
        for source in range(len(subnet.switches)):
            for level in {int(each.levels[row, source]) for each in (one, other)}:
                waiting, met = [(source, None)], set()
                while waiting:
                    at, came = waiting.pop()
                    ways = {int(each.following[row, at]) for each in (one, other)} - {NONE}
                    for channel in ways if at != root else ():
                        if came is not None:
                            waits.add_edge((came, level), (channel, level))
                        if (at, channel) not in met:
                            met.add((at, channel))
                            waiting.append((head[channel], channel))
    return waits


@pytest.mark.parametrize("name", FABRICS)
def test_pairs_get_other_levels_where_none_can_be_kept(tmp_path, name, monkeypatch):
    """Every cable fails; no repair that keeps levels is there, nor any of the core."""
    whole = FABRICS[name]
    route_subnet(whole, lanes=4).write(tmp_path / "out")
    monkeypatch.setattr(repairing, "patched", lambda *_: None)
    found = repairing._repaired

    def none_but_balanced(taken, old, *more):
        """Only what does not mend."""
        roots = [taken.subnet.hosts[owner].switch for owner in destinations(taken.subnet)[1]]
        missing = old.following == NONE
        missing[np.arange(len(roots)), roots] = False
        return None if missing.any() else found(taken, old, *more)

    monkeypatch.setattr(repairing, "_repaired", none_but_balanced)
    moved = []
    for cable in range(len(whole.cables)):
        left = without(whole, set(), {cable})
        new = route_subnet(left, old=tmp_path / "out", lanes=4)
        if not new.update.safe:
            continue
        moved.append(new.update.moved)
        assert (new.report.deadlock, new.report.unreachable) == (False, 0)
        assert (new.levels == new.levels[:, [new.subnet.hosts[o].switch for o in new.owners]].T).all()
        before = read_old(left, tmp_path / "out", *destinations(left))
        states = [stage.tables for stage in stages_of(new)] or [new]
        old = new.__class__(**(vars(new) | {"following": before.following, "levels": before.levels}))
        for one, other in pairwise([old, *states]):
            assert nx.is_directed_acyclic_graph(waits_of(new.subnet, one, other))
    assert len(moved) > len(whole.cables) // 2
    assert sum(moved) > 0 or name == "torus"


def test_pairs_get_only_lanes_that_they_may_have(tmp_path):
    whole = FABRICS["petersen"]
    tables = route_subnet(whole, lanes=4)
    tables.write(tmp_path / "out")
    others = sorted(set(range(8)) - set(np.unique(tables.levels).tolist()))
    counted = []
    for cable in range(len(whole.cables)):
        left = without(whole, set(), {cable})
        before = read_old(left, tmp_path / "out", *destinations(left))
        asked = left, before.following, before.levels, before.lost, 8
        moved = reconnected(*asked, [others])
        assert moved is not None
        found, lanes = moved
        assert lanes == others
        changed = found["levels"] != before.levels
        assert set(found["levels"][changed].tolist()) <= set(others)
        counted.append(int(changed.sum()))
        # Without such lanes only repairs are left in which nothing changes.
        kept = reconnected(*asked, [[]])
        assert kept is None or (kept[0]["levels"] == before.levels).all()
        assert kept is not None or counted[-1] > 0
    assert 0 < counted.count(0) < len(counted)
