"""Nothing is expanded before its size was looked at; whatever is wrong ends in one short message."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
import fuzz
import fuzz_formats
from flitloom.errors import show
from flitloom.fabric.hostlist import parse_nodes
from flitloom.fabric.names import Names
from flitloom.ground import limits
from flitloom.ground.reading import opened
from limited import run_limited
from places import ROOT

DOCS = ROOT / "docs"
SPEC = '[topology]\nsizes = "8x8"\n[traffic]\n'
PLAN = {
    "format": "flitloom plan 1", "duration": 9, "bound": 9, "optimal": True, "topology": {"sizes": [8, 8]},
    "traffic": "x", "method": "exact", "routes": "dor",
}  # fmt: skip
PACKET = {"source": 0, "destination": 1, "start": 0, "length": 1, "route": "+x1"}
CHROMOSOME = {
    "format": "flitloom-chromosome-1", "topology": {"sizes": [4, 4]}, "router": {},
    "collective": {"pattern": "shfl"}, "duration": 1, "thickness": 1, "properties": {},
}  # fmt: skip
CAMPAIGN = '[topology]\nsizes = "4x4"\n'


def headers(shape, size):
    """An .npz file whose array says it has a shape, and has `size` bytes of zeros."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("headers.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array_header_1_0(
                member, {"descr": "<u4", "fortran_order": False, "shape": shape}
            )
            for _ in range(size >> 20):
                member.write(bytes(1 << 20))
        about = io.BytesIO()
        np.save(about, np.array(json.dumps({"topology": {"sizes": [8, 8]}})))
        archive.writestr("about.npy", about.getvalue())
    return content.getvalue()


def toml(traffic):
    return (SPEC + traffic).encode()


def plan(**fields):
    return json.dumps({**PLAN, "packets": [], **fields}).encode()


def tables(**fields):
    return json.dumps({"topology": {"sizes": [4, 4]}, "routes": [], **fields}).encode()


ROUTES = "table = [" + "[0, 1, 8, 0], " * 4000 + "]\nroutes = [" + '"+x999999", ' * 4000 + "]"
CHECK, SIMULATE, ROUTE = ["check", "FILE"], ["simulate", "FILE"], ["route", "--torus", "4x4"]
STATUS = ["campaign", "status", "FILE"]
#: Command, ending of the file, its content, and what the message says.
BOMBS = [
    (SIMULATE, "toml", toml(f'kind = "packets"\n{ROUTES}'), "more than 33554432 hops in all"),
    (CHECK, "json", plan(packets=[{**PACKET, "route": "+x999999"}] * 4000), "more than 33554432 hops in all"),
    (CHECK, "npz", headers((70000, 70000), 300 << 20), "bytes, decompressed; at most"),
    (CHECK, "npz", headers((1 << 40, 1 << 40), 1 << 20), "an array of at most"),
    (SIMULATE, "toml", toml('kind = "packets"\ntable = [' + '["a", -1, 0, 2.5], ' * 20_000 + "]"),
     "traffic.table[2][1]: -1 is out of range; it must be 0 to 1048575\n"),
    (SIMULATE, "toml", toml('kind = "packets"\ntable = [' + '["a", -1, 0, 2.5], ' * 20_000 + "]"),
     "and 79990 more problems\n"),
    (CHECK, "json", plan(packets=[{"source": "a"}] * 20_000), "and 99999 more problems\n"),
    (CHECK, "json", plan(packets=[{f"x{n}": 0 for n in range(100_000)}]), "x0: unknown field"),
    (CHECK, "json", tables(bound_exact="1e99999999"), "bound_exact: '1e99999999' is not a fraction"),
    (CHECK, "json", tables(bound_exact="1" * 4000), "is not a fraction"),
    (CHECK, "json", tables(rules={"order": ["+x"] * 100_000}), "too many entries; at most 12 are supported"),
    (STATUS, "toml", CAMPAIGN.encode() + b"[grid]\n" + b"\n".join(
        b"%s = [%s]" % (name, b"0, " * 400) for name in (b"training", b"perturbation", b"timing_step")),
     "it has 384000000 searches; at most 100000 are supported"),
    (STATUS, "toml", CAMPAIGN.encode() + b"repeats = 900000\n", "unknown field"),
    (STATUS, "toml", b"repeats = 900000\n" + CAMPAIGN.encode(), "it has 5400000 searches; at most 100000"),
    ([*ROUTE, "--nodes", "FILE"], "txt", b"node[0-999999999999]", "node 16 in 'node[0-9999999"),
    ([*ROUTE, "--nodes", "FILE"], "txt", b"node" + b"9" * 100_000, "is unknown; nodes are 0 to 15"),
    ([*ROUTE, "--traffic", "FILE"], "csv", b"1," * 1_000_000 + b"1\n", "1000001 values; one per node (16)"),
    (["simulate", "--torus", "4x4", "--matrix", "FILE"], "csv", b"1," * 5000 + b"1\n",
     "more than 4096 rows or columns"),
    (["simulate", "--torus", "4x4", "--delays", "FILE", "--pattern", "shfl"], "csv", b"1" * 3_000_000,
     "line 1: longer than"),
]  # fmt: skip
DEEP = b"[" * 100_000
DIGITS = b"9" * 5000
#: Command, ending and content of files that once ended in a traceback, and what the message says.
DAMAGED = [
    (CHECK, "json", b'{"topology": {"sizes": [4, 4]}, "seed": ' + DIGITS + b"}", "too many digits"),
    (CHECK, "json", b'{"routes": ' + DEEP, "nested more than 32 deep"),
    (CHECK, "json", b'{"format": "flitloom plan 1", "packets": ' + DEEP, "nested more than 32 deep"),
    (CHECK, "csv", b"source,destination,nodes\n0,1," + b"0 " * 100_000 + b"\n", "does not say what network"),
    ([*CHECK, "--torus", "4x4"], "csv", b"source,destination,nodes\n0,1," + b"x" * 200_000 + b"\n",
     "is not made of whole numbers"),
    ([*CHECK, "--torus", "4x4"], "csv", b"source,destination,nodes\n0,1,0 " + DIGITS + b"\n",
     "is not made of whole numbers"),
    ([*CHECK, "--torus", "4x4"], "lft", b"0x" + b"9" * 100_000, "is not a row of a forwarding table"),
    (SIMULATE, "toml", b"a = " + DEEP, "nested too deeply"),
    (SIMULATE, "toml", b"a = " + DIGITS, "too many digits"),
    (SIMULATE, "toml", b".".join([b"a"] * 200_000) + b" = 1", "a key of more than 32 parts"),
    (SIMULATE, "toml", b'[topology]\n"' + b"x" * 100_000 + b'" = 1', "unknown field"),
    (STATUS, "toml", b"a = " + DEEP, "nested too deeply"),
    (STATUS, "toml", b"name = [[1,2],[3]]\n" + CAMPAIGN.encode(), "is not a text"),
    (SIMULATE, "toml", toml('kind = "load"\npattern = "rand"\ncycles = 9\nrate = 1' + "0" * 400), "of range"),
    (["simulate", "--torus", "4x4", "--delays", "FILE", "--pattern", "shfl"], "csv",
     b'"' + b"1" * 200_000 + b'"\n', "line 1: field larger than field limit"),
]  # fmt: skip


