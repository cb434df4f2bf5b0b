"""One structured fuzzer per reader, under limits of memory and time: ``python tests/fuzz.py --cases 100000``.

A case is a function of the reader and its number. It must end well or in one `FlitloomError` with a short
message; whatever does not is told, and with ``--save`` kept in corpus/READER, which every test reads again.
"""

import argparse
import contextlib
import io
import json
import os
import pickle
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import traceback
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import flitloom as fl
from places import TESTS

CORPUS = TESTS / "reading" / "corpus"
#: Memory of a process that reads, and seconds for one case.
MEMORY, SECONDS = 3 << 30, 20
#: Longest message.
LONGEST = 10_000

TEXTS = ["", "x", "x" * 70_000, "shfl", "C05", "+x1", "+x999999", "-y2 +x1", "4x4", "../../x", "\0",
         "\x1b[31m", "\n", "1e99999999", "1/0", "7/2", "nan", "dateline", "flitloom plan 1", "all-gather",
         "9" * 5000, "\ud800"]  # fmt: skip
NUMBERS = [-1, 0, 1, 2, 3, 7, 15, 16, 255, 2**16, 2**20, 2**31, 2**32, 2**40, 2**63, 2**64, 10**30, 10**400,
           0.5, 1e308, float("nan"), float("inf")]  # fmt: skip


def value(draw, depth=0):
    """Some value, seldom a large one."""
    kind = draw.randrange(8 if depth < 3 else 5)
    if kind < 2:
        return draw.choice(NUMBERS)
    if kind < 4:
        return draw.choice(TEXTS)
    if kind == 4:
        return draw.choice([None, True, False])
    if kind == 5:
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))] * (
            draw.choice([1, 1, 1, 1000]) if depth == 0 else 1
        )
    if kind == 6:
        return {draw.choice(TEXTS)[:20]: value(draw, depth + 1) for _ in range(draw.randrange(3))}
    nested = value(draw, depth + 1)
    for _ in range(draw.choice([2, 10, 50])):
        nested = [nested]
    return nested


def places(data, here=()):
    """Paths to everything within."""
    yield here
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, entry in list(entries)[:200]:
        yield from places(entry, (*here, name))


def change(draw, data):
    """One field of a structure changed, left out, doubled or added."""
    path = draw.choice(list(places(data))[1:] or [()])
    if not path:
        return value(draw)
    parent = data
    for name in path[:-1]:
        parent = parent[name]
    how = draw.randrange(8)
    if how == 0:
        del parent[path[-1]]
    elif how == 1 and isinstance(parent, list):
        parent[path[-1]] = parent[path[-1]]
        parent *= draw.choice([2, 50])
    elif how == 2 and isinstance(parent, dict):
        parent[draw.choice(TEXTS)[:30]] = value(draw)
    else:
        parent[path[-1]] = value(draw)
    return data


def bitten(draw, content):
    """Bytes with some pieces replaced."""
    content = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 5])):
        begin = draw.randrange(len(content) + 1)
        end = min(len(content), begin + draw.randrange(12))
        content[begin:end] = draw.choice(
            [b"", b"-", b"9" * 30, b'"', b"[", b"]" * 3, b"{", b"\n", b"\0", b"\xff\xfe", b",", b"1e9",
             b"+x9", b"node[0-99]", draw.randbytes(4), bytes(content[:200]), b"[" * 3000]
        )  # fmt: skip
    return bytes(content)


#: What stands in place of a number: more digits than Python reads, other digits, beyond all limits.
NO_NUMBERS = [b"9" * 5000, b"0", b"010", b"-1", b"0x10", b"1_0", b"", b"7", b"99", b"255", b"65535",
              b"1048577", b"4294967296", b"18446744073709551616", b"1e400", b"nan", "\u00b2".encode(),
              "\uff11\uff12".encode()]  # fmt: skip


def renumbered(draw, content):
    """Bytes with one number replaced."""
    numbers = list(re.finditer(rb"[0-9]+", content))
    if not numbers:
        return bitten(draw, content)
    number = draw.choice(numbers)
    return content[: number.start()] + draw.choice(NO_NUMBERS) + content[number.end() :]


