"""The source archive holds all that is needed to build and use flitloom, and its locked crates fit it."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from places import ROOT

ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    if shutil.which("cargo") is None:
        pytest.skip("no cargo to make a source archive with")
    folder = tmp_path_factory.mktemp("sdist")
    command = ["maturin", "sdist", "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True, capture_output=True)
    (archive,) = folder.glob("flitloom-*.tar.gz")
    with tarfile.open(archive) as packed:
        # Python 3.11 asks for no filter in its first releases; the archive is our own.
        packed.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (root,) = (entry for entry in folder.iterdir() if entry.is_dir())
    return root


def test_the_source_archive_is_whole(unpacked):
    if shutil.which("git") is None:
        pytest.skip("no Git to ask what there is")
    tracked = subprocess.run(
        ["git", "ls-files", "python/flitloom", "core/src", "bindings"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.split()
    if not tracked:
        pytest.skip("no Git checkout to compare with")
    missing = [name for name in tracked if not (unpacked / name).is_file()]
    assert missing == []
    different = [name for name in tracked if (unpacked / name).read_bytes() != (ROOT / name).read_bytes()]
    # Paths of crates are the same there; the list of members is made anew.
    assert different == []
    for name in ("Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "pyproject.toml"):
        assert (unpacked / name).is_file()


def test_its_locked_crates_fit_it(unpacked):
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--manifest-path"]
    done = subprocess.run(
        [*command, str(unpacked / "bindings" / "Cargo.toml")], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_examples_and_the_second_check_are_files_of_their_own(unpacked):
    for name in ("examples/load.toml", "examples/campaigns/small.toml", "programs/recheck.py"):
        file = unpacked / "python" / "flitloom" / name
        assert file.is_file()
        assert not file.is_symlink()
