"""Plans whose packets or claims are wrong: found, counted and refused."""

import json
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom.commands import run


def test_a_million_wrong_packets_are_counted_without_words_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from flitloom.spec import base

    file = tmp_path / "plan.json"
    fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("trns")).save(file)
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: text.index('"packets"')] + f'"packets": [{"{}," * 9999}{{}}]}}', encoding="utf-8")
    told: list[Any] = []
    real = base._message
    monkeypatch.setattr(base, "_message", lambda found: told.append(found) or real(found))
    assert run(["check", str(file)]) == 2
    # Each packet lacks five fields; the first of them is named.
    assert capsys.readouterr().err.endswith("and 49999 more problems\n")
    assert len(told) < 100


Fields = dict[str, Any]


def plan_fields(plan: fl.Plan, tmp_path: Path) -> Fields:
    plan.save(tmp_path / "plan.json")
    fields: Fields = json.loads((tmp_path / "plan.json").read_text())
    return fields


def problems_of(fields: Fields, tmp_path: Path) -> list[str]:
    (tmp_path / "plan.json").write_text(json.dumps(fields))
    problems: list[str] = fl.plans.check(fl.plans.read(tmp_path / "plan.json"))["problems"]
    return problems


def test_forged_plans_are_found_out(tmp_path: Path) -> None:
    network = fl.Network(fl.Torus(4, 4))
    weak = fl.plans.search(network, fl.Collective("brot", payload=14, slices=2), "greedy", routes="any-order")
    good = plan_fields(weak, tmp_path)
    assert problems_of(good, tmp_path) == []
    longest = {"bound": weak.duration, "optimal": True}
    for change, place, message in [
        (longest, "bound", "only"),
        # No name of a method proves anything, and CP-SAT's word is doubted where a search does better.
        ({**longest, "method": "exact with cp-sat"}, "bound", "only"),
        ({**longest, "bound_proof": "cp-sat"}, "bound", "there is a schedule of"),
        ({"bound": 9999}, "bound", "the packets take"),
        ({"optimal": True}, "optimal", "does not agree"),
        ({"duration": weak.duration - 1}, "duration", "the packets take"),
        ({"routes": "dor"}, "routes", "not among those of dor"),
        ({"routes": "best"}, "routes", "unknown"),
        ({"guard": 3}, "guard", "both hold"),
        ({"interval": 9}, "interval", "does not keep it"),
        ({"interval": 8, "free_slices": True}, "interval", "have no interval"),
        ({"algorithm_bound": 3}, "algorithm_bound", "only an operation"),
        ({"phases": [0, 20]}, "operation", "is missing"),
    ]:
        found = problems_of({**good, **change}, tmp_path)
        assert any(line.startswith(f"{place}:") and message in line for line in found), (change, found)
        plan = fl.plans.read(tmp_path / "plan.json")
        assert not plan.optimal
        assert plan.bound <= weak.bound
    free = plan_fields(
        fl.plans.search(network, fl.Collective("brot", payload=14, slices=2), free_slices=True), tmp_path
    )
    apart = [dict(packet) for packet in free["packets"]]
    apart[-1]["start"] += 100
    later = {"duration": free["duration"] + 200, "packets": apart, "free_slices": False, "optimal": False}
    assert any(line.startswith("free_slices:") for line in problems_of({**free, **later}, tmp_path))


def test_forged_operations_are_found_out(tmp_path: Path) -> None:
    plan = fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Operation("all-gather", payload=3), moves=1000)
    good = plan_fields(plan, tmp_path)
    assert problems_of(good, tmp_path) == []
    later = [cycle + 1 if cycle else 0 for cycle in good["phases"]]
    for change, place in [
        ({"algorithm_bound": 9999}, "algorithm_bound"),
        ({"algorithm_bound": good["algorithm_bound"] - 1}, "algorithm_bound"),
        ({"phases": later}, "phases"),
        ({"phases": good["phases"][:-1]}, "phases"),
        ({"traffic": "all-to-all, payload 7"}, "traffic"),
        ({"bound_proof": "cp-sat", "bound": plan.duration, "optimal": True}, "bound"),
    ]:
        found = problems_of({**good, **change}, tmp_path)
        if change.get("bound") == plan.bound:
            continue
        assert any(line.startswith(f"{place}:") for line in found), (change, found)


