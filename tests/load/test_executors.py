"""Studies of loads run where an executor runs them, with the same numbers; bounds need no simulation."""

from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest
import xarray as xr

import flitloom as fl


class Counting(Executor):
    """Runs calls in another order than they were given, as a cluster may, and counts them."""

    def __init__(self):
        self.pool, self.calls = ThreadPoolExecutor(2), 0

    def submit(self, work, /, *arguments, **named):
        self.calls += 1
        return self.pool.submit(work, *arguments, **named)


NETWORKS = {"torus": fl.Network(fl.Torus(4, 4)), "mesh": fl.Network(fl.Mesh(4, 4))}


@pytest.mark.parametrize(
    ("study", "calls"),
    [
        (lambda **how: fl.load.curve(NETWORKS, "rand", [0.1, 0.9], refine=0, measure=400, **how), 4),
        (lambda **how: fl.load.saturation(NETWORKS["torus"], "rand", within=0.2, measure=400, **how), 1),
        (lambda **how: fl.load.burst(NETWORKS, "trns", 2, **how), 2),
    ],
    ids=["curve", "saturation", "burst"],
)
def test_an_executor_gives_the_same_numbers(study, calls):
    executor = Counting()
    xr.testing.assert_identical(study(executor=executor), study(workers=1))
    assert executor.calls == calls


def test_what_fails_elsewhere_is_told_here():
    class Broken(Executor):
        def submit(self, *_arguments, **_named):
            future = Future()
            future.set_exception(RuntimeError("the worker is gone"))
            return future

    with pytest.raises(RuntimeError, match="the worker is gone"):
        fl.load.curve(NETWORKS, "rand", [0.1], refine=0, executor=Broken())


def test_bounds_are_those_of_a_curve():
    found = fl.load.bound(NETWORKS, "rand")
    curve = fl.load.curve(NETWORKS, "rand", [0.1], refine=0, measure=100)
    assert found.bound.values.tolist() == curve.bound.values.tolist()
    assert found.bound_of.values.tolist() == curve.bound_of.values.tolist()
    # By hand: 2 * 2 * 4 of the pairs of a 4x4 mesh cross a link in the middle; a node sends to 15 others.
    assert float(found.bound.sel(case="mesh")) == pytest.approx(min(1, 15 / 16))
    alone = fl.load.bound(NETWORKS["torus"], fl.Load("hots", rate=0.1, cycles=1, hotspot_fraction=0.5))
    assert float(alone.bound) <= float(alone.receive_bound) < 0.2
