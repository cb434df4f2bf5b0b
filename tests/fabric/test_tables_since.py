"""Tables of before a failure, where the file of cables names no GUIDs: switches are known by their names."""

from pathlib import Path

import pytest

from verbs import answer, leave_settings, made, refused

#: Five switches in a ring with a host each.
RING = "".join(f"h{n},s{n}\ns{n},s{(n + 1) % 5}\n" for n in range(5))


@pytest.fixture
def ring(tmp_path, monkeypatch):
    leave_settings(monkeypatch, tmp_path)
    Path("ring.csv").write_text(RING)
    made("route --graph ring.csv -o old")


@pytest.mark.usefixtures("ring")
@pytest.mark.parametrize(
    # What is left of the only shortest ways round a ring of five, and what ways around the failure there are.
    ("failed", "left", "lost", "repaired"),
    [
        ([], 20, 0, 20),
        (["node:s1"], 10, 2, 12),
        (["node:s4"], 10, 2, 12),
        (["link:s0-s1"], 14, 6, 20),
        (["node:s1", "node:s3"], 2, 4, 2),
    ],
)
def test_old_and_new_tables_are_judged_after_a_failure(failed, left, lost, repaired, capsys):
    since = "".join(f" --fail {part}" for part in failed)
    found = answer(f"check old --fabric ring.csv{since}", capsys, int(lost > 0))
    assert (found["routes"], found["unreachable"]) == (left, lost)
    made(f"route --graph ring.csv{since} -o new")
    found = answer(f"check new --fabric ring.csv{since}", capsys, int(repaired < left + lost))
    assert (found["routes"], found["unreachable"]) == (repaired, left + lost - repaired)


@pytest.mark.usefixtures("ring")
def test_tables_without_a_switch_are_those_of_the_others(capsys):
    made("route --graph ring.csv --fail node:s1 -o new")
    found = answer("check new --fabric ring.csv", capsys, 1)
    assert (found["routes"], found["unreachable"]) == (12, 8)
    assert any(text.endswith("tells nothing about switch s1") for text in found["remarks"])


@pytest.mark.usefixtures("ring")
def test_a_switch_of_another_name_is_none_that_has_failed(capsys):
    Path("ring.csv").write_text(RING.replace("s1", "x1"))
    told = refused("check old --fabric ring.csv --fail node:x1", capsys)
    assert "is not in the fabric; if it has failed since, name the fabric as it was" in told