def roughly(draw, content):
    """Bytes changed without a thought of what they mean, or None: another change is wanted."""
    how = draw.random()
    return bitten(draw, content) if how < 0.25 else renumbered(draw, content) if how < 0.5 else None


def of_json(draw, content):
    rough = roughly(draw, content)
    if rough is not None:
        return rough
    data = json.loads(content)
    for _ in range(draw.choice([1, 1, 2])):
        data = change(draw, data)
    return json.dumps(data).encode()


def of_text(draw, content):
    """Lines with some fields changed."""
    rough = roughly(draw, content)
    if rough is not None:
        return rough
    lines = content.decode().split("\n")
    for _ in range(draw.choice([1, 1, 3])):
        at = draw.randrange(len(lines))
        line = lines[at]
        how = draw.randrange(5)
        if how == 0:
            lines[at : at + 1] = []
        elif how == 1:
            lines[at : at + 1] = [line] * draw.choice([2, 2000])
        else:
            words = line.replace(",", " , ").replace("=", " = ").split(" ")
            # A separate word changes one value of a list, a field or a number.
            words[draw.randrange(len(words))] = str(
                draw.choice([draw.choice(NUMBERS), json.dumps(value(draw))])
            )[:9000]
            lines[at] = " ".join(words)
        lines = lines or [""]
    return "\n".join(lines).encode("utf-8", "replace")


def of_npz(draw, content):
    if draw.random() < 0.3:
        return bitten(draw, content)
    with np.load(io.BytesIO(content)) as archive:
        headers, about = archive["headers"], json.loads(str(archive["about"]))
    how = draw.randrange(4)
    if how == 0:
        headers = draw.choice([headers[:3], headers.astype(float), headers.T, headers[0, 0], headers[:0]])
    elif how == 1:
        headers = headers.copy()
        headers[draw.randrange(len(headers)), draw.randrange(len(headers))] = draw.choice(
            [0, 1, 2**31, 2**32 - 1]
        )
    else:
        about = change(draw, about)
    made = io.BytesIO()
    np.savez_compressed(made, headers=headers, about=np.array(json.dumps(about)))
    if how == 0 and draw.random() < 0.3:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            archive.writestr("headers.npy", b"\x93NUMPY\x01\x00" + draw.randbytes(80))
    return made.getvalue()


def _spec(file):
    experiment = fl.read_experiment(file)
    network = fl.Network(experiment.topology, experiment.router)
    if network.nodes <= 256:
        experiment.traffic.workload(network, experiment.seed)


def _plan(file):
    fl.plans.check(fl.plans.read(file))


def _tables(file):
    fl.tables.check(file, None if file.suffix in (".json", ".npz") else fl.Torus(4, 4))


def _chromosome(file):
    from flitloom.genetic import load_chromosome

    load_chromosome(file)


def _campaign(file):
    from flitloom.campaign import read_campaign

    campaign = read_campaign(file)
    if campaign.repeats < 100:
        campaign.jobs()


def _store(file):
    from flitloom.campaign import Store, search_rows

    store = Store(file, read_only=True)
    try:
        for row in search_rows(store):
            store.result(row["id"])
    finally:
        store.close()


def _nodes(file):
    from flitloom.fabric.names import Names

    Names(64, (*(f"node{number}" for number in range(61)), "host40", "rack-1-node30", "rack-1-node31")).read(
        file
    )


def _torus_config(file):
    from flitloom.fabric import parse_fabric
    from flitloom.fabric.torus_config import configured, read_torus_config

    ring = "".join(f"s{n},s{(n + 1) % 5}\n" for n in range(5))
    configured(parse_fabric(ring), read_torus_config(file))


def _fabric(file):
    from flitloom.fabric import read_fabric, recognise

    subnet = read_fabric(file)
    if len(subnet.switches) <= 64:
        recognise(subnet)


def _subnet_file(kind):
    """A reader of one of the files beside the description of a subnet."""

    def read(file):
        from flitloom.fabric import check_subnet, parse_fabric

        with tempfile.TemporaryDirectory() as folder:
            good = Path(folder) / "good.dump"
            good.write_text(_dump())
            others = {} if kind == "tables" else {kind: file}
            check_subnet(parse_fabric(_subnet()), file if kind == "tables" else good, **others)

    return read


