"""Repairs in which no pair gets another service level, and what is told of them beforehand."""

import json
import random
import re
from itertools import pairwise

import numpy as np
import pytest

import flitloom as fl
from fabrics import command
from flitloom.fabric import check_mixture, check_subnet, examples, route_subnet
from flitloom.fabric.failures import fail_parts, without
from flitloom.tables.by_destination import repairing
from flitloom.tables.by_destination.mixing import judge_mixture
from flitloom.tables.by_destination.patching import patched
from flitloom.tables.by_destination.repairing import read_old
from flitloom.tables.by_destination.risk import repair_risk
from flitloom.tables.by_destination.surviving import (
    CableRepair,
    Survival,
    _best,
    _on_more_lanes,
    _searched,
    route_surviving,
    survival,
)
from flitloom.tables.by_destination.tables import destinations, with_lanes

FABRICS = {
    "torus": examples.torus((6, 6)),
    "dragonfly": fl.tables.fabric("dragonfly(4,2)"),
    "graph": examples.random_regular(20, 4, 3),
}


@pytest.mark.parametrize("name", FABRICS)
@pytest.mark.parametrize("seed", range(4))
def test_patched_entries_may_lie_beside_the_old_ones(tmp_path, name, seed):
    """Each snapshot of a round is judged by the check of mixtures; a switch is several cables."""
    whole, draw = FABRICS[name], random.Random(seed)
    route_subnet(whole, lanes=(4 if seed % 2 else 8)).write(tmp_path / "out")
    found = 0
    for _ in range(8):
        switches = {draw.randrange(len(whole.switches))} if draw.random() < 0.3 else set()
        cables = set() if switches else {draw.randrange(len(whole.cables))}
        left = without(whole, switches, cables)
        owners = destinations(left)[1]
        before = read_old(left, tmp_path / "out", *destinations(left))
        patch = patched(left, before.following, before.levels, before.lost)
        if patch is None:
            continue
        found += 1
        states = [before.following]
        for places in patch["rounds"]:
            states.append(states[-1].copy())
            states[-1].flat[places] = patch["next"].flat[places]
        states.append(patch["next"])
        tables = [with_lanes(left, owners, state, before.levels, None) for state in states]
        for one, other in pairwise(tables):
            assert judge_mixture(one, other).passed
        final = judge_mixture(tables[-1], tables[-1])
        assert (final.unserved, final.passed) == ((0, 0), True)
        kept = before.following != 0xFFFFFFFF
        changed = int((before.following != patch["next"])[kept].sum())
        assert changed <= sum(map(len, patch["rounds"]))
    assert found or name == "graph"


def test_repairs_keep_levels_where_ports_are_found_for_that(tmp_path, monkeypatch):
    whole, out, folder = examples.torus((6, 6)), tmp_path / "out", tmp_path / "next"
    route_subnet(whole).write(out)
    risk = repair_risk(whole, out)
    kept = [part.part for part in risk.parts if part.moved == 0 and part.part.startswith("cable:")]
    assert len(kept) > 5
    for part in kept[::8]:
        left = fail_parts(whole, [part])
        new = route_subnet(left, old=out)
        assert (new.update.safe, new.update.moved) == (True, 0)
        assert not (new.write(folder) / "moved-pairs.txt").exists()
        text = (folder / "STAGES.txt").read_text().partition("The way back")[0]
        ways = re.findall(r"check --fabric now\.topo (\S+) --mix (\S+)", text)
        for path in ways or [("$BEFORE", "$NEXT")]:
            one, other = (each.replace("$BEFORE", str(out)).replace("$NEXT", str(folder)) for each in path)
            assert check_mixture(left, one, other).passed
        # Balanced on the same levels.
        assert new.report.max_load <= 1.1 * new.bound["value"]
    # Other repairs move levels in most of these cases.
    monkeypatch.setattr(repairing, "patched", lambda *_: None)
    others = [route_subnet(fail_parts(whole, [part]), old=out).update.moved for part in kept[::8]]
    assert max(others) > 0


