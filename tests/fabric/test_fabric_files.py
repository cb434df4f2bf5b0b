"""Tables by destination in files: their folder, their network, and switches that have failed."""

from pathlib import Path

import pytest

from places import ROOT
from verbs import answer, made, refused

TORUS = ROOT / "examples" / "fabrics" / "torus-4x4x2.topo"


pytestmark = pytest.mark.usefixtures("own_folder")


def test_tables_by_destination_fill_a_folder_which_needs_its_network(capsys):
    said = refused(f"route --fabric {TORUS} -o t.json", capsys)
    assert said == "--out: t.json: tables by destination fill a folder; write -o out/"
    assert not Path("t.json").exists()
    made(f"route --fabric {TORUS} -o out")
    for command in ("check out", "view out -o a.html", "simulate --tables out", "load curve --tables out"):
        said = refused(command, capsys)
        assert said.startswith("out: is a folder of tables by destination, which do not name their network")
        assert "--fabric FILE, --network NAME or --torus SIZES --twist" in said
    made(f"check out --fabric {TORUS}")


def test_old_tables_are_judged_without_a_switch_that_has_failed(capsys):
    named = f"--fabric {TORUS}"
    made(f"route {named} -o out")
    lost = answer(f"check {named} --lft out --fail node:S1-1-1", capsys, 1)
    assert lost["unreachable"] > 0
    assert not lost["deadlock"]
    # They hand packets over to all that work but those whose way led through the switch.
    sent = answer(f"simulate --graph {TORUS} --tables out --fail node:S1-1-1", capsys)
    assert (sent["packets"], sent["unreachable"]) == (31 * 30, lost["unreachable"])
    assert sent["packets_delivered"] == 31 * 30 - lost["unreachable"]
    repaired = answer(f"route {named} --from out --fail node:S1-1-1 -o repaired", capsys)
    assert answer(f"check {named} --lft repaired --fail node:S1-1-1", capsys)["unreachable"] == 0
    # A fabric that was discovered again lacks the switch, and so do its neighbours.
    parts = TORUS.read_text().split("\n\n")
    left = [part for part in parts if "switchguid=0x20000f" not in part and "S1-1-1-host0" not in part]
    kept = [line for part in left for line in [*part.splitlines(), ""] if "S-000000000020000f" not in line]
    assert len(left) == len(parts) - 2
    Path("now.topo").write_text("\n".join(kept))
    assert answer("check --fabric now.topo --lft out", capsys, 1)["unreachable"] == lost["unreachable"]
    # Both count the same entries, whether the switch is named as failed or not.
    for fail in ("", " --fail node:S1-1-1"):
        differ = answer(f"route diff out repaired {named}{fail}", capsys)
        assert differ["changed_entries"] == repaired["changed_entries"]
        assert differ["entries"] == repaired["entries"]
        assert "S1-1-1" not in [row["switch"] for row in differ["switches"]]


def test_a_failed_switch_that_does_not_exist_has_a_near_name(capsys):
    said = refused(f"route --fabric {TORUS} --fail node:S1-1-9", capsys)
    assert "no switch or host is called 'S1-1-9'; did you mean 'S1-1-1'?" in said
