"""The package imports in any order, alone or beside libraries that bring solvers of their own."""

import itertools
import pkgutil
import subprocess
import sys

import pytest

import flitloom as fl

WORK = """
import flitloom as fl
network = fl.Network(fl.Torus(4, 4))
weak = fl.schedule(network, fl.Collective("brot"), "greedy", routes="any-order")
plan = fl.schedule(network, fl.Collective("brot"), "greedy", routes="any-order", cp_sat_seconds=60)
assert plan.optimal and plan.method == "greedy with cp-sat" and plan.duration < weak.duration
"""
BOUND = """
import flitloom as fl
assert fl.route(fl.Torus(5, 5), failed_nodes=[0, 17], method="bfs").bound_value.proof == "linear program"
"""
SOLVERS = "from ortools.sat.python import cp_model; from ortools.linear_solver import pywraplp"


@pytest.mark.parametrize(
    "order",
    list(itertools.permutations([SOLVERS, "import flitloom", BOUND])),
    ids=lambda order: order[0][:12],
)
def test_solvers_of_others_and_ours_share_a_process(order):
    done = subprocess.run([sys.executable, "-c", "\n".join(order)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("order", [(SOLVERS, WORK), (WORK, SOLVERS)], ids=["before", "after"])
def test_cp_sat_works_beside_an_import_of_ortools(order):
    done = subprocess.run([sys.executable, "-c", "\n".join(order)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_every_module_can_be_the_first_one():
    modules = [
        module.name
        for module in pkgutil.walk_packages(fl.__path__, "flitloom.")
        if module.name not in ("flitloom._core", "flitloom.__main__")
    ]
    assert len(modules) > 80
    program = f"""
import importlib, sys
for name in {modules!r}:
    for known in list(sys.modules):
        if known.startswith("flitloom") and known != "flitloom._core":
            del sys.modules[known]
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
