"""A researcher in a notebook: ways to send the same, measured, drawn, compared with proofs, and kept.

Cells are separated as editors do. Run in an empty folder.
"""

# %%
import json
from pathlib import Path

import pytest
import xarray as xr

import flitloom as fl

net = fl.Network(fl.Torus(8, 8))
whole = fl.Collective("shfl", payload=14)
sliced = fl.Collective("shfl", payload=14, slices=2)

# %% One run: labelled arrays that agree with the totals, and a record another program opens.
result = fl.simulate(net, whole)
assert result.links.sizes == {"y": 8, "x": 8, "direction": 4}
assert int(result.links.flits.sum()) == result.flit_hops
assert result.lower_bound <= result.duration
packets = result.packets.to_dataframe()
assert len(packets) == result.packets_delivered == 64
# From start to ejection: h + L + 1 where nothing hinders.
assert (packets.tail_arrival + 2 - packets.generated).mean() == result.mean_latency
result.to_netcdf("shuffle.nc")
assert "links" in xr.open_datatree("shuffle.nc", engine="h5netcdf").children
result.plot_link_time("shuffle.png")
assert "<table" in result._repr_html_()

# %% Ever better ways to send the same: each is simulated, none is below its bound.
stacking = fl.stack(net, sliced)
plan = fl.plans.search(net, sliced)
assert result.duration == stacking.whole > stacking.duration > plan.duration >= plan.bound
assert fl.simulate(net, plan).duration == plan.duration
assert fl.plans.check(plan)["passed"]
plan.save("plan.json")
assert fl.plans.read("plan.json") == plan
assert len(str(plan)) < 200, "a plan is printed in a line, not packet by packet"
late = fl.plans.study_jitter(net, plan, jitter=2, trials=3)
assert min(late.plan) >= plan.duration

# %% Under load: two networks as one labelled array, beside the bound of their routing.
nets = {"torus": net, "mesh": fl.Network(fl.Mesh(8, 8))}
curve = fl.load.curve(nets, "bcmp", [0.1, 0.9], measure=500, refine=0)
assert curve.saturated.values.tolist() == [[False, True], [False, True]]
assert (curve.accepted.sel(rate=0.9) <= 1.01 * curve.bound).all()
found = fl.load.saturation(nets, "bcmp", within=0.1, measure=500)
assert (found.saturation <= found.bound).all()
assert float(found.saturation.sel(case="torus")) > float(found.saturation.sel(case="mesh"))
curve.to_netcdf("curve.nc", engine="h5netcdf")

# %% Around failures: tables whose check shares nothing with the search, and a run on them.
damaged = fl.Torus(8, 8, failed_nodes=[9])
tables = fl.tables.make(damaged)
assert fl.tables.check(tables).passed
assert tables.max_load >= tables.bound
tables.to_json("tables.json")
assert fl.tables.read("tables.json").max_load == tables.max_load

# %% Collective operations: a plan, proven, and advice that never beats its bound.
gather = fl.collectives.plan(fl.Torus(4, 4), "all-gather")
assert gather.optimal
assert fl.collectives.check(gather)["passed"]
gather.save("gather.json")
assert fl.collectives.read("gather.json") == gather
advice = fl.collectives.advise(fl.Torus(4, 4), sizes=[1024, 1 << 20])
assert (advice.seconds.min("algorithm") >= advice.bound).all()

# %% Errors say what would be right, and nothing can be changed behind a result.
with pytest.raises(fl.SpecError) as wrong:
    fl.Router(buffer=0)
assert (wrong.value.field, wrong.value.advice) == ("router.buffer", "it must be 1 to 1024 flits")
with pytest.raises((AttributeError, fl.FlitloomError)):
    net.router = fl.Router(buffer=8)

# %% A run that is stopped, kept, and continued ends in the same bits.
load = fl.Load("uniform", rate=0.2, length=8, cycles=1000)
straight = fl.simulate(net, load)
first = fl.Simulation(net, load)
first.step(400)
first.save("half.flit")
second = fl.Simulation.load("half.flit")
second.run()
assert second.result().fingerprint == straight.fingerprint

# %% What is kept can be read without flitloom.
kept = json.loads(Path("tables.json").read_text())
assert kept["topology"]["failed_nodes"] == [9]
