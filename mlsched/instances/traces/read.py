"""Reading a log of jobs or a list of nodes of any format: `read_trace` and `read_nodes`.

A new format is a new module in this package and one entry in `_FORMATS`. Logs of unknown formats (CSV, Parquet,
DataFrames) are read by the columns that `read` names (`own`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlsched.core.arguments import validate_arguments
from mlsched.core.collector import collector_paused
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.params import CountOrNone, Number
from mlsched.instances.traces import alibaba, helios, mapped, nodes, own, philly, slurm, supercloud, swf
from mlsched.instances.traces.builder import LogOptions, TraceBuilder
from mlsched.instances.traces.columns import Given, check_log, columns_of, complete, described, parse
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.frames import Frame, is_frame, parquet
from mlsched.instances.traces.source import SEPARATORS, Text, csv_header, csv_rows, separator_of, shown
from mlsched.instances.traces.trace import Nodes, Trace

_FORMATS = {
    form.name: form
    for form in (
        alibaba.POD_FORMAT,
        philly.CSV_FORMAT,
        philly.JSON_FORMAT,
        helios.REDUCED_FORMAT,
        helios.ORIGINAL_FORMAT,
        slurm.FORMAT,
        supercloud.FORMAT,
        *mapped.FORMATS,
        swf.FORMAT,
    )
}
FORMATS: tuple[str, ...] = tuple(_FORMATS)
"""The names that `read_trace(format=...)` takes."""
OWN = "own log"
"""How the source of a trace calls a log of no known format."""


@validate_arguments
def read_trace(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002  # what every reader of files calls it
    limit: Number | None = None,
    read: str | Mapping[str, str] | None = None,
    strict: bool = False,
    log_cluster: str = "",
    log_shards: CountOrNone = 0,
) -> Trace:
    """Read the jobs of the log `source`.

    A row that is not a finished job (it still waits or runs, or a required value is missing) is skipped and counted:
    `Trace.account` explains every row.

    Args:
        source: A CSV, JSON or text file, plain or gzip, or a Parquet file; or a DataFrame (pandas, polars, pyarrow, or
            a mapping of columns).
        format: One of `FORMATS`; None detects it from the content.
        limit: Read only until this many jobs with a run time are found, in file order; None reads all.
        read: Columns of a log in your own format (`columns`): "submit=a,duration=b:min,gpus=c", or a mapping. Other
            fields, and all of them without it, are found by common names of columns.
        strict: Reject the first row that would be skipped.
        log_cluster: Cluster to read from Slurm's accounting of several clusters.
        log_shards: Shards of Slurm (gres/shard) per GPU; 0 leaves shards uncounted.

    Raises:
        InvalidFile: The file is missing, unreadable, of an unknown format, or has a bad row or no job at all.
        UnknownName: The format is unknown.
        InvalidInput: `limit` is not an integer >= 1, `read` is not a mapping of columns, or a DataFrame is wrong.
    """
    if format is not None and format not in _FORMATS:
        raise UnknownName(f"trace format {format!r} does not exist; use one of {', '.join(FORMATS)}")
    if format is not None and read is not None:
        raise InvalidInput(f"read: is for logs of unknown formats, not for {format}; leave one of them out")
    settings = parse(read or {})
    of_slurm = [name for name, value in (("log_cluster", log_cluster), ("log_shards", log_shards)) if value]
    jobs = TraceBuilder(limit, strict=strict, options=LogOptions(log_cluster, int(log_shards)))
    frame = Frame(source, "the DataFrame") if is_frame(source) else parquet(source) if format is None else None
    if frame is not None:
        _refuse_slurm_options(of_slurm)
        return _read_frame(frame, settings, jobs)
    with collector_paused(), Text(source) as text:
        jobs.place = text
        form = _FORMATS[format] if format is not None else None if read is not None else _detect_format(text)
        if form is not slurm.FORMAT:
            _refuse_slurm_options(of_slurm)
        if form is None:
            return _read_own_text(text, settings, jobs)
        if form.columns:
            jobs.unread = tuple(name for name in csv_header(text) if name not in (*form.columns, *form.optional))
        form.read(text, jobs)
        _refuse_empty_log(text, jobs)
        jobs.notes[:0] = form.notes
        return jobs.build(f"{text.name} ({form.name}){_left_out(jobs)}")


def _refuse_slurm_options(options: Sequence[str]) -> None:
    """Refuse options of Slurm's accounting for another log."""
    if options:
        raise InvalidInput(f"{', '.join(options)}: options of sacct logs, and this is another log; leave them out")


def _left_out(jobs: TraceBuilder) -> str:
    """Describe the number of skipped rows, and the reasons."""
    reasons = ", ".join(f"{reason}: {count}" for reason, count in jobs.dropped.items())
    return f"; {sum(jobs.dropped.values())} rows left out ({reasons})" if reasons else ""