def _port_lanes(file):
    from flitloom.fabric import parse_fabric, with_port_lanes

    with_port_lanes(parse_fabric(_subnet()), file).fewest_lanes()


def _dump():
    """Forwarding tables of that subnet."""
    return "".join(
        f"Unicast lids [0x0-0xc] of switch Lid {a + 1} guid {a + 1:#018x} ('s{a}'):\n"
        + "".join(f"{lid:#06x} {5 if a + 9 == lid else 1:03} : (x)\n" for lid in range(9, 13))
        for a, _ in _RING
    )


def _subnet():
    """A ring of four switches with a host each, as ibnetdiscover prints it."""
    blocks = []
    for switch in range(4):
        after, before = (switch + 1) % 4, (switch + 3) % 4
        blocks.append(
            f"switchguid=0x{switch + 1:x}({switch + 1:x})\n"
            f'Switch\t8 "S-{switch + 1:016x}"\t\t# "s{switch}" enhanced port 0 lid {switch + 1} lmc 0\n'
            f'[1]\t"S-{after + 1:016x}"[2]\t\t# "s{after}" lid {after + 1} 4xQDR\n'
            f'[2]\t"S-{before + 1:016x}"[1]\t\t# "s{before}" lid {before + 1} 4xQDR\n'
            f'[5]\t"H-{switch + 33:016x}"[1]({switch + 65:x}) \t\t# "h{switch} HCA-1" lid {switch + 9} '
            "4xQDR\n"
        )
        blocks.append(
            f'caguid=0x{switch + 33:x}\nCa\t1 "H-{switch + 33:016x}"\t\t# "h{switch} HCA-1"\n'
            f'[1]({switch + 65:x}) \t"S-{switch + 1:016x}"[5]\t\t# lid {switch + 9} lmc 0 "s{switch}" lid '
            f"{switch + 1}\n"
        )
    return "\n".join(blocks)


def _checkpoint(file):
    simulation = fl.Simulation.load(file)
    simulation.step(5)


def _run_checkpoint(file):
    simulation = fl.Simulation.load(file)
    # What is forged may come to light late, and then or at the end there is a result.
    simulation.run(until=min(simulation.now, 1000) + 300)
    simulation.result()


def _result(file):
    from flitloom.view.stored import read_result

    read_result(file)


def _rows(file):
    from flitloom.commands.plot import _read
    from flitloom.plots.curves import group

    group(_read(file), "rate", "latency", ["buffer"])


def _sweep(file):
    from flitloom.ground.reading import read_toml
    from flitloom.sweep import Sweep, read_values

    fields = read_toml(file)
    values = {name: read_values(str(text)) for name, text in dict(fields.pop("vary", {})).items()}
    Sweep(fields, values).points()


def of_checkpoint(draw, content):
    """A saved simulation with other bytes, and a checksum that fits in half of the cases."""
    from flitloom.spec.written import SIMULATION

    about, text, state = content[len(SIMULATION) :].split(b"\n", 2)
    how = draw.randrange(4)
    if how == 0:
        return bitten(draw, content)
    if how == 1:
        fields = change(draw, json.loads(about))
    else:
        text, state = (bitten(draw, text), state) if how == 2 else (text, bitten(draw, state))
        text = text.replace(b"\n", b" ")
        checksum = zlib.crc32(state, zlib.crc32(text))
        fields = json.loads(about) | {"state_bytes": len(state), "checksum": checksum}
    return b"\n".join([SIMULATION + json.dumps(fields).encode(), text, state])


def of_state(draw, content):
    """A saved simulation with a few numbers of its state changed in place, and a checksum that fits."""
    from flitloom.spec.written import SIMULATION

    about, text, state = content[len(SIMULATION) :].split(b"\n", 2)
    forged = bytearray(state)
    for _ in range(draw.choice([1, 1, 2, 8])):
        size = draw.choice([1, 1, 2, 4, 8])
        at = draw.randrange(len(forged) - size)
        old = int.from_bytes(forged[at : at + size], "little")
        new = draw.choice(
            [0, 1, old + 1, old - 1, old ^ (1 << draw.randrange(8 * size)), 2 ** (8 * size) - 1]
        )
        forged[at : at + size] = (new % 2 ** (8 * size)).to_bytes(size, "little")
    fields = json.loads(about) | {"checksum": zlib.crc32(forged, zlib.crc32(text))}
    return b"\n".join([SIMULATION + json.dumps(fields).encode(), text, bytes(forged)])


