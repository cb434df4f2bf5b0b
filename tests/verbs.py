"""Commands as a test types them: what they say, and the JSON that they print."""

import json

from flitloom.commands import run
from flitloom.ground import settings


def leave_settings(monkeypatch, folder):
    """Work in a folder, without the settings that a user has."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "settings"))
    for name in settings.SETTINGS:
        monkeypatch.delenv(settings.variable(name), raising=False)
    monkeypatch.delenv(settings.FILE_VARIABLE, raising=False)
    monkeypatch.chdir(folder)


def made(*commands):
    for command in commands:
        assert run([*command.split()]) == 0, command


def refused(command, capsys, code=2):
    """What a command says that ends with this exit code."""
    capsys.readouterr()
    words = command if isinstance(command, list) else command.split()
    assert run(words) == code, command
    return capsys.readouterr().err.removeprefix("error: ").strip()


def answer(command, capsys, code=0):
    """The JSON that a command prints."""
    capsys.readouterr()
    assert run([*command.split(), "--json"]) == code, command
    return json.loads(capsys.readouterr().out)
