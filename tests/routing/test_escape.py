"""Certificates of adaptive routing over escape channels: made, verified, and refused when forged."""

import json
import random
import subprocess
import sys

import pytest

from flitloom.commands import run
from flitloom.commands.recheck import PROGRAM
from sample import sampled

EXPERIMENT = """
[topology]
kind = "{kind}"
sizes = {sizes}

[router]
routing = "{routing}"
flow_control = "{flow}"
buffer = {buffer}

[traffic]
kind = "load"
pattern = "rand"
rate = 0.1
cycles = 100
{more}
"""
#: The same on a product.
PRODUCT = EXPERIMENT.replace('kind = "{kind}"\nsizes = {sizes}', 'network = "{network}"')
GOOD = {"kind": "torus", "sizes": [5, 4], "routing": "sa", "flow": "cut-through", "buffer": 16, "more": ""}
CASES = [
    {},
    {"sizes": [8], "routing": "ma"},
    {"sizes": [4, 3, 2], "routing": "simple-adaptive"},
    # Three rings and more have more channels by default.
    {"sizes": [3, 4, 3]},
    {"sizes": [3, 3, 3, 3], "routing": "ma"},
    {"network": "ring4 x ring3 x ring5"},
    {"kind": "mesh", "sizes": [4, 5]},
    {"sizes": [6, 6], "routing": "cl", "more": "length = 16"},
    {"network": "full4 x full5"},
    {"network": "ring4 x full6 x line3", "routing": "ma"},
    {"network": "full2 x ring5 x full3"},
]


def written(folder, **changes):
    file = folder / "experiment.toml"
    file.write_text((PRODUCT if "network" in changes else EXPERIMENT).format(**GOOD | changes))
    return file


def rechecked(*files):
    done = subprocess.run([sys.executable, "-I", str(PROGRAM), *files], capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.fixture
def certified(tmp_path, capsys, request):
    file, certificate = written(tmp_path, **getattr(request, "param", {})), tmp_path / "escape.json"
    assert run(["check", str(file), "--certificate", str(certificate)]) == 0
    assert "deadlock  none possible" in capsys.readouterr().out
    return file, certificate


def moves(place, target, sizes, wraps, full):
    """Minimal directions of a packet: dimension and way; of two equally long ways the positive one."""
    found = []
    for dimension, size in enumerate(sizes):
        ahead = target[dimension] - place[dimension]
        if wraps[dimension] or full[dimension]:
            ahead %= size
            ahead -= size if 2 * ahead > size else 0
        if ahead:
            found.append((dimension, ahead if full[dimension] else 1 if ahead > 0 else -1))
    return found


@pytest.mark.parametrize("certified", CASES, indirect=True)
def test_packets_that_wander_over_adaptive_channels_wait_for_higher_ranks(certified, capsys):
    code, said = rechecked(*certified)
    assert (code, said.split(":")[0].split(" for ")[0]) == (0, "certificate holds")
    assert run(["recheck", *map(str, certified)]) == 0
    assert capsys.readouterr().out == said
    held = json.loads(certified[1].read_text())
    sizes, wraps, dice = held["sizes"], held["wraps"], random.Random(7)
    full = held.get("full", [False] * len(sizes))
    rank = {(node, way, channel): value for node, way, channel, value in held["channels"]}
    waits = 0
    for _ in range(3000):
        source, target = ([dice.randrange(size) for size in sizes] for _ in range(2))
        place, before = list(source), None
        while ways := moves(place, target, sizes, wraps, full):
            node, stride = 0, 1
            for at, size in zip(place, sizes, strict=True):
                node, stride = node + at * stride, stride * size
            dimension, way = ways[0]
            there = (place[dimension] + way) % sizes[dimension]
            # Channel 1 once the wrap line has been crossed, or is now.
            crossed = way * (there - source[dimension]) < 0
            named = f"{'+-'[way < 0]}{abs(way) if abs(way) > 1 else ''}{'xyzu'[dimension]}"
            escape = (node, named, int(wraps[dimension] and crossed))
            if before is not None:
                assert rank[before] < rank[escape]
                waits += 1
            before = escape
            if dice.random() < 0.5:
                (dimension, way), before = dice.choice(ways), None
            place[dimension] = (place[dimension] + way) % sizes[dimension]
    assert waits > 300


def test_one_wrong_rank_is_found(certified):
    file, certificate = certified
    held = json.loads(certificate.read_text())
    rows = [[*row[:3], row[3] + 1] for row in held["channels"]]
    assert rechecked(file, certificate)[0] == 0
    for row in sampled(random.Random(5).sample(range(len(rows)), 20), 4):
        refused = []
        # Whoever waits for nobody is waited for.
        for rank in (0, len(rows) + 1):
            changed = [[*one[:3], rank] if at == row else one for at, one in enumerate(rows)]
            certificate.write_text(json.dumps(held | {"channels": changed}))
            refused.append(rechecked(file, certificate)[0] == 1)
        assert any(refused)


@pytest.mark.parametrize("certified", [{"network": "full4 x full3"}], indirect=True)
def test_ranks_of_full_meshes_rise_from_dimension_to_dimension(certified):
    file, certificate = certified
    held = json.loads(certificate.read_text())
    assert {row[1] for row in held["channels"]} == {"+x", "-x", "+2x", "+y", "-y"}
    # Packets turn from x to y, so a channel along y may not rank below all along x.
    turned = [[*row[:3], 10**6 - row[3]] for row in held["channels"]]
    for change in ({"channels": turned}, {"full": [True, False]}, {"full": [False, False]}):
        certificate.write_text(json.dumps(held | change))
        assert rechecked(file, certificate)[0] == 1, change
    certificate.write_text(json.dumps({name: held[name] for name in held if name != "full"}))
    assert rechecked(file, certificate)[0] == 1


def test_what_the_experiment_does_not_say_is_refused(certified, tmp_path):
    file, certificate = certified
    held = json.loads(certificate.read_text())
    for change in (
        {"kind": "torus"},
        {"wraps": [False, True]},
        {"escape_channels": 3},
        {"buffer": 17},
        {"channels": held["channels"][1:]},
        {"more": 1},
    ):
        certificate.write_text(json.dumps(held | change))
        assert rechecked(file, certificate)[0] == 1, change
    certificate.write_text(json.dumps(held))
    for change in (
        {"sizes": [4, 5]},
        {"routing": "ma"},
        {"routing": "do"},
        {"flow": "wormhole"},
        {"buffer": 4},
        {"more": "length = 17"},
        {"kind": "mesh"},
        {"network": "full5 x ring4"},
    ):
        assert rechecked(written(tmp_path, **change), certificate)[0] == 1, change
    assert rechecked(written(tmp_path), certificate)[0] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"routing": "do"}, "do has no escape channels"),
        ({"flow": "wormhole"}, "cut-through"),
        ({"more": "length = 17"}, "17"),
    ],
)
def test_what_has_no_escape_order_is_not_certified(change, message, tmp_path, capsys):
    assert run(["check", str(written(tmp_path, **change))]) == 2
    assert message in capsys.readouterr().err
