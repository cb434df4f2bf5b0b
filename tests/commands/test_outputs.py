"""Where outputs go, and what they never touch; what a spec may name and never shows."""

import resource
import signal
import sqlite3
import subprocess
import sys

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.ground.outputs import check_folder, check_output, make_folder, within, write_files, write_text
from waiting import LIMIT

COMMANDS = [
    ["schedule", "--torus", "4x4", "--pattern", "shfl", "-o", "OUT.json"],
    ["schedule", "--torus", "4x4", "--pattern", "shfl", "--picture", "OUT.png"],
    ["simulate", "--torus", "4x4", "--pattern", "shfl", "--out", "OUT.nc"],
    ["simulate", "--torus", "4x4", "--pattern", "shfl", "--picture", "OUT.svg"],
    ["stack", "--torus", "4x4", "--pattern", "shfl", "--out", "OUT.csv"],
    ["stack", "--torus", "4x4", "--pattern", "shfl", "--picture", "OUT.png"],
    ["route", "--torus", "4x4", "-o", "OUT.json"],
    ["route", "--torus", "4x4", "-o", "OUT.npz"],
    ["route", "--torus", "4x4", "--method", "coherent", "-o", "OUT.lft"],
    ["route", "--torus", "4x4", "--loads", "OUT.csv"],
    ["route", "--torus", "4x4", "--picture", "OUT.png"],
    ["check", "tables.json", "--certificate", "OUT.json"],
    ["campaign", "run", "campaign.toml", "--store", "OUT.sqlite"],
    ["campaign", "export", "campaign.toml", "--out", "OUT.csv"],
    ["papers", "run", "cup-stacking-2022/figure-1", "--out", "."],
]
CAMPAIGN = 'patterns = ["next"]\n[topology]\nsizes = "4x4"\n[genetic]\ngenerations = 2\ntraining = 1\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    fl.tables.make(fl.Torus(4, 4)).to_json("tables.json")
    (tmp_path / "work" / "campaign.toml").write_text(CAMPAIGN)
    return tmp_path / "work"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("target", ["there", "missing"])
def test_a_link_in_place_of_an_output_is_refused(command, target, folder, capsys):
    victim = folder.parent / "victim"
    if target == "there":
        victim.write_text("untouched")
    names = {word.replace("OUT", "result") for word in command if word.startswith("OUT")}
    for name in names or {"cup-stacking-2022-figure-1.png"}:
        (folder / name).symlink_to(victim)
    assert run([word.replace("OUT", "result") for word in command]) == 2
    assert "is a symbolic link, which is not followed" in capsys.readouterr().err
    assert victim.read_text() == "untouched" if target == "there" else not victim.exists()


def test_a_folder_that_is_named_may_be_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    write_text(within(make_folder(tmp_path / "link"), "a.txt"), "text")
    assert (tmp_path / "there" / "a.txt").read_text() == "text"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "", ".", "..", ".x", "a\0b", "a\nb", "x" * 200])
def test_names_stay_in_their_folder(name):
    with pytest.raises(fl.SpecError, match="is not a name for a file"):
        within("folder", name)


def test_files_that_belong_together_are_written_together(tmp_path):
    (tmp_path / "a").write_text("before")
    (tmp_path / "folder").mkdir()
    with pytest.raises(fl.SpecError, match="folder is a folder"):
        write_files({tmp_path / "a": "after", tmp_path / "folder": "never"})
    assert (tmp_path / "a").read_text() == "before"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "folder"]