def of_xml(draw, content):
    """XML with some attributes changed, left out or doubled."""
    rough = roughly(draw, content)
    if rough is not None:
        return rough
    lines = content.decode().replace("><", ">\n<").split("\n")
    for _ in range(draw.choice([1, 1, 3])):
        at = draw.randrange(len(lines))
        how = draw.randrange(4)
        if how == 0:
            lines[at : at + 1] = []
        elif how == 1:
            lines[at : at + 1] = [lines[at]] * draw.choice([2, 2000])
        else:
            parts = lines[at].split('"')
            parts[draw.randrange(len(parts))] = str(draw.choice([*NUMBERS, *TEXTS]))[:9000]
            lines[at] = '"'.join(parts)
        lines = lines or [""]
    return "\n".join(lines).encode("utf-8", "replace")


def _saved(file):
    simulation = fl.Simulation(fl.Network(fl.Torus(4, 4)), fl.Collective("shfl", payload=6, slices=2))
    simulation.step(9)
    simulation.save(file)


def _saved_pipelined(file, records, **fields):
    network = fl.Network(fl.Torus(3, 2), fl.Router(model="pipelined", buffer=3, **fields))
    load = fl.Load("rand", rate=0.7, length=3, cycles=60, outstanding=3)
    simulation = fl.Simulation(network, load, **records)
    simulation.step(25)
    simulation.save(file)


def _saved_load(file, records=None, router=None, topology=None, **fields):
    """A load in motion, by default with all that the general engine counts."""
    router = router or fl.Router(routing="ma", flow_control="cut-through", buffer=8)
    load = fl.Load("rand", rate=0.6, length=3, cycles=60, **fields)
    network = fl.Network(fl.Torus(4, 3) if topology is None else topology, router)
    simulation = fl.Simulation(network, load, **(records or {}))
    simulation.step(25)
    simulation.save(file)


#: Simulations in motion of every engine, and of every form of pipelined routers.
_IN_MOTION = {
    "general": lambda file: _saved_load(file, {"packets": True, "throttle": "spth"}),
    "closed": lambda file: _saved_load(file, {"windows": 10}, outstanding=3),
    "planes": lambda file: _saved_load(file, router=fl.Router(), topology=fl.Torus(8, 8)),
    "sets": lambda file: _saved_load(file, router=fl.Router(model="pipelined", routing="valiant")),
    "bit-planes": lambda file: _saved_load(file, router=fl.Router(model="pipelined"), topology=fl.Mesh(4, 4)),
}


def _old_store(file, job):
    """A store as earlier versions made it."""
    names = [
        "id",
        "campaign",
        "pattern",
        "arbitration",
        "seed",
        "spec",
        "score",
        "duration",
        "seconds",
        "result",
    ]
    found = {"score": 1, "duration": 2, "seconds": 0.5, "best": [1], "chromosome": {}}
    row = (job.id, "c", "next", "C00", 1, json.dumps(job.spec), 1, 2, 0.5, json.dumps(found))
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute(f"create table runs ({', '.join(names)})")
        database.execute(f"insert into runs values ({', '.join('?' * len(row))})", row)


def _made(file, make):
    make(file)
    return file.read_bytes()


