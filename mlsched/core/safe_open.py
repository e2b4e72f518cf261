"""Opening files: regular files only, within size limits, with one-line errors.

A path from a user may name anything: a pipe without a writer, an endless device, a folder, a link to itself, a file
larger than the memory. Everything that mlsched reads passes through `open_file`, and everything it writes through
`target_of` (`core/files.py` builds on it). Nothing therefore waits, fills the memory, or replaces a special file.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from mlsched.core.errors import InvalidFile

if TYPE_CHECKING:
    import tarfile

#: Largest text that is read at once, in bytes; all published instances of all formats together are smaller.
MOST_TEXT = 2**24
#: Largest archive, in bytes.
MAX_ARCHIVE = 2**29
_GZIP = b"\x1f\x8b"
#: Bytes of a gzip member that are decompressed first.
_FIRST_PIECE = 512
_COMPRESSIONS: dict[bytes, Literal["r|gz", "r|xz", "r|bz2", "r|"]] = {_GZIP: "r|gz", b"\xfd7": "r|xz", b"BZ": "r|bz2"}
#: File mode -> name of the kind, for special files.
_SPECIAL_FILES = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def shown_path(path: str | os.PathLike[str]) -> str:
    """Return the path as messages show it: in one line, whatever characters it has."""
    name = str(path)
    return name if name.isprintable() else ascii(name)


def open_file(path: str | os.PathLike[str], *, most: int | None = None, remedy: str = "check the path") -> BinaryIO:
    """Open the regular file at `path` for reading bytes; links are followed.

    Args:
        path: The file.
        most: Largest size in bytes of a file of its kind.
        remedy: Advice in the message about a missing file.

    Raises:
        InvalidFile: The path is not a readable regular file of that size; raised without waiting and without reading.
    """
    name = shown_path(path)
    try:
        _refuse_irregular(name, Path(path).stat().st_mode)
        # The file may have changed since: a pipe is then opened without waiting, and rejected.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise InvalidFile(f"{name}: file not found; {remedy}") from None
    except InvalidFile:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InvalidFile(f"{name}: cannot be read: {_system_reason(error)}; check the path") from None
    stream = os.fdopen(descriptor, "rb")
    try:
        status = os.fstat(descriptor)
        _refuse_irregular(name, status.st_mode)
        if most is not None and status.st_size > most:
            raise InvalidFile(f"{name}: has {status.st_size} bytes, expected at most {most}; check the path")
    except BaseException:
        stream.close()
        raise
    return stream


def read_bytes(path: str | os.PathLike[str], *, most: int = MOST_TEXT, remedy: str = "check the path") -> bytes:
    """Read a regular file of at most `most` bytes."""
    with open_file(path, most=most, remedy=remedy) as stream:
        try:
            content = stream.read(most + 1)
        except OSError as error:
            raise InvalidFile(f"{shown_path(path)}: cannot be read: {_system_reason(error)}") from None
    if len(content) > most:
        raise InvalidFile(f"{shown_path(path)}: has more than {most} bytes; check the path")
    return content


def read_text(path: str | os.PathLike[str], *, most: int = MOST_TEXT, remedy: str = "check the path") -> str:
    """Read a regular file of UTF-8 text, with universal newlines; `most` and `remedy` as in `read_bytes`."""
    try:
        text = read_bytes(path, most=most, remedy=remedy).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{shown_path(path)}: is not text (byte {error.start} is not UTF-8)") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def gunzipped(path: str | os.PathLike[str], content: bytes, *, most: int = MOST_TEXT) -> bytes:
    """Decompress `content` if it is gzip; never produce more than `most` bytes."""
    if content[:2] != _GZIP:
        return content
    plain, place = bytearray(), 0
    while place < len(content):  # concatenated compressed files are one file
        stream, size = zlib.decompressobj(wbits=31), _FIRST_PIECE
        try:
            # The data behind a member is copied, so the first piece is small and each further piece is twice as large.
            while not stream.eof and place < len(content) and len(plain) <= most:
                piece = content[place : place + size]
                plain += stream.decompress(piece, most + 1 - len(plain))
                place, size = place + len(piece) - len(stream.unused_data), 2 * size
        except zlib.error as error:
            raise InvalidFile(f"{shown_path(path)}: is damaged gzip ({error}); fetch the file again") from None
        if len(plain) > most:
            raise InvalidFile(f"{shown_path(path)}: has more than {most} bytes, uncompressed; check the path")
        if not stream.eof:
            raise InvalidFile(f"{shown_path(path)}: the gzip file ends too early; fetch the file again")
    return bytes(plain)


def is_gzip(stream: BinaryIO, path: str | os.PathLike[str]) -> bool:
    """Return whether a stream of the file at `path` is gzip, and rewind it."""
    try:
        magic = stream.read(2)
        stream.seek(0)
    except OSError as error:
        raise InvalidFile(f"{shown_path(path)}: cannot be read: {_system_reason(error)}; check the disk") from None
    return magic == _GZIP


@contextlib.contextmanager
def open_tar(path: str | os.PathLike[str]) -> Iterator[tarfile.TarFile]:
    """Open the tar archive at `path`, compressed or not, for reading from its first member to its last.

    The compression is chosen by the first bytes: Python would try each in turn, and does not return on some files.
    """
    import tarfile  # imported here: help texts do not need it and its compressions

    with open_file(path, most=MAX_ARCHIVE) as file:
        kind = _COMPRESSIONS.get(file.read(2), "r|")
        file.seek(0)
        with tarfile.open(fileobj=file, mode=kind) as archive:
            yield archive


def target_of(path: str | os.PathLike[str], *, folders: bool = False) -> Path:
    """Return the target of a write to `path`: the existing regular file, links followed, or a new one.

    Commands call `refuse_target` before they work, which creates nothing.

    Args:
        path: Path of the file.
        folders: Create the parent folder if it is missing.

    Raises:
        InvalidFile: The path is a device, a pipe, a directory, a link to itself, or a file or folder without write
            permission.
    """
    path, name = Path(path), shown_path(path)
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # The given path, because the real path of a standard stream, for example, does not exist.
            mode = path.stat().st_mode
        except FileNotFoundError:
            mode = None
        target = Path(os.path.realpath(path))
        if mode is None:
            target.parent.stat()
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{name}: cannot be written: {_system_reason(error)}; choose another place") from None
    if mode is not None:
        _refuse_irregular(name, mode)
        if not os.access(target, os.W_OK):
            raise InvalidFile(f"{name}: cannot be written: the file is read-only; choose another place")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidFile(f"{name}: cannot be written: its folder may not be written; choose another place")
    return target


def refuse_target(path: str | os.PathLike[str], *, folders: bool = False) -> None:
    """Raise InvalidFile if `path` cannot be written, and create nothing.

    Commands call this function before they work, so that a failed call leaves no files behind.

    Args:
        path: Path of the file.
        folders: The folder may be missing and is created with the file; the nearest existing folder must be writable.
    """
    path = Path(path)
    nearest = path.parent
    try:
        while folders and not os.path.lexists(nearest):
            nearest = nearest.parent
        if nearest != path.parent:
            target_of(nearest / path.name)
            return
    except (OSError, ValueError) as error:
        raise InvalidFile(
            f"{shown_path(path)}: cannot be written: {_system_reason(error)}; choose another place"
        ) from None
    target_of(path)


def cannot_be_written(path: str | os.PathLike[str], error: Exception) -> InvalidFile:
    """Return the error of a write that failed half-way: a full disk, a size limit."""
    return InvalidFile(f"{shown_path(path)}: cannot be written: {_system_reason(error)}; choose another place")


def _refuse_irregular(name: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _SPECIAL_FILES.get(stat.S_IFMT(mode), "no file")
        raise InvalidFile(f"{name}: is {kind}; give a regular file")


def _system_reason(error: Exception) -> str:
    """Return the reason in the system's words; a null byte, described differently by versions, has one form."""
    words = getattr(error, "strerror", None) or str(error)
    return "embedded null byte" if "embedded null" in words else words
