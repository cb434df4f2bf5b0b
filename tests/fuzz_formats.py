"""Fuzzers of the formats of plans and message graphs, one for each format, as those in ``fuzz.py``.

``python tests/fuzz_formats.py --cases 100000``
"""

import importlib.util
import json
import sys
from pathlib import Path

import flitloom as fl
import foreign_files
from flitloom import formats
from flitloom.formats.format import sample
from flitloom.messages import MessageGraph, simulate_messages
from flitloom.spec.ground import Ground
from flitloom.traces import Operation
from flitloom.traces.chakra import chakra_bytes, node_of

# A module of its own, with these readers instead of its own.
_SPEC = importlib.util.spec_from_file_location("fuzz_of_formats", Path(__file__).with_name("fuzz.py"))
fuzz = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = fuzz
_SPEC.loader.exec_module(fuzz)
Reader = fuzz.Reader

GROUND = Ground(fl.Torus(3, 2))
#: How files are changed, by what they are made of.
CHANGES = {"json": fuzz.of_json, "xml": fuzz.of_xml, "text": fuzz.of_text, "binary": fuzz.bitten}


def _plan(form):
    """A reader of plans; trees have no links without a network."""

    def read(file):
        found = formats.format_of(file)
        if form.name != "plan" or file.stat().st_size < 100_000:
            formats.check(file, None if found is not None and found.name == "msccl" else GROUND)
        formats.read_plan(file, GROUND)

    return read


def _messages(file):
    graph = MessageGraph.read(file)
    if graph.ranks <= 64:
        graph.operations()
        simulate_messages(fl.Network(fl.Torus(8, 8)), graph, cycle_limit=10_000)


def readers_of(listed):
    """A fuzzer of each format, of one that holds plans and message graphs two."""
    readers = {}
    for form in listed:
        ending = "0.et" if form.name == "chakra" else form.endings[0].removeprefix(".")
        if form.read_messages is not None:
            readers[form.name] = Reader(ending, CHANGES[form.form], _messages)
        if form.read_plan is not None:
            name = f"{form.name}-plan" if form.name in readers else form.name
            readers[name] = Reader(ending, CHANGES[form.form], _plan(form))
    return readers


def _name(node):
    return f"(0, 'GPU', {node})"


def _seeds(folder):
    """A good file of every kind: that of the format, and some that other programs wrote otherwise."""
    del folder
    seeds = {form.name: form.seed() for form in formats.FORMATS}
    seeds["chakra-plan"] = seeds["chakra"]
    exchange = [tuple(row) for row in sample("all-to-all").expanded().moves]
    moves = [tuple(row) for row in sample().expanded().moves]
    edges = {root: [(root, (root + 1) % 3 + root // 3 * 3), (root, (root + 3) % 6)] for root in range(6)}
    attributes = {"comm_type": ("int64", 2), "comm_size": ("int64", 64), "pg_name": ("string", "a")}
    collective = {"id": 9, "name": "c", "type": 7, "data_deps": [0], "attr": attributes}
    return seeds | {
        "msccl-inplace": foreign_files.tree_allreduce(6).encode(),
        "teccl-demands": json.dumps(foreign_files.teccl_all_gather(moves)).encode(),
        "teccl-exchange": json.dumps(foreign_files.teccl_all_to_all(exchange, 6)).encode(),
        "forestcoll-names": foreign_files.forestcoll_trees(edges, _name, 1).encode(),
        "chakra": chakra_bytes([node_of(0, 0, Operation("calc", 5)), collective]),
    }


READERS = readers_of(formats.FORMATS)
for _more in ("msccl-inplace", "teccl-demands", "teccl-exchange", "forestcoll-names"):
    _like = READERS[_more.partition("-")[0]]
    READERS[_more] = Reader(_like.ending, fuzz.of_text if _like.ending == "xml" else _like.change, _like.read)

fuzz.READERS, fuzz._seeds, fuzz.__file__ = READERS, _seeds, __file__

if __name__ == "__main__":
    sys.exit(fuzz.child() if sys.argv[1:2] == ["--child"] else fuzz.main())
