"""Opening files: regular ones only, within bounds, every refusal one line.

A path that a user gives may name anything: a pipe that nobody writes to, a device without end, a folder, a link to
itself, a file larger than the memory. Whatever mlsched reads goes through `open_file`, and whatever it writes through
`target_of` (`core/files.py` builds on it), so that nothing waits, fills the memory, or is replaced that is no file.
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

#: Largest text that is read whole, in bytes; the published instances of all formats together are smaller.
MOST_TEXT = 2**24
#: Largest archive, in bytes.
MOST_ARCHIVE = 2**29
_GZIP = b"\x1f\x8b"
#: Bytes of a gzip member that are handed over first.
_SHORT = 512
_COMPRESSIONS: dict[bytes, Literal["r|gz", "r|xz", "r|bz2", "r|"]] = {_GZIP: "r|gz", b"\xfd7": "r|xz", b"BZ": "r|bz2"}
#: What a mode says that is no regular file.
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def shown_path(path: str | os.PathLike[str]) -> str:
    """The path as messages show it: in one line, whatever characters it has."""
    name = str(path)
    return name if name.isprintable() else ascii(name)


def open_file(path: str | os.PathLike[str], *, most: int | None = None, remedy: str = "check the path") -> BinaryIO:
    """The regular file at `path`, opened to be read as bytes; links are followed.

    most: bytes that a file of its kind has at most. remedy: what a message advises when there is no such file.
    Raises InvalidFile for anything else, without waiting and without reading.
    """
    name = shown_path(path)
    try:
        _refuse_irregular(name, Path(path).stat().st_mode)
        # What the path names may have changed since: a pipe is then opened without waiting, and refused.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise InvalidFile(f"{name}: there is no such file; {remedy}") from None
    except InvalidFile:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InvalidFile(f"{name}: cannot be read: {_reason(error)}; check the path") from None
    stream = os.fdopen(descriptor, "rb")
    try:
        status = os.fstat(descriptor)
        _refuse_irregular(name, status.st_mode)
        if most is not None and status.st_size > most:
            raise InvalidFile(f"{name}: has {status.st_size} bytes: must have at most {most}; check the path")
    except BaseException:
        stream.close()
        raise
    return stream


def read_bytes(path: str | os.PathLike[str], *, most: int = MOST_TEXT, remedy: str = "check the path") -> bytes:
    """All of a regular file that has at most `most` bytes."""
    with open_file(path, most=most, remedy=remedy) as stream:
        try:
            content = stream.read(most + 1)
        except OSError as error:
            raise InvalidFile(f"{shown_path(path)}: cannot be read: {_reason(error)}") from None
    if len(content) > most:
        raise InvalidFile(f"{shown_path(path)}: has more than {most} bytes; check the path")
    return content


def read_text(path: str | os.PathLike[str], *, most: int = MOST_TEXT, remedy: str = "check the path") -> str:
    """All of a regular file of UTF-8 text; line ends as Python has them."""
    try:
        text = read_bytes(path, most=most, remedy=remedy).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{shown_path(path)}: is not text (byte {error.start} is not UTF-8)") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def gunzipped(path: str | os.PathLike[str], content: bytes, *, most: int = MOST_TEXT) -> bytes:
    """`content` of a file, uncompressed where it is gzip; at most `most` bytes of it are ever made."""
    if content[:2] != _GZIP:
        return content
    plain, place = bytearray(), 0
    while place < len(content):  # several compressed files, one after the other, are one
        stream, size = zlib.decompressobj(wbits=31), _SHORT
        try:
            # What follows the end of a member is copied: so little is handed over at first, and then ever more.
            while not stream.eof and place < len(content) and len(plain) <= most:
                piece = content[place : place + size]
                plain += stream.decompress(piece, most + 1 - len(plain))
                place, size = place + len(piece) - len(stream.unused_data), 2 * size
        except zlib.error as error:
            raise InvalidFile(f"{shown_path(path)}: is damaged gzip ({error}); fetch the file again") from None
        if len(plain) > most:
            raise InvalidFile(f"{shown_path(path)}: holds more than {most} bytes, uncompressed; check the path")
        if not stream.eof:
            raise InvalidFile(f"{shown_path(path)}: the gzip file ends too early; fetch the file again")
    return bytes(plain)


def is_gzip(stream: BinaryIO, path: str | os.PathLike[str]) -> bool:
    """Whether what `stream` holds, of the file at `path`, is gzip; the stream is then at its beginning."""
    try:
        magic = stream.read(2)
        stream.seek(0)
    except OSError as error:
        raise InvalidFile(f"{shown_path(path)}: cannot be read: {_reason(error)}; check the disk") from None
    return magic == _GZIP


@contextlib.contextmanager
def open_tar(path: str | os.PathLike[str]) -> Iterator[tarfile.TarFile]:
    """The tar archive at `path`, to be read from its first member to its last; it may be compressed.

    By its first bytes: Python tries one compression after the other, and on some files does not return.
    """
    import tarfile  # with all its compressions, which no help text needs

    with open_file(path, most=MOST_ARCHIVE) as file:
        kind = _COMPRESSIONS.get(file.read(2), "r|")
        file.seek(0)
        with tarfile.open(fileobj=file, mode=kind) as archive:
            yield archive


def target_of(path: str | os.PathLike[str], *, folders: bool = False) -> Path:
    """Where a file that is written to `path` goes: the regular file that is there, links followed, or a new one.

    folders: make the folder of the file, where there is none. Raises InvalidFile for a device, a pipe, a directory, a
    link to itself, a file or a folder that may not be written. Commands call `refuse_target` before they work, which
    makes nothing.
    """
    path, name = Path(path), shown_path(path)
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # By the path itself: the real path of a standard stream, say, is no path at all.
            mode = path.stat().st_mode
        except FileNotFoundError:
            mode = None
        target = Path(os.path.realpath(path))
        if mode is None:
            target.parent.stat()
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{name}: cannot be written: {_reason(error)}; choose another place") from None
    if mode is not None:
        _refuse_irregular(name, mode)
        if not os.access(target, os.W_OK):
            raise InvalidFile(f"{name}: cannot be written: the file is read-only; choose another place")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidFile(f"{name}: cannot be written: its folder may not be written; choose another place")
    return target


def refuse_target(path: str | os.PathLike[str], *, folders: bool = False) -> None:
    """Raise InvalidFile where a file could not be written to `path`, and make nothing.

    folders: its folder may be missing, and is made when the file is written; the folder that is there must allow it.
    Commands call it before they work, so that a call that fails leaves nothing behind.
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
        raise InvalidFile(f"{shown_path(path)}: cannot be written: {_reason(error)}; choose another place") from None
    target_of(path)


def cannot_be_written(path: str | os.PathLike[str], error: Exception) -> InvalidFile:
    """What to raise when writing fails half-way: a full disk, a limit on sizes."""
    return InvalidFile(f"{shown_path(path)}: cannot be written: {_reason(error)}; choose another place")


def _refuse_irregular(name: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise InvalidFile(f"{name}: is {kind}; give a regular file")


def _reason(error: Exception) -> str:
    """Return the reason in the system's words; of a null byte, whose words differ between versions, in one form."""
    words = getattr(error, "strerror", None) or str(error)
    return "embedded null byte" if "embedded null" in words else words
