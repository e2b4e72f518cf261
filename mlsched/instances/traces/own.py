"""Anyone's log of jobs: which column is what (`read`), and the jobs of its rows.

`read` maps what is to be known to the log's own columns: {"submit": "submit_time", "duration": "run_min:min", "gpus":
"num_gpus"}. A unit may stand behind a colon, or at the end of the column's name (`run_min`); without one, times are
seconds and GPUs and CPUs whole. A number instead of a column holds for every job ("gpus": "1"), nothing ("cpus": "")
leaves a column unread. What is not mapped is looked for by its common names, and the trace says what was found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlsched.core.errors import InvalidInput, shortened
from mlsched.instances.traces.pods import LABELS, NOTHING, Pods
from mlsched.instances.traces.source import shown
from mlsched.instances.traces.trace import UNKNOWN, TraceBuilder
from mlsched.instances.traces.values import COUNTS, MEMORIES, TIMES, Place, Times, amount, is_missing, number

#: Rows: the values of the columns asked for, with a place that says which row is at hand.
Rows = Callable[[Sequence[str]], Iterator[Sequence[object]]]

#: What a log may say -> common names of its column, in small letters with "_" between words and without a unit.
NAMES: Mapping[str, tuple[str, ...]] = {
    "submit": (
        *("submit", "submit_time", "submitted", "submitted_at", "submitted_time", "submission_time"),
        *("arrival", "arrival_time", "created", "created_at", "create_time", "creation_time"),
    ),
    "start": ("start", "start_time", "started", "started_at", "begin", "begin_time"),
    "end": ("end", "end_time", "ended", "ended_at", "finish", "finish_time", "finished_at", "completion_time"),
    "duration": ("duration", "run", "run_time", "runtime", "elapsed", "elapsed_time", "service", "execution_time"),
    "gpus": ("gpus", "gpu", "num_gpus", "num_gpu", "n_gpus", "ngpus", "gpu_count", "gpu_num", "requested_gpus"),
    "cpus": ("cpus", "cpu", "num_cpus", "num_cpu", "n_cpus", "ncpus", "cpu_count", "cpu_num", "cores", "num_cores"),
    "memory": ("memory", "mem", "ram"),
    "user": ("user", "user_id", "user_name", "username", "owner"),
    "group": ("group", "account", "vc", "virtual_cluster", "project", "team"),
    "time_limit": ("time_limit", "timelimit", "requested_time", "req_time", "requested_walltime", "walltime_limit"),
    "nodes": ("num_nodes", "num_node", "n_nodes", "nnodes", "node_count", "node_num", "alloc_nodes", "num_pods"),
    "pod_group": LABELS,
    "pause_cost": ("pause_cost", "resume_cost", "restart_cost"),
    "id": ("id", "job_id", "jobid"),
    "status": ("status", "state", "job_state"),
}
_TIMES = ("submit", "start", "end", "duration", "time_limit", "pause_cost")
_SPANS = ("duration", "time_limit", "pause_cost")
_COUNTED = ("gpus", "cpus", "memory")
#: End of a column's name -> unit.
_ENDS = {
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hours"), "h"),
    **dict.fromkeys(("d", "days"), "d"),
    **{unit: unit for unit in (*MEMORIES, "milli", "percent")},
}
#: Statuses of jobs that had not ended when the log was written.
UNFINISHED = frozenset({"running", "pending", "suspended", "queued", "requeued", "waiting"})
#: Submits further apart than this are a sign of units mixed in one column.
_LONGEST_MS = 20 * 366 * TIMES["d"]

#: Nodes that a job may have.
MOST_NODES = 10**5

USAGE = "read submit=COLUMN,duration=COLUMN,gpus=COLUMN"


@dataclass(frozen=True)
class Column:
    """Where a field comes from: a column and its unit, or a number that holds for every job."""

    field: str
    name: str
    unit: str = ""
    constant: str | None = None
    guessed: bool = False

    def __str__(self) -> str:
        what = self.name if self.constant is None else f"{self.constant} for every job"
        return f"{self.field}={what}" + (f" in {self.unit}" if self.unit not in ("", "whole") else "")


def parse(text: str | Mapping[str, str]) -> dict[str, str]:
    """`"submit=a,gpus=b"` (or a mapping) as field -> column, or InvalidInput."""
    if isinstance(text, str):
        columns: dict[str, str] = {}
        for item in filter(None, text.split(",")):
            field, equals, column = item.partition("=")
            if not equals or field in columns:
                raise InvalidInput(f"read: '{item}' is not FIELD=COLUMN, or names a field twice; {USAGE}")
            columns[field] = column
    else:
        columns = dict(text)
    for field, column in columns.items():
        if field not in NAMES:
            raise InvalidInput(f"read: there is no field {shown(field)}; there are {', '.join(NAMES)}")
        if not isinstance(column, str):
            raise InvalidInput(f"read: {field} = {shown(column)}: must be the name of a column; {USAGE}")
    return columns


def columns_of(place: Place, header: Sequence[str], read: Mapping[str, str]) -> dict[str, Column]:
    """Field -> where it comes from; by `read`, and by common names for what that does not name."""
    columns = {field: _given(place, header, field, spec) for field, spec in read.items() if spec}
    for field in NAMES:
        if field not in read and (column := guessed(place, header, field, NAMES[field])) is not None:
            columns[field] = column
    if "duration" in columns:
        columns.pop("end", None)
        columns.pop("start", None)
    _check_complete(place, header, columns)
    return columns


def complete(header: Sequence[str]) -> bool:
    """Whether the common names say when each job came, how long it ran and what it asked for."""
    fields = {field for field in NAMES if any(_plain(name)[0] in NAMES[field] for name in header)}
    return (
        "submit" in fields and bool(fields & {"gpus", "cpus"}) and ("duration" in fields or {"start", "end"} <= fields)
    )


def _given(place: Place, header: Sequence[str], field: str, spec: str) -> Column:
    name, _, unit = spec.rpartition(":")
    if spec in header or not name:
        name, unit = spec, ""
    units = _units(field)
    if name not in header:
        if field in _COUNTED and re.fullmatch(r"[0-9]+(\.[0-9]+)?", name):
            return Column(field, "", unit or _default_unit(place, field, name), constant=name)
        place.fail(f"there is no column {shown(name)} for {field}", f"the columns are {_listed(header)}")
    if unit and unit not in units:
        there = f"use one of {', '.join(units)}" if units else "it has none: leave it out"
        place.fail(f"read {field}={spec}: there is no unit {shown(unit)} of {field}", there)
    return Column(field, name, unit or _unit_of_name(field, name) or _default_unit(place, field, name))


def guessed(place: Place, header: Sequence[str], field: str, names: Sequence[str]) -> Column | None:
    """The one column that has one of a field's common names; InvalidInput where several have."""
    those = [name for name in header if _plain(name)[0] in names]
    if len(those) > 1:
        both = " and ".join(map(shown, those[:2]))
        place.fail(f"columns {both} could both be {field}", f"say which: read {field}=COLUMN")
    if not those:
        return None
    name = those[0]
    return Column(field, name, _unit_of_name(field, name) or _default_unit(place, field, name), guessed=True)


