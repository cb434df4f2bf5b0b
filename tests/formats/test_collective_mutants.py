"""Files of TE-CCL, ForestColl and Chakra with one thing changed: refused where they are wrong.

What is wrong is judged here, by what a chunk can reach or by runs in random orders, without the check.
"""

import json
import random
import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path
from typing import Any

import networkx
import pytest

import flitloom as fl
from flitloom import formats
from flitloom.collectives.chakra import chakra_files
from flitloom.spec.ground import Ground
from flitloom.traces.chakra import RECEIVE, chakra_bytes, read_nodes
from foreign_files import forestcoll_trees, teccl_all_gather, teccl_all_to_all

TOPOLOGY = fl.Mesh(2, 3)
LINKS = networkx.grid_2d_graph(3, 2)
LINKS = networkx.relabel_nodes(LINKS, {(y, x): 2 * y + x for y, x in LINKS}).to_directed()


def valid(file: Path) -> bool:
    found: bool = formats.check(file, Ground(TOPOLOGY))["passed"]
    return found


def teccl_right(flows: list[tuple[int, ...]], wanted: dict[tuple[int, int], set[int]]) -> bool:
    """Epoch by epoch: a flow leaves where its chunk is, and is at its end from the next epoch on."""
    holders = {key: {key[0]} for key in wanted}
    for epoch in sorted({flow[0] for flow in flows}):
        now = [flow[1:] for flow in flows if flow[0] == epoch]
        for start, end, source, chunk in now:
            if (start, end) not in LINKS.edges or start not in holders.get((source, chunk), ()):
                return False
        for _, end, source, chunk in now:
            holders[source, chunk].add(end)
    return all(goal <= holders[key] for key, goal in wanted.items())


@pytest.mark.parametrize("operation", ["all-gather", "all-to-all"])
def test_teccl_mutants(operation: str, tmp_path: Path) -> None:
    nodes, exchange = TOPOLOGY.nodes, operation == "all-to-all"
    rows = [tuple(row) for row in fl.collectives.plan(TOPOLOGY, operation).expanded().moves]
    flows = [row[:5] for row in rows]
    if exchange:
        wanted = {(source, goal): {goal} for _, _, _, source, goal, _ in rows}
    else:
        wanted = {(source, chunk): set(range(nodes)) for _, _, _, source, chunk in rows}
    assert teccl_right(flows, wanted)
    text = teccl_all_to_all(rows, nodes) if exchange else teccl_all_gather(rows)
    file, dice, wrong = tmp_path / "schedule.json", random.Random(1), 0
    for number in range(120):
        mutant = [list(flow) for flow in flows]
        one, other = dice.sample(mutant, 2)
        if number % 4 == 0:
            mutant.remove(one)
        elif number % 4 == 1:
            one[2] = dice.choice([node for node in range(nodes) if node not in one[1:3]])
        elif number % 4 == 2:
            one[0], other[0] = other[0], one[0]
        else:
            one[4] = other[4]
        lines = [
            f"Chunk {chunk} from {source} traveled over {start}->{end}"
            f"{' with volume 1.0' * exchange} in epoch {epoch}"
            for epoch, start, end, source, chunk in mutant
        ]
        file.write_text(json.dumps(text | {"7-Flows": lines}), encoding="utf-8")
        right = teccl_right([tuple(flow) for flow in mutant], wanted)
        wrong += not right
        try:
            judged = valid(file)
        except fl.SpecError:
            judged = False
        assert judged == right, lines
    assert wrong >= 40


def trees_right(text: str) -> bool:
    """Every tree spans all nodes from its root over links that exist, and passes on what has come."""
    for tree in ElementTree.fromstring(text).iter("tree"):
        edges = [(int(send.attrib["src"]), int(send.attrib["dst"])) for send in tree.iter("send")]
        graph = networkx.DiGraph(edges)
        graph.add_node(int(tree.attrib["root"]))
        reached = networkx.descendants(graph, int(tree.attrib["root"])) | {int(tree.attrib["root"])}
        if len(reached) < TOPOLOGY.nodes or not set(edges) <= set(LINKS.edges):
            return False
        if not {start for start, _ in edges} <= reached:
            return False
    return True


def test_forestcoll_mutants(tmp_path: Path) -> None:
    edges = {root: list(networkx.bfs_edges(LINKS, root)) for root in LINKS}
    text = forestcoll_trees(edges, str, trees=2)
    file, dice, wrong = tmp_path / "trees.xml", random.Random(2), 0
    file.write_text(text, encoding="utf-8")
    assert trees_right(text)
    assert valid(file)
    sends = list(re.finditer(r'    <send src="(\d)" dst="(\d)" path="\d,\d"/>\n', text))
    for number in range(90):
        one, node = dice.choice(sends), dice.randrange(TOPOLOGY.nodes)
        ends = {0: None, 1: (int(one[1]), node), 2: (node, int(one[2]))}[number % 3]
        if ends is not None and ends[0] == ends[1]:
            continue
        new = "" if ends is None else '    <send src="{0}" dst="{1}" path="{0},{1}"/>\n'.format(*ends)
        mutant = text[: one.start()] + new + text[one.end() :]
        file.write_text(mutant, encoding="utf-8")
        wrong += not trees_right(mutant)
        assert valid(file) == trees_right(mutant), mutant
    assert wrong >= 40