def test_a_disk_that_is_full_leaves_no_part_of_a_set(folder, capsys):
    # The root sends most, so that its trace, the last one, is the longest.
    fl.collectives.plan(fl.Torus(8), "broadcast", root=7).save("plan.json")
    assert run(["convert", "plan.json", "good.et"]) == 0
    sizes = [file.stat().st_size for file in sorted(folder.glob("good.*.et"))]
    assert max(sizes[:-1]) < sizes[-1]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (sizes[-1] - 1, before[1]))
    try:
        assert run(["convert", "plan.json", "trace.et"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert capsys.readouterr().err == "error: output: trace.7.et cannot be written: File too large\n"
    assert list(folder.glob("*trace*")) == []


def test_a_disk_that_is_full_leaves_no_new_folder(folder, capsys):
    (folder / "ring.csv").write_text("a,b\nb,c\nc,a\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for place, made in (("new/tables", True), ("there/tables", True), ("there", False)):
        if place != "new/tables":
            (folder / "there").mkdir(exist_ok=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        try:
            assert run(["route", "--fabric", "ring.csv", "-o", place]) == 2
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert "cannot be written: File too large" in capsys.readouterr().err
        assert (folder / place).exists() is not made
        assert not (folder / "new").exists()
    assert list((folder / "there").iterdir()) == []
    assert run(["route", "--fabric", "ring.csv", "-o", "new/tables"]) == 0
    assert (folder / "new" / "tables" / "report.json").exists()


def test_no_folder_is_made_for_what_fails(folder, capsys):
    (folder / "ring.csv").write_text("a,b\nb,c\nc,a\n")
    assert run(["route", "--fabric", "ring.csv", "--from", "missing.dump", "-o", "new/tables"]) == 2
    assert "error: missing.dump: cannot be read" in capsys.readouterr().err
    assert not (folder / "new").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["/dev/null/tables", "x" * 300, "a\0b", "tables.json", "/proc/tables"])
def test_folders_that_cannot_be_made_are_refused_before_the_work(name):
    with pytest.raises(fl.SpecError, match=r"^--out: "):
        make_folder(check_folder(name))


def test_folders_are_not_replaced(tmp_path):
    (tmp_path / "x.json").mkdir()
    with pytest.raises(fl.SpecError, match="is a folder; name a file"):
        check_output(tmp_path / "x.json")


@pytest.mark.parametrize("column", ["spec", "result"])
def test_a_store_does_not_choose_the_names_of_files(column, folder, capsys):
    assert run(["campaign", "run", "campaign.toml", "--threads", "1"]) == 0
    with sqlite3.connect("campaign.sqlite") as store:
        changed = f"replace(replace({column}, '\"next\"', '\"../../X\"'), '\"C00\"', '\"/tmp/Y\"')"
        assert (
            store.execute(f"update jobs set {column} = {changed} where {column} <> {changed}").rowcount == 1
        )
    store.close()
    # What the campaign does not say is not looked for, and a damaged result ends in a message.
    assert run(["campaign", "best", "campaign.toml", "--out", "best", "--json"]) == (
        2 if column == "result" else 0
    )
    assert {file.name for file in folder.glob("best/*")} <= {"next-C00.json"}
    assert "../X" not in capsys.readouterr().out
    assert not list(folder.parent.glob("X*"))


@pytest.mark.parametrize("field", ["destinations", "delays", "matrix", "table", "graph"])
@pytest.mark.parametrize(
    "secret", ["hunter2\nhunter3\n", "987654321987654321\n", "hunter2", '"hunter2\n', "hunter2,987654\n" * 9]
)
def test_a_spec_shows_nothing_of_the_files_it_names(field, secret, folder, capsys):
    (folder.parent / "secret").write_text(secret)
    kind = {"matrix": "matrix", "table": "packets", "graph": "messages"}.get(field, "collective")
    pattern = 'pattern = "shfl"\n' if field == "delays" else ""
    (folder / "spec.toml").write_text(
        f'[topology]\nsizes = "4x4"\n[traffic]\nkind = "{kind}"\n{pattern}{field} = "../secret"\n'
    )
    assert run(["simulate", "spec.toml"]) == 2
    message = capsys.readouterr().err
    assert "secret" in message
    assert not any(word in message for word in ("hunter", "98765"))


def test_no_moves_are_not_the_usual_number(capsys):
    assert run(["schedule", "--torus", "4x4", "--pattern", "shfl", "--moves", "0"]) == 2
    assert "moves: 0 is out of range" in capsys.readouterr().err


@pytest.mark.alone("signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_no_part_of_a_file(number, tmp_path):
    work = """
import signal, sys
from flitloom.ground.outputs import replacing
with replacing(sys.argv[1]) as out:
    out.write(b"a" * 100000)
    out.flush()
    print("ready", flush=True)
    signal.pause()
"""
    command = [sys.executable, "-c", work, str(tmp_path / "numbers.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(timeout=LIMIT) == -number
    assert list(tmp_path.iterdir()) == []
