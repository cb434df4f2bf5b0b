"""The command line as a user meets it: exit codes, stdout and stderr."""

import subprocess
import sys

import flitloom


def flit(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flitloom", *arguments], capture_output=True, text=True, check=False
    )


def test_version_names_the_package_and_its_version():
    done = flit("version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"flitloom {flitloom.__version__}")


def test_an_unknown_verb_is_bad_input():
    done = flit("simulat")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such command 'simulat'" in done.stderr
