"""What `flitloom schedule` does unless told otherwise: the best known routes, one limit of time."""

import json
import time

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.scheduling import guards


def test_all_to_all_takes_the_best_known_routes(capsys):
    ask = ["schedule", "--torus", "8x8", "--operation", "all-to-all", "--moves", "20000"]
    assert run([*ask, "--json"]) == 0
    best = json.loads(capsys.readouterr().out)
    assert run([*ask, "--routes", "balanced-ties", "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert best["routes"] == "staircase"
    assert before["algorithm_bound"] <= best["duration"] < before["duration"]
    # Where the sizes have no staircases, ties are balanced.
    small = ["schedule", "--torus", "5x3", "--operation", "all-to-all", "--moves", "20000"]
    assert run([*small, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["routes"] == "balanced-ties"
    assert run(small) == 0
    assert "over all ports  flitloom collective all-to-all --torus 5x3" in capsys.readouterr().out


def test_a_limit_is_one_for_all_guards(monkeypatch):
    given = []
    real = guards.schedule

    def slow(network, traffic, **search):
        given.append(search["seconds"])
        clock[0] += search["seconds"]
        return real(network, traffic, **{**search, "seconds": None, "moves": 2000})

    clock = [time.perf_counter()]
    monkeypatch.setattr(guards, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(guards, "schedule", slow)
    network = fl.Network(fl.Torus(4, 4))
    tried = fl.plans.guarded(network, fl.Collective("shfl"), 4, trials=2, seconds=6.0)
    assert tried
    assert len(given) > 2
    assert sum(given) == pytest.approx(6.0)


def test_failed_parts_come_with_what_goes_around_them(capsys):
    failed = ["--torus", "4x4", "--fail", "link:0-1"]
    assert run(["schedule", *failed, "--operation", "all-gather"]) == 2
    assert "flitloom collective --fail goes around them" in capsys.readouterr().err
    assert run(["schedule", *failed, "--pattern", "shfl"]) == 0
    assert "flitloom route --fail and simulate --tables go around them" in capsys.readouterr().err