def _read_frame(frame: Frame, given: Given, jobs: TraceBuilder) -> Trace:
    if given.separator is not None or not given.header:
        raise InvalidInput("read: separator and header are of texts, and this is a table of columns; leave them out")
    jobs.place = frame
    columns = columns_of(frame, frame.header, given.fields)
    check_log(frame, frame.header, columns, given.fields)
    jobs.unread = _unread_columns(frame.header, columns)
    own.read_rows(frame, columns, frame.rows, jobs)
    _refuse_empty_log(frame, jobs)
    return jobs.build(f"{frame.name} ({OWN}: {described(columns)}{_left_out(jobs)})")


def _read_own_text(text: Text, given: Given, jobs: TraceBuilder) -> Trace:
    separator = SEPARATORS[given.separator] if given.separator else separator_of(text)
    header = csv_header(text, separator, header=given.header)
    text.line += 1
    if len(header) < 2:
        text.fail(
            f"begins with {shown(text.head.rstrip())}, expected several columns",
            f"name their separator (read separator={'|'.join(SEPARATORS)})",
        )
    if given.header and all(re.fullmatch(r"[0-9.:\-+TZ ]*", name) for name in header):
        text.fail(f"begins with {shown(text.head.rstrip())}, a row, expected names of columns", "read header=no")
    fields = columns_of(text, header, given.fields)
    check_log(text, header, fields, given.fields)
    text.line -= 1
    jobs.unread = _unread_columns(header, fields)

    def rows(columns: Sequence[str]) -> Iterator[Sequence[object]]:
        selection = columns if len(columns) > 1 else [*columns, header[0]]  # a selection of columns has two or more
        return csv_rows(text, selection, {}, separator, header=given.header)

    own.read_rows(text, fields, rows, jobs)
    _refuse_empty_log(text, jobs)
    return jobs.build(f"{text.name} ({OWN}: {described(fields)}{_left_out(jobs)})")


def _unread_columns(header: Sequence[str], columns: Mapping[str, Any]) -> tuple[str, ...]:
    read = {column.name for column in columns.values()}
    return tuple(name for name in header if name not in read)


def _refuse_empty_log(place: Text | Frame, jobs: TraceBuilder) -> None:
    """Refuse a log without a job that ran."""
    if not jobs.rows:
        place.fail("the file has no jobs" if isinstance(place, Text) else "has no jobs", "give a file with rows")
    if not len(jobs):
        reasons = ", ".join(f"{reason}: {count}" for reason, count in jobs.dropped.items())
        place.fail(f"no job has a run time ({reasons})", "give a trace of jobs that ran")


@validate_arguments
def read_nodes(path: str | os.PathLike[str], *, read: str | Mapping[str, str] | None = None) -> Nodes:
    """Read the machines of the node list at `path`, plain or gzip: Alibaba's v2023, or common names (`nodes`).

    Args:
        path: The file.
        read: Columns of the list, as for a log: "gpus=gpu_capacity_num,name=host".

    Raises:
        InvalidFile: The file is missing, unreadable, not a node list, empty, or has a bad row.
        InvalidInput: `read` is not a mapping of columns.
    """
    with Text(path) as text:
        if read is None and frozenset(alibaba.NODE_COLUMNS) <= frozenset(csv_header(text)):
            return alibaba.read_node_list(text)
        return nodes.read(text, parse(read or {}, nodes.NAMES))


def _detect_format(text: Text) -> TraceFormat | None:
    """Detect the format of a file; None if the common names of its columns suffice to read it.

    A table that has all columns of a known format is of it. Otherwise a table with all required common names is read by
    these names. Otherwise pick the format with the largest share of columns in the header, at least two fifths. A file
    of a known format that lacks columns (a pod list without times has 5 of 11) then gets an error about that format.
    """
    if text.head.lstrip().startswith("["):
        return philly.JSON_FORMAT
    if slurm.is_sacct(text.head):
        return slurm.FORMAT
    if swf.is_swf(text.head):
        return swf.FORMAT
    header = csv_header(text, separator_of(text))
    names = frozenset(header)
    tables = [form for form in _FORMATS.values() if form.columns]
    whole = [form for form in tables if names.issuperset(form.columns)]
    if whole:
        return max(whole, key=lambda form: len(form.columns))
    if complete(header):
        return None
    close = [form for form in tables if form not in mapped.FORMATS]
    share, name = max((len(names.intersection(form.columns)) / len(form.columns), form.name) for form in close)
    if share < 0.4:
        text.line += 1
        if names.issuperset(alibaba.NODE_COLUMNS):
            text.fail("this is a node list, not a trace of jobs", "read it with read_nodes")
        text.fail(
            "is not the header of a known log format",
            "name the columns: --read submit=COLUMN,duration=COLUMN,gpus=COLUMN (without a header: "
            f"header=no,submit=#1,...); it begins with {shown(text.head.rstrip(), 40)}{_detected(text)}",
        )
    return _FORMATS[name]


def _detected(text: Text) -> str:
    """Name the separator that was detected, if it is not a comma."""
    separator = separator_of(text)
    name = next(name for name, value in SEPARATORS.items() if value == separator)
    return "" if separator == "," else f" (detected: separator={name})"