def _plain(name: str) -> tuple[str, str]:
    """A column's name in small letters with "_" between its words, without its unit; and the unit."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name))
    plain = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    stem, _, end = plain.rpartition("_")
    return (stem, _ENDS[end]) if stem and end in _ENDS else (plain, "")


def _units(field: str) -> tuple[str, ...]:
    if field in _TIMES:
        return tuple(TIMES)
    return tuple(MEMORIES) if field == "memory" else tuple(COUNTS) if field in _COUNTED else ()


def _unit_of_name(field: str, name: str) -> str:
    unit = _plain(name)[1]
    return unit if unit in _units(field) else ""


def _default_unit(place: Place, field: str, name: str) -> str:
    if field == "memory":
        place.fail(f"column {shown(name)} does not say its unit", f"read memory={name}:gib (or {', '.join(MEMORIES)})")
    return "s" if field in _TIMES else "whole" if field in _COUNTED else ""


def _check_complete(place: Place, header: Sequence[str], columns: Mapping[str, Column]) -> None:
    there = f"; the columns are {_listed(header)}"
    if "submit" not in columns:
        place.fail("no column says when jobs were submitted", f"read submit=COLUMN{there}")
    if "duration" not in columns and not {"start", "end"} <= set(columns):
        place.fail("no column says how long jobs ran", f"read duration=COLUMN, or start=COLUMN,end=COLUMN{there}")
    if "gpus" not in columns and "cpus" not in columns:
        place.fail("no column says how many GPUs jobs asked for", f"read gpus=COLUMN, or gpus=1 for one each{there}")


def _listed(header: Sequence[str]) -> str:
    return shortened(", ".join(header), 120)


def described(columns: Mapping[str, Column]) -> str:
    """What was read, in words: for the source of a trace."""
    given = ", ".join(str(column) for column in columns.values() if not column.guessed)
    guessed = ", ".join(str(column) for column in columns.values() if column.guessed)
    return "; ".join(part for part in (given, f"by their names: {guessed}" if guessed else "") if part)


def read_rows(place: Place, columns: Mapping[str, Column], rows: Rows, jobs: TraceBuilder) -> None:
    """Add the jobs of a log's rows. A job that never ran, or is not known to have ended, is dropped and counted."""
    names = list(dict.fromkeys(column.name for column in columns.values() if column.constant is None))
    index = {field: names.index(column.name) for field, column in columns.items() if column.constant is None}
    reader = _Reader(place, columns, index)
    for row in rows(names):
        reader.add(row, jobs)
        if jobs.full and reader.pods is None:  # a job's other pods may stand anywhere
            break
    if reader.pods is not None:
        reader.pods.finish(jobs)
    jobs.notes += reader.notes(jobs)