Ranks = list[tuple[dict[str, Any], list[dict[str, Any]]]]


def chakra_right_once(ranks: Ranks, operation: str, dice: random.Random) -> bool:
    """Whether a run of a trace in a random order ends with the right chunks at every rank."""
    count = len(ranks)
    sums = operation == "all-reduce"
    memory = [
        {(owner, 0): {rank} for owner in range(count) if sums or owner == rank} for rank in range(count)
    ]
    left = [(rank, node) for rank, (_, nodes) in enumerate(ranks) for node in nodes]
    done: set[tuple[int, int]] = set()
    messages = defaultdict(list)
    while left:
        dice.shuffle(left)
        for place, (rank, node) in enumerate(left):
            table, waits = node["attr"], node.get("data_deps", [])
            link = table["comm_src"], table["comm_dst"], table["comm_tag"]
            receives = node["type"] == RECEIVE
            if any((rank, other) not in done for other in waits) or (receives and not messages[link]):
                continue
            if receives:
                block, what, adds = messages[link].pop(0)
                memory[rank][block] = what | (memory[rank].get(block, set()) if adds else set())
            else:
                block = tuple(table["chunk"])
                if block not in memory[rank]:
                    return False
                messages[link].append((block, set(memory[rank][block]), table["adds"]))
            done.add((rank, node.get("id", 0)))
            del left[place]
            break
        else:
            return False
    whole = {(owner, 0): set(range(count)) if sums else {owner} for owner in range(count)}
    return not any(messages.values()) and all(held == whole for held in memory)


def typed(table: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    kinds = {bool: "bool", int: "int64", list: "int64", str: "string"}
    return {name: (kinds[type(value)], value) for name, value in table.items()}


@pytest.mark.parametrize("operation", ["all-gather", "all-reduce"])
def test_chakra_mutants(operation: str, tmp_path: Path) -> None:
    files = [tmp_path / f"trace.{rank}.et" for rank in range(TOPOLOGY.nodes)]
    for file, data in zip(files, chakra_files(fl.collectives.plan(TOPOLOGY, operation), 64), strict=True):
        file.write_bytes(data)
    original = [read_nodes(file) for file in files]
    assert valid(files[0])
    assert all(chakra_right_once(original, operation, random.Random(seed)) for seed in range(20))
    dice, wrong = random.Random(3), 0
    for number in range(80):
        ranks = json.loads(json.dumps(original))
        rank = dice.randrange(len(ranks))
        nodes = ranks[rank][1]
        waiting = [node for node in nodes if node.get("data_deps")]
        one = dice.choice(waiting)
        if number % 4 == 0:
            del one["data_deps"][dice.randrange(len(one["data_deps"]))]
        elif number % 4 == 1:
            one["data_deps"][0] = dice.choice(nodes).get("id", 0)
        elif number % 4 == 2:
            nodes.remove(one)
            for node in nodes:
                node["data_deps"] = [x for x in node.get("data_deps", []) if x != one.get("id", 0)]
        else:
            sends = [node for node in nodes if "chunk" in node["attr"]]
            a, b = dice.sample(sends, 2)
            a["attr"]["chunk"], b["attr"]["chunk"] = b["attr"]["chunk"], a["attr"]["chunk"]
        (metadata, nodes), place = ranks[rank], files[rank]
        place.write_bytes(
            chakra_bytes([node | {"attr": typed(node["attr"])} for node in nodes], typed(metadata["attr"]))
        )
        if not all(chakra_right_once(ranks, operation, random.Random(seed)) for seed in range(12)):
            wrong += 1
            assert not valid(files[0])
            with pytest.raises(fl.SpecError):
                formats.read_plan(files[0], None)
        place.write_bytes(chakra_bytes(
            [node | {"attr": typed(node["attr"])} for node in original[rank][1]],
            typed(original[rank][0]["attr"]),
        ))  # fmt: skip
        if number % 20 == 0:
            assert valid(files[0])
    assert wrong >= 30


def test_chakra_messages_over_several_links_are_told_apart_by_tags(tmp_path: Path) -> None:
    plan = fl.collectives.plan(fl.Product("ring4*2"), "all-gather", chunks=1)
    files = [tmp_path / f"trace.{rank}.et" for rank in range(4)]
    for file, data in zip(files, chakra_files(plan, 64), strict=True):
        file.write_bytes(data)
    ranks = [read_nodes(file) for file in files]
    assert valid(files[0])
    assert {node["attr"]["comm_tag"] for _, nodes in ranks for node in nodes} == {0, 1}
    assert all(chakra_right_once(ranks, "all-gather", random.Random(seed)) for seed in range(20))
    # Under one tag, whichever comes first is taken for the first.
    for file, (metadata, nodes) in zip(files, ranks, strict=True):
        for node in nodes:
            node["attr"]["comm_tag"] = 0
        same = [node | {"attr": typed(node["attr"])} for node in nodes]
        file.write_bytes(chakra_bytes(same, typed(metadata["attr"])))
    assert not all(chakra_right_once(ranks, "all-gather", random.Random(seed)) for seed in range(20))
    assert not valid(files[0])
    with pytest.raises(fl.SpecError):
        formats.read_plan(files[0], None)
