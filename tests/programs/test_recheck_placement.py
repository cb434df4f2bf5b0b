"""What a placement's file says of channels, coordinates and hosts is counted anew, or said not to be."""

import json
import subprocess
import sys

import pytest

from flitloom.commands import run
from flitloom.commands.recheck import PROGRAM

AXES = "a=4:ring:8,b=4:a2a:2"


def rechecked(document, folder):
    file = folder / "changed.json"
    file.write_text(json.dumps(document))
    done = subprocess.run([sys.executable, "-I", str(PROGRAM), str(file)], capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.fixture(params=["--torus=4x4", "--mesh=3x6", "--network=dragonfly(4,2,2)"])
def placed(tmp_path, request):
    file = tmp_path / "p.json"
    words = ["place", request.param, "--axes", AXES, "--out", str(file)]
    assert run(words) == 0
    return json.loads(file.read_text())


def test_what_a_file_says_beside_its_loads_is_counted_anew(placed, tmp_path):
    code, said = rechecked(placed, tmp_path)
    assert code == 0
    assert "not verified: whether hosts are called so" in said
    more = placed["channels_at_maximum"] + 1
    assert rechecked({**placed, "channels_at_maximum": more}, tmp_path) == (
        1,
        f"FAILED: channels_at_maximum: the file says {more}, the ways say {more - 1}\n",
    )
    places = placed["coordinates"]
    swapped = {**placed, "coordinates": [places[1], places[0], *places[2:]]}
    code, said = rechecked(swapped, tmp_path)
    assert code == 1
    assert said.startswith(f"FAILED: coordinates: rank 0 is at {places[0]}, the file says {places[1]}")
    assert rechecked({**placed, "coordinates": places[1:]}, tmp_path)[0] == 1
    assert rechecked({**placed, "hosts": placed["hosts"][1:]}, tmp_path)[0] == 1


def test_ranks_of_a_node_have_one_host(tmp_path):
    file = tmp_path / "p.json"
    assert run(["place", "--torus", "2x4", "--stencil", "4x4", "--per-node", "2", "--out", str(file)]) == 0
    document = json.loads(file.read_text())
    assert rechecked(document, tmp_path)[0] == 0
    rank = next(rank for rank in range(1, 16) if document["placement"][rank] == document["placement"][0])
    hosts = list(document["hosts"])
    hosts[rank] = "elsewhere"
    code, said = rechecked({**document, "hosts": hosts}, tmp_path)
    assert code == 1
    assert "has two names, 'elsewhere'" in said


@pytest.mark.parametrize("more", [[], ["--phases", "a,b"]], ids=["at-once", "phases"])
def test_older_names_of_fields_are_read(more, tmp_path, capsys):
    file, old = tmp_path / "p.json", tmp_path / "old.json"
    assert run(["place", "--torus", "4x4", "--axes", AXES, *more, "--out", str(file)]) == 0
    text = file.read_text()
    names = {
        "busiest_channel": "fullest_channel",
        "busiest_port": "fullest_port",
        "channels_at_maximum": "channels_at_fullest",
    }
    for today, yesterday in names.items():
        assert f'"{today}"' in text
        text = text.replace(today, yesterday)
    old.write_text(text)
    capsys.readouterr()
    for command in ("recheck", "check", "view"):
        shown = []
        for one in (file, old):
            page = ["-o", str(tmp_path / "page.html")] if command == "view" else []
            assert run([command, str(one), *page]) == 0, capsys.readouterr().err
            shown.append(capsys.readouterr().out.replace(str(one), "FILE"))
        assert shown[0] == shown[1], command