class _Reader:
    """Turns rows of a log into jobs."""

    def __init__(self, place: Place, columns: Mapping[str, Column], index: Mapping[str, int]) -> None:
        self.place, self.columns, self.index = place, columns, index
        self.times = {
            field: Times(columns[field].name, TIMES[columns[field].unit], span=field in _SPANS)
            for field in _TIMES
            if field in columns
        }
        self.pods = Pods() if "pod_group" in columns else None
        self.limits = self.users = 0
        self.low = self.high = (0, "")  # first and last submit, and where

    def add(self, row: Sequence[object], jobs: TraceBuilder) -> None:
        """Add the job of one row, or keep the pod of one, or count why it is none."""
        found = self._job(row)
        if self.pods is not None:
            self.pods.add(self._text("pod_group", row) or self._name(row), found)
        elif isinstance(found, str):
            jobs.drop(found)
        else:
            jobs.add(**{**found, "submit": jobs.seconds(found["submit"])})

    def _job(self, row: Sequence[object]) -> dict[str, Any] | str:
        """What the builder is told of the job (or pod) of a row, its submit still in ms; or why the row is none."""
        submit, run, reason = self._times(row)
        limit, cost = self._time("time_limit", row), self._time("pause_cost", row)
        gpus, cpus = self._amount("gpus", row), self._amount("cpus", row)
        memory = self._amount("memory", row)
        if self._text("status", row).lower() in UNFINISHED:
            reason = "not finished"
        if gpus > 1000 and gpus % 1000:
            self.place.bad(self.columns["gpus"].name, gpus / 1000, "must be whole, or a share of one GPU")
        if gpus <= 0 and cpus <= 0:
            reason = reason or NOTHING
        if submit is None or run is None or reason:
            return reason
        self._spread(submit)
        user = self._text("user", row)
        self.limits += limit is not None
        self.users += bool(user)
        return {
            "job": self._name(row),
            "submit": submit,
            "duration_ms": run,
            "gpu_count": -(-max(gpus, 0) // 1000),
            "gpus_milli": max(gpus, 0),
            "cpu_milli": cpus,
            "memory_mib": memory,
            "group": self._text("group", row),
            "status": self._text("status", row),
            "user": user,
            "time_limit_ms": UNKNOWN if limit is None else limit,
            "node_count": self._nodes(row),
            "pause_cost_ms": UNKNOWN if cost is None else cost,
        }

    def _times(self, row: Sequence[object]) -> tuple[int | None, int | None, str]:
        """Submit and run time in ms, and why a row without them is no job."""
        submit = self._time("submit", row)
        if "duration" in self.columns:
            run = self._time("duration", row)
            return submit, run, "no submit time" if submit is None else "no run time" if run is None else ""
        start, end = self._time("start", row), self._time("end", row)
        if submit is None or start is None or end is None:
            return submit, None, "no submit time" if submit is None else "never started" if start is None else "no end"
        kinds = {self.times[field].kind for field in ("submit", "start", "end")}
        if len(kinds) > 1:
            names = ", ".join(f"{self.times[field].column}: {self.times[field].kind}" for field in ("submit", "end"))
            self.place.fail(f"submit, start and end are on different clocks ({names})", "write them alike")
        for earlier, later, first, last in (("submit", "start", submit, start), ("start", "end", start, end)):
            if last < first:
                rule = f"is before {self.columns[earlier].name} = {shown(row[self.index[earlier]])}"
                column, value = self.columns[later].name, row[self.index[later]]
                self.place.bad(column, value, rule, "fix or remove the row; if units differ, read COLUMN:ms")
        return submit, end - start, ""

    def _time(self, field: str, row: Sequence[object]) -> int | None:
        return self.times[field].read(self.place, row[self.index[field]]) if field in self.times else None

    def _amount(self, field: str, row: Sequence[object]) -> int:
        """Thousandths (MiB of memory); -1 where the log has no such column."""
        column = self.columns.get(field)
        if column is None:
            return UNKNOWN
        value = row[self.index[field]] if column.constant is None else column.constant
        factor = MEMORIES[column.unit] if field == "memory" else COUNTS[column.unit]
        return amount(self.place, column.name or field, value, factor, f"a number of {field}")

    def _nodes(self, row: Sequence[object]) -> int:
        """On how many nodes the job was to run; -1 where the log does not say."""
        if "nodes" not in self.columns or is_missing(value := row[self.index["nodes"]]):
            return UNKNOWN
        name = self.columns["nodes"].name
        count = number(self.place, name, value, "a number of nodes")
        if count != int(count) or count > MOST_NODES:
            self.place.bad(name, value, f"must be a whole number of nodes, {MOST_NODES} at most")
        return int(count) or UNKNOWN

    def _name(self, row: Sequence[object]) -> str:
        return self._text("id", row) or self.place.where.replace(" ", "-")

    def _text(self, field: str, row: Sequence[object]) -> str:
        if field not in self.columns or is_missing(value := row[self.index[field]]):
            return ""
        text = str(value)
        if not text.isprintable():
            self.place.bad(self.columns[field].name, value, "must be printable text")
        return text

    def _spread(self, submit: int) -> None:
        """Refuse submits that lie decades apart: seconds and milliseconds in one column."""
        here = (submit, self.place.where)
        if not self.low[1]:
            self.low = self.high = here
        self.low, self.high = min(self.low, here), max(self.high, here)
        if self.high[0] - self.low[0] > _LONGEST_MS:
            other = self.low[1] if here == self.high else self.high[1]
            years = (self.high[0] - self.low[0]) / (365.25 * TIMES["d"])
            self.place.fail(
                f"{self.columns['submit'].name} lies {years:.0f} years from that of {other}", "write all in one unit"
            )

    def notes(self, jobs: TraceBuilder) -> list[str]:
        """What the log lacks."""
        notes = []
        if "time_limit" not in self.columns:
            notes.append("The log has no time limits of its users: backfilling goes by estimated running times.")
        elif self.limits < len(jobs):
            notes.append(f"{len(jobs) - self.limits} jobs have no time limit.")
        if "user" not in self.columns:
            notes.append("The log has no users: all jobs are one user's.")
        if self.times["submit"].kind == "a time of day":
            notes.append("Times have no zone: a change of clocks is in them.")
        return notes
