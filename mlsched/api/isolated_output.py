"""What an isolated solver prints: at most `MOST` bytes reach the standard error, cleaned; the rest is counted."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import sys

#: Bytes that are handed on.
MOST = 2**16
#: Bytes of one write, which a pipe that is writable takes at once, and seconds to wait for a reader at the end.
PIECE, PATIENCE = 512, 1.0
STANDARD_ERROR = 2


class Output:
    """A pipe from the worker to its keeper, which hands on what comes."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        self.seen = 0
        self.open = True
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = b""

    def adopt(self) -> None:
        """In the worker: have both standard streams go into the pipe, each by a descriptor of its own."""
        os.close(self.reader)
        for standard in (1, STANDARD_ERROR):
            os.dup2(self._writer, standard)
        os.close(self._writer)
        sys.stdout, sys.stderr = (
            os.fdopen(standard, "w", buffering=1, errors="replace", closefd=False) for standard in (1, STANDARD_ERROR)
        )

    def watch(self) -> None:
        """In the keeper."""
        os.close(self._writer)
        os.set_blocking(self.reader, False)

    @property
    def waits(self) -> list[int]:
        """The descriptor to be written to, where there is something to write."""
        return [STANDARD_ERROR] if self._pending else []

    @property
    def listens(self) -> list[int]:
        """The descriptor to be read from, where there is room."""
        return [self.reader] if self.open and len(self._pending) <= MOST else []

    def take(self) -> bool:
        """Read what there is; False where there is nothing more."""
        try:
            chunk = os.read(self.reader, 2**16)
        except BlockingIOError:
            return False
        if not chunk:
            self.open = False
            return False
        text = self._decoder.decode(chunk[: max(0, MOST - self.seen)])
        self.seen += len(chunk)
        self._pending += cleaned(text).encode()
        return True

    def give(self) -> None:
        """Write a piece to the standard error, which must be writable."""
        with contextlib.suppress(OSError):
            os.write(STANDARD_ERROR, self._pending[:PIECE])
        self._pending = self._pending[PIECE:]

    def finish(self) -> None:
        """Hand on what is left, and say how much is not handed on."""
        while self.open and self.take():
            pass
        if self.seen > MOST:
            more = self.seen - MOST
            self._pending += f"\nmlsched: {more} bytes more that an isolated solver printed are left out\n".encode()
        while self._pending and select.select([], [STANDARD_ERROR], [], PATIENCE)[1]:
            self.give()


def cleaned(text: str) -> str:
    """Text without escape codes and the like: lines and tabs stay, what else is not printable becomes a `?`."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text.replace("\r\n", "\n"))
