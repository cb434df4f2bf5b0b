"""A fabric without hardware: OpenSM on ibsim, and ibdmchk as the judge. Everything stays on this machine."""

import os
import random
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import permutations, product
from pathlib import Path
from tempfile import TemporaryDirectory

from waiting import until

#: What must be installed: the programs and the library that stands for the InfiniBand hardware.
PROGRAMS = ("opensm", "ibsim", "ibdmchk", "ibnetdiscover")
LIBRARIES = tuple(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"))


def missing():
    """Why there is no lab here, or an empty text."""
    search = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    gone = [name for name in PROGRAMS if shutil.which(name, path=search) is None]
    gone += [] if LIBRARIES else ["libumad2sim.so"]
    packages = "opensm ibsim-utils libumad2sim0 ibutils infiniband-diags"
    return f"{', '.join(gone)} not installed (Debian: {packages})" if gone else ""


def netlist(nodes, cables, hosts=1):
    """A fabric as ibsim reads it; node names are S... and H..., the first host runs the subnet manager."""
    name = {node: "S" + "-".join(map(str, node)) for node in nodes}
    rows = {node: [] for node in nodes}
    for a, p, b, q in cables:
        rows[a].append(f'[{p}] "{name[b]}"[{q}]')
        rows[b].append(f'[{q}] "{name[a]}"[{p}]')
    blocks = []
    for node in nodes:
        plugs = [f'[{20 + k}] "H{name[node][1:]}_{k}"[1]' for k in range(hosts)]
        blocks.append("\n".join([f'Switch 36 "{name[node]}"', *rows[node], *plugs]))
    for node in nodes:
        blocks += [f'Hca 1 "H{name[node][1:]}_{k}"\n[1] "{name[node]}"[{20 + k}]' for k in range(hosts)]
    return "\n\n".join(blocks) + "\n"


class Lab:
    """A running ibsim."""

    def __init__(self, folder, text):
        self.folder = Path(folder)
        self.host = re.search(r'^Hca 1 "(.*)"', text, re.MULTILINE)[1]
        file = self.folder / "fabric.net"
        file.write_text(text)
        count = text.count("Switch 36") + text.count("Hca 1")
        self.environment = {
            **os.environ,
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin",
            "IBSIM_SOCKNAME": f"flitloom-{os.getpid()}-{time.monotonic_ns()}",
            "SIM_HOST": self.host,
        }
        sizes = ["-N", str(count + 8), "-S", str(count + 8), "-P", str(45 * count + 64)]
        self.log = (self.folder / "ibsim.log").open("w")
        self.process = subprocess.Popen(
            ["ibsim", "-s", *sizes, str(file)],
            stdin=subprocess.PIPE,
            text=True,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env=self.environment,
        )
        # Its socket is named in the abstract space of Linux, whose names are listed.
        name = self.environment["IBSIM_SOCKNAME"]
        until(lambda: name in Path("/proc/net/unix").read_text(), "ibsim listens")

    def console(self, command):
        """Have ibsim take a cable out (`Unlink "S0-1"[3]`) or put it back (`ReLink ...`)."""
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.log.close()

    def _run(self, folder, *command, text=None):
        environment = {
            **self.environment,
            "LD_PRELOAD": str(LIBRARIES[0]),
            "OSM_TMP_DIR": str(folder),
            "OSM_CACHE_DIR": str(folder),
        }
        return subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=1800, check=False,
            input=text,
        )  # fmt: skip

    def opensm(self, name, *arguments):
        """Sweep once; the folder with what OpenSM dumps then."""
        folder = self.folder / name
        folder.mkdir()
        log = ["-f", str(folder / "osm.log"), "--dump_files_dir", str(folder), "-D", "0x43"]
        for _ in range(3):
            done = self._run(folder, "opensm", "-o", "-Q", *log, *arguments)
            assert done.returncode == 0, done.stdout + done.stderr
            # On a busy machine it may end in the middle of a row.
            if all(file.read_bytes().endswith(b"\n") for file in folder.glob("opensm-sl2vl.dump")):
                return folder
        raise AssertionError(f"OpenSM cuts its dumps off in {folder}")

    def path_levels(self, name, subnet, file, *arguments):
        """Service levels that OpenSM answers with, pair by pair, as lines of ibdmchk's PSL form."""
        folder = self.folder / name
        folder.mkdir()
        log = folder / "osm.log"
        # With -d2 every line of the log is written at once.
        options = ["-Q", "-d2", "-f", str(log), "--dump_files_dir", str(folder), "-D", "0x43"]
        command = ["opensm", *options, *arguments]
        environment = {**self.environment, "LD_PRELOAD": str(LIBRARIES[0])}
        environment |= {"OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)}
        with subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as manager:  # fmt: skip
            try:
                until(
                    lambda: manager.poll() is not None or (log.exists() and "SUBNET UP" in log.read_text()),
                    "OpenSM is up",
                    limit=900,
                )
                assert manager.poll() is None, "OpenSM ended"

                pairs = "".join(
                    f"0x{source.guid:016x} {source.port_guid:x} {host.port_guid:x} {host.lid}\n"
                    for source, host in permutations(subnet.hosts, 2)
                )
                asked = [sys.executable, str(Path(__file__).with_name("path_records.py"))]
                done = self._run(folder, *asked, text=pairs)
                assert done.returncode == 0, done.stderr
                file.write_text(done.stdout)
            finally:
                manager.kill()
        return folder

    def ask(self, *command):
        """What a program prints."""
        done = self._run(self.folder, *command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def discover(self, *options):
        """What ibnetdiscover prints."""
        file = self.folder / "cluster.topo"
        file.write_text(self.ask("ibnetdiscover", *options))
        return file


@contextmanager
def lab(folder, text):
    """A lab that is closed in the end."""
    running = Lab(folder, text)
    try:
        yield running
    finally:
        running.close()


def judge(folder, levels=None, lanes=None, multicast=False):
    """Whether ibdmchk finds a credit loop in what OpenSM dumped, and the paths it scanned."""
    command = [
        "stdbuf",
        "-o0",
        "ibdmchk",
        "-s",
        "opensm-subnet.lst",
        "-f",
        "opensm.fdbs",
        "-m",
        "opensm.mcfdbs",
    ]
    command += ["-c", str(levels)] if levels else []
    command += ["-d", str(lanes)] if lanes else []
    command += ["-M"] if multicast else []
    # It may crash after its verdict; only what it said counts.
    said = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    ).stdout
    clean, loops = "no credit loops found" in said, "credit loops in routing" in said
    assert clean != loops, said[-2000:]
    scanned = re.search(r"Scanned:(\d+) CA to CA paths", said)
    return loops, int(scanned[1]) if scanned else 0


def lane_lines(folder):
    """The lanes OpenSM dumped, in ibdmchk's SLVL form."""
    lines, guid = [], None
    for row in (folder / "opensm-sl2vl.dump").read_text().splitlines():
        if head := re.match(r"(Switch|Channel Adapter|CA) 0x([0-9a-f]+)", row):
            guid = head[2] if head[1] == "Switch" else None
        elif guid and (found := re.match(r"(\d+)\s+(\d+)\s*: (.*)", row)):
            lanes = [int(lane) for lane in found[3].split()]
            digits = " ".join(f"0x{a:x}{b:x}" for a, b in zip(lanes[::2], lanes[1::2], strict=True))
            lines.append(f"0x{guid} {found[1]} {found[2]} {digits}\n")
    file = folder / "slvl.txt"
    file.write_text("".join(lines))
    return file


def engine_used(folder):
    """The engine whose tables OpenSM installed, which may not be the one that was asked for."""
    log = (folder / "osm.log").read_text()
    return re.findall(r"osm_ucast_mgr_process: (\S+) tables configured", log)[-1]


def torus(sizes):
    """Nodes and cables of a torus, ports 2d+1 (up) and 2d+2 (down)."""
    nodes = list(product(*map(range, sizes)))
    cables = []
    for node in nodes:
        for d, size in enumerate(sizes):
            if size > 2 or node[d] == 0:
                other = (*node[:d], (node[d] + 1) % size, *node[d + 1 :])
                cables.append((node, 2 * d + 1, other, 2 * d + 2))
    return nodes, cables


def broken(sizes, switches, cables):
    """A torus less some switches and cables, the same ones every time."""
    nodes, joined = torus(sizes)
    draw = random.Random(1)
    gone = set(draw.sample(nodes, switches))
    joined = [cable for cable in joined if not gone & {cable[0], cable[2]}]
    lost = set(draw.sample(range(len(joined)), cables))
    return [node for node in nodes if node not in gone], [
        cable for index, cable in enumerate(joined) if index not in lost
    ]


def graph(name):
    """Nodes and cables of a generated graph with one host per switch."""
    from flitloom.fabric import examples

    made = {
        "random24": lambda: examples.random_regular(24, 4),
        "random": lambda: examples.random_regular(128, 6),
        "dragonfly": lambda: examples.dragonfly(6, 3),
        "hyperx": lambda: examples.hyperx((6, 6)),
        "express": lambda: examples.express_mesh(16, 4),
        "twisted": lambda: examples.twisted_torus((4, 4, 8)),
    }[name]()
    cables = [((cable.a,), cable.a_port, (cable.b,), cable.b_port) for cable in made.cables]
    return [(index,) for index in range(len(made.switches))], cables


def compare(nodes, joined, engines):
    """The largest load of our tables and of OpenSM's engines; engines that fell back are told."""
    from flitloom.fabric import check_subnet, read_fabric, recognise, route_subnet
    from flitloom.fabric.torus_2qos import torus_2qos

    cells = {}
    with TemporaryDirectory() as folder, lab(folder, netlist(nodes, joined)) as fabric:
        configuration = Path(folder) / "torus-2QoS.conf"
        for engine in engines:
            options = {
                "nue": ["--nue_max_num_vls", "8"],
                "torus-2QoS": ["--torus_config", str(configuration)],
            }.get(engine, [])
            dumped = fabric.opensm(engine, "-R", engine, *options)
            if not cells:
                subnet = read_fabric(fabric.discover())
                configuration.write_text(torus_2qos(recognise(subnet)) or "")
                ours = route_subnet(subnet)
                cells = {
                    "bound": ours.bound["value"],
                    "flitloom": f"{ours.report.max_load} ({ours.lanes} lanes)",
                }
            if (used := engine_used(dumped)) != engine:
                cells[engine] = f"falls back to {used}"
            else:
                cells[engine] = check_subnet(subnet, dumped / "opensm-lfts.dump").max_load
    return cells


def main():
    """Print a table in Markdown for tori, for tori less switches and cables, and for graphs.

    python tests/opensm_lab.py 4x4x4 8x8x8 8x8x8-1-3 random dragonfly hyperx express twisted
    """
    engines = ("minhop", "updn", "dor", "torus-2QoS", "sssp", "dfsssp", "lash", "nue")
    for number, text in enumerate(sys.argv[1:]):
        if text[0].isdigit():
            sizes, switches, cables = (*text.split("-"), "0", "0")[:3]
            fabric = broken(tuple(map(int, sizes.split("x"))), int(switches), int(cables))
        else:
            fabric = graph(text)
        cells = compare(*fabric, engines)
        if number == 0:
            print("| fabric |", " | ".join(cells), "|\n" + "|---" * (len(cells) + 1) + "|")
        print("|", text, "|", " | ".join(map(str, cells.values())), "|", flush=True)


if __name__ == "__main__":
    main()
