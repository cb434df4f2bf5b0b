"""Files are checked for before the work and appear whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from flitloom.errors import SpecError, show, show_file
from flitloom.ground import interrupts
from flitloom.ground.lazy import xr

#: Names of files in a folder of outputs.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")


def check_output(file: str | Path, suffixes: tuple[str, ...] = (), place: str = "output") -> Path:
    """Refuse a file that cannot be written, before any work is done for it.

    A file that is there will be replaced. A symbolic link is refused: what it leads to was not named.

    Raises
    ------
    SpecError
        The folder does not exist or cannot be written to, the ending is not one of `suffixes`, or there is
        a link or folder of that name.
    """
    file = Path(file)
    if suffixes and file.suffix not in suffixes:
        raise SpecError(f"{place}: {show_file(file)} must end in {' or '.join(suffixes)}")
    name = show_file(file)
    try:
        kind = os.lstat(file).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name has characters that no file has"
        raise SpecError(f"{place}: {name} cannot be written: {reason}") from None
    if stat.S_ISLNK(kind):
        raise SpecError(f"{place}: {name} is a symbolic link, which is not followed; name a file")
    if stat.S_ISDIR(kind):
        raise SpecError(f"{place}: {name} is a folder; name a file")
    folder = file.absolute().parent
    if not folder.is_dir():
        raise SpecError(f"{place}: {name} cannot be written: {show_file(folder)} is not a folder")
    if not os.access(folder, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise SpecError(f"{place}: {name} cannot be written: permission denied")
    return file


def make_folder(folder: str | Path, place: str = "--out") -> Path:
    """Make a folder for outputs, unless it is there.

    Raises
    ------
    SpecError
        It is a file, or cannot be made or written to.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise SpecError(f"{place}: {show_file(folder)} is a file; name a folder") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name has characters that no file has"
        raise SpecError(f"{place}: {show_file(folder)} cannot be made: {reason}") from None
    if not os.access(folder, os.W_OK):
        raise SpecError(f"{place}: {show_file(folder)} cannot be written to: permission denied")
    return folder


@contextmanager
def folder_for(folder: str | Path, place: str = "--out") -> Iterator[Path]:
    """A folder for the outputs of a block; made, and taken away again where the block fails and leaves none.

    Raises
    ------
    SpecError
        As in `make_folder`.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "new" / "tables"
    >>> with suppress(SpecError), folder_for(place) as folder:
    ...     write_files({folder / "a": "1", folder: "no file"})
    >>> place.parent.exists()
    False
    """
    there = Path(folder).absolute()
    try:
        missing = [path for path in (there, *there.parents) if not path.exists()]
    except (OSError, ValueError):
        # It cannot be made, and `make_folder` says why.
        missing = []
    try:
        yield make_folder(folder, place)
    except BaseException:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise


