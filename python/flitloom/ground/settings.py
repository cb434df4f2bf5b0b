"""How the command line behaves here: options, environment variables, a file of the user, defaults.

Settings never change a result; what does stands in the spec or on the command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError, show, unknown
from flitloom.ground.numerals import real, whole
from flitloom.ground.reading import read_toml

#: Words for how much is said beside the data, from little to much.
VERBOSITIES = ("quiet", "usual", "verbose")
#: The variable that names another file than the usual one.
FILE_VARIABLE = "FLITLOOM_CONFIG"


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes
    ----------
    default : object
        Its value where nothing is said.
    read : callable
        Makes a value of what the file says, or of the text of a variable; raises ValueError with what would
        be right.
    summary : str
        What it is for.
    """

    default: Any
    read: Callable[[Any], Any]
    summary: str


def _threads(value: Any) -> int:
    try:
        count = whole(value) if isinstance(value, str) else value
    except ValueError:
        count = None
    if type(count) is not int or not 1 <= count <= 4096:
        raise ValueError("a whole number from 1 to 4096")
    return count


def _verbosity(value: Any) -> str:
    if value not in VERBOSITIES:
        raise ValueError(f"one of {', '.join(VERBOSITIES)}")
    return str(value)


def _bytes(value: Any) -> float:
    try:
        count = real(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        count = -1.0
    if isinstance(value, bool) or not 0 <= count <= 1e18:
        raise ValueError("bytes from 0 to 1e18")
    return count


def _seconds(value: Any) -> float:
    try:
        seconds = real(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = -1.0
    if isinstance(value, bool) or not 0 <= seconds <= 3600:
        raise ValueError("seconds from 0 to 3600")
    return seconds


SETTINGS = {
    "threads": Setting(None, _threads, "threads or processes of parallel work; all cores by default"),
    "verbosity": Setting(
        "usual", _verbosity, "quiet: results and errors only; verbose: also how long a command took"
    ),
    "progress_after": Setting(
        2.0, _seconds, "seconds after which a command shows its progress on a terminal"
    ),
    "time_from": Setting(
        10.0, _seconds, "seconds from which on a simulation says beforehand how long it will take"
    ),
    "memory_from": Setting(
        1e9, _bytes, "bytes from which on a command says beforehand how much memory its simulations take"
    ),
}


@dataclass(frozen=True)
class Chosen:
    """The value of a setting, and where it is from."""

    value: Any
    source: str


_chosen: dict[str, Chosen] = {}


def file() -> Path:
    """The file of the user: what ``FLITLOOM_CONFIG`` names, or ``flitloom/config.toml`` among settings."""
    named = os.environ.get(FILE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "flitloom" / "config.toml"


def variable(name: str) -> str:
    """The environment variable of a setting.

    >>> variable("threads")
    'FLITLOOM_THREADS'
    """
    return f"FLITLOOM_{name.upper()}"


def load(**options: Any) -> dict[str, Chosen]:
    """Read all settings; each comes from the first of these that defines it: option, variable, file, default.

    Parameters
    ----------
    **options
        What options of the command line say, None for nothing.

    Raises
    ------
    SpecError
        A variable or the file says what no setting can be, or the file cannot be read.
    """
    fields = _from_file()
    for name, setting in SETTINGS.items():
        text = os.environ.get(variable(name))
        if options.get(name) is not None:
            _chosen[name] = Chosen(options[name], "option")
        elif text:
            _chosen[name] = Chosen(_made(setting, text, variable(name)), variable(name))
        elif name in fields:
            _chosen[name] = Chosen(_made(setting, fields[name], f"{file()}: {name}"), str(file()))
        else:
            _chosen[name] = Chosen(setting.default, "default")
    return dict(_chosen)


def chosen() -> dict[str, Chosen]:
    """All settings as they were read last."""
    return dict(_chosen) or load()


def forget() -> None:
    """Go back to the defaults, for programs that run several commands."""
    _chosen.clear()


def get(name: str) -> Any:
    """The value of a setting; the default before `load`.

    >>> get("progress_after")
    2.0
    """
    return _chosen[name].value if name in _chosen else SETTINGS[name].default


def _from_file() -> dict[str, Any]:
    place = file()
    if not place.exists() and FILE_VARIABLE not in os.environ:
        return {}

    fields = read_toml(place)
    for name in fields:
        if name not in SETTINGS:
            raise SpecError(f"{place}: {unknown(name, SETTINGS)}")
    return fields


def _made(setting: Setting, value: Any, place: str) -> Any:
    try:
        return setting.read(value)
    except ValueError as error:
        raise SpecError(f"{place}: {show(value)} is out of range; it must be {error}") from None
