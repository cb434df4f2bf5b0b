"""Fabrics as ibnetdiscover would print them, and what a command prints."""

import random
from itertools import product

from flitloom.commands import run

#: Tables for host pairs alone, each direction on a level of its own, on all lanes.
ONE_WAY = ["--one-way", "--no-managers", "--no-multicast"]


def torus_cables(sizes):
    """Nodes of a torus and its cables with ports 2d+1 (up) and 2d+2 (down)."""
    nodes = list(product(*map(range, sizes)))
    cables = []
    for node in nodes:
        for d, size in enumerate(sizes):
            if size == 2 and node[d] == 1:
                continue
            other = (*node[:d], (node[d] + 1) % size, *node[d + 1 :])
            cables.append((node, 2 * d + 1, other, 2 * d + 2))
    return nodes, cables


def discovered(nodes, cables, seed=0, hosts=1):
    """The torus as ibnetdiscover prints it, in random order, with GUIDs and LIDs that tell nothing."""
    draw = random.Random(seed)
    guids = dict(zip(nodes, draw.sample(range(0x2C90000000000, 0x2C90000FFFFFF), len(nodes)), strict=True))
    lids = dict(zip(nodes, draw.sample(range(1, 10 * len(nodes)), len(nodes)), strict=True))
    host_lid = iter(draw.sample(range(20000, 20000 + 10 * hosts * len(nodes)), hosts * len(nodes)))
    blocks = []
    rows = {node: [] for node in nodes}
    for a, p, b, q in cables:
        rows[a].append(f'[{p}]\t"S-{guids[b]:016x}"[{q}]\t\t# "sw" lid {lids[b]} 4xQDR')
        rows[b].append(f'[{q}]\t"S-{guids[a]:016x}"[{p}]\t\t# "sw" lid {lids[a]} 4xQDR')
    for node in nodes:
        name = "sw" + "-".join(map(str, node))
        for k in range(hosts):
            guid, lid, port = guids[node] + (k + 1 << 40), next(host_lid), 20 + k
            rows[node].append(
                f'[{port}]\t"H-{guid:016x}"[1]({guid + 1:x}) \t\t# "h{name} HCA-1" lid {lid} 4xQDR'
            )
            blocks.append(
                f'vendid=0x2c9\ndevid=0x1011\ncaguid=0x{guid:x}\nCa\t1 "H-{guid:016x}"\t\t# "h{name} HCA-1"\n'
                f'[1]({guid + 1:x}) \t"S-{guids[node]:016x}"[{port}]\t\t# lid {lid} lmc 0 "{name}" lid 1\n'
            )
        draw.shuffle(rows[node])
        blocks.append(
            f"switchguid=0x{guids[node]:x}({guids[node]:x})\n"
            f'Switch\t36 "S-{guids[node]:016x}"\t\t# "{name}" enhanced port 0 lid {lids[node]} lmc 0\n'
            + "\n".join(rows[node])
            + "\n"
        )
    draw.shuffle(blocks)
    return "#\n# Topology file: generated on Sun Nov 22 2026\n#\n\n" + "\n".join(blocks)


def failed(sizes, missing_cables, missing_switches, seed):
    nodes, cables = torus_cables(sizes)
    draw = random.Random(seed)
    gone = set(draw.sample(nodes, missing_switches))
    nodes = [node for node in nodes if node not in gone]
    cables = [cable for cable in cables if cable[0] not in gone and cable[2] not in gone]
    draw.shuffle(cables)
    return nodes, cables[missing_cables:]


def command(capsys, *arguments):
    code = run([str(word) for word in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err