def check_folder(folder: str | Path, place: str = "--out") -> Path:
    """Refuse a folder for outputs that `make_folder` could not make, before any work is done for it.

    Raises
    ------
    SpecError
        It is a file, or cannot be made or written to.

    Examples
    --------
    >>> check_folder("/dev/null/tables")
    Traceback (most recent call last):
    flitloom.errors.SpecError: --out: /dev/null/tables cannot be made: Not a directory
    """
    folder = Path(folder)
    try:
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if _exists(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name has characters that no file has"
        raise SpecError(f"{place}: {show_file(folder)} cannot be made: {reason}") from None
    if there == folder.absolute():
        return make_folder(folder, place)
    if not os.access(there, os.W_OK):
        raise SpecError(f"{place}: {show_file(folder)} cannot be made: permission denied")
    return folder


def _exists(path: Path) -> bool:
    """Whether there is something of this name; an error if that cannot be told."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def within(folder: str | Path, name: str) -> Path:
    """A file of a plain name in a folder of outputs.

    Raises
    ------
    SpecError
        The name could lead out of the folder.

    Examples
    --------
    >>> within("best", "shfl-C00.json").name
    'shfl-C00.json'
    """
    if not _PLAIN.fullmatch(name):
        raise SpecError.at(
            "output", f"{show(name)} is not a name for a file", "letters, digits, - _ and . make one"
        )
    return Path(folder) / name


@contextmanager
def replacing(file: str | Path) -> Iterator[BinaryIO]:
    """A new file, open for bytes, that takes the place of `file` when the block ends well.

    Until then it lies beside `file` under a temporary name; after an error nothing of it is left.
    What is not an ordinary file (a pipe, a device) is written to as it is.

    Raises
    ------
    SpecError
        The file cannot be written, or not to its end: the disk is full, say.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with replacing(file) as out:
    ...     count = out.write(b"1 2 3")
    >>> file.read_text(), len(list(file.parent.iterdir()))
    ('1 2 3', 1)
    """
    file = check_output(file)
    try:
        if file.exists() and not file.is_file():
            with file.open("wb") as out:
                yield out
            return
        new = _NewFile(file)
        try:
            yield new.out
            new.finish()
            new.take_place()
        finally:
            new.forget()
    except OSError as error:
        raise SpecError.at("output", f"{file} cannot be written: {error.strerror or error}") from None


class _NewFile:
    """A file that is written beside another one, whose place it takes when it is whole."""

    def __init__(self, file: Path) -> None:
        self.file = file
        folder = file.absolute().parent
        handle = _without_a_name(folder)
        self.named = handle is None
        if handle is None:
            handle, name = tempfile.mkstemp(dir=folder, prefix=f".{file.name}.", suffix=file.suffix)
            self.name = Path(name)
        else:
            self.name = folder / f".{file.name}.{secrets.token_hex(6)}{file.suffix}"
        self._done = interrupts.undo_on_exit(lambda: self.name.unlink(missing_ok=True))
        self.out = os.fdopen(handle, "wb")

    def finish(self) -> None:
        """Put everything on the disk; some disks say only now that they are full."""
        self.out.flush()
        os.fsync(self.out.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(self.out.fileno(), 0o666 & ~umask)

    def take_place(self) -> None:
        """Let it be the file."""
        if not self.named:
            folder = os.open("/proc/self/fd", os.O_RDONLY)
            try:
                # Only with a folder of its own does this follow what stands there to the file.
                os.link(str(self.out.fileno()), self.name, src_dir_fd=folder)
            finally:
                os.close(folder)
        self.name.replace(self.file)
        self.out.close()

    def forget(self) -> None:
        """Leave nothing of it that did not take its place."""
        with suppress(OSError):
            self.out.close()
        self._done()
        with suppress(FileNotFoundError):
            self.name.unlink()


def _without_a_name(folder: Path) -> int | None:
    """A new file that no folder shows: nothing is left of it however the process ends. None without these."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.exists("/proc/self/fd"):
        return None
    try:
        return os.open(folder, flag | os.O_WRONLY, 0o600)
    except OSError:
        return None


def write_bytes(file: str | Path, data: bytes | memoryview) -> None:
    """Write a file, whole or not at all."""
    with replacing(file) as out:
        out.write(data)


def write_text(file: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_bytes(file, text.encode())


def write_lines(file: str | Path, parts: Iterable[str]) -> None:
    """Write a text file piece by piece as the pieces come, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> write_lines(file, (f"{number}\\n" for number in range(3)))
    >>> file.read_text()
    '0\\n1\\n2\\n'
    """
    with replacing(file) as out:
        for part in parts:
            out.write(part.encode())


def write_files(files: Mapping[Path, str | bytes | Iterable[str | bytes]]) -> None:
    """Write files that belong together: all of them or none; pieces of text are written as they come.

    Raises
    ------
    SpecError
        One of them cannot be written; those that were there before are as they were.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_files({folder / "a": "1", folder / "b": b"2", folder / "c": ("3", "4")})
    >>> [file.read_text() for file in sorted(folder.iterdir())]
    ['1', '2', '34']
    """
    new: list[_NewFile] = []
    file = Path()
    try:
        for file, data in files.items():
            new.append(_NewFile(check_output(file)))
            for piece in (data,) if isinstance(data, str | bytes) else data:
                new[-1].out.write(piece.encode() if isinstance(piece, str) else piece)
            new[-1].finish()
        for one in new:
            file = one.file
            one.take_place()
    except OSError as error:
        raise SpecError.at("output", f"{file} cannot be written: {error.strerror or error}") from None
    finally:
        for one in new:
            one.forget()


def append_line(file: str | Path, line: str) -> None:
    """Add a line to a text file, whole or not at all.

    Raises
    ------
    SpecError
        The file cannot be written, or not to its end.
    """
    try:
        with Path(file).open("ab", buffering=0) as out:
            end = out.tell()
            data = f"{line}\n".encode()
            try:
                while data:
                    data = data[out.write(data) :]
            except OSError:
                out.truncate(end)
                raise
    except OSError as error:
        raise SpecError.at("output", f"{file} cannot be written: {error.strerror or error}") from None


def write_netcdf(file: str | Path, groups: Mapping[str, Any]) -> None:
    """Write xarray datasets as the groups of a NetCDF file, whole or not at all."""
    # HDF5 ends the process when a disk is full, so it writes to memory.
    image = io.BytesIO()
    xr.DataTree.from_dict(groups).to_netcdf(image, engine="h5netcdf")
    write_bytes(file, image.getbuffer())


def write_csv(heading: Sequence[str], rows: Iterable[Iterable[Any]], file: str | Path | None = None) -> str:
    """Rows under a heading as CSV text, also written to a file if one is given."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(rows)
    if file is not None:
        write_text(file, text.getvalue())
    return text.getvalue()
