"""Repairs of fabrics beside traffic: free lanes, rounds of changes, failures that need a stop."""

import json
import re

import numpy as np
import pytest

import flitloom as fl
from fabrics import command
from flitloom.errors import SpecError
from flitloom.fabric import check_mixture, examples, route_subnet
from flitloom.fabric.failures import fail_parts, without
from flitloom.tables.by_destination import repairing
from flitloom.tables.by_destination.checking import judge
from flitloom.tables.by_destination.making import host_levels
from flitloom.tables.by_destination.risk import repair_risk
from flitloom.tables.by_destination.tables import ForwardingTables


@pytest.mark.parametrize(
    ("fabric", "switch"),
    [(examples.torus((6, 6)), 17), (examples.torus((6, 6)), 32), (examples.fat_tree(4), 3)],
)
def test_a_dead_switch_is_repaired_without_a_stop(tmp_path, fabric, switch):
    """Every snapshot of the update is free of deadlock and loops, round by round."""
    if fabric.hosts and switch == 3:
        # A switch above the edge, which has no hosts.
        hosts = {host.switch for host in fabric.hosts}
        switch = next(index for index in range(len(fabric.switches)) if index not in hosts)
    old = route_subnet(fabric, safe_for=())
    old.write(tmp_path / "out")
    left = without(fabric, {switch}, set())
    new = route_subnet(left, old=tmp_path / "out")
    assert new.update.safe
    assert new.report.passed
    place = {
        f"{node.name} to lid {lid}": (row, column)
        for row, lid in enumerate(new.lids)
        for column, node in enumerate(left.switches)
    }
    round_of = np.full(new.following.shape, len(new.update.rounds))
    for number, entries in enumerate([*new.update.rounds, [], new.update.last]):
        for entry in entries:
            round_of[place[entry]] = number
    before = new.old.following
    draw = np.random.default_rng(1)
    for now in range(len(new.update.rounds) + 2):
        some = draw.random(before.shape) < 0.5
        mixed = np.where((round_of < now) | (round_of == now) & some, new.following, before)
        levels = host_levels(left, new.levels)
        assert not judge(ForwardingTables(left, new.owners, mixed, levels, None, 8, "mixed")).deadlock


@pytest.mark.parametrize(
    ("fabric", "parts", "kinds", "stages"),
    [
        (fl.tables.fabric("dragonfly(4,2)"), ["node:g0s1"], None, 4),
        (examples.torus((6, 6)), ["node:S0-0"], (), 3),
        (examples.torus((6, 6)), ["node:S0-1"], (), 4),
        (examples.fat_tree(4), ["node:middle0-0"], None, 3),
        (examples.fat_tree(4), ["node:top0-0"], None, 3),
        (examples.torus((4, 4, 4)), ["cable:S0-0-0/1"], None, 2),
        (examples.torus((4, 4, 4)), [], None, 0),
    ],
)
def test_stages_lead_to_the_repaired_tables_and_each_lies_beside_the_one_before(
    tmp_path, fabric, parts, kinds, stages
):
    out, again = tmp_path / "out", tmp_path / "next"
    route_subnet(fabric, safe_for=kinds).write(out)
    left = fail_parts(fabric, parts)
    # What was there of another repair is gone.
    (again / "stage-9").mkdir(parents=True)
    (again / "stage-9" / "sl2vl.dump").write_text("")
    # A folder of the user's own.
    (again / "stage-old").mkdir()
    new = route_subnet(left, old=out, safe_for=kinds)
    new.write(again)
    folders = sorted(again.glob("stage-*"))
    assert folders.pop().name == "stage-old"
    assert new.update.safe
    assert [folder.name for folder in folders] == [f"stage-{n}" for n in range(1, stages)]
    if not stages:
        assert not (again / "STAGES.txt").exists()
        return
    text = (again / "STAGES.txt").read_text().partition("The way back")[0]
    ways = re.findall(r"check --fabric now\.topo (\S+) --mix (\S+)", text)
    names = {"$BEFORE": out, "$NEXT": again} | {f"$NEXT/{folder.name}": folder for folder in folders}
    assert [names[before] for before, _ in ways] == [out, *folders]
    assert [names[after] for _, after in ways] == [*folders, again]
    for before, after in ways:
        assert check_mixture(left, names[before], names[after]).passed
    assert "STAGES.txt" in (again / "README.txt").read_text()
    moved = new.old.moved(host_levels(left, new.levels), new.owners)
    assert (again / "moved-pairs.txt").exists() == (moved > 0)
    if moved:
        rows = [line.split("\t") for line in (again / "moved-pairs.txt").read_text().splitlines()]
        assert rows[0] == ["source", "destination", "old", "new"]
        assert len(rows) == 1 + moved
        assert all(old != now for _, _, old, now in rows)


