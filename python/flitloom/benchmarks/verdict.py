"""The check of a subnet's tables: in memory, and as a command on OpenSM's dumps; CPU time."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from flitloom.benchmarks import Context, Row
from flitloom.fabric import Subnet, examples
from flitloom.tables.by_destination.checking import judge
from flitloom.tables.by_destination.made import SubnetTables
from flitloom.tables.by_destination.making import route_subnet

#: Sizes, and the seconds that the check in memory and the command should take.
CASES = (((8, 8, 8), 0.05, 0.5), ((16, 16, 16), 0.6, None))


def in_memory(tables: SubnetTables, seconds: float) -> float:
    """The least CPU time of some checks."""
    forwarding, times = tables.forwarding(), [0.0]
    while sum(times) < seconds or len(times) < 4:
        begin = time.process_time()
        judge(forwarding)
        times.append(time.process_time() - begin)
    return min(times[1:])


def as_command(tables: SubnetTables) -> float:
    """CPU time of ``flitloom check --fabric`` in a separate process."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        out = tables.write(folder / "out")
        topology = folder / "cluster.topo"
        topology.write_text(discovered(tables.subnet))
        files = ["--lft", str(out / "opensm-lfts.dump"), "--path-sl", str(out / "path-sl.txt")]
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "flitloom", "check", "--fabric", str(topology), *files],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        return end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime


def discovered(subnet: Subnet) -> str:
    """A subnet as ibnetdiscover prints it."""
    blocks = []
    rows: list[list[str]] = [[] for _ in subnet.switches]
    for cable in subnet.cables:
        a, b = subnet.switches[cable.a], subnet.switches[cable.b]
        rows[cable.a].append(f'[{cable.a_port}] "S-{b.guid:016x}"[{cable.b_port}] # "{b.name}" lid {b.lid}')
        rows[cable.b].append(f'[{cable.b_port}] "S-{a.guid:016x}"[{cable.a_port}] # "{a.name}" lid {a.lid}')
    for host in subnet.hosts:
        switch = subnet.switches[host.switch]
        rows[host.switch].append(
            f'[{host.switch_port}] "H-{host.guid:016x}"[1] # "{host.name}" lid {host.lid}'
        )
        blocks.append(
            f'caguid=0x{host.guid:x}\nCa 1 "H-{host.guid:016x}" # "{host.name}"\n'
            f'[1]({host.port_guid:x}) "S-{switch.guid:016x}"[{host.switch_port}] '
            f'# lid {host.lid} lmc 0 "{switch.name}" lid {switch.lid}\n'
        )
    for switch, plugs in zip(subnet.switches, rows, strict=True):
        head = f'Switch 64 "S-{switch.guid:016x}" # "{switch.name}" base port 0 lid {switch.lid} lmc 0'
        blocks.append("\n".join([f"switchguid=0x{switch.guid:x}({switch.guid:x})", head, *plugs, ""]))
    return "\n".join(blocks)


def run(context: Context) -> list[Row]:
    """Check tables of healthy tori with their lanes; the command is timed where files stay small."""
    rows: list[Row] = []
    for done, (sizes, memory, command) in enumerate(CASES[: None if context.everything else 1]):
        context.progress(done, len(CASES))
        tables = route_subnet(examples.torus(sizes), safe_for=())
        name = f"{'x'.join(map(str, sizes))}, {tables.lanes} lanes"
        timed = [("in memory", in_memory(tables, context.seconds), memory)]
        if command is not None:
            timed.append(("flitloom check", as_command(tables), command))
        for how, seconds, goal in timed:
            verdict = "reached" if seconds <= goal else "missed"
            rows.append(
                {"tables": name, "check": how, "seconds": round(seconds, 3), "goal": goal, "verdict": verdict}
            )
    return rows