def _seeds(folder):
    """A good file of every kind."""
    from flitloom import genetic
    from flitloom.campaign import Store, parse_campaign

    network = fl.Network(fl.Torus(4, 4))
    collective = fl.Collective("shfl", payload=6, slices=2)
    coherent = fl.tables.make(fl.Torus(4, 4), method="coherent")
    settings = genetic.GeneticSettings(generations=2, training=1, chromosomes=4)
    found = genetic.search(fl.Network(fl.Torus(2, 2)), fl.Collective("next"), settings)
    campaign = {
        "topology": {"sizes": "2x2"},
        "patterns": ["next"],
        "genetic": {"generations": 1, "training": 0},
    }
    store = Store(folder / "seed.sqlite")
    job = parse_campaign(campaign).jobs()[0]
    store.add(job, {"score": 1, "duration": 2, "seconds": 0.5, "best": [1], "chromosome": {}})
    store.close()
    return {
        "spec": b'seed = 3\n[topology]\nsizes = "4x4"\nwrap = [true, false]\nfailed_nodes = [3]\n'
        b'failed_links = ["5-6"]\n'
        b'[router]\nbuffer = 4\narbitration = "C05"\n[traffic]\nkind = "packets"\n'
        b'table = [[0, 1, 8, 0, 0], [1, 2, 8, 0]]\nroutes = ["+x1", "+x1"]\n',
        "plan": _made(folder / "plan.json", fl.plans.search(network, collective).save),
        "tables-json": _made(folder / "t.json", coherent.to_json),
        "tables-csv": _made(folder / "t.csv", coherent.to_csv),
        "tables-lft": _made(folder / "t.lft", coherent.to_lft),
        "tables-npz": _made(folder / "t.npz", coherent.save_headers),
        "chromosome": _made(folder / "c.json", lambda file: genetic.save_chromosome(found.chromosome, file)),
        "campaign": b'repeats = 2\npatterns = ["next"]\n[topology]\nsizes = "2x2"\n[genetic]\n'
        b"generations = 3\ntraining = 1\n[grid]\nmutation_rate = [0.1, 0.2]\nlifetime = [0, 5]\n",
        "store": (folder / "seed.sqlite").read_bytes(),
        "store-old": _made(folder / "old.sqlite", lambda file: _old_store(file, job)),
        "matrix": b"0,1,2\n3,0,1\n1,1,0\n",
        "delays": b"delay\n0\n3\n12\n",
        "destinations": b"1\n2\n0\n",
        "packets": b"source,destination,length,start,slice\n0,1,8,0,0\n1,2,8,5,1\n",
        "nodes": b"node[0-7,12],node20\nhost40 rack-1-node[30-31]\n",
        "checkpoint": _made(folder / "s.checkpoint", _saved),
        # On sets of channels, and on lists of flits.
        "checkpoint-pipelined": _made(
            folder / "p.checkpoint", lambda file: _saved_pipelined(file, {"windows": 10})
        ),
        "checkpoint-replies": _made(
            folder / "q.checkpoint",
            lambda file: _saved_pipelined(
                file, {"packets": True, "link_time": True}, reply_length=2, reply_places=1, speculative=True
            ),
        ),
        **{
            f"checkpoint-{name}": _made(folder / f"{name}.checkpoint", save)
            for name, save in _IN_MOTION.items()
        },
        "result": _made(folder / "r.nc", fl.simulate(network, collective).to_netcdf),
        "rows": b"rate,buffer,latency\n0.1,4,12.5\n0.2,4,13\n0.1,8,\n",
        "sweep": b'[topology]\nsizes = "4x4"\n[traffic]\nkind = "load"\npattern = "rand"\nlength = 4\n'
        b'cycles = 200\nrate = 0.1\n[vary]\n"traffic.rate" = "0.1,0.2"\n"router.buffer" = "2:8:2"\n',
        "torus-config": b"torus 5t 1 1m\n# seed\nxp_link 0x10 0x11\nx_dateline -2\nnext_seed\nxm_link 3 4\n"
        b"portgroup_max_ports 16\n",
        "fabric-discovered": _subnet().encode(),
        "fabric-list": "".join(
            f"{{ SW Ports:24 NodeGUID:{a + 16:016x} PortGUID:{a + 16:016x} VenID:0 DevID:0 Rev:0 {{s {a}}} "
            f"LID:{a + 16:04X} PN:1A }} {{ SW Ports:24 SystemGUID:0 NodeGUID:{b + 16:016x} "
            f"PortGUID:{b + 16:016x} VenID:0 DevID:0 Rev:0 {{s {b}}} LID:{b + 16:04X} PN:02 }}\n"
            for a, b in _RING
        ).encode(),
        "fabric-simulated": b'Switch 8 "Switch1"\n[1] "Hca1"[1]\n[3] "Switch2"[3] w=4\n[4] "Switch2"[4]\n\n'
        b'Switch 8 "Switch2"\n\nHca 2 "Hca1"\n',
        "fabric-graphml": (
            '<graphml><key id="k" for="node" attr.name="type"/><graph edgedefault="undirected">'
            + "".join(f'<node id="n{a}"/><node id="h{a}"><data key="k">host</data></node>' for a, _ in _RING)
            + "".join(
                f'<edge source="n{a}" target="n{b}"/><edge source="n{a}" target="h{a}"/>' for a, b in _RING
            )
            + "</graph></graphml>"
        ).encode(),
        "fabric-anynet": "".join(f"router {a} node {a} router {b} 3\n" for a, b in _RING).encode(),
        "fabric-cables": "".join(f"s{a},1,s{b},2\ns{a},3,h{a},1\n" for a, b in _RING).encode(),
        "fabric-blocks": b"BlockName=b1 Nodes=h[0-3]\nBlockName=b2 Nodes=h[4-7]\nBlockSizes=4\n",
        "fabric-ns3": b"6 2 5\n4 5\n0 4 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n2 5 100Gbps 0.001ms 0\n"
        b"3 5 100Gbps 0.001ms 0\n4 5 400Gbps 0.001ms 0\n",
        "fabric-simai": b"5 2 1 2 4 A100\n2 3 4\n0 2 2400Gbps 0.000025ms 0\n1 2 2400Gbps 0.000025ms 0\n"
        b"0 3 100Gbps 0.0005ms 0\n1 4 100Gbps 0.0005ms 0\n",
        "fabric-astra": b"topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50.0, 25.0 ]\n"
        b"latency: [ 500.0, 700.0 ]\n",
        "fabric-htsim": b"Nodes 32\nTiers 3\nPodsize 16\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\n"
        b"Radix_Up 2\nTier 1\nRadix_Down 4\nRadix_Up 4\nTier 2\nRadix_Down 2\n",
        "fabric-simgrid": b'<platform version="4.1"><zone><cluster id="c" topology="FAT_TREE" prefix="h" '
        b'radical="0-15" suffix="" topo_parameters="2;4,4;1,2;1,2" bw="1GBps" lat="1us"/></zone></platform>',
        "fabric-nccl": b'<system version="1"><cpu numaid="0"><pci busid="0000:21:00.0"><gpu dev="0">'
        b'<nvlink target="0000:22:00.0" count="2" tclass="0x068000"/></gpu></pci><pci busid="0000:31:00.0">'
        b'<gpu dev="1"><nvlink target="0000:22:00.0" count="2" tclass="0x068000"/></gpu></pci>'
        b"</cpu></system>",
        "fabric-slurm": "".join(f"SwitchName=s{a} Switches=s{b} Nodes=h[{a}]\n" for a, b in _RING).encode(),
        "fabric-yaml": "".join(
            f"- switch: s{a}\n  children: s{b}\n  nodes: h[{a}]\n" for a, b in _RING
        ).encode(),
        "fabric-cluster": "".join(
            ["arch:\n  0: wormhole_b0\nethernet_connections:\n"]
            + [f"  -\n    - {{chip: {a}, chan: 1}}\n    - {{chip: {b}, chan: 2}}\n" for a, b in _RING]
        ).encode(),
        "fabric-meshes": (
            b'mesh_descriptors { name: "M" device_topology { dims: [2, 4] dim_types: [LINE, RING] }\n'
            b"  channels { count: 2 } express_connections { src: 0 dst: 5 } }\n"
            b'graph_descriptors { name: "G" instances { mesh { mesh_descriptor: "M" mesh_id: 0 } }\n'
            b'  instances { mesh { mesh_descriptor: "M" mesh_id: 1 } } graph_topology: RING\n'
            b"  channels { count: 3 } }\n"
            b'top_level_instance { graph { graph_descriptor: "G" graph_id: 0 } }\n'
        ),
        "fabric-system": (
            b'system_graph { asic_connectivity_graph { host_name: "h" asic_topologies { asic_id: 7\n'
            b"  topology { asic_connections { dst_asic_id: 9\n"
            b"  eth_connections { src_chan: 1 dst_chan: 2 } } } }\n"
            b"  asic_topologies { asic_id: 9 topology { asic_connections { dst_asic_id: 7\n"
            b"  eth_connections { src_chan: 2 dst_chan: 1 } } } } } }\n"
        ),
        "subnet-lft": _dump().encode(),
        "subnet-levels": "".join(f"{a + 33:#018x} {b + 9} {a % 2}\n" for a, b in _RING).encode(),
        "subnet-lanes": "".join(
            f"Switch {a + 1:#018x}\n" + "".join(f"{i} {o} :" + " 0 1" * 8 + "\n" for i, o in [(1, 2), (5, 1)])
            for a, _ in _RING
        ).encode(),
        "port-lanes": (
            "".join(f"# Port info: Lid {a + 1} port 1\nVLCap:...VL0-7\nOperVLs:...VL0-3\n" for a, _ in _RING)
            + "PortInfoRecord dump:\n\t\tEndPortLid...1\n\t\tPortNum...2\n\t\tOperVLs:...VL0\n"
        ).encode(),
        "port-table": (
            "START_PORTS\nNodeGuid,PortNum,VLCap,OpVLs\n"
            + "".join(f"{a + 1:#018x},1,4,3\n" for a, _ in _RING)
            + "END_PORTS\n"
        ).encode(),
    }


