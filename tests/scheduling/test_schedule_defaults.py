"""What `flitloom schedule` does unless told otherwise: the best known routes, one limit of time."""

import json

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

    clock = [0.0]
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
    assert "no working route" in (told := capsys.readouterr().err)
    assert "flitloom collective goes around failed parts" in told
    assert run(["schedule", *failed, "--pattern", "shfl"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["schedule", *failed, "--pattern", "next"]) == 2
    assert "flitloom route, then flitloom simulate --tables" in capsys.readouterr().err
    assert run(["schedule", *failed, "--operation", "all-to-all", "--routes", "dor"]) == 2
    assert "routes minimal may have one" in capsys.readouterr().err


@pytest.mark.parametrize("operation", ["all-to-all", "all-gather", "broadcast"])
def test_operations_go_among_the_nodes_that_work(operation, tmp_path, capsys):
    file = tmp_path / "plan.json"
    ask = ["schedule", "--torus", "4x4", "--fail", "node:5", "--operation", operation, "--moves", "2000"]
    assert run([*ask, "-o", str(file)]) == 0
    assert f"{operation} among the 15 nodes that work" in capsys.readouterr().err
    plan = fl.plans.read(file)
    working = [node for node in range(16) if node != 5]
    assert (plan.operation["nodes"], plan.routes) == (working, "minimal")
    assert {packet.destination for packet in plan.packets} <= set(working)
    assert fl.plans.check(plan)["passed"]
    assert run([*ask, "--nodes", "4,5,6"]) == 2
    assert "operation.nodes: node 5 has failed; leave it out" in capsys.readouterr().err


def test_patterns_are_planned_among_the_nodes_that_work(tmp_path, capsys):
    ask = ["schedule", "--torus", "4x4", "--fail", "node:5"]
    assert run([*ask, "--pattern", "brev", "--html", str(tmp_path / "a.html"), "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["packets"] == 14
    assert "brev among the 15 nodes that work; packets to failed nodes are left out: 1" in shown.err
    to = tmp_path / "to.csv"
    to.write_text("\n".join(str((node + 5) % 16) for node in range(16)) + "\n")
    assert run([*ask, "--destinations", str(to)]) == 2
    assert "traffic.destinations: node 0 sends to node 5, which has failed" in capsys.readouterr().err
    assert run([*ask, "--pattern", "rand", "--packets", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["packets"] == 45
    assert run([*ask, "--pattern", "shfl", "--method", "genetic", "--generations", "2"]) == 2
    assert "method: genetic needs all nodes" in capsys.readouterr().err
