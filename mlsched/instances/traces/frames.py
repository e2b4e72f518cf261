"""DataFrames and Parquet files as rows of a log: pandas, polars, pyarrow tables and mappings of lists.

Only pyarrow is imported here, for a Parquet file; other frames are recognised by their methods.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.safe_open import open_file
from mlsched.instances.traces.source import shown

#: The first bytes of a Parquet file.
PARQUET = b"PAR1"


class Frame:
    """Columns of equal length by name, and the current row for messages (counted from 0, as DataFrames do)."""

    def __init__(self, frame: Any, name: str, error: type[InvalidInput] = InvalidInput) -> None:
        self.name, self._frame, self._error = name, frame, error
        self.row = -1
        names = getattr(frame, "column_names", None)  # pyarrow; pandas and polars have `columns`
        if isinstance(frame, Mapping):
            names = list(frame)
        elif names is None:
            names = list(frame.columns)
        self.header = tuple(map(str, names))
        if len(set(self.header)) != len(self.header):
            twice = next(column for column in self.header if self.header.count(column) > 1)
            self.fail(f"has column {shown(twice)} twice", "remove or rename one")

    @property
    def where(self) -> str:
        """Describe the current row, for messages."""
        return f"row {self.row}"

    def fail(self, problem: str, remedy: str = "") -> NoReturn:
        """Refuse the current row, or the frame without a current row."""
        place = f", row {self.row}" if self.row >= 0 else ""
        raise self._error(f"{self.name}{place}: {problem}; {remedy or 'fix or remove the row'}")

    def bad(self, column: str, value: object, rule: str, remedy: str = "") -> NoReturn:
        """Refuse a value of the current row."""
        self.fail(f"{column}: {shown(value)}, {rule}", remedy)

    def rows(self, columns: Sequence[str]) -> Iterator[Sequence[object]]:
        """Yield the values of these columns, row by row."""
        values = [self._values_of_column(name) for name in columns]
        if len({len(column) for column in values}) > 1:
            self.fail("has columns of different lengths", "give columns of equal length")
        for self.row, row in enumerate(zip(*values, strict=True)):
            yield row

    def _values_of_column(self, name: str) -> list[object]:
        column = self._frame[name]
        for method in ("to_pylist", "to_list", "tolist"):  # pyarrow; polars and pandas; arrays
            if hasattr(column, method):
                return list(getattr(column, method)())
        return list(column)


def is_frame(source: object) -> bool:
    """Check that a source is a table of columns."""
    return isinstance(source, Mapping) or (hasattr(source, "__getitem__") and hasattr(source, "columns"))


def parquet(path: str | os.PathLike[str]) -> Frame | None:
    """Return the table of a Parquet file; None for other files."""
    with open_file(path) as stream:
        if stream.read(4) != PARQUET:
            return None
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError:
        raise InvalidInput(
            f"{path}: reading Parquet needs pyarrow; pip install 'mlsched[frames]', or save the log as CSV"
        ) from None
    try:
        table = arrow.parquet.read_table(os.fspath(path))
    except (arrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidFile(f"{path}: cannot be read as Parquet ({reason}); write the file again") from None
    return Frame(table, str(path), InvalidFile)
