"""Fuzzers of the readers of others' plans and traces, as those in ``fuzz.py``.

``python tests/fuzz_formats.py --cases 100000``
"""

import importlib.util
import json
import sys
from pathlib import Path

import flitloom as fl
import foreign_files
from flitloom.collectives.formats import check_foreign, read_plan_of
from flitloom.collectives.ground import Ground
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.traces import Operation, goal_binary
from flitloom.traces.chakra import chakra_bytes, node_of

# A module of its own, with these readers instead of its own.
_SPEC = importlib.util.spec_from_file_location("fuzz_of_formats", Path(__file__).with_name("fuzz.py"))
fuzz = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = fuzz
_SPEC.loader.exec_module(fuzz)
Reader, bitten, of_json, of_text = fuzz.Reader, fuzz.bitten, fuzz.of_json, fuzz.of_text

GROUND = Ground(fl.Torus(3, 2))


def _foreign(file):
    check_foreign(
        file, None if file.suffix == ".xml" and b"<Algo" not in file.read_bytes()[:4096] else GROUND
    )
    read_plan_of(file, GROUND)


def _graph(file):
    graph = MessageGraph.read(file)
    if graph.ranks <= 64:
        graph.operations()
        simulate_messages(fl.Network(fl.Torus(8, 8)), graph, cycle_limit=10_000)


def _plan_trace(file):
    read_plan_of(file, None)


def _name(node):
    return f"(0, 'GPU', {node})"


def _seeds(folder):
    """A good file of every kind."""
    del folder
    gather = fl.collective(fl.Torus(3, 2), "all-gather")
    reduce = fl.collective(fl.Torus(3, 2), "all-reduce")
    exchange = fl.collective(fl.Torus(3, 2), "all-to-all")
    moves = [tuple(row) for row in gather.expanded().moves]
    edges = {root: [(root, (root + 1) % 3 + root // 3 * 3), (root, (root + 3) % 6)] for root in range(6)}
    ranks = [
        [Operation("calc", 9), Operation("send", 33, 1, 7, requires=[0])],
        [Operation("recv", 33, 0, 7)],
    ]
    attributes = {"comm_type": ("int64", 2), "comm_size": ("int64", 64), "pg_name": ("string", "a")}
    collective = {"id": 9, "name": "c", "type": 7, "data_deps": [0], "attr": attributes}
    trace = [node_of(0, 0, Operation("calc", 5)), collective]
    return {
        "msccl": reduce.to_msccl().encode(),
        "msccl-inplace": foreign_files.tree_allreduce(6).encode(),
        "mscclpp": reduce.to_mscclpp().encode(),
        "teccl": json.dumps(foreign_files.teccl_all_gather(moves)).encode(),
        "teccl-exchange": json.dumps(
            foreign_files.teccl_all_to_all([tuple(row) for row in exchange.expanded().moves], 6)
        ).encode(),
        "forestcoll": foreign_files.forestcoll_trees(edges, _name, 1).encode(),
        "goal-binary": goal_binary(ranks),
        "chakra": chakra_bytes(trace),
        "chakra-plan": gather.to_chakra()[0],
    }


READERS = {
    "msccl": Reader("xml", of_text, _foreign),
    "msccl-inplace": Reader("xml", of_text, _foreign),
    "mscclpp": Reader("json", of_json, _foreign),
    "teccl": Reader("json", of_json, _foreign),
    "teccl-exchange": Reader("json", of_json, _foreign),
    "forestcoll": Reader("xml", of_text, _foreign),
    "goal-binary": Reader("bin", bitten, _graph),
    "chakra": Reader("0.et", bitten, _graph),
    "chakra-plan": Reader("0.et", bitten, _plan_trace),
}

fuzz.READERS, fuzz._seeds, fuzz.__file__ = READERS, _seeds, __file__

if __name__ == "__main__":
    sys.exit(fuzz.child() if sys.argv[1:2] == ["--child"] else fuzz.main())