#: Switches and the next.
_RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


@dataclass(frozen=True)
class Reader:
    """How files of a kind are made wrong, and what reads them."""

    ending: str
    change: object
    read: object


READERS = {
    "spec": Reader("toml", of_text, _spec),
    "plan": Reader("json", of_json, _plan),
    "tables-json": Reader("json", of_json, _tables),
    "tables-csv": Reader("csv", of_text, _tables),
    "tables-lft": Reader("lft", of_text, _tables),
    "tables-npz": Reader("npz", of_npz, _tables),
    "chromosome": Reader("json", of_json, _chromosome),
    "campaign": Reader("toml", of_text, _campaign),
    "store": Reader("sqlite", bitten, _store),
    "store-old": Reader("sqlite", bitten, _store),
    "matrix": Reader("csv", of_text, fl.TrafficMatrix),
    "delays": Reader("csv", of_text, lambda file: fl.Collective("shfl", delays=file)),
    "destinations": Reader("csv", of_text, lambda file: fl.Collective(destinations=file)),
    "packets": Reader("csv", of_text, fl.Packets),
    "nodes": Reader("txt", of_text, _nodes),
    "checkpoint": Reader("checkpoint", of_checkpoint, _checkpoint),
    "checkpoint-pipelined": Reader("checkpoint", of_state, _run_checkpoint),
    "checkpoint-replies": Reader("checkpoint", of_state, _run_checkpoint),
    **{f"checkpoint-{name}": Reader("checkpoint", of_state, _run_checkpoint) for name in _IN_MOTION},
    "result": Reader("nc", bitten, _result),
    "rows": Reader("csv", of_text, _rows),
    "sweep": Reader("toml", of_text, _sweep),
    "torus-config": Reader("conf", of_text, _torus_config),
    "fabric-discovered": Reader("topo", of_text, _fabric),
    "fabric-list": Reader("lst", of_text, _fabric),
    "fabric-simulated": Reader("net", of_text, _fabric),
    "fabric-graphml": Reader("graphml", of_xml, _fabric),
    "fabric-anynet": Reader("txt", of_text, _fabric),
    "fabric-cables": Reader("csv", of_text, _fabric),
    "fabric-slurm": Reader("conf", of_text, _fabric),
    "fabric-blocks": Reader("conf", of_text, _fabric),
    "fabric-ns3": Reader("txt", of_text, _fabric),
    "fabric-simai": Reader("topo", of_text, _fabric),
    "fabric-astra": Reader("yml", of_text, _fabric),
    "fabric-htsim": Reader("topo", of_text, _fabric),
    "fabric-simgrid": Reader("xml", of_xml, _fabric),
    "fabric-nccl": Reader("xml", of_xml, _fabric),
    "fabric-yaml": Reader("yaml", of_text, _fabric),
    "fabric-cluster": Reader("yaml", of_text, _fabric),
    "fabric-meshes": Reader("textproto", of_text, _fabric),
    "fabric-system": Reader("textproto", of_text, _fabric),
    "subnet-lft": Reader("dump", of_text, _subnet_file("tables")),
    "subnet-levels": Reader("txt", of_text, _subnet_file("path_levels")),
    "subnet-lanes": Reader("txt", of_text, _subnet_file("lane_tables")),
    "port-lanes": Reader("txt", of_text, _port_lanes),
    "port-table": Reader("csv", of_text, _port_lanes),
}


