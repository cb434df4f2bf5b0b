"""Full disks, devices and closed outputs: one message, nothing half-written."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import flitloom as fl
from campaigns import finish_small, full_disk
from flitloom.commands import run
from flitloom.ground.outputs import append_line, replacing

SHUFFLE = ["--torus", "8x8", "--pattern", "shfl", "--payload", "14", "--slices", "2"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish_small(tmp_path_factory.mktemp("campaign"))


WRITERS = [
    ["simulate", *SHUFFLE, "--out", "OUT/x.nc"],
    ["simulate", *SHUFFLE, "--picture", "OUT/x.png"],
    ["simulate", *SHUFFLE, "--picture", "OUT/x.svg"],
    ["stack", *SHUFFLE, "--out", "OUT/x.nc"],
    ["stack", *SHUFFLE, "--out", "OUT/x.csv"],
    ["stack", *SHUFFLE, "--picture", "OUT/x.pdf"],
    ["schedule", *SHUFFLE, "-o", "OUT/x.json"],
    ["schedule", *SHUFFLE, "--picture", "OUT/x.png"],
    *(["route", "--torus", "4x4x2", "--method", "coherent", "-o", f"OUT/x{end}"] for end in
      (".json", ".csv", ".npz", ".lft", ".txt")),
    ["route", "--torus", "4x4", "--loads", "OUT/x.csv"],
    ["route", "--torus", "4x4", "--picture", "OUT/x.png"],
    ["check", "TABLES", "--certificate", "OUT/x.json"],
    ["campaign", "export", "SMALL", "--out", "OUT/x.parquet"],
    ["campaign", "export", "SMALL", "--out", "OUT/x.csv"],
    ["campaign", "best", "SMALL", "--out", "OUT"],
    ["papers", "run", "cup-stacking-2022/figure-2", "--out", "OUT"],
]  # fmt: skip


@pytest.mark.parametrize(
    "arguments", WRITERS, ids=lambda arguments: " ".join(arguments[:: len(arguments) - 1])
)
def test_a_full_disk_is_one_message_and_leaves_nothing(arguments, tmp_path, finished, capsys):
    tables = tmp_path / "tables.json"
    fl.tables.make(fl.Torus(4, 4)).to_json(tables)
    out = tmp_path / "out"
    out.mkdir()
    words = {"OUT": str(out), "TABLES": str(tables), "SMALL": str(finished)}
    for word, place in words.items():
        arguments = [argument.replace(word, place) for argument in arguments]
    with full_disk(100):
        code = run(arguments)
    err = capsys.readouterr().err
    assert (code, err.count("error: ")) == (2, 1)
    assert "cannot be written: File too large" in err
    assert list(out.iterdir()) == []
    assert run(arguments) == 0
    assert [file.stat().st_size > 100 for file in out.iterdir()].count(True) >= 1


def test_an_output_replaces_a_file_only_when_it_is_whole(tmp_path):
    file = tmp_path / "file.txt"
    file.write_text("before")
    with pytest.raises(fl.SpecError, match="cannot be written"), full_disk(100), replacing(file) as out:
        out.write(b"x" * 200)
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_line_is_appended_whole_or_not_at_all(tmp_path):
    file = tmp_path / "rows.jsonl"
    append_line(file, "first")
    with pytest.raises(fl.SpecError, match="cannot be written: File too large"), full_disk(10):
        append_line(file, "second, too long")
    append_line(file, "third")
    assert file.read_text() == "first\nthird\n"


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    seen = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    assert run(["route", "--torus", "4x4", "-o", str(pipe)]) == 0
    reader.join()
    assert json.loads(seen[0])["max_load"] == 8
    assert pipe.is_fifo()
    with pytest.raises(fl.SpecError, match="No space left on device"), replacing("/dev/full") as out:
        out.write(b"x" * 100)
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize(
    "arguments",
    [["version"], ["papers", "list"], ["--help"], ["route", "--torus", "4x4"]],
    ids=lambda each: each[0],
)
def test_standard_output_that_is_full_is_one_message(arguments):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "flitloom", *arguments], stdout=full, stderr=subprocess.PIPE
        )
    message = b"error: standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.parametrize("argument", ["version", "--help"])
def test_standard_output_that_is_closed_is_one_message(argument):
    done = subprocess.run(f"{sys.executable} -m flitloom {argument} >&-", shell=True, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"error: standard output: cannot be written: it is closed\n")


def test_nobody_listening_is_no_reason_to_fail():
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "flitloom", "route", "--torus", "4x4", "--fail", "node:99"]
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        for environment in (buffered, buffered | {"PYTHONUNBUFFERED": "1"}):
            assert subprocess.run(command, stderr=full, env=environment).returncode == 2
