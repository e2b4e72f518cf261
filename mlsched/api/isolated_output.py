"""Output of an isolated solver: at most `MAX_OUTPUT` bytes reach the standard error, cleaned; the rest is counted."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import sys

#: Bytes that are forwarded.
MAX_OUTPUT = 2**16
#: Bytes of one write, which a writable pipe accepts at once, and seconds to wait for a reader at the end.
PIECE, PATIENCE = 512, 1.0
STANDARD_ERROR = 2


class Output:
    """Pipe from the worker to its keeper, which forwards the output."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        self.seen = 0
        self.open = True
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = b""

    def adopt(self) -> None:
        """Redirect both standard streams of the worker into the pipe, each through its own descriptor."""
        os.close(self.reader)
        for standard in (1, STANDARD_ERROR):
            os.dup2(self._writer, standard)
        os.close(self._writer)
        sys.stdout, sys.stderr = (
            os.fdopen(standard, "w", buffering=1, errors="replace", closefd=False) for standard in (1, STANDARD_ERROR)
        )

    def watch(self) -> None:
        """Close the keeper's writing end, and make reading non-blocking."""
        os.close(self._writer)
        os.set_blocking(self.reader, False)

    @property
    def waits(self) -> list[int]:
        """Descriptors to write to, if output is pending."""
        return [STANDARD_ERROR] if self._pending else []

    @property
    def listens(self) -> list[int]:
        """Descriptors to read from, if there is space."""
        return [self.reader] if self.open and len(self._pending) <= MAX_OUTPUT else []

    def take(self) -> bool:
        """Read the available output; return False at its end."""
        try:
            chunk = os.read(self.reader, 2**16)
        except BlockingIOError:
            return False
        if not chunk:
            self.open = False
            return False
        text = self._decoder.decode(chunk[: max(0, MAX_OUTPUT - self.seen)])
        self.seen += len(chunk)
        self._pending += printable_output(text).encode()
        return True

    def give(self) -> None:
        """Write a piece to the standard error, which must be writable."""
        with contextlib.suppress(OSError):
            os.write(STANDARD_ERROR, self._pending[:PIECE])
        self._pending = self._pending[PIECE:]

    def finish(self) -> None:
        """Forward the remaining output, and report the number of omitted bytes."""
        while self.open and self.take():
            pass
        if self.seen > MAX_OUTPUT:
            more = self.seen - MAX_OUTPUT
            self._pending += f"\nmlsched: {more} bytes more that an isolated solver printed are left out\n".encode()
        while self._pending and select.select([], [STANDARD_ERROR], [], PATIENCE)[1]:
            self.give()


def printable_output(text: str) -> str:
    """Replace unprintable characters except line breaks and tabs by `?`, which removes escape codes."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text.replace("\r\n", "\n"))
