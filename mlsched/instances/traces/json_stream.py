"""The entries of a JSON list, one at a time, so that a trace of any length is read in little memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NoReturn

from mlsched.instances.traces.source import Text, shown

MAX_ENTRY = 1 << 22
"""Longest entry in characters: one that is not closed must not pull the whole file into memory."""

_CHUNK = 1 << 16
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def json_entries(text: Text) -> Iterator[dict[str, object]]:
    """Yield the objects of the JSON list in `text`; `text.line` is the first line of the current one."""
    cursor = _Cursor(text)
    cursor.skip_character("[")
    if cursor.peek_character() == "]":
        return
    while True:
        if (char := cursor.peek_character()) != "{":
            cursor.fail(f"found {shown(char)}: each entry must be an object {{...}}")
        yield cursor.parse_object()
        if cursor.peek_character() == "]":
            break
        cursor.skip_character(",")
    cursor.skip_character("]")
    if char := cursor.peek_character():
        cursor.fail(f"found {shown(char)} after the list, expected the end of the file")


class _Cursor:
    """A place in the stream, with the part of the text around it that is in memory."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._line = text.line + 1
        self._buffer = ""
        self._at = 0

    def fail(self, problem: str) -> NoReturn:
        self._text.line = self._line
        self._text.fail(problem, "give a JSON list of jobs")

    def peek_character(self) -> str:
        """Skip white space; the character after it, '' at the end of the file."""
        skipped = 0
        while True:
            space = _SPACE.match(self._buffer, self._at)
            self._advance_to(space.end() if space else self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            skipped += len(self._buffer)
            if skipped > MAX_ENTRY:
                self.fail(f"has more than {MAX_ENTRY} blanks in a row")
            if not self._read_more(_CHUNK):
                return ""

    def skip_character(self, char: str) -> None:
        """Step over `char`."""
        if (actual := self.peek_character()) != char:
            self.fail(
                f"found {shown(actual)}, expected {char!r}" if actual else f"the list ends too early, expected {char!r}"
            )
        self._at += 1

    def parse_object(self) -> dict[str, object]:
        """Parse the object that begins here."""
        self._text.line = self._line
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:  # broken, or only cut off by the end of the buffer
                size = len(self._buffer) - self._at
                if size > MAX_ENTRY:
                    self.fail(f"an entry is broken or longer than {MAX_ENTRY} characters ({error.msg})")
                line = self._line + self._buffer.count("\n", self._at, error.pos)
                if not self._read_more(max(_CHUNK, size)):  # doubling keeps the repeated decoding linear
                    self._line = line
                    self.fail(f"is not JSON ({error.msg})")
            except (ValueError, RecursionError) as error:  # a number of thousands of digits, or deep nesting
                self.fail(f"an entry cannot be decoded ({shown(str(error))})")
            else:
                self._advance_to(end)
                return dict(value)

    def _read_more(self, size: int) -> bool:
        chunk = self._text.read(size)
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def _advance_to(self, to: int) -> None:
        self._line += self._buffer.count("\n", self._at, to)
        self._at = to