def case(reader, number, seeds):
    """The file of a case."""
    draw = random.Random(f"{reader} {number}")
    return READERS[reader].change(draw, seeds[reader])


def complaint(reader, file):
    """What is wrong with how a file was read; empty if nothing is."""
    try:
        READERS[reader].read(file)
    except fl.FlitloomError as error:
        return f"a message of {len(str(error))} characters" if len(str(error)) > LONGEST else ""
    except BaseException:
        return "".join(traceback.format_exc().splitlines(True)[-3:])[:600]
    return ""


def child():
    """Read cases on request, each batch in a process of its own; see `_Nursery`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Threads of the core do not live on in other processes, so this one must have none.
        code = _apart(lambda: (folder / "seeds").write_bytes(pickle.dumps(_seeds(folder))))
        if code:
            sys.exit(code)
        seeds = pickle.loads((folder / "seeds").read_bytes())
        for line in sys.stdin:
            reader, first, last = line.split()
            code = _apart(lambda words=(reader, int(first), int(last)): _read(*words, seeds, folder))
            print(f"ended {code}", flush=True)


def _apart(work):
    """Do something in a process of its own; returns its exit code, or minus the signal that ended it."""
    process = os.fork()
    if process == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _read(reader, first, last, seeds, folder):
    """Read cases of one reader, telling each before it and what was wrong behind it."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with contextlib.redirect_stdout(io.StringIO()):
        for number in range(first, last):
            file = folder / f"case.{READERS[reader].ending}"
            file.write_bytes(case(reader, number, seeds))
            told.write(f"{number}\n")
            # Of computing: others may use the machine, too.
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            wrong = complaint(reader, file)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if wrong:
                told.write(json.dumps(wrong) + "\n")


