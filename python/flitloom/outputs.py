"""Files are checked for before the work and appear whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flitloom.errors import SpecError


def check_output(file: str | Path, suffixes: tuple[str, ...] = (), place: str = "output") -> Path:
    """Refuse a file that cannot be written, before any work is done for it.

    Raises
    ------
    SpecError
        The folder does not exist or cannot be written to, or the ending is not one of `suffixes`.
    """
    file = Path(file)
    if suffixes and file.suffix not in suffixes:
        raise SpecError(f"{place}: {file} must end in {' or '.join(suffixes)}")
    if file.is_dir():
        raise SpecError(f"{place}: {file} is a folder; name a file")
    folder = file.absolute().parent
    if not folder.is_dir():
        raise SpecError(f"{place}: {file} cannot be written: {folder} is no folder")
    if not os.access(folder, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise SpecError(f"{place}: {file} cannot be written: permission denied")
    return file


def make_folder(folder: str | Path, place: str = "--out") -> Path:
    """Make a folder for outputs, unless it is there.

    Raises
    ------
    SpecError
        It is a file, or cannot be made or written to.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise SpecError(f"{place}: {folder} is a file; name a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"{place}: {folder} cannot be made: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise SpecError(f"{place}: {folder} cannot be written to: permission denied")
    return folder


@contextmanager
def replacing(file: str | Path) -> Iterator[Path]:
    """A temporary file beside `file` that takes its place when the block ends well."""
    file = check_output(file)
    try:
        handle, name = tempfile.mkstemp(
            dir=file.absolute().parent, prefix=f".{file.name}.", suffix=file.suffix
        )
        os.close(handle)
        try:
            yield Path(name)
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(file)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
    except OSError as error:
        raise SpecError(f"output: {file} cannot be written: {error.strerror or error}") from error


def write_text(file: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(file) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_csv(heading: Sequence[str], rows: Iterable[Iterable[Any]], file: str | Path | None = None) -> str:
    """Rows under a heading as CSV text, also written to a file if one is given."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(rows)
    if file is not None:
        write_text(file, text.getvalue())
    return text.getvalue()