def test_a_patch_needs_few_gaps_and_another_port(tmp_path):
    whole = examples.torus((4, 4))
    route_subnet(whole).write(tmp_path / "out")
    left = without(whole, set(), set(range(12)))
    before = read_old(left, tmp_path / "out", *destinations(left))
    assert patched(left, before.following, before.levels, before.lost) is None
    # No port is left where the fabric falls apart.
    left = without(whole, set(), {n for n, cable in enumerate(whole.cables) if 0 in (cable.a, cable.b)})
    before = read_old(left, tmp_path / "out", *destinations(left))
    assert patched(left, before.following, before.levels, before.lost) is None


def test_how_many_cables_are_repaired_with_no_level_moved_is_told(tmp_path, capsys):
    asked = ["route", "--network", "dragonfly(4,2)"]
    assert command(capsys, *asked, "-o", tmp_path / "out")[0] == 0
    code, text, _ = command(capsys, *asked, "--critical", "--from", tmp_path / "out")
    said = re.search(
        r"(\d+) of 90 cables are repaired with no level moved, worst (\d+) pairs \((\S+)\)", text
    )
    assert code == 0
    rows = json.loads(command(capsys, *asked, "--critical", "--from", tmp_path / "out", "--json")[1])
    moved = {row["part"]: row["moved"] for row in rows if row["part"].startswith("cable:")}
    assert (list(moved.values()).count(0), moved[said[3]]) == (int(said[1]), int(said[2]))
    assert max(moved.values()) == int(said[2]) > 0
    # Repairs do as is told.
    whole = fl.tables.fabric("dragonfly(4,2)")
    for part, pairs in list(moved.items())[::30]:
        new = route_subnet(fail_parts(whole, [part]), old=tmp_path / "out")
        assert (new.update.safe, new.update.moved == 0) == (True, pairs == 0)


def test_where_nothing_was_tried_nothing_is_told_of_cables(tmp_path):
    whole = examples.torus((4, 4))
    route_subnet(whole).write(tmp_path / "out")
    risk = repair_risk(whole, tmp_path / "out", sample=48)
    assert risk.cables() == "32 of 32 cables are repaired with no level moved"
    assert np.all([part.moved == 0 for part in risk.parts])


def test_tables_that_survive_cables_say_who_must_reconnect(tmp_path, capsys):
    asked = ["route", "--network", "dragonfly(3,1)", "--lanes", 4]
    out = tmp_path / "out"
    code, text, _ = command(capsys, *asked, "--survive", "cables", "-o", out)
    line = next(row for row in text.splitlines() if row.startswith("repairs"))
    told = (out / "survive.txt").read_text()
    assert code == 0
    assert told.splitlines()[0] in line
    whole = fl.tables.fabric("dragonfly(3,1)")
    blocks = told.rstrip().split("\n\n")[1:]
    listed = {block.partition(": ")[0]: block.splitlines()[1:] for block in blocks}
    risk = repair_risk(whole, out, lanes=4)
    moved = {part.part: part.moved for part in risk.parts if part.part.startswith("cable:")}
    assert {part: len(rows) for part, rows in listed.items()} == {part: n for part, n in moved.items() if n}
    assert line.split()[1] == str(sum(n == 0 for n in moved.values()))
    for block in blocks:
        hosts = {host for row in block.splitlines()[1:] for host in row.split("\t")}
        assert hosts == set(block.splitlines()[0].partition("reconnect: ")[2].split(", "))
    # Tables without the option leave no list behind.
    assert command(capsys, *asked, "-o", out)[0] == 0
    assert not (out / "survive.txt").exists()


def test_pairs_of_a_lane_on_several_lanes_leave_more_repairs():
    before = route_subnet(FABRICS["dragonfly"])
    (tables,) = _on_more_lanes(before, 8)
    assert np.array_equal(tables.following, before.following)
    assert (before.lanes, tables.lanes, tables.report.max_load) == (2, 6, before.report.max_load)
    assert tables.report.safe_for == before.report.safe_for
    served = tables.following != 0xFFFFFFFF
    assert all(
        len(np.unique(before.levels[served & (tables.levels == level)])) == 1
        for level in np.unique(tables.levels[served])
    )
    assert survival(before).kept < survival(tables).kept == 90
    # Without free lanes there are none.
    assert _on_more_lanes(before, 3) == []


