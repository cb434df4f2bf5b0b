"""A JAX user: which device is where in a mesh of three axes, as JAX itself sees it, and what that is worth.

Cells are separated as editors do. Run in an empty folder. Devices are those of the CPU, 32 of them.
"""

# %%
import json
import os
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=32"

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import flitloom as fl
from flitloom.benchmarks.place_jax import nodes_of_jax
from flitloom.commands import run

SIZES, AXES = "4x4x2", "expert=8:all-to-all:8MiB,data=4:all-reduce:11MiB"
devices = jax.devices()
assert len(devices) == 32

# %% Place the mesh: the order of the devices for JAX, a document for flitloom, a picture, a page.
place = ["place", "--torus", SIZES, "--axes", AXES, "-o", "mesh.jax.json", "-o", "p.json"]
assert run([*place, "--picture", "loads.png"]) == 0
assert run(["check", "p.json"]) == 0
assert run(["recheck", "p.json"]) == 0
assert run(["view", "p.json", "-o", "page.html"]) == 0
told = json.loads(Path("mesh.jax.json").read_text())
document = json.loads(Path("p.json").read_text())
assert told["mesh_shape"] == [4, 8]
assert told["axis_names"] == ["data", "expert"]
assert sorted(told["order"]) == list(range(32))
assert document["bound"] <= document["busiest_channel"] < document["row_major"]["busiest_channel"]

# %% In JAX: the mesh has every device once, and rank r of flitloom at position r.
mesh = Mesh(np.array(devices)[told["order"]].reshape(told["mesh_shape"]), told["axis_names"])
assert mesh.shape == {"data": 4, "expert": 8}
at = np.array([[device.id for device in row] for row in mesh.devices])
assert at.ravel().tolist() == document["placement"]

# %% Groups of a collective in JAX are those whose traffic was placed: devices add up their numbers.
split = NamedSharding(mesh, PartitionSpec("data", "expert"))
numbers = jax.device_put(jnp.asarray(at), split)
for axis, groups in (("data", at.sum(0, keepdims=True)), ("expert", at.sum(1, keepdims=True))):
    summed = jax.jit(
        jax.shard_map(
            lambda part, axis=axis: jax.lax.psum(part, axis),
            mesh=mesh,
            in_specs=split.spec,
            out_specs=split.spec,
        )
    )(numbers)
    assert np.array_equal(np.asarray(summed), np.broadcast_to(groups, at.shape)), axis
traffic = fl.placing.axes_traffic(fl.placing.parse_axes(AXES))
pairs = set(zip(traffic.sources.tolist(), traffic.destinations.tolist(), strict=True))
rank = {(data, expert): 8 * data + expert for data in range(4) for expert in range(8)}
assert all((rank[1, a], rank[1, b]) in pairs for a in range(8) for b in range(8) if a != b)
assert all((rank[a, 5], rank[(a + 1) % 4, 5]) in pairs for a in range(4))

# %% Bytes on channels, counted link by link by the simulator: not above JAX's own mesh on the same chips.
torus = fl.Torus(4, 4, 2)
small = fl.placing.axes_traffic(fl.placing.parse_axes("expert=8:a2a:2,data=4:ring:8"))


def busiest(nodes):
    """Flits on the busiest link, a flit per byte."""
    rows = zip(small.sources.tolist(), small.destinations.tolist(), small.bytes.tolist(), strict=True)
    packets = [(int(nodes[a]), int(nodes[b]), size, 0) for a, b, size in rows]
    return int(fl.simulate(fl.Network(torus), fl.Packets(packets)).links["flits"].max())


found = fl.placing.place(torus, small)
assert busiest(found.nodes) == found.busiest_channel
theirs = nodes_of_jax((4, 4, 2), (4, 8))
assert len(theirs) >= 1
assert all(found.busiest_channel <= busiest(nodes) for nodes in theirs)
assert found.bound <= found.busiest_channel <= busiest(range(32))

# %% The step as time: the traffic of the placement on the wires, and in the order of the devices.
assert run(["simulate", "--placement", "p.json", "--flit-bytes", "65536", "--out", "placed.nc"]) == 0
advice = fl.collectives.advise(torus, sizes=[11 << 20])
assert (advice.seconds.min("algorithm") >= advice.bound).all()

# %% A chip has failed: a mesh of the others, and what cannot fit says why.
fewer = ["place", "--torus", SIZES, "--fail", "node:5", "--axes", "expert=5:a2a:1,data=6:ring:4"]
assert run([*fewer, "-o", "fewer.jax.json", "-o", "fewer.json"]) == 0
left = json.loads(Path("fewer.jax.json").read_text())
assert len(set(left["order"])) == 30
assert 5 not in left["order"]
assert Mesh(np.array(devices)[left["order"]].reshape(left["mesh_shape"]), left["axis_names"]).size == 30
with pytest.raises(fl.SpecError, match="32"):
    fl.placing.place(fl.Torus(4, 4), traffic)