def test_bombs_are_refused_within_little_memory_and_time(tmp_path):
    runs = []
    for number, (command, ending, content, _) in enumerate([*BOMBS, *DAMAGED]):
        file = tmp_path / f"{number}.{ending}"
        file.write_bytes(content)
        runs.append([str(file) if word == "FILE" else word for word in command])
    ended = run_limited(runs, tmp_path, memory=1200 << 20)
    for run, (_, _, content, message), end in zip(runs, [*BOMBS, *DAMAGED], ended, strict=False):
        assert (end.code, end.out) == (2, ""), (run, content[:60], end)
        assert message in end.err, (run, content[:60])
        assert len(end.err) < 3000, (run, content[:60])
    assert len(ended) == len(runs)


@pytest.mark.parametrize("seed", [-1, 2**64, "x", 1.5, None, 10**4000])
def test_a_bad_seed_in_a_chromosome_is_named(seed, tmp_path):
    from flitloom import genetic

    (tmp_path / "c.json").write_text(json.dumps({**CHROMOSOME, "seed": seed}))
    with pytest.raises(fl.SpecError, match=r"c\.json: chromosome\.seed: .* it must be 0 to"):
        genetic.load_chromosome(tmp_path / "c.json")


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for file, message in [
        (tmp_path, "Is a directory"),
        (Path("/dev/zero"), "neither a file nor a pipe"),
        (tmp_path / "pipe", "no nodes in the list"),
        (tmp_path / ("x" * 300), "File name too long"),
        (Path("a\0b"), "characters that no file has"),
    ]:
        with pytest.raises(fl.SpecError, match=message):
            Names(16).read(file)


def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", "sleep 0.1; echo 'node[0-3]'"], stdout=subprocess.PIPE) as writer:
        assert Names(16).listed(f"/dev/fd/{writer.stdout.fileno()}") == [0, 1, 2, 3]


def test_leading_zeros_do_not_change_a_node():
    assert parse_nodes("node[0000000000000003-0000000000000000005]", 16) == [3, 4, 5]


def test_own_tables_of_any_size_are_read_again(tmp_path, monkeypatch):
    made = fl.tables.make(fl.Torus(4, 4), method="coherent")
    made.to_csv(tmp_path / "t.csv")
    made.to_lft(tmp_path / "t.lft")
    made.to_json(tmp_path / "t.json")
    # As for files above 64 MiB.
    monkeypatch.setattr(limits, "JSON_BYTES", 3000)
    for name in ("t.csv", "t.lft", "t.json"):
        assert fl.tables.read(tmp_path / name, made.topology) == made


