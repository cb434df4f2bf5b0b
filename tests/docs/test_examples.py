"""The examples run, and say what their first lines say."""

import pytest

from flitloom.commands import run
from places import ROOT

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.name)
def test_the_command_in_an_example_runs(file, capsys, tmp_path, monkeypatch):
    command = next(line for line in file.read_text().splitlines() if line.startswith("# Run: flitloom "))
    arguments = command.removeprefix("# Run: flitloom ").replace("examples/", f"{EXAMPLES}/").split()
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 0
    out, err = capsys.readouterr()
    assert ("deadlock  none possible" if arguments[0] == "check" else "packets_delivered") in out
    assert err == ""
