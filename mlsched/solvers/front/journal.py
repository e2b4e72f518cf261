"""The answers of a front's sub-problems in a file that survives `kill -9`.

The file has lines of JSON. The first names format, model and settings; each further line is an answered sub-problem. A
line's checksum continues the checksum of the line before, so that a changed, lost or reordered line is noticed. One
write appends a line before the answer is used. After a crash at most the last line is incomplete; it is dropped, and
only that sub-problem is solved again. The file is created by a rename and locked while in use.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidFile
from mlsched.core.files import atomic_write
from mlsched.core.safe_open import cannot_be_written, target_of
from mlsched.core.scalar import Answer, Bounds

KIND, VERSION = "mlsched.front", 2

Key = tuple[tuple[int, ...], tuple[Bounds, ...]]


class Journal:
    """Answers by (weights, boxes), to which `add` appends. `header` identifies the caller's model and settings."""

    def __init__(self, path: str | os.PathLike[str], header: Data) -> None:
        self.path = target_of(path)
        self.header = {"kind": KIND, "version": VERSION, **header}
        self.answers: dict[Key, Answer] = {}
        self._stream: Any = None
        self._chain = 0
        try:
            if not self.path.exists() or self.path.stat().st_size == 0:
                with atomic_write(self.path) as stream:
                    stream.write(_line(self.header, 0)[0])
            # Unbuffered: a line that could not be written is not tried again when the file is closed.
            self._stream = self.path.open("r+b", buffering=0)
        except OSError as error:
            raise InvalidFile(f"{self.path}: cannot be opened: {error.strerror}; choose another place") from None
        try:
            self._lock_file()
            self._read_answers()
        except BaseException:
            self.close()
            raise

    def _lock_file(self) -> None:
        try:
            import fcntl
        except ImportError:  # not a POSIX system: the user must not open one file from two processes
            return
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidFile(
                f"{self.path}: is in use by another process; wait for it or choose another file"
            ) from None

    def _read_answers(self) -> None:
        content = self._stream.read()
        lines = content.split(b"\n")
        # A complete line ends in a newline; the bytes after the last newline are part of an interrupted write.
        whole, offset = lines[:-1], 0
        for number, line in enumerate(whole, 1):
            data, chain = _parse_line(line, self._chain)
            if data is None:
                if number == len(whole) and number > 1 and not lines[-1]:
                    break
                if number == 1:
                    raise InvalidFile(f"{self.path}: is not a journal of a front; choose another file")
                raise InvalidFile(f"{self.path}, line {number}: is damaged; restore the file or start a new one")
            self._take_answer(number, data)
            self._chain = chain
            offset += len(line) + 1
        if offset == 0:
            raise InvalidFile(f"{self.path}: is not a journal of a front; choose another file")
        self._stream.seek(offset)
        self._stream.truncate()

    def _take_answer(self, number: int, data: Data) -> None:
        if number == 1:
            self._compare_header(data)
            return
        try:
            values, solution = data["values"], data["solution"]
            answer = Answer(
                data["status"],
                None if values is None else tuple(values),
                data["bound"],
                None if solution is None else tuple(solution),
            )
            self.answers[tuple(data["weights"]), tuple(map(tuple, data["boxes"]))] = answer
        except (KeyError, TypeError):
            raise InvalidFile(f"{self.path}, line {number}: lacks a field; start a new file") from None

    def _compare_header(self, header: Data) -> None:
        """Refuse a file of another model or of other settings."""
        if header.get("kind") != KIND:
            raise InvalidFile(f"{self.path}: kind: {header.get('kind')!r}, expected {KIND}; choose another file")
        if header.get("version") != VERSION:
            raise InvalidFile(
                f"{self.path}: version = {header.get('version')!r}: this release reads {VERSION}; choose another file"
            )
        for name, value in self.header.items():
            if header.get(name) != value:
                shown = (
                    "another model or other objectives" if name == "fingerprint" else f"{name} = {header.get(name)!r}"
                )
                raise InvalidFile(
                    f"{self.path}: belongs to {shown}, not to this call; repeat that call or choose another file"
                )

    def add(self, weights: tuple[int, ...], boxes: tuple[Bounds, ...], answer: Answer) -> None:
        """Append one proved answer."""
        body = {
            "weights": weights,
            "boxes": boxes,
            "status": answer.status,
            "values": answer.values,
            "bound": answer.bound,
            "solution": answer.solution,
        }
        text, self._chain = _line(body, self._chain)
        rest = text.encode()
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
        except OSError as error:  # an incomplete line is dropped when the file is read again
            raise cannot_be_written(self.path, error) from None
        self.answers[weights, boxes] = answer

    def close(self) -> None:
        """Release the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _line(body: Data, chain: int) -> tuple[str, int]:
    text = json.dumps(body, allow_nan=False)
    check = zlib.crc32(text.encode(), chain)
    return f'{text[:-1]}, "check": {check}}}\n', check


def _parse_line(line: bytes, chain: int) -> tuple[Data | None, int]:
    """Return the line's object and checksum; no object if the checksum does not continue the previous line's."""
    text, mark, check = line.rpartition(b', "check": ')
    if not mark or zlib.crc32(text + b"}", chain) != _parse_checksum(check):
        return None, 0
    try:
        data = json.loads(text + b"}")
    except ValueError:
        return None, 0
    return data if isinstance(data, dict) else None, _parse_checksum(check)


def _parse_checksum(text: bytes) -> int:
    """Parse a checksum and the end of the line; -1 if invalid. At most ten digits: Python refuses thousands."""
    digits = text[:-1]
    return int(digits) if text.endswith(b"}") and digits.isdigit() and len(digits) <= 10 else -1