class _Nursery:
    """A process that has imported everything and forks one that reads, for every batch of cases."""

    _one = None

    def __init__(self):
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - until the process ends
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    @classmethod
    def get(cls):
        """The one of this process."""
        if cls._one is None:
            cls._one = cls()
        return cls._one

    def read(self, reader, first, last):
        """Lines told about a batch, how it ended, and what it wrote to standard error."""
        begin = os.fstat(self.errors.fileno()).st_size
        lines = []
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{reader} {first} {last}\n")
            self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("ended "):
                break
            lines.append(line)
        else:
            line = "ended 1"
        errors = os.pread(self.errors.fileno(), 1 << 20, begin).decode("utf-8", "replace")
        return lines, int(line.split()[1]), errors


def fuzz(reader, first, last):
    """Numbers of cases that were read wrongly, and how."""
    found = {}
    while first < last:
        lines, code, errors = _Nursery.get().read(reader, first, last)
        number = first - 1
        for line in lines:
            if line.rstrip().isdigit():
                number = int(line)
            else:
                found[number] = json.loads(line)
        if code == 0:
            break
        if number < first:
            raise RuntimeError(f"{reader}: {errors[-2000:]}")
        found[number] = f"ended with {code}: {errors[-600:]}"
        first = number + 1
    return found


def main():
    """Fuzz from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="cases in all")
    parser.add_argument("--first", type=int, default=0, help="number of the first case of every reader")
    parser.add_argument("--reader", action="append", choices=READERS, help="only these readers")
    parser.add_argument("--save", action="store_true", help="keep what was read wrongly in corpus/")
    arguments = parser.parse_args()
    readers = arguments.reader or list(READERS)
    share = -(-arguments.cases // len(readers))
    count = 0
    for reader in readers:
        found = fuzz(reader, arguments.first, arguments.first + share)
        count += len(found)
        for number, wrong in found.items():
            print(f"{reader} {number}: {wrong}")
            if arguments.save:
                with tempfile.TemporaryDirectory() as folder:
                    content = case(reader, number, _seeds(Path(folder)))
                (CORPUS / reader).mkdir(exist_ok=True)
                (CORPUS / reader / f"found-{number}.{READERS[reader].ending}").write_bytes(content)
    print(f"{share * len(readers)} cases of {len(readers)} readers, {count} read wrongly")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(child() if sys.argv[1:2] == ["--child"] else main())
