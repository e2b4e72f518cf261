"""Trace files as streams of text, rows and checked values.

Each fault in a file becomes one line of `InvalidFile` with the file, the line, the column, the value and the rule. Only
one line (or one JSON chunk) of the file is in memory at a time.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from types import TracebackType
from typing import BinaryIO, NoReturn, Self, cast

from mlsched.core.errors import InvalidFile
from mlsched.core.safe_open import is_gzip, open_file, shown_path

MAX_LINE = 1 << 20
"""Longest CSV line in characters; a longer one is a wrong or hostile file, and reading it whole would fill memory."""
MAX_BLANK = 100_000
"""Most blank lines of a file."""
MAX_DIGITS = 12
"""Most digits of a whole number: keeps milliseconds and 1/1000 units, and sums of them, far inside int64."""
MAX_NUMBER = 10**MAX_DIGITS

#: Names of the separators of columns -> the character. "space": any number of blanks.
SEPARATORS = {"comma": ",", "tab": "\t", "semicolon": ";", "bar": "|", "space": " "}

#: The day 1970-01-01, counted from 0001-01-01.
_EPOCH = 719_163

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


def shown(value: object, most: int = 60) -> str:
    """Format `value` as one short printable line for a message."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


class Text:
    """The UTF-8 text of a file, plain or gzip (detected by its first bytes), as a context manager.

    Attributes:
        name: The path in messages.
        line: Number of the line in which the current row or entry ends or begins, from 1.
        head: The first line that is not blank (at most `MAX_LINE` characters of it).
        remedy: Default advice of messages.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = shown_path(path)
        self.line = 0
        self.remedy = "fix or remove the row"
        self._path = path
        self._blank = 0
        self._taken = 0  # lines taken from the stream, which a JSON reader takes ahead of `line`

    def __enter__(self) -> Self:
        self._file = self._open(self._path)
        plain = cast(BinaryIO, gzip.GzipFile(fileobj=self._file)) if is_gzip(self._file, self._path) else self._file
        # surrogateescape lets a bad byte through, so that the error can name its line
        self._stream = io.TextIOWrapper(plain, encoding="utf-8-sig", errors="surrogateescape", newline="")
        try:
            self.head = self._first_line()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()

    def _open(self, path: str | os.PathLike[str]) -> BinaryIO:
        return open_file(path)

    def _first_line(self) -> str:
        while text := self._read_chunk(MAX_LINE, by_line=True):
            if text.strip():
                return text  # not counted yet: the reader that uses it does
            self._count_blank()
            if len(text) >= MAX_LINE:
                self.fail(f"begins with more than {MAX_LINE} blanks", "check that this is a trace")
        raise InvalidFile(f"{self.name}: is empty; give a file with a header and rows")

    def _read_chunk(self, size: int, *, by_line: bool) -> str:
        """Read the next line (its first `size` characters), or the next `size` characters; '' at the end."""
        try:
            text = self._stream.readline(size) if by_line else self._stream.read(size)
        except EOFError:
            self.line = self._taken + 1
            self.fail("the gzip file ends too early", "fetch the file again")
        except (OSError, zlib.error) as error:  # BadGzipFile is an OSError
            self.line = self._taken + 1
            self.fail(f"cannot be read ({error})", "fetch the file again")
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                self.line = self._taken + text.count("\n", 0, error.start) + 1
                self.fail("is not UTF-8 text", "save the file as UTF-8")
        self._taken += text.endswith(("\n", "\r")) if by_line else text.count("\n")
        return text

    def _count_blank(self) -> None:
        """Count a blank line: a few bytes of gzip make millions of them."""
        self.line += 1
        self._blank += 1
        if self._blank > MAX_BLANK:
            self.fail(f"has more than {MAX_BLANK} blank lines", "check that this is a trace")

    def lines(self) -> Iterator[str]:
        """Yield the lines from `head` on, counted in `line`."""
        text = self.head
        while text:
            if text.isspace():
                self._count_blank()
            else:
                self.line += 1
            if len(text) >= MAX_LINE:
                self.fail(f"is longer than {MAX_LINE} characters", "check that this is a CSV trace")
            yield text
            text = self._read_chunk(MAX_LINE, by_line=True)

    def read(self, size: int) -> str:
        """Read the next `size` characters, `head` first, without counting lines."""
        if self.head:
            text, self.head = self.head, ""
            return text
        return self._read_chunk(size, by_line=False)

    def fail(self, problem: str, remedy: str = "") -> NoReturn:
        """Raise `InvalidFile` at the current line."""
        raise InvalidFile(f"{self.name}, line {self.line}: {problem}; {remedy or self.remedy}") from None

    @property
    def where(self) -> str:
        """Describe the current line, for messages."""
        return f"line {self.line}"

    def bad(self, column: str, value: object, rule: str, remedy: str = "") -> NoReturn:
        """Raise `InvalidFile` about one value."""
        self.fail(f"{column}: {shown(value)}, {rule}", remedy)

    def whole(self, column: str, value: str) -> int:
        """Parse an integer >= 0 of at most `MAX_DIGITS` digits."""
        if not (value.isdecimal() and value.isascii()):
            self.bad(column, value, "expected an integer >= 0")
        if len(value) > MAX_DIGITS:
            self.bad(column, value, f"expected below 10^{MAX_DIGITS}")
        return int(value)

    def milliseconds(self, column: str, value: str) -> int:
        """Parse a decimal number of seconds >= 0, to the nearest millisecond."""
        if not _DECIMAL.fullmatch(value):
            self.bad(column, value, "expected a number of seconds >= 0")
        seconds = float(value)
        if seconds >= MAX_NUMBER:  # also values that overflow to infinity
            self.bad(column, value, f"expected below 10^{MAX_DIGITS}")
        return round(seconds * 1000)

    def timestamp(self, column: str, value: object) -> int:
        """Parse a wall-clock time 'YYYY-MM-DD HH:MM:SS' without zone, as seconds since 1970."""
        rule = "expected a time 'YYYY-MM-DD HH:MM:SS'"
        if not isinstance(value, str) or not _TIMESTAMP.fullmatch(value):
            self.bad(column, value, rule)
        try:
            time = datetime.fromisoformat(value)
        except ValueError:  # month 13, hour 25
            self.bad(column, value, rule)
        return (time.toordinal() - _EPOCH) * 86400 + time.hour * 3600 + time.minute * 60 + time.second

    def label(self, column: str, value: object, *, empty: bool = False) -> str:
        """Return a printable text without surrounding blanks, for one-line reports; not '' unless `empty`."""
        if not isinstance(value, str) or not (text := value.strip()).isprintable():
            self.bad(column, value, "expected printable text")
        if not text and not empty:
            self.bad(column, value, "must not be empty")
        return text


def csv_rows(
    text: Text, columns: Sequence[str], lacks: Mapping[str, str], separator: str = ",", *, header: bool = True
) -> Iterator[tuple[str, ...]]:
    """Yield the values of `columns` (two or more) in each row of a CSV file; blank lines are skipped.

    The header may have the columns in any order, and further ones.

    Args:
        text: The file.
        columns: Columns to return.
        separator: Separator of the columns.
        lacks: Consequence of a missing column, by column.
        header: True if the first line is one; otherwise columns are called #1, #2, ...
    """
    rows = _csv_reader(text.lines() if separator != " " else (line.strip() + "\n" for line in text.lines()), separator)
    try:
        names: Sequence[str] = csv_header(text, separator, header=header)
        if header:
            names = next(rows, [])
        _check_header(text, names, columns, lacks)
        pick = cast("itemgetter[tuple[str, ...]]", itemgetter(*map(names.index, columns)))
        width = len(names)
        for row in rows:
            if len(row) == width:
                yield pick(row)
            elif row:
                text.fail(f"has {len(row)} fields, expected {width}, as the {'header' if header else 'first row'} has")
    except csv.Error as error:
        text.fail(f"is not CSV ({error})", "fix its quotes")


def _csv_reader(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    return csv.reader(lines, strict=True, delimiter=separator, skipinitialspace=separator == " ")


def csv_header(text: Text, separator: str = ",", *, header: bool = True) -> tuple[str, ...]:
    """Return the column names in the first line, or (header=False) their numbers; () if it is not a CSV."""
    try:
        names = next(_csv_reader([text.head.strip() if separator == " " else text.head], separator), [])
    except csv.Error:
        return ()
    return tuple(names) if header else tuple(f"#{number}" for number in range(1, len(names) + 1))


def separator_of(text: Text) -> str:
    """Detect the separator: a comma, unless it gives one column and another character several."""
    for separator in (",", "\t", ";", "|"):
        if len(csv_header(text, separator)) > 1:
            return separator
    return ","


def _check_header(text: Text, header: Sequence[str], columns: Sequence[str], lacks: Mapping[str, str]) -> None:
    missing = [name for name in columns if name not in header]
    if missing:
        why = next((lacks[name] for name in missing if name in lacks), "give a file with every column of its format")
        text.fail(f"the header lacks {', '.join(map(repr, missing))}", why)
    if len(set(header)) != len(header):
        twice = Counter(header).most_common(1)[0][0]
        text.fail(f"the header has column {shown(twice)} twice", "remove or rename one")