def test_spare_lanes_stay_free_and_spare_stops(tmp_path):
    fabric = examples.torus((5, 5, 5))
    stops = {}
    for spare in (0, 1):
        made = route_subnet(fabric, lanes=3, spare_lanes=spare, safe_for=())
        assert (made.mode, made.lanes, made.facts()["spare_lanes"]) == ("portable", 3 - spare, spare)
        assert any("--spare-lanes" in said for said in made.notes()) == (spare == 0)
        made.write(tmp_path / str(spare))
        stops[spare] = repair_risk(fabric, tmp_path / str(spare), lanes=3, sample=24).stops
    assert stops[1] < stops[0] / 3


def test_the_risk_says_what_was_tried(tmp_path):
    fabric = examples.torus((4, 4))
    route_subnet(fabric).write(tmp_path / "out")
    risk = repair_risk(fabric, tmp_path / "out")
    assert risk.describe() == "every single failure can be repaired without a stop (all 48 tried)"
    assert all(part.repair == "safe" for part in risk.parts)
    # What the risk calls safe, a repair does.
    for part in risk.parts[::9]:
        name = part.part.removeprefix("node:")
        if name != part.part:
            gone = [switch.name for switch in fabric.switches].index(name)
            assert route_subnet(without(fabric, {gone}, set()), old=tmp_path / "out").update.safe
    some = repair_risk(fabric, tmp_path / "out", sample=5, seed=2)
    assert some.describe() == "every failure that was tried can be repaired without a stop (5 of 48 drawn)"
    assert sum(part.repair is None for part in some.parts) == 43


def test_critical_takes_the_tables_to_be_repaired(tmp_path, capsys):
    cables, out = tmp_path / "cables.csv", tmp_path / "out"
    cables.write_text("".join(f"s{n},s{(n + 1) % 5}\n" for n in range(5)))
    assert command(capsys, "route", "--fabric", cables, "--lanes", 2, "--spare-lanes", 1, "-o", out)[0] == 0
    asked = ["route", "--fabric", cables, "--critical", "--from", out]
    code, text, _ = command(capsys, *asked, "--json")
    rows = json.loads(text)
    assert code == 0
    assert len(rows) == 10
    assert {row["repair"] for row in rows} <= {"safe", "stop"}
    code, text, _ = command(capsys, *asked, "--sample", 3)
    assert code == 0
    assert "3 of 10 drawn" in text.splitlines()[0]
    for wrong, message in [
        (["--lanes", 2, "--spare-lanes", 2], "--spare-lanes: 2; write 0 to 1"),
        (["--spare-lanes", 1, "--mode", "sl2vl"], "--spare-lanes: only portable tables"),
    ]:
        code, _, err = command(capsys, "route", "--fabric", cables, *wrong)
        assert (code, message in err) == (2, True), err
    with pytest.raises(SpecError, match="--sample"):
        repair_risk(examples.torus((4, 4)), out, sample=0)


def test_a_repair_takes_the_lanes_of_managers_rather_than_stop_the_traffic(tmp_path, monkeypatch):
    # Repairs that keep all levels, or move few, need no further lane.
    monkeypatch.setattr(repairing, "patched", lambda *_: None)
    monkeypatch.setattr(repairing, "reconnected", lambda *_: None)
    fabric = examples.torus((6, 6))
    unsafe = {}
    for spare in (0, 1):
        folder = route_subnet(fabric, spare_lanes=spare).write(tmp_path / f"{spare}")
        risk = repair_risk(fabric, folder, sample=8)
        assert risk.stops == 0
        made = [
            route_subnet(fail_parts(fabric, [part.part]), old=folder) for part in risk.parts if part.repair
        ]
        assert all(tables.update.safe for tables in made)
        kinds = [{kind.kind: kind.deadlock for kind in tables.report.kinds} for tables in made]
        assert not any(each["both ways"] for each in kinds)
        unsafe[spare] = sum(each["managers"] or each["multicast"] for each in kinds)
        told = [any("tables without --from can be" in note for note in tables.notes()) for tables in made]
        assert sum(told) == unsafe[spare]
    # A spare lane takes pairs whose old and new routes could wait for each other.
    assert unsafe[0] > unsafe[1] == 0
