"""What a user writes; every line that ends in ``# wrong`` is refused by type checkers, and no other."""

from pathlib import Path
from typing import assert_type

import numpy as np
import xarray as xr

import flitloom as fl

torus = fl.Torus(4, 4, failed_nodes=[3], failed_links=["0-1", (4, 5)])
topology = fl.Topology(sizes="8x8", kind="mesh", wrap=[True, False])
router = fl.Router(buffer=8, channels=4, arbitration="C04", routing="sa", flow_control="cut-through")
network = fl.Network(torus, router)
shuffle = fl.Collective("shfl", payload=14, slices=2, delays=np.zeros(16, dtype=int))
listed = fl.Collective(destinations=[1, 0, 3, 2], delays=Path("delays.csv"))
load = fl.Load("uniform", rate=0.1, cycles=1000, impulse=fl.Impulse("trns", at=10, packets=2))
mixed = fl.Load(classes=[fl.TrafficClass("rand", weight=3)], profile=[(0, 0.0), (10, 0.5)], cycles=100)
packets = fl.Packets([(0, 5, 8, 0)], routes=["+x1"])
matrix = fl.TrafficMatrix(np.ones((16, 16), dtype=int), length=4)
messages = fl.Messages(Path("app.goal"), nodes=[1, 0], flit_bytes=32)
turned = fl.Load("bcmp", rate=0.1, cycles=500, changes=[fl.TrafficChange("shfl", at=200)])
experiment = fl.Experiment(topology=torus, traffic=load, seed=3)

result = fl.simulate(network, shuffle, link_time=True)
assert_type(result, fl.Result)
assert_type(result.duration, int)
assert_type(fl.plans.search(network, shuffle), fl.Plan)
assert_type(fl.tables.make(torus), fl.Tables)
assert_type(fl.load.curve(network, "rand", [0.1]), xr.Dataset)
assert_type(fl.collectives.advise(torus, ["64KiB"]), xr.Dataset)
placement = fl.placing.place(torus, fl.placing.stencil_traffic([4, 4]))
assert_type(fl.stack(network, shuffle), fl.Stacking)
assert_type(shuffle.slice_length, int)

simulation = fl.Simulation(network, load)
assert_type(simulation, fl.Simulation)
simulation.run(until=100)
assert_type(simulation.result(), fl.Result)
assert_type(fl.run_experiment(experiment, packets=True), fl.Result)
assert_type(fl.read_experiment("spec.toml", ["seed=3"]), fl.Experiment)
assert_type(fl.lower_bound(network, shuffle), int)
print(result.links["flits"].max(), result.packets.to_dataframe(), result.film().widget(cycle=3))

plan = fl.plans.search(
    network, fl.Operation("all-gather", payload=3, nodes=[0, 1, 2]), "exact", routes="minimal"
)
plan.save("plan.json")
assert_type(fl.plans.read(Path("plan.json")), fl.Plan)
assert_type(plan.optimal, bool)
assert_type(fl.plans.spread(plan, 4), fl.Plan)
assert_type(fl.plans.study_jitter(network, plan, 4, trials=10), fl.JitterStudy)
print(
    fl.plans.check(plan)["passed"],
    fl.plans.deadlock_certificate(plan),
    fl.plans.guarded(network, shuffle, 4)[0],
)

rules = fl.RouterRules.named("dateline", 2)
tables = fl.tables.make(torus, method="sssp", rules=rules, turns="none", traffic=np.ones((16, 16)))
tables.to_json("tables.json")
assert_type(fl.tables.read("tables.json", torus), fl.Tables)
assert_type(fl.tables.check(tables), fl.CheckReport)
assert_type(fl.tables.check("tables.json").passed, bool)
assert_type(tables.path(0, 5), list[int])

gathered = fl.collectives.plan(fl.Mesh(4, 4), "all-gather", chunks=2)
star = fl.Graph([(0, 1), "0-2"], nodes=3, failed_links=[(0, 2)])
assert_type(fl.Graph.family("slimfly(5)").nodes, int)
product = fl.collectives.plan(fl.Product("full4 x ring5", failed_nodes=[3]), "all-gather")
gathered.save("all-gather.json")
assert_type(fl.collectives.read("all-gather.json"), fl.CollectivePlan)
print(fl.collectives.check(gathered))

assert_type(fl.papers.identifiers(), list[str])
assert_type(fl.booksim.read("mesh.cfg"), fl.booksim.Options)

try:
    fl.simulate(network, load, threads=2)
except fl.DeadlockError as error:
    print(error.cycle, error.channels)
except (fl.CycleLimitError, fl.UnreachableError, fl.SpecError) as error:
    print(error)
except fl.FlitloomError:
    raise

fl.Collective("shfl", 14)  # wrong
fl.Collective("shfl", paylod=14)  # wrong
fl.Collective("shfl", payload="many")  # wrong
fl.Router(3)  # wrong
fl.Router(buffr=8)  # wrong
fl.Load("rand", rate=0.1)  # wrong
fl.Impulse("trns", packets=2)  # wrong
fl.Topology("4x4")  # wrong
fl.Torus(4, 4, failed_node=[3])  # wrong
fl.Experiment(topology=torus)  # wrong
fl.simulate(torus, shuffle)  # wrong
fl.simulate(network, "shfl")  # wrong
fl.simulat(network, shuffle)  # wrong
fl.plans.search(network, load)  # wrong
fl.tables.make(network)  # wrong
fl.collectives.plan(network, "all-gather")  # wrong
fl.tables.check(plan)  # wrong
fl.stack(network, packets)  # wrong
