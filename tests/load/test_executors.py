"""Studies run where an executor runs them, with the same numbers; bounds need no simulation."""

from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest
import xarray as xr

import flitloom as fl
from flitloom.jobs import run_many
from flitloom.placing import axes_traffic, parse_axes
from flitloom.scheduling.jitter_table import jitter_table


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
        (lambda **how: fl.load.ramp(NETWORKS, "bcmp", cycles=8000, **how), 2),
        (lambda **how: fl.load.step(NETWORKS, "rand", 0.4, cycles=3000, window=50, **how), 2),
    ],
    ids=["curve", "saturation", "burst", "ramp", "step"],
)
def test_an_executor_gives_the_same_numbers(study, calls):
    executor = Counting()
    xr.testing.assert_identical(study(executor=executor), study(workers=1))
    assert executor.calls == calls


def test_responses_of_several_networks_are_those_of_each():
    both = fl.load.ramp(NETWORKS, "bcmp", cycles=8000, workers=2)
    for name, network in NETWORKS.items():
        alone, one = fl.load.ramp(network, "bcmp", cycles=8000), both.sel(case=name)
        assert (one.outcome, one.router) == (alone.attrs["outcome"], alone.attrs["router"])
        assert alone.attrs.get("critical_load", 0) == one.critical_load.fillna(0)
        assert one.ejected_flits.values.tolist() == alone.ejected_flits.values.tolist()


TORUS = NETWORKS["torus"]
AXES = axes_traffic(parse_axes("tensor=4:a2a:1,data=4:ring:4"))
JITTER = {"network": TORUS, "collectives": [fl.Collective("shfl")], "jitters": [2], "guards": [2]}
JITTER |= {"extras": [0], "trials": 2, "moves": 500}


@pytest.mark.parametrize(
    ("function", "arguments", "fact"),
    [
        (fl.plans.search, (TORUS, fl.Collective("shfl")), lambda plan: (plan.duration, plan.packets)),
        (fl.placing.place, {"topology": "4x4", "traffic": AXES, "effort": 1}, lambda it: it.nodes.tolist()),
        (fl.collectives.advise, (fl.Torus(4, 4), [1024, 1 << 20]), lambda found: found.to_dict()),
        (fl.collectives.plan, (fl.Torus(4, 4), "all-gather"), lambda plan: (plan.steps, plan.bound)),
        (fl.tables.make, (fl.Torus(4, 4),), lambda tables: tables.checksum()),
        (fl.simulate, (TORUS, fl.Collective("shfl")), lambda result: result.fingerprint),
        (jitter_table, JITTER, lambda table: table.rows()),
    ],
    ids=["schedule", "place", "advise", "collective", "route", "simulate", "jitter"],
)
def test_functions_that_take_long_run_elsewhere(function, arguments, fact):
    """What crosses to other processes and back: arguments and results."""
    both = run_many(function, {"here": arguments, "there": arguments}, workers=2)
    direct = function(**arguments) if isinstance(arguments, dict) else function(*arguments)
    assert [fact(made) for made in both.values()] == [fact(direct)] * 2
    executor = Counting()
    assert [*run_many(abs, {"minus": [-1], "plus": [2]}, executor=executor).items()] == [
        ("minus", 1), ("plus", 2),
    ]  # fmt: skip
    assert executor.calls == 2


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
