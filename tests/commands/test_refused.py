"""Files that a verb does not take, and options named as they were typed."""

from pathlib import Path

import pytest

from flitloom.traces import Operation, write_chakra
from places import ROOT
from verbs import made, refused

TORUS = ROOT / "examples" / "fabrics" / "torus-4x4x2.topo"


MESH = "topology = mesh; k = 4; n = 2; routing_function = dor; traffic = transpose; injection_rate = 0.01;\n"


pytestmark = pytest.mark.usefixtures("own_folder")


def test_a_file_that_a_verb_does_not_take_is_called_by_its_kind(capsys):
    Path("mesh.cfg").write_text(MESH)
    write_chakra([[Operation("send", 64, 1)], [Operation("recv", 64, 0)]], "trace.et")
    made("simulate --torus 4x4 --pattern shfl -o result.nc", "route --torus 4x4 -o tables.json")
    kinds = {
        "view trace.0.et -o page.html": "trace.0.et: is a message graph, which flitloom view does not take",
        "convert result.nc a.goal": "result.nc: is a result, which flitloom convert does not take; flitloom "
        "view takes it",
        "simulate tables.json --pattern rand": "tables.json: is a file of routing tables; write --tables tab",
        "load curve tables.json --pattern rand": "tables.json: is a file of routing tables; write --tables t",
        "load saturation tables.json --pattern rand": "tables.json: is a file of routing tables; write --tab",
        "simulate mesh.cfg --html page.html --booksim": "--booksim: prints what BookSim2 measures of the pac",
        "simulate mesh.cfg --html page.html topology=fattree": 'routing_function: "dor" is not known on fat',
        "simulate mesh.cfg --html page.html sim_count=2": "sim_count: is 2: records are of one run; give 1",
        "load curve mesh.cfg --store a.sqlite": "--store: does not go with a file of BookSim2; flitloom",
        "load saturation mesh.cfg --store a.sqlite": "--store: does not go with a file of BookSim2; flitloom",
        "load saturation mesh.cfg --full-start": "--full-start: files of BookSim2 are judged by BookSim2",
        "load saturation mesh.cfg --level 0.9": "--level: files of BookSim2 are judged by BookSim2's own ver",
    }
    for command, said in kinds.items():
        assert refused(command, capsys).startswith(said), command


def test_messages_call_an_option_as_it_was_typed(capsys, monkeypatch):
    monkeypatch.setattr("flitloom.commands.actions.place.NOT_OF_JOBS", ("graph",))
    for option in ("--graph", "--fabric"):
        for words in ([option, str(TORUS)], [f"{option}={TORUS}"]):
            said = refused(["place", *words, "--jobs", "jobs.toml"], capsys)
            assert said == f"{option} does not go with --jobs"
