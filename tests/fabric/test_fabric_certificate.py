"""Certificates of tables by destination: written by the check, verified by a program of its own."""

import json
import random
import re
import subprocess
import sys

import pytest

from fabrics import ONE_WAY
from flitloom.commands import run
from flitloom.commands.recheck import PROGRAM

NETWORKS = {
    "one lane": ["--network", "full4 x ring4"],
    "levels": ["--network", "dragonfly(4,2)"],
    "two hosts": ["--network", "dragonfly(3,1,2)"],
    "lane tables": ["--network", "ring5 x ring5"],
}


def rechecked(folder, certificate):
    """What the program says, without flitloom in sight."""
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAM), str(folder), str(certificate)], capture_output=True, text=True
    )
    return done.returncode, done.stdout


@pytest.fixture(params=NETWORKS)
def certified(request, tmp_path, capsys):
    """A folder of tables, and their certificate."""
    network = NETWORKS[request.param]
    mode = ["--mode", "sl2vl"] if request.param == "lane tables" else []
    folder, certificate = tmp_path / "out", tmp_path / "certificate.json"
    # Few ports are as good as others where no lane is free.
    mode += ONE_WAY if request.param == "levels" else []
    assert run(["route", *network, *mode, "-o", str(folder)]) == 0
    assert run(["check", *network, str(folder), "--certificate", str(certificate)]) == 0
    capsys.readouterr()
    return folder, certificate


def test_a_certificate_holds(certified, capsys):
    code, said = rechecked(*certified)
    held = json.loads(certified[1].read_text())
    cables, hosts = len(held["cables"]), len(held["hosts"])
    bound = f"no tables have less than {held['bound']['value']} on the busiest channel"
    names = f"certificate holds for the {cables} cables and {hosts} hosts that it names"
    assert (code, said) == (0, f"{names}: {bound}\n")
    assert run(["recheck", *map(str, certified)]) == 0
    assert capsys.readouterr().out == said


def test_no_rank_can_be_lowered_below_what_waits_for_it(certified):
    folder, certificate = certified
    held = json.loads(certificate.read_text())
    # The last of all is what somebody waits for.
    held["channels"][-1][3] = -1 + held["channels"][0][3]
    certificate.write_text(json.dumps(held))
    assert rechecked(folder, certificate)[0] == 1


@pytest.mark.parametrize("part", ["cables", "hosts", "channels", "lanes", "format"])
def test_what_is_left_out_is_missed(certified, part):
    folder, certificate = certified
    held = json.loads(certificate.read_text())
    if part in ("lanes", "format"):
        del held[part]
    else:
        held[part].pop()
        # The bound counts the pairs of all hosts.
        del held["bound"]
    certificate.write_text(json.dumps(held))
    # Without a host, less is claimed, and what is claimed holds.
    assert rechecked(folder, certificate)[0] == (0 if part == "hosts" else 1)


def test_tables_that_were_changed_are_found_out(certified):
    folder, certificate = certified
    dump = folder / "opensm-lfts.dump"
    lines = dump.read_text().splitlines(keepends=True)
    rows = [at for at, line in enumerate(lines) if re.match(r"0x\w+ \d+ : \(Channel", line)]
    found = 0
    chosen = random.Random(3).sample(rows, 12)
    for at in chosen:
        changed = re.sub(r" (\d+) :", lambda match: f" {1 + int(match[1]) % 3:03d} :", lines[at], count=1)
        dump.write_text("".join([*lines[:at], changed, *lines[at + 1 :]]))
        found += rechecked(folder, certificate)[0] == 1
    # Another port may be as good as the one that was chosen.
    assert found >= 8


def test_tables_that_can_deadlock_have_no_certificate(tmp_path, capsys):
    ring = tmp_path / "ring.csv"
    ring.write_text("".join(f"s{n},s{(n + 1) % 6}\n" for n in range(6)))
    folder, certificate = tmp_path / "out", tmp_path / "certificate.json"
    assert run(["route", "--fabric", str(ring), "-o", str(folder)]) == 0
    dump = str(folder / "opensm-lfts.dump")
    # Without their service levels all packets are on one lane.
    assert run(["check", "--fabric", str(ring), "--lft", dump, "--certificate", str(certificate)]) == 1
    assert not certificate.exists()
    assert "possible:" in capsys.readouterr().out


def test_a_bound_in_steps_of_the_hosts_of_a_switch_is_counted_anew(tmp_path):
    cables, folder, certificate = tmp_path / "two.csv", tmp_path / "out", tmp_path / "certificate.json"
    hosts = [f"{switch},{switch}{host}\n" for switch in "ab" for host in range(9)]
    cables.write_text("".join(["a,b\na,b\n", *hosts]))
    assert run(["route", "--fabric", str(cables), "-o", str(folder)]) == 0
    assert json.loads((folder / "report.json").read_text())["optimal"]
    assert run(["check", "--fabric", str(cables), str(folder), "--certificate", str(certificate)]) == 0
    code, said = rechecked(folder, certificate)
    assert (code, said.endswith("no tables have less than 45 on the busiest channel\n")) == (0, True)
    held = json.loads(certificate.read_text())
    held["bound"]["value"] = 46
    certificate.write_text(json.dumps(held))
    assert rechecked(folder, certificate)[0] == 1