def test_tables_that_never_arrive_are_cut_off(tmp_path):
    made = fl.tables.make(fl.Torus(4, 4), method="coherent")
    text = made.to_lft()
    # Node 0 and node 1 send what is for node 5 to each other.
    lines = text.splitlines()
    for switch, port in ((0, 1), (1, 2)):
        first = next(n for n, line in enumerate(lines) if f"(node {switch} " in line)
        at = next(n for n in range(first, len(lines)) if lines[n].startswith("0x0006 "))
        lines[at] = f"0x0006 {port:03d} : wrong"
    (tmp_path / "t.lft").write_text("\n".join(lines))
    report = fl.tables.check(tmp_path / "t.lft", made.topology)
    assert not report.passed
    assert any("node 0 to node 5" in text or "0 to 5" in text for text in report.problems)


def test_messages_are_bounded():
    error = fl.SpecError("\n".join("x" * 10_000 for _ in range(5000)))
    lines = str(error).splitlines()
    assert len(lines) == limits.PROBLEMS + 1
    assert max(map(len, lines)) < limits.MESSAGE_LINE + 10
    assert lines[-1] == f"and {5000 - limits.PROBLEMS} more lines"
    assert len(show([["x" * 10**6] * 10**5])) <= 60


def test_the_page_of_limits_is_what_the_module_prints():
    printed = subprocess.run(
        [sys.executable, "-m", "flitloom.ground.limits"], capture_output=True, text=True, check=True
    ).stdout
    assert printed in (DOCS / "limits.md").read_text()
    assert len(re.findall(r"^\| `", printed, re.MULTILINE)) == len(limits.rows()) > 20


#: A good file of every kind, read in pieces or as a whole.
CHANGING = [
    *("plan", "tables-json", "tables-csv", "tables-lft", "tables-npz", "spec", "campaign", "matrix"),
    *("delays", "packets", "nodes", "checkpoint", "rows", "fabric-discovered"),
    *("fabric-cables", "subnet-lft", "result"),
]
#: The same of formats of plans of collective operations and message graphs.
CHANGING_FORMATS = ["goal", "plan", "msccl"]


@pytest.fixture(scope="module")
def good_files(tmp_path_factory):
    """Good files by the fuzzers that know them and their kinds."""
    return {module: module._seeds(tmp_path_factory.mktemp("good")) for module in (fuzz, fuzz_formats)}


@pytest.mark.parametrize(
    ("module", "kind"),
    [(fuzz, kind) for kind in CHANGING] + [(fuzz_formats, kind) for kind in CHANGING_FORMATS],
    ids=[*CHANGING, *(f"format {kind}" for kind in CHANGING_FORMATS)],
)
def test_a_file_that_is_written_to_while_it_is_read_is_refused(
    module, kind, good_files, tmp_path, monkeypatch
):
    reader, content, file = module.READERS[kind], good_files[module][kind], tmp_path / "file"
    file = file.with_suffix(f".{reader.ending}")
    file.write_bytes(content)
    reader.read(file)
    make_stream, writes = os.fdopen, []

    def written_to(descriptor, *arguments, **named):
        """The file as it was opened; before its first byte is read somebody writes to it."""
        if writes and os.fstat(descriptor).st_ino == file.stat().st_ino:
            file.write_bytes(writes.pop())
        return make_stream(descriptor, *arguments, **named)

    monkeypatch.setattr(os, "fdopen", written_to)
    # Cut off behind a line, at half of it, or longer by what it has; or other bytes of the same number.
    cut = content.rfind(b"\n", 0, -1) + 1 or len(content) // 2
    for changed in (content[:cut], content[: len(content) // 2], content * 2, b"x" * len(content), b""):
        file.write_bytes(content)
        os.utime(file, ns=(1, 1))
        writes.append(changed)
        with pytest.raises(fl.SpecError, match=r"was written to while it was read \(\d+ bytes, then \d+\)"):
            reader.read(file)
        assert not writes


def test_a_file_that_is_replaced_while_it_is_read_is_the_old_one(tmp_path):
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("old\n")
    with opened(file, 100) as source:
        other.write_text("newer\n")
        other.replace(file)
        assert source.text() == "old\n"
    with opened(file, 100) as source:
        assert source.text() == "newer\n"


def test_a_file_that_never_ends_growing_is_cut_off(tmp_path):
    file = tmp_path / "file"
    file.write_text("1\n")

    def read():
        with opened(file, 4000) as source:
            for number, _ in source.lines():
                with file.open("a") as more:
                    more.write("1\n")
                assert number <= 4000

    with pytest.raises(fl.SpecError, match="was written to while it was read"):
        read()
