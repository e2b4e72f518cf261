"""Tables of results as DataFrames and files: CSV with the standard library, Parquet with pyarrow."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlsched.core import foreign
from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write
from mlsched.core.safe_open import target_of

if TYPE_CHECKING:
    import pandas

FRAMES = "pip install 'mlsched[frames]'"


def dataframe(table: Mapping[str, Any]) -> pandas.DataFrame:
    """Return a pandas DataFrame of columns of equal length."""
    try:
        import pandas
    except ImportError:
        raise InvalidInput(f"a DataFrame needs pandas; {FRAMES}, or use the table's columns as they are") from None
    return pandas.DataFrame(dict(table))


def check_target(path: str | os.PathLike[str]) -> str:
    """Return the format of a table's file name: "csv" or "parquet".

    Raises InvalidInput for other formats, or if pyarrow is missing.
    """
    suffix = os.fspath(path).rpartition(".")[2].lower()
    if suffix not in ("csv", "parquet"):
        raise InvalidInput(f"{os.fspath(path)}: expected a name ending in .csv or .parquet")
    if suffix == "parquet":
        _arrow()
    target_of(path)
    return suffix


def write(table: Mapping[str, Sequence[Any]], path: str | os.PathLike[str]) -> None:
    """Write columns of equal length atomically, in the format of the file's suffix; CSV texts never become formulas."""
    if check_target(path) == "parquet":
        arrow = _arrow()
        columns = {name: arrow.array(values) for name, values in table.items()}
        with atomic_write(path, "wb") as stream:
            arrow.parquet.write_table(arrow.table(columns), stream)
        return
    columns = {name: getattr(values, "tolist", lambda v=values: list(v))() for name, values in table.items()}
    with atomic_write(path) as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(map(foreign.csv_cell, row) for row in zip(*columns.values(), strict=True))


def _arrow() -> Any:
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError:
        raise InvalidInput(f"Parquet needs pyarrow; {FRAMES}, or write a .csv") from None
    return arrow
