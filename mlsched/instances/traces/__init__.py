"""Readers of public cluster traces: what they say about jobs (`Trace`) and machines (`Nodes`), checked row by row.

A file is read as a stream, plain or gzip, and its format is told from its content, never from its name. Everything
wrong with it is one line of `InvalidFile`. A new format is a module here and one entry in `_FORMATS`.
"""

from __future__ import annotations

import os

from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.instances.traces import alibaba, helios, philly
from mlsched.instances.traces.format import TraceFormat
from mlsched.instances.traces.source import Text, csv_header, shown
from mlsched.instances.traces.trace import UNKNOWN, Nodes, Trace, TraceBuilder

__all__ = ["FORMATS", "UNKNOWN", "Nodes", "Trace", "read_nodes", "read_trace"]

_FORMATS = {
    form.name: form
    for form in (
        alibaba.POD_FORMAT,
        philly.CSV_FORMAT,
        philly.JSON_FORMAT,
        helios.REDUCED_FORMAT,
        helios.ORIGINAL_FORMAT,
    )
}
FORMATS: tuple[str, ...] = tuple(_FORMATS)
"""The names that `read_trace(format=...)` takes."""


def read_trace(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # what every reader of files calls it
    limit: int | None = None,
) -> Trace:
    """The jobs of the trace file at `path`.

    Args:
        path: a CSV or JSON file, plain or gzip.
        format: one of `FORMATS`; None tells it from the content.
        limit: read only until this many jobs with a run time are found, in file order; None reads all.

    Raises:
        InvalidFile: the file is missing, unreadable, of no known format, or has a bad row or no job at all.
        UnknownName: there is no such format.
        InvalidInput: `limit` is not an integer >= 1.
    """
    if format is not None and format not in _FORMATS:
        raise UnknownName(f"trace format {format!r} does not exist; use one of {', '.join(FORMATS)}")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InvalidInput(f"limit = {shown(limit)}: must be an integer >= 1, or None to read every job")
    with Text(path) as text:
        form = _FORMATS[format] if format is not None else _detect(text)
        jobs = TraceBuilder(limit)
        form.read(text, jobs)
        if not jobs.rows:
            text.fail("the file holds no jobs", "give a file with rows")
        if not len(jobs):
            reasons = ", ".join(f"{reason}: {count}" for reason, count in jobs.dropped.items())
            text.fail(f"no job has a run time ({reasons})", "give a trace of jobs that ran")
        jobs.notes[:0] = form.notes
        return jobs.build(f"{text.name} ({form.name})")


def read_nodes(path: str | os.PathLike[str]) -> Nodes:
    """The machines of the node list at `path` (Alibaba v2023: sn, cpu_milli, memory_mib, gpu, model), plain or gzip.

    Raises:
        InvalidFile: the file is missing, unreadable, no node list, or has a bad row or none.
    """
    with Text(path) as text:
        return alibaba.read_node_list(text)


def _detect(text: Text) -> TraceFormat:
    """The format of which the header has the largest share of columns; JSON if the file begins so.

    Two fifths of them are enough, so that a file of a known format that lacks columns (a pod list without times has 5
    of 11) is told which, and one of another format is not told nonsense.
    """
    if text.head.lstrip().startswith("["):
        return philly.JSON_FORMAT
    header = frozenset(csv_header(text))
    tables = [form for form in _FORMATS.values() if form.columns]
    share, name = max((len(header.intersection(form.columns)) / len(form.columns), form.name) for form in tables)
    if share < 0.4:
        text.line += 1
        if header.issuperset(alibaba.NODE_COLUMNS):
            text.fail("this is a node list, not a trace of jobs", "read it with read_nodes")
        text.fail(
            f"begins with {shown(text.head.rstrip())}, the header of no known trace format",
            f"give format= ({', '.join(FORMATS)}) or a file of one of them",
        )
    return _FORMATS[name]
