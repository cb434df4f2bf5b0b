"""Tables of another fabric are refused by ``--from``; renamed and replaced switches are of the same one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabrics import command, discovered, torus_cables
from flitloom.fabric import parse_fabric, read_fabric

#: A file of cables has no GUIDs, so names tell switches apart.
CABLES = "s0,s1\ns1,s2\ns2,s3\ns3,s0\nh0,s0\nh1,s1\nh2,s2\nh3,s3\n"
NODES, LINKS = torus_cables((4, 4))
DUMPED = discovered(NODES, LINKS, seed=2)


def _made(folder: Path, text: str, name: str, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder of tables of a fabric."""
    file = folder / name
    file.write_text(text)
    assert command(capsys, "route", "--fabric", file, "-o", folder / "out")[0] == 0
    return folder / "out"


@pytest.mark.parametrize("ending", ["topo", "csv"])
@pytest.mark.parametrize("words", [["-o", "new"], ["--critical"]], ids=["repair", "risk"])
def test_tables_of_another_fabric_are_refused(
    ending: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = DUMPED if ending == "topo" else CABLES
    out = _made(tmp_path, text, f"first.{ending}", capsys)
    other = Path(f"other.{ending}")
    # As large and wired alike, with other names, and other GUIDs if there are any.
    if ending == "topo":
        other.write_text(discovered(NODES, LINKS, seed=3).replace('"sw', '"leaf').replace('"hsw', '"hleaf'))
    else:
        other.write_text(CABLES.replace("s", "leaf"))
    (tmp_path / "new").mkdir()
    code, said, message = command(capsys, "route", "--fabric", other, "--from", out, *words)
    assert (code, said, message.count("\n")) == (2, "", 1 + (ending == "csv") * message.count("note:"))
    (refusal,) = [line for line in message.splitlines() if line.startswith("error: ")]
    switches = read_fabric(other).switches
    assert f"neither GUID nor name of {len(switches)} of {len(switches)} switches" in refusal
    assert sum(f"{switch.name} (0x" in refusal for switch in switches) == min(len(switches), 5)
    assert "name tables of this fabric" in refusal
    assert list((tmp_path / "new").iterdir()) == []


def test_renamed_and_replaced_switches_are_the_same_fabric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _made(tmp_path, DUMPED, "first.topo", capsys)
    file = tmp_path / "now.topo"
    renamed = DUMPED.replace('"sw', '"leaf').replace('"hsw', '"hleaf')
    # Other hardware under the same names.
    replaced = discovered(NODES, LINKS, seed=3)
    assert not {one.guid for one in parse_fabric(replaced).switches} & {
        one.guid for one in parse_fabric(DUMPED).switches
    }
    for text, changes in ((DUMPED, 0), (renamed, 0), (replaced, None)):
        file.write_text(text)
        code, said, _ = command(capsys, "route", "--fabric", file, "--from", out, "--json")
        facts = json.loads(said)
        assert (code, facts["unreachable"]) == (0, 0)
        assert changes is None or facts["changed_entries"] == changes


@pytest.mark.parametrize(("new", "code"), [(1, 0), (2, 0), (3, 2), (4, 2)])
def test_a_fabric_may_grow_to_twice_its_switches(
    new: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of files of cables, and of fabrics with GUIDs."""
    old = "s0,s1\nh0,s0\nh1,s1\n"
    out = _made(tmp_path, old, "first.csv", capsys)
    file = tmp_path / "now.csv"
    more = "".join(f"s{number},s{number - 1}\nh{number},s{number}\n" for number in range(2, 2 + new))
    file.write_text(old + more)
    assert command(capsys, "route", "--fabric", file, "--from", out)[0] == code


def test_switches_that_are_gone_are_no_other_fabric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The made-up GUIDs of those behind it move up.
    out = _made(tmp_path, CABLES, "first.csv", capsys)
    file = tmp_path / "now.csv"
    file.write_text("".join(line for line in CABLES.splitlines(True) if "s0" not in line))
    assert command(capsys, "route", "--fabric", file, "--from", out)[0] == 0
