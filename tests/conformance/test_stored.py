"""Experiments with every feature of the engines do what is written down of them, however they are run.

`tests/conformance/make.py` writes them anew; a change there is a change of behaviour.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flitloom as fl
from conformance import running, stored_cases
from conformance.toml_text import dump
from flitloom._core import LISTS
from flitloom.messages import simulate_messages
from flitloom.simulation import begin_experiment
from flitloom.view import page
from live_engine import NODE

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
]


def expected(name, *without):
    """What is written down of a case, but for some of it."""
    return {field: value for field, value in STORED[name].items() if field not in without}


RECORDS = ("packets_sha256", "link_time_sha256", "windows")


@pytest.mark.parametrize("name", NAMES)
def test_a_case_does_what_is_written_down(name):
    case = running.Case(name)
    assert running.outcome(case) == expected(name, *RECORDS)
    # In parts, where there are rows enough, and with the general engine.
    assert running.outcome(case, threads=3) == expected(name, *RECORDS)
    if "packets_sha256" in STORED[name]:
        found = running.records(case)
        assert found == {field: STORED[name][field] for field in found}
    if "windows" in STORED[name]:
        assert running.windows(case) == STORED[name]["windows"]
        assert running.windows(case, threads=2) == STORED[name]["windows"]


def test_every_case_is_written_down_and_every_list_is_covered():
    assert sorted(STORED) == NAMES
    assert len(NAMES) >= 200
    begun = [begin_experiment(running.Case(name).experiment) for name in NAMES if name.startswith("p")]
    assert {simulation.engine for simulation in begun} == {"planes", "general"}
    text = "".join((running.CASES / f"{name}.toml").read_text() for name in NAMES)
    lists = ("flow_controls", "datelines", "processor_queues", "schemes", "patterns", "processes")
    for member in [member for name in lists for member in LISTS[name]]:
        assert f'"{member}"' in text, member
    for member in (*LISTS["routings"], *LISTS["throttles"]):
        assert f'"{member}' in text, member


def test_python_objects_make_the_same_runs():
    ran = 0
    for name in NAMES[::3]:
        case, want = running.Case(name), STORED[name]
        if want["outcome"] != "ended":
            continue
        if case.graph is not None:
            totals = simulate_messages(case.network, case.graph)
            assert (totals["duration"], f"{totals['fingerprint']:016x}") == (
                want["duration"],
                want["fingerprint"],
            )
            continue
        spec = case.experiment
        result = fl.simulate(
            fl.Network(spec.topology, spec.router),
            spec.traffic,
            seed=spec.seed,
            stop_at=spec.stop_at,
            throttle=spec.throttle,
            tables=case.tables,
        )
        assert running.of_result(result) == expected(name, *RECORDS), name
        ran += 1
    assert ran > 50


def test_a_saved_run_goes_on_as_if_nothing_had_been(tmp_path):
    for name in NAMES[1::5]:
        case = running.Case(name)
        if case.graph is None and STORED[name]["outcome"] in ("ended", "deadlock"):
            at = STORED[name]["cycles"] // 2 if "cycles" in STORED[name] else 2
            assert running.interrupted(case, at, tmp_path) == expected(name, *RECORDS), name


def test_two_ranks_do_the_same():
    pytest.importorskip("mpi4py", reason="mpi4py is not installed (pip install flitloom[mpi])")
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("no mpiexec (pip install flitloom[mpi])")
    program = running.FOLDER / "on_ranks.py"
    command = [mpiexec, "-n", "2", sys.executable, str(program), *SHARED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name in SHARED:
        assert found[name] == expected(name, *RECORDS), name


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
    described = {name: dump(fields) for group in stored_cases.PLAIN for name, fields in group()}
    described |= {name: dump(fields) for name, fields, _ in stored_cases.tables()}
    described |= {name: dump(fields) for name, fields, _ in stored_cases.graphs()}
    described |= {name: dump(fields) for name, fields in stored_cases.mixtures(200) if name in NAMES}
    assert {name: (running.CASES / f"{name}.toml").read_text() for name in NAMES} == described
    for name, _, goal in stored_cases.graphs():
        assert (running.CASES / f"{name}.goal").read_text() == goal
