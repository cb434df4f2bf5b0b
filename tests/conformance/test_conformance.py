"""Experiments with every feature of the engines do what is written down of them, however they are run.

`make.py` writes them anew; a change there is a change of behaviour.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import pipelined_cases, running, stored_cases, ways
from conformance.toml_text import dump
from flitloom._core import LISTS
from flitloom.view import page
from live_engine import NODE
from sample import QUICK
from waiting import LIMIT

NAMES = running.names()
STORED = running.stored()
#: Those that two ranks run.
SHARED = [
    "deadlock-slow",
    "failed-avoided",
    "flow-bubble-torus-3x3x3",
    "load-bernoulli-closed-3",
    "load-classes",
    "messages-ring",
    "mixture-00",
    "queues-per-direction-room",
    "registers-C03",
    "routing-cl-torus",
    "tables-balanced",
    "throttle-pt-shared",
    "throttle-tuned",
    "twist-4x4x8",
    "twist-registers",
    "pipelined-dragonfly",
    "pipelined-planes-square",
    "pipelined-replies",
]


ALL_WAYS = [(name, way) for name in NAMES for way in ways.WAYS]
#: Every case in one way, and every way with several cases of each kind.
SAMPLE = [(name, [*ways.WAYS][number % len(ways.WAYS)]) for number, name in enumerate(NAMES)]


def agrees(name, found):
    """Whether all that was found and is written down is the same, the totals at least where a run ended."""
    want = STORED[name]
    assert found["outcome"] != "ended" or found.keys() >= set(running.TOTALS)
    assert {field: value for field, value in found.items() if field in want} == {
        field: value for field, value in want.items() if field in found
    }


@pytest.mark.parametrize(("name", "way"), SAMPLE if QUICK else ALL_WAYS)
def test_a_case_does_what_is_written_down_in_every_way(name, way, tmp_path):
    half = STORED[name].get("cycles", 4) // 2
    agrees(name, ways.WAYS[way](running.Case(name), half, tmp_path))


def test_what_differs_is_noticed():
    found = ways.WAYS["held"](running.Case("messages-ring"), 2, running.CASES)
    for field in running.TOTALS:
        other = "0" * 16 if field == "fingerprint" else found[field] + 1
        with pytest.raises(AssertionError):
            agrees("messages-ring", {**found, field: other})
    with pytest.raises(AssertionError):
        agrees("messages-ring", {"outcome": "ended"})


def test_every_engine_and_form_has_cases():
    begun = [running.Case(name).begun() for name in NAMES if name.startswith("p")]
    assert {simulation.engine for simulation in begun} == {"planes", "general", "pipelined"}


def test_every_case_is_written_down_and_every_list_is_covered():
    assert sorted(STORED) == NAMES
    assert len(NAMES) >= 200
    text = "".join((running.CASES / f"{name}.toml").read_text() for name in NAMES)
    lists = ("flow_controls", "datelines", "processor_queues", "schemes", "patterns", "processes")
    for member in [member for name in lists for member in LISTS[name]]:
        assert f'"{member}"' in text, member
    for member in (*LISTS["routings"], *LISTS["throttles"]):
        assert f'"{member}' in text, member


@pytest.mark.long
def test_two_ranks_do_the_same():
    pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install flitloom[mpi])")
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("no mpiexec (pip install flitloom[mpi])")
    program = running.FOLDER / "on_ranks.py"
    command = [mpiexec, "-n", "2", sys.executable, str(program), *SHARED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3 * LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name in SHARED:
        agrees(name, found[name])


def test_the_live_page_does_the_same(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run WebAssembly")
    if not page.ENGINE.exists():
        pytest.skip("the engine of live pages is not built (make wasm)")
    cases = {name: spec for name in NAMES if (spec := running.on_page(running.Case(name))) is not None}
    script = tmp_path / "run.mjs"
    script.write_text(NODE)
    specs = json.dumps(list(cases.values()))
    done = subprocess.run(
        [node, str(script), str(page.ENGINE)], input=specs, capture_output=True, text=True, check=True
    )
    assert len(cases) > 60
    for name, line in zip(cases, done.stdout.splitlines(), strict=True):
        facts, want = json.loads(line)["facts"], STORED[name]
        if want["outcome"] == "deadlock":
            stuck = want["stuck_flits"]
            assert facts["outcome"] == f"deadlock in cycle {want['cycle']}, {stuck} flits stuck for ever", (
                name
            )
            continue
        assert facts["fingerprint"] == want["fingerprint"], name
        assert facts["fingerprint of the faster engine"] == want["fingerprint"], name
        assert facts["duration"] == f"{want['duration']} cycles", name
        assert facts["flits over links"] == want["flit_hops"], name


def test_the_files_are_those_of_the_catalogue():
    plain = (*stored_cases.PLAIN, pipelined_cases.pipelined)
    described = {name: dump(fields) for group in plain for name, fields in group()}
    described |= {name: dump(fields) for name, fields, _ in stored_cases.tables()}
    described |= {name: dump(fields) for name, fields, _ in stored_cases.graphs()}
    described |= {name: dump(fields) for name, fields in stored_cases.mixtures(200) if name in NAMES}
    assert {name: (running.CASES / f"{name}.toml").read_text() for name in NAMES} == described
    for name, _, goal in stored_cases.graphs():
        assert (running.CASES / f"{name}.goal").read_text() == goal
