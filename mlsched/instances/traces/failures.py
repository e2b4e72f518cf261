"""When nodes of a cluster had failed: a text with a row for each time, of a node, from and to."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mlsched.core.errors import InvalidInput
from mlsched.instances.traces.builder import DATES, KINDS, NUMBERS, ZONED
from mlsched.instances.traces.columns import columns_of
from mlsched.instances.traces.source import Text, csv_header, csv_rows, separator_of
from mlsched.instances.traces.values import Times

#: Field -> common names of its column.
NAMES = {
    "node": ("node", "node_name", "name", "host", "hostname", "machine", "machine_id"),
    "from": ("from", "start", "start_time", "begin", "down", "failed", "failed_at"),
    "to": ("to", "end", "end_time", "until", "up", "repaired", "repaired_at"),
}
#: Names of the kinds of clocks, for messages.
CLOCKS = {0: "numbers", NUMBERS: "numbers", DATES: "dates without a zone", ZONED: "dates with a zone"}


@dataclass(frozen=True)
class Failure:
    """A node by its name, and from when to when it had failed: ms on the log's clock; None: it never came back."""

    node: str
    start_ms: int
    end_ms: int | None
    where: str


def read_failures(path: str | os.PathLike[str], clock: int) -> list[Failure]:
    """Read the rows of a file, in its order. clock: Kind of the log's times (`builder`), which the file must share."""
    with Text(path) as text:
        separator = separator_of(text)
        header = csv_header(text, separator)
        text.line += 1
        columns = columns_of(text, header, {}, NAMES)
        if lacking := [field for field in ("node", "from") if field not in columns]:
            text.fail(f"column {lacking[0]!r} is missing", "name its columns node, from, to")
        text.line -= 1
        names = [column.name for column in columns.values()]
        place = {field: names.index(column.name) for field, column in columns.items()}
        times = {field: Times(columns[field].name) for field in ("from", "to") if field in columns}
        failures = []
        for row in csv_rows(text, names, {}, separator):
            start = times["from"].read(text, row[place["from"]])
            end = times["to"].read(text, row[place["to"]]) if "to" in times else None
            if start is None:
                text.bad(columns["from"].name, row[place["from"]], "expected a time")
            if end is not None and end <= start:
                text.bad(columns["to"].name, row[place["to"]], f"expected after {columns['from'].name}")
            failures.append(Failure(text.label("node", row[place["node"]]), start, end, f"{text.name}, {text.where}"))
        for reader in times.values():
            if reader.kind and KINDS.get(reader.kind, NUMBERS) != max(clock, NUMBERS):
                raise InvalidInput(
                    f"{text.name}: {reader.column} is {reader.kind}, and the log's times are {CLOCKS[clock]}; write "
                    "them alike"
                )
    return failures