def test_searched_tables_of_an_irregular_fabric_keep_all_levels_after_every_cable(tmp_path):
    whole, out = examples.random_regular(28, 4), tmp_path / "out"
    before = route_subnet(whole)
    load = int(1.04 * before.report.max_load)
    assert survival(before).kept < 56
    (tables,) = _searched(before, 8, load, 1, 200_000)
    assert tables.report.safe_for == before.report.safe_for
    assert tables.report.max_load <= load
    found = survival(tables)
    assert (found.kept, len(found.cables), len(found.switches)) == (56, 56, 28)
    told = f"56 of 56 cables are repaired with no level moved; so are {found.kept_switches} of 28 switches"
    assert found.describe() == told
    moved = {switch for switch, pairs in found.switches.items() if pairs}
    assert {line.partition(": ")[0] for line in found.lines() if "another level" in line} == {
        f"\n{switch}" for switch in moved
    }
    tables.write(out)
    levels = (out / "path-sl.txt").read_text()
    assert levels != (before.write(tmp_path / "before") / "path-sl.txt").read_text()
    for cable in whole.cables[::14]:
        left = fail_parts(whole, [f"cable:{whole.port_name(cable.a, cable.a_port)}"])
        folder = route_subnet(left, old=out).write(tmp_path / "next")
        report = check_subnet(left, folder / "opensm-lfts.dump", path_levels=folder / "path-sl.txt")
        assert (report.passed, report.unreachable) == (True, 0)
        # Pair by pair, in both directions.
        assert (folder / "path-sl.txt").read_text() == levels


def test_switches_decide_between_tables_that_survive_as_many_cables():
    tables = route_subnet(fl.tables.fabric("full5"))
    kept, moved = CableRepair("cable:a/1", []), CableRepair("cable:a/1", [("h1", "h2")])
    few, many = Survival([kept], {"node:a": 3, "node:b": 0}), Survival([kept], {"node:a": 0, "node:b": 0})
    assert _best([(tables, few), (tables, many)])[1] is many
    assert _best([(tables, Survival([moved], many.switches)), (tables, few)])[1] is few


def test_nothing_is_searched_where_it_cannot_help():
    _, found = route_surviving(fl.tables.fabric("full5"))
    assert (found.kept, found.loads) == (10, (1, 1))
    assert found.describe().endswith("moved; so are 5 of 5 switches; load 1, 1 without --survive")
    # One lane without room for another order: pairs without a legal way stay, and nothing is made of them.
    assert _searched(route_subnet(examples.torus((5, 5)), lanes=1), 1, 1, 1, 1_000) == []


def test_what_cannot_survive_is_refused_by_name(tmp_path, capsys):
    file = tmp_path / "line.csv"
    file.write_text("a,b\nb,c\nc,a\nc,d\nh1,a\nh2,b\nh4,d\n")
    asked = ["route", "--fabric", file, "--hosts", "h1,h2,h4"]
    for words, told in [
        (["--survive", "cables"], "is the only one between h1 and h4 (2 pairs of hosts in all)"),
        (["--survive", "switches"], "'switches' is unknown; write cables"),
        (["--survive", "cables", "--from", tmp_path], "does not go with --from"),
        (["--survive", "cables", "--mode", "sl2vl"], "does not go with --mode sl2vl"),
        (["--survive", "cables", "--critical"], "--survive does not go with --critical"),
    ]:
        code, _, err = command(capsys, *asked, *words)
        assert (code, told in err) == (2, True), err
    code, _, err = command(capsys, "route", "--network", "ring12 x ring12", "--survive", "cables")
    assert (code, "144 switches; it is for fabrics of at most 128" in err) == (2, True)
