"""Learning curves of public logs, and the common parts of their readers: archives and folders of CSV members."""

from __future__ import annotations

import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO

import numpy as np

from mlsched.core.errors import InvalidFile
from mlsched.core.fields import FloatArray
from mlsched.core.safe_open import open_tar, shown_path
from mlsched.instances.traces.source import Text, shown

MAX_MEMBER = 1 << 26
"""Largest member of an archive that is read, in bytes: curves are kilobytes, and a larger file is not one."""

MAX_ARCHIVE = 1 << 29
"""Largest sum of an archive's members, read or not, in bytes: to pass one over takes as long as to read it."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, eq=False)
class Curve:
    """One training run's loss over time; n >= 1 observations.

    Attributes:
        name: Name of the run, unique within one file.
        workload: Model and data set of the training.
        steps: Iterations done at each measurement, strictly increasing, shape (n,).
        losses: Loss, or an error in its place (see the reader), shape (n,); smaller is better.
        seconds: Seconds of training so far, non-decreasing, shape (n,); None if the log has no times.
    """

    name: str
    workload: str
    steps: FloatArray
    losses: FloatArray
    seconds: FloatArray | None = None

    def __len__(self) -> int:
        """Return n, the number of observations."""
        return len(self.steps)


class Member(Text):
    """A member of an archive, held in memory, as `Text`."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(name)
        self._data = data

    def _open(self, path: str | os.PathLike[str]) -> BinaryIO:
        return io.BytesIO(self._data)


def members(path: str | os.PathLike[str], pattern: re.Pattern[str]) -> Iterator[tuple[str, Text]]:
    """Yield (inner path, text) of `path`: itself if it is a CSV, its matching members if it is a tar archive.

    Archives may be compressed. One member is in memory at a time, and the disk is not used.

    Raises:
        InvalidFile: The file is missing or cannot be read, or all members fail to match.
    """
    if not _is_tar_archive(path):
        yield str(path), Text(path)
        return
    name = shown_path(path)
    count = size = 0
    try:
        with open_tar(path) as archive:
            for info in archive:
                size += info.size
                if size > MAX_ARCHIVE:
                    raise InvalidFile(f"{name}: has more than {MAX_ARCHIVE} bytes; give an archive of logs")
                if not info.isfile() or not pattern.fullmatch(info.name):
                    continue
                inside = f"{name} :: {info.name if info.name.isprintable() else ascii(info.name)}"
                if info.size > MAX_MEMBER:
                    raise InvalidFile(f"{inside}: has {info.size} bytes, more than {MAX_MEMBER}; give a log of losses")
                stream = archive.extractfile(info)
                if stream is not None:
                    count += 1
                    yield info.name, Member(inside, stream.read())
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise InvalidFile(f"{name}: the archive cannot be read ({error}); fetch the file again") from None
    if not count:
        raise InvalidFile(f"{name}: a member like {pattern.pattern} is missing; give another archive")


def _is_tar_archive(path: str | os.PathLike[str]) -> bool:
    try:
        with open_tar(path):
            return True
    except (OSError, EOFError, zlib.error, tarfile.TarError):
        return False  # a broken gzip: `Text` raises the precise error


class Points:
    """Collects the observations of one curve and rejects impossible values, at the text's current line."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._rows: list[tuple[float, ...]] = []

    def number(self, column: str, value: str) -> float:
        """Parse a finite decimal number below 1e300 in magnitude."""
        if not _NUMBER.fullmatch(value) or not abs(number := float(value)) < 1e300:
            self._text.bad(column, value, "expected a finite number; cut a diverged run before this row")
        return number

    def add(self, *row: tuple[str, str]) -> None:
        """Add one row: (column, text) of steps, losses and, if present, seconds."""
        values = tuple(self.number(*item) for item in row)
        if self._rows:
            (step, text), before = row[0], self._rows[-1]
            if values[0] <= before[0]:
                self._text.bad(step, text, f"expected above {before[0]:g}, the row before")
            if len(values) > 2 and values[2] < before[2]:
                self._text.bad(*row[2], f"expected at least {before[2]:g}, the row before")
        elif values[0] < 0:
            self._text.bad(*row[0], "expected >= 0")
        self._rows.append(values)

    def build(self, name: str, workload: str) -> Curve:
        """Build the curve; a file without rows is rejected."""
        if not self._rows:
            self._text.fail("the file has no observations", "give a file with rows")
        columns = np.array(self._rows, dtype=np.float64).T
        columns.flags.writeable = False
        return Curve(name, workload, columns[0], columns[1], columns[2] if len(columns) > 2 else None)


def parts(path: str) -> tuple[str, ...]:
    """Return the folders and the file name of a path, last first."""
    return tuple(reversed(PurePosixPath(path).parts))


def unknown_columns(text: Text, header: tuple[str, ...], wanted: str) -> InvalidFile:
    """Return the error for a header without the columns of a format."""
    return InvalidFile(f"{text.name}, line 1: the header {shown(','.join(header))} lacks column {wanted}; give one")
