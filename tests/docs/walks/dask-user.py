"""A Dask user: a client of a cluster runs every long study, and the numbers are those of one process.

Cells are separated as editors do. Run in an empty folder. The cluster has two workers in this process.
"""

# %%
import csv
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import flitloom as fl
from flitloom.campaign import read_campaign, run_campaign, search_rows
from flitloom.commands import run
from flitloom.jobs import Store, run_many
from flitloom.sweep import Sweep, run_sweep, sweep_rows

cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
client = Client(cluster)
assert len(client.scheduler_info()["workers"]) == 2

# %% A sweep in a store on disk: each point once, also where the study is repeated or extended.
spec = {
    "topology": {"sizes": "4x4"},
    "traffic": {"kind": "load", "pattern": "rand", "rate": 0.1, "length": 4, "cycles": 500},
}
points = Sweep(spec, {"router.buffer": [4, 8], "traffic.rate": [0.1, 0.3]}).points()
store = Store("study.sqlite")
told = []
assert run_sweep(points, store, executor=client, progress=lambda done, of: told.append((done, of))) == 4
assert told[-1] == (4, 4)
assert run_sweep(points, store, executor=client) == 0
more = Sweep(spec, {"router.buffer": [4, 8], "traffic.rate": [0.1, 0.3, 0.5]}).points()
assert run_sweep(more, store, executor=client) == 2
rows = list(sweep_rows(more, store))
alone = Store(":memory:")
run_sweep(more, alone, workers=1)
for here, there in zip(sweep_rows(more, alone), rows, strict=True):
    assert {**here, "seconds": 0} == {**there, "seconds": 0}
with Path("study.csv").open("w", newline="") as file:
    table = csv.DictWriter(file, rows[0])
    table.writeheader()
    table.writerows(rows)

# %% Load-latency curves, saturation, bursts, ramps, steps: the same arrays as without a cluster.
networks = {"torus": fl.Network(fl.Torus(4, 4)), "mesh": fl.Network(fl.Mesh(4, 4))}
short = {"refine": 0, "measure": 500}
curve = fl.load.curve(networks, "rand", [0.1, 0.9], executor=client, **short)
assert curve.identical(fl.load.curve(networks, "rand", [0.1, 0.9], workers=1, **short))
assert curve.saturated.values.tolist() == [[False, True], [False, True]]
assert (curve.accepted <= 1.02 * curve.bound).all()
curve.to_netcdf("curve.nc", engine="h5netcdf")
found = fl.load.saturation(networks, "rand", within=0.1, measure=500, executor=client)
assert float(found.saturation.sel(case="torus")) > float(found.saturation.sel(case="mesh"))
found.to_netcdf("saturation.nc", engine="h5netcdf")
bursts = fl.load.burst(networks, "trns", 2, executor=client)
assert (bursts.duration >= bursts.bound).all()
bursts.to_netcdf("bursts.nc", engine="h5netcdf")
ramps = fl.load.ramp(networks, "bcmp", 0.2, 0.6, cycles=5000, executor=client)
assert ramps.sizes["case"] == 2
steps = fl.load.step(networks["torus"], "rand", 0.2, cycles=2000, executor=client)
assert steps.identical(fl.load.step(networks["torus"], "rand", 0.2, cycles=2000))

# %% Anything else that takes long: plans, placements, tables, each a call with its name.
patterns = {name: (networks["torus"], fl.Collective(name, payload=6)) for name in ("shfl", "torn", "brev")}
plans = run_many(fl.plans.search, patterns, executor=client)
assert list(plans) == ["shfl", "torn", "brev"]
assert all(plan.bound <= plan.duration and fl.plans.check(plan)["passed"] for plan in plans.values())
plans["shfl"].save("plan.json")
axes = fl.placing.axes_traffic(fl.placing.parse_axes("data=4:ring:8,expert=4:a2a:1"))
shapes = {"4x4": (fl.Torus(4, 4), axes), "2x8": (fl.Torus(2, 8), axes)}
placed = run_many(fl.placing.place, shapes, executor=client)
assert all(one.bound <= one.busiest_channel for one in placed.values())
placed["4x4"].save("placed.json")

# %% A campaign of genetic searches, as `flitloom campaign run` has it.
assert run(["examples", "copy", "-o", "examples"]) == 0
jobs = read_campaign("examples/campaigns/small.toml").jobs()[:2]
searches = Store("campaign.sqlite")
assert run_campaign(jobs, searches, executor=client) == 2
assert run_campaign(jobs, searches, executor=client) == 0
assert all(row["score"] > 0 for row in search_rows(searches))

# %% A failed call ends the study with its own error, and what cannot run calls is refused.
with pytest.raises(fl.SpecError, match="out of range"):
    run_many(fl.Torus, {"good": (4, 4), "bad": (1 << 40, 4)}, executor=client)
with pytest.raises(fl.SpecError, match="Dask"):
    fl.load.curve(networks, "rand", [0.1], executor="tcp://scheduler:8786")

# %% Pictures are drawn here, from the arrays.
import matplotlib.pyplot as plt  # noqa: E402

curve.latency.plot(hue="case", marker="o")
plt.savefig("curve.png")

client.close()
cluster.close()
