"""Linear programs: the optimum is proven by its own duals, and the solver is in another process."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from math import inf

import numpy as np
import pytest

from flitloom.collectives.proofs import UNREACHED, _shortest
from flitloom.errors import SpecError
from flitloom.ground.linear import METHODS, solve


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_feasible_and_its_duals_prove_it(seed, method):
    random = np.random.default_rng(seed)
    matrix = random.integers(-3, 8, (7, 10)) * (random.random((7, 10)) < 0.6)
    inside = random.random(10)
    lower, upper = matrix @ inside - random.random(7), matrix @ inside + random.random(7)
    lower[0] = upper[0]
    cost = random.integers(1, 9, 10)
    rows, columns = np.nonzero(matrix)
    # Some entries come in two parts.
    parts = matrix[rows, columns] / 2
    found = solve(
        cost, (np.r_[rows, rows], np.r_[columns, columns], np.r_[parts, parts]), lower, upper, method
    )
    assert found is not None
    reached = matrix @ found.variables
    assert (found.variables >= -1e-9).all()
    assert (reached >= lower - 1e-6).all()
    assert (reached <= upper + 1e-6).all()
    assert found.value == pytest.approx(cost @ found.variables)
    # Weak duality: with reduced costs from 0 on, the duals alone bound every solution from below.
    assert (cost - matrix.T @ found.duals >= -1e-6).all()
    proven = np.where(found.duals > 0, found.duals * lower, found.duals * upper).sum()
    assert proven == pytest.approx(found.value)


def test_programs_without_an_optimum_have_none():
    below_zero = ([0], [0], [1.0])
    assert solve([1], below_zero, [-inf], [-1]) is None
    assert solve([-1], below_zero, [0], [inf]) is None


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (([1], ([0], [0], [1]), [0, 0], [1]), "2 and 1 bounds"),
        (([1], ([0], [0, 0], [1]), [0], [1]), "as many rows as columns"),
        (([1], ([1], [0], [1]), [0], [1]), "rows are 0 to 0"),
        (([1], ([0], [-1], [1]), [0], [1]), "columns are 0 to 0"),
        (([1], ([0], [0], [1]), [0], [1], "fast"), "choose, simplex, ipm"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(program, message):
    with pytest.raises(SpecError, match=message):
        solve(*program)


def test_threads_share_the_solver_and_this_process_has_none():
    program = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from flitloom.ground import linear
with ThreadPoolExecutor(4) as pool:
    asked = [pool.submit(linear.solve, [1], ([0], [0], [1.0]), [n], [1e9]) for n in range(20)]
values = [each.result().value for each in asked]
print(json.dumps([values, "highspy" in sys.modules, len(linear._solver._processes)]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[float(n) for n in range(20)], False, 1]
    assert done.stderr == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_solves_by_itself():
    program = """
import os
from flitloom.ground.linear import solve
def value(least): return solve([1], ([0], [0], [1.0]), [least], [9]).value
assert value(1) == 1
child = os.fork()
values = [value(3 if child else 2) for _ in range(20)]
assert set(values) == {3 if child else 2}, values
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupted_work_leaves_no_solver(monkeypatch):
    from flitloom.ground import linear

    solve([1], ([0], [0], [1.0]), [1], [9])
    solver = linear._solver
    assert solver is not None
    monkeypatch.setattr(solver, "submit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        solve([1], ([0], [0], [1.0]), [1], [9])
    assert all(process.poll() is not None for process in solver._processes)
    again = solve([1], ([0], [0], [1.0]), [1], [9])
    assert again is not None
    assert again.value == 1


def test_shortest_paths_are_those_of_floyd_and_warshall():
    random = np.random.default_rng(1)
    for nodes in (2, 5, 9):
        pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and random.random() < 0.4]
        lengths = random.integers(0, 50, len(pairs))
        far = np.full((nodes, nodes), UNREACHED, dtype=object)
        np.fill_diagonal(far, 0)
        for (a, b), length in zip(pairs, lengths, strict=True):
            far[a, b] = length
        for middle in range(nodes):
            through = np.minimum(far[:, middle, None] + far[None, middle, :], UNREACHED)
            far = np.minimum(far, through)
        assert (
            _shortest(np.array(pairs, dtype=int).reshape(-1, 2), lengths, list(range(nodes)), nodes) == far
        ).all()


def test_concurrent_callers_get_their_own_answers():
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda n: solve([1], ([0], [0], [1.0]), [n], [99]), range(9)))
    assert [each.value for each in found if each is not None] == list(range(9))