def test_honest_claims_of_plans_are_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = fl.Network(fl.Torus(4, 4))
    collective = fl.Collective("brot", payload=14, slices=2)
    for options, name in [
        ({"guard": 3}, "guard"),
        ({"interval": 20}, "interval"),
        ({"interval": 9, "guard": 1}, "guard"),
        ({"free_slices": True, "guard": 2}, "guard"),
    ]:
        options_of: Any = options
        report = fl.plans.check(fl.plans.search(network, collective, moves=2000, **options_of))
        assert report["passed"], report["problems"]
        assert {"duration", "bound", "routes", name} <= set(report["verified"])
        assert {"traffic", "method", "seed", "reproducible", "version"} == set(report["not_verified"])
    report = fl.plans.check(
        fl.plans.search(network, fl.Operation("all-gather", payload=3), guard=2, moves=500)
    )
    assert report["passed"], report["problems"]
    assert {"guard", "phases", "traffic", "algorithm_bound"} <= set(report["verified"])
    # Files of the form before bring no proof: their bound has to be proven here.
    fields = plan_fields(fl.plans.search(network, collective), tmp_path)
    del fields["bound_proof"]
    assert problems_of({**fields, "format": "flitloom plan 1"}, tmp_path) == []
    assert run(["check", str(tmp_path / "plan.json")]) == 0
    text = capsys.readouterr().out
    assert "optimal    proven" in text
    assert "rules      3 virtual channels, datelines, no bubble rule (assumed: " in text
    assert run(["check", str(tmp_path / "plan.json"), "--rules", "angara"]) == 2


def test_the_word_of_cp_sat_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # One more than is proven by us, and the optimum by an exhaustive search in test_cp_sat.
    network = fl.Network(fl.Torus(4, 4))
    collective = fl.Collective("shfl", payload=14, slices=2)
    plan = fl.plans.search(network, collective, routes="any-order")
    fields = plan_fields(plan, tmp_path)
    beyond = {
        **fields,
        "bound": plan.bound + 1,
        "optimal": plan.duration == plan.bound + 1,
        "bound_proof": "cp-sat",
    }
    found = problems_of(beyond, tmp_path)
    if plan.duration > plan.bound:
        assert found == []
        assert run(["check", str(tmp_path / "plan.json")]) == 0
        assert "is the word of CP-SAT" in capsys.readouterr().out
    else:
        assert any("the packets take" in line for line in found)


def test_what_is_optimal_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "--torus", "4x4", "--operation", "broadcast", "--seconds", "5"]) == 0
    found = capsys.readouterr()
    assert "proven optimal for these messages in this order" in found.out
    assert "another run may differ" not in found.err


def test_the_limit_of_an_operation_is_the_one_it_meets(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = ["schedule", "--torus", "8x8", "--method", "greedy", "--operation"]
    # In the last ring of 8, an all-reduce passes on the blocks of eight nodes.
    assert run([*schedule, "all-reduce", "--payload", str(2**20 // 8)]) == 2
    error = capsys.readouterr().err
    assert "a message would have 1048576 flits of payload" in error
    assert "at most 1048575" in error
    assert run([*schedule, "broadcast", "--payload", "100000"]) == 0


def test_late_nodes_of_an_operation_are_not_studied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "plan.json")
    schedule = ["schedule", "--torus", "4x4", "--operation"]
    assert run([*schedule, "all-gather", "-o", file]) == 0
    assert run(["simulate", "--plan", file, "--jitter", "4"]) == 2
    assert "a node that is late makes those late that wait" in capsys.readouterr().err
    assert run([*schedule, "broadcast", "--guard", "auto", "--jitter", "4"]) == 2
    # Nobody waits for data in an all-to-all.
    assert run([*schedule, "all-to-all", "--payload", "3", "--moves", "100", "-o", file]) == 0
    capsys.readouterr()
    assert run(["simulate", "--plan", file, "--jitter", "4", "--trials", "3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert min(report["plan_mean"], report["unison_mean"]) >= fl.plans.read(file).bound


def test_latency_and_duration_are_counted_as_they_say() -> None:
    network = fl.Network(fl.Torus(8))
    result = fl.simulate(network, fl.Packets([(0, 3, 5, 0)]))
    hops, length = 3, 5
    assert (result.duration, result.mean_latency) == (hops + length + 1, hops + length + 1)


def test_optimal_says_of_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "--torus", "4x4", "--operation", "broadcast", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["optimal"] is True
    assert found["optimal_of"] == "these messages in this order and balanced-ties routes"
