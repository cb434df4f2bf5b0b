"""Hosts with several HCAs, each in its rail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fabrics import command

#: Two rails, a ring of four switches each, joined at one cable; every node has an HCA in each.
RAILS = "".join(f"r{rail}s{n},r{rail}s{(n + 1) % 4}\n" for rail in range(2) for n in range(4)) + "r0s0,r1s0\n"


def nets(names: tuple[str, str]) -> str:
    """The rails as a netlist, whose nodes have descriptions with blanks."""
    cables: dict[str, list[str]] = {}
    for line in RAILS.split():
        a, b = line.split(",")
        for one, other in ((a, b), (b, a)):
            cables.setdefault(one, []).append(other)
    blocks, hosts = [], []
    port = {one: {other: n + 1 for n, other in enumerate(others)} for one, others in cables.items()}
    for one, others in cables.items():
        rows = [f'[{port[one][other]}] "S-{other}"[{port[other][one]}]' for other in others]
        host = f"H-{one}"
        rows.append(f'[9] "{host}"[1]')
        blocks.append("\n".join([f'Switch 12 "S-{one}" # "{one}"', *rows]))
        rail, node = int(one[1]), one[3:]
        hosts.append(f'Ca 1 "{host}" # "node{node} {names[rail]}"\n[1] "S-{one}"[9]')
    return "\n\n".join([*blocks, *hosts]) + "\n"


def test_pairs_of_a_rail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "rails.net", tmp_path / "out"
    file.write_text(nets(("mlx5_0", "mlx5_1")))
    code, said, err = command(capsys, "route", "--fabric", file, "--hca", "mlx5_1", "-o", out, "--json")
    facts = json.loads(said)
    # Four hosts in a ring: of 12 pairs 4 are two hops apart, so 16 hops on 8 channels.
    assert (code, facts["job_hosts"], facts["max_load"], facts["bound"]) == (0, 4, 2, 2)
    assert "note: 4 hosts are not in --hca; they are served" in err
    code, said, err = command(capsys, "check", out, "--fabric", file, "--hca", "mlx5_1", "--json")
    facts = json.loads(said)
    assert (code, facts["routes"], facts["max_load"]) == (0, 12, 2)
    words = ("--nodes", "node[0-1]", "--hca", "mlx5_0")
    code, said, err = command(capsys, "check", out, "--fabric", file, *words, "--json")
    assert (code, json.loads(said)["routes"]) == (0, 2)
    assert "6 hosts are not in --nodes and --hca" in err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ("--fabric", "rails.net", "--hca", "mlx5_2"),
            "--hca: no host has an HCA called 'mlx5_2'; there are",
        ),
        (("--torus", "4x4", "--hca", "mlx5_0"), "--hca belongs to --fabric"),
        (("--fabric", "ring.csv", "--hca", "mlx5_0"), "leave it out: no host has a name behind its own"),
    ],
)
def test_no_such_rail(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rails.net").write_text(nets(("mlx5_0", "mlx5_1")))
    Path("ring.csv").write_text("a,b\nb,c\nc,a\n")
    code, said, err = command(capsys, "route", *words)
    assert (code, said) == (2, "")
    assert re.search(re.escape(problem), err), err
