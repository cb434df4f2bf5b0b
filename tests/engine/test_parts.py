"""Runs in several threads and on several ranks: whatever their number, the same result."""

import json

import pytest
import xarray as xr

import flitloom as fl
from flitloom.commands import run
from flitloom.commands.actions.load_cases import shared_out
from flitloom.messages import MessageGraph, simulate_messages

# Small buffers of cut-through are for the general engine.
NETWORK = fl.Network(fl.Torus(8, 6), fl.Router(flow_control="cut-through", buffer=24))


def test_threads_run_message_graphs():
    graph = MessageGraph.exchange(48, [(node, (7 * node + 5) % 48, 400) for node in range(48)])
    one, three = (simulate_messages(NETWORK, graph, threads=threads) for threads in (1, 3))
    assert {**three, "parts": 1} == one


LOADS = [
    [
        "ramp",
        "--pattern",
        "bcmp",
        "--rates",
        "0.1:0.9",
        "--cycles",
        "3000",
        "--throttle",
        "pt",
        "--preset",
        "t15",
    ],
    ["step", "--pattern", "rand", "--rate", "0.6", "--cycles", "900", "--routing", "cl", "--preset", "s07"],
    ["impulse", "--rate", "0.2", "--at", "400", "--cycles", "900", "--throttle", "global:threshold=60"],
    [
        "steady",
        "--pattern",
        "rand",
        "--rate",
        "0.3",
        "--measure",
        "600",
        "--routing",
        "ugal",
        "--channels",
        "6",
    ],
    ["burst", "--pattern", "bcmp", "--packets", "3", "--throttle", "spth:margin=8", "--preset", "t15"],
    [
        "curve",
        "--pattern",
        "rand",
        "--rates",
        "0.2,0.9",
        "--measure",
        "400",
        "--routing",
        "o1turn",
        "--channels",
        "6",
    ],
]


@pytest.mark.parametrize("words", LOADS, ids=lambda words: words[0])
def test_loads_in_threads_are_those_of_one(words, capsys, tmp_path):
    seen = []
    for threads in ("1", "3"):
        out = tmp_path / (f"{threads}.csv" if words[0] in ("burst", "curve") else f"{threads}.nc")
        line = ["load", *words, "--torus", "8x8", "--json", "--out", str(out), "--threads", threads]
        assert run(line) == 0
        seen.append((json.loads(capsys.readouterr().out), out))
    (one, plain), (three, divided) = seen
    assert three == one
    if plain.suffix == ".csv":
        assert divided.read_text() == plain.read_text()
    else:
        with xr.open_datatree(plain) as expected, xr.open_datatree(divided) as found:
            xr.testing.assert_identical(found, expected)


@pytest.mark.parametrize(
    ("given", "simulations", "workers", "threads"),
    [(None, 1, None, 1), (1, 5, 1, 1), (4, 1, 1, 4), (4, 2, 2, 2), (4, 3, 3, 1), (4, 9, 4, 1), (9, 4, 4, 2)],
)
def test_threads_are_shared_out_to_simulations_side_by_side_first(given, simulations, workers, threads):
    assert shared_out(given, simulations) == (workers, threads)


@pytest.mark.parametrize("threads", [0, 257])
def test_threads_out_of_range_are_refused(threads):
    with pytest.raises(fl.SpecError, match=f"threads: {threads} is out of range; it must be 1 to 256"):
        fl.simulate(NETWORK, fl.Collective("rand"), threads=threads)


def test_the_command_says_how_many_parts_there_were(capsys):
    words = ["simulate", "--torus", "8x6", "--pattern", "rand", "--rate", "0.2", "--cycles", "300", "--json"]
    seen = []
    for more in ([], ["--threads", "2"]):
        assert run([*words, *more]) == 0
        seen.append(json.loads(capsys.readouterr().out))
    one, two = seen
    assert (one["parts"], two["parts"]) == (1, 2)
    assert two["fingerprint"] == one["fingerprint"]
    assert two["links"] == one["links"]
