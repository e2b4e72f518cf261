"""Anyone's log of jobs: the jobs of its rows, read by the columns that `columns` found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlsched.instances.traces.builder import KINDS, NUMBERS, Run, TraceBuilder
from mlsched.instances.traces.columns import COUNTED, Column, text_of, times_of, value_of
from mlsched.instances.traces.hostlist import nodes_of
from mlsched.instances.traces.pods import NOTHING, Pods
from mlsched.instances.traces.trace import ABSENT, UNKNOWN
from mlsched.instances.traces.trace import Place as Held
from mlsched.instances.traces.values import COUNTS, MEMORIES, TIMES, Place, amount, is_missing, number

#: Rows: the values of the requested columns, with a place that names the current row.
Rows = Callable[[Sequence[str]], Iterator[Sequence[object]]]

#: Statuses of jobs that had not ended when the log was written.
UNFINISHED = frozenset({"running", "pending", "suspended", "queued", "requeued", "waiting"})
#: Submits further apart than this are a sign of units mixed in one column.
_LONGEST_MS = 20 * 366 * TIMES["d"]
#: Nodes, and workers, that a job may have.
MOST_NODES = 10**5
_OTHER_DURATION = "duration is not end - start: end - start counts"
#: Cached values of a column with their meaning.
_REMEMBERED = 10_000


def read_rows(place: Place, columns: Mapping[str, Column], rows: Rows, jobs: TraceBuilder) -> None:
    """Add the jobs of a log's rows. A job that never ran, or is not known to have ended, is skipped and counted."""
    names = list(dict.fromkeys(column.name for column in columns.values() if column.constant is None))
    index = {field: names.index(column.name) for field, column in columns.items() if column.constant is None}
    reader = _Reader(place, columns, index)
    for row in rows(names):
        reader.add(row, jobs)
        if jobs.full and reader.pods is None:  # a job's other pods may be anywhere in the file
            break
    if reader.pods is not None:
        reader.pods.finish(jobs)
    jobs.clock = KINDS.get(reader.times["submit"].kind, NUMBERS)
    jobs.notes += reader.notes(jobs)


@dataclass(frozen=True)
class _Times:
    """Times of a row in ms; None if absent. `reason`: why the row is not a job, or "".

    change: Note on a duration that is not end - start.
    """

    submit: int | None
    run: int | None
    start: int | None
    reason: str
    change: str = ""


class _Reader:
    """Turns rows of a log into jobs."""

    def __init__(self, place: Place, columns: Mapping[str, Column], index: Mapping[str, int]) -> None:
        self.place, self.columns, self.index = place, columns, index
        self.times = times_of(columns)
        # for each amount, values with their meaning, and True if rounded up
        self.amounts: dict[str, dict[str, tuple[int | None, bool]]] = {field: {} for field in COUNTED}
        self.hosts: dict[str, tuple[str, ...]] = {}
        self.pods = Pods() if "pod_group" in columns else None
        self.limits = self.users = 0
        self.low = self.high = (0, "")  # first and last submit, and their places

    def add(self, row: Sequence[object], jobs: TraceBuilder) -> None:
        """Add the job of one row, or keep its pod, or count the reason for skipping it."""
        changes: list[str] = []
        columns_or_reason = self._job_arguments(row, changes)
        if not isinstance(columns_or_reason, str):
            for change in changes:
                jobs.change(change)
        if self.pods is not None:
            self.pods.add(
                self._text_in_row("pod_group", row) or self._name_of_job(row), columns_or_reason, self.place.where
            )
        elif isinstance(columns_or_reason, str):
            jobs.drop(columns_or_reason)
        else:
            jobs.add(**{**columns_or_reason, "submit": jobs.seconds(columns_or_reason["submit"])})

    def _job_arguments(self, row: Sequence[object], changes: list[str]) -> dict[str, Any] | str:
        """Return the builder's arguments for the job (or pod) of a row, or the reason to skip it; submit in ms.

        changes: Collects the changes to its values.
        """
        times, asked = self._submit_and_run_time(row), self._requested_resources(row, changes)
        limit, cost = self._time_in_row("time_limit", row), self._time_in_row("pause_cost", row)
        reason = times.reason
        if self._text_in_row("status", row).lower() in UNFINISHED:
            reason = "not finished"
        if isinstance(asked, str):
            return reason or asked
        if times.submit is None or times.run is None or reason:
            return reason
        gpus, cpus, memory, count = asked
        if gpus <= 0 and cpus <= 0:
            return NOTHING
        if not times.run:
            return "zero run time"
        self._refuse_distant_submits(times.submit)
        changes += [times.change] if times.change else []
        runs: tuple[Run, ...] = ()
        if times.start is not None:
            changes += ["starts before it is submitted"] if times.start < times.submit else []
            runs = ((times.start, times.start + times.run, self._nodes_of_run(row, gpus)),)
        user, eligible = self._text_in_row("user", row), self._time_in_row("eligible", row)
        self.limits += limit is not None
        self.users += bool(user)
        return {
            "job": self._name_of_job(row),
            "submit": times.submit,
            "duration_ms": times.run,
            "gpu_count": count,
            "gpus_milli": max(gpus, 0),
            "cpu_milli": cpus,
            "memory_mib": memory,
            "group": self._text_in_row("group", row),
            "status": self._text_in_row("status", row),
            "user": user,
            "qos": self._text_in_row("qos", row),
            "partition": self._text_in_row("partition", row),
            "gpu_type": self._text_in_row("gpu_type", row),
            "model": self._text_in_row("model", row),
            "rates": self._text_in_row("rates", row),
            "after": self._text_in_row("after", row),
            "priority": self._priority(row),
            "eligible_ms": ABSENT if eligible is None else eligible,
            "time_limit_ms": UNKNOWN if limit is None else limit,
            "node_count": self._requested_nodes(row),
            "pause_cost_ms": UNKNOWN if cost is None else cost,
            "runs": runs,
        }

    def _requested_resources(self, row: Sequence[object], changes: list[str]) -> tuple[int, int, int, int] | str:
        """Return GPUs, CPUs (thousandths), memory (MiB) and complete GPUs of the job, or the reason to skip the row.

        If the log has workers, the amounts are per worker.
        """
        gpus, cpus, memory = (self._amount_in_row(field, row, changes) for field in COUNTED)
        workers = self._count_in_row("workers", row)
        for field, number_of in (("gpus", gpus), ("cpus", cpus), ("memory", memory), ("workers", workers)):
            if number_of is None:
                return f"no number of {field}"
        each = [demand for demand in (gpus, cpus, memory) if demand is not None]
        if workers is None or workers == UNKNOWN:
            if each[0] > 1000 and each[0] % 1000:
                self.place.bad(self.columns["gpus"].name, each[0] / 1000, "expected whole, or a share of one GPU")
            return each[0], each[1], each[2], -(-max(each[0], 0) // 1000)
        whole = workers * -(-max(each[0], 0) // 1000)
        times = (demand * workers if demand > 0 else demand for demand in each)
        return (*times, whole)  # type: ignore[return-value]

    def _submit_and_run_time(self, row: Sequence[object]) -> _Times:
        """Return submit, run time and start, and the reason to skip a row without them."""
        submit, start, end = (self._time_in_row(field, row) for field in ("submit", "start", "end"))
        if submit is not None and (start is not None or end is not None):
            self._check_clocks("submit", *(field for field in ("start", "end") if field in self.times))
        duration = self._time_in_row("duration", row)
        if start is not None and end is not None:
            reason = "no submit time" if submit is None else "ends before it starts" if end < start else ""
            return _Times(submit, end - start, start, reason, self._note_on_duration(submit, start, end, duration))
        if "duration" not in self.columns:
            reason = "no submit time" if submit is None else "never started" if start is None else "no end"
            return _Times(submit, None, start, reason)
        reason = "no submit time" if submit is None else "no run time" if duration is None else ""
        if start is None and end is not None and duration is not None and "start" not in self.columns:
            start = end - duration
        return _Times(submit, duration, start, reason)

    def _note_on_duration(self, submit: int | None, start: int, end: int, given: int | None) -> str:
        """Return the note on a duration that differs from end - start by more than one second."""
        if given is None or abs(end - start - given) <= TIMES["s"]:
            return ""
        of_submit = submit is not None and abs(end - submit - given) <= TIMES["s"]
        return "duration is end - submit: end - start counts" if of_submit else _OTHER_DURATION

    def _check_clocks(self, *fields: str) -> None:
        """Refuse points in time of different kinds."""
        fields = tuple(field for field in fields if self.times[field].kind)
        kinds = {self.times[field].kind for field in fields}
        if len(kinds) > 1:
            first, last = fields[0], fields[-1]
            names = ", ".join(f"{self.times[field].column}: {self.times[field].kind}" for field in (first, last))
            self.place.fail(f"submit, start and end are on different clocks ({names})", "write them alike")

    def _value_in_row(self, field: str, row: Sequence[object]) -> object:
        column = self.columns.get(field)
        return None if column is None else value_of(column, row, self.index)

    def _time_in_row(self, field: str, row: Sequence[object]) -> int | None:
        return self.times[field].read(self.place, self._value_in_row(field, row)) if field in self.times else None

    def _amount_in_row(self, field: str, row: Sequence[object], changes: list[str]) -> int | None:
        """Return thousandths (MiB of memory); -1 if the log lacks the column, None if the row lacks the value."""
        column = self.columns.get(field)
        if column is None:
            return UNKNOWN
        value = value_of(column, row, self.index)
        cache = self.amounts[field]
        if type(value) is str and value in cache:
            result, rounded = cache[value]
        elif is_missing(value):
            result, rounded = None, False
        else:
            factor = MEMORIES[column.unit] if field == "memory" else COUNTS[column.unit]
            result = amount(self.place, column.name or field, value, factor, f"a number of {field}")
            rounded = result > float(value) * factor + 1e-6  # type: ignore[arg-type]
        if type(value) is str and len(cache) < _REMEMBERED:
            cache[value] = (result, rounded)
        if rounded:
            changes.append(f"{field} rounded up")
        return result

    def _count_in_row(self, field: str, row: Sequence[object]) -> int | None:
        """Return a number of workers or nodes; -1 if the log lacks the column, None if the row lacks the value."""
        column = self.columns.get(field)
        if column is None:
            return UNKNOWN
        if is_missing(value := value_of(column, row, self.index)):
            return None
        count = number(self.place, column.name or field, value, f"a number of {field}")
        if count > MOST_NODES or count != int(count):
            self.place.bad(column.name or field, value, f"expected a whole number of {field}, {MOST_NODES} at most")
        return int(count)

    def _requested_nodes(self, row: Sequence[object]) -> int:
        """Return the number of nodes requested by the job; -1 if the row lacks it."""
        return self._count_in_row("nodes", row) or UNKNOWN

    def _priority(self, row: Sequence[object]) -> int:
        column = self.columns.get("priority")
        if column is None or is_missing(value := value_of(column, row, self.index)):
            return ABSENT
        try:
            priority = float(str(value))
        except ValueError:
            priority = math.nan
        if not math.isfinite(priority) or priority != int(priority) or abs(priority) > 10**12:
            self.place.bad(
                column.name, value, "expected a whole number", "names of classes: read qos=COLUMN,priority= instead"
            )
        return int(priority)

    def _nodes_of_run(self, row: Sequence[object], gpus: int) -> tuple[Held, ...]:
        """Return the nodes that the row names, with its GPUs divided evenly among them, if possible."""
        text = self._text_in_row("node_names", row)
        if not text:
            return ()
        if text not in self.hosts:
            names = nodes_of(text)
            if names is None:
                self.place.bad(self.columns["node_names"].name, text, "expected names of nodes, such as n[1-4],m7")
            if len(self.hosts) > _REMEMBERED:
                self.hosts.clear()
            self.hosts[text] = names
        names = self.hosts[text]
        whole = gpus > 0 and gpus % (1000 * len(names)) == 0
        share = gpus // len(names) if whole or len(names) == 1 else UNKNOWN
        return tuple((name, max(share, UNKNOWN)) for name in names)

    def _name_of_job(self, row: Sequence[object]) -> str:
        return self._text_in_row("id", row) or self.place.where.replace(" ", "-")

    def _text_in_row(self, field: str, row: Sequence[object]) -> str:
        return text_of(self.place, self.columns.get(field), row, self.index)

    def _refuse_distant_submits(self, submit: int) -> None:
        """Refuse submits that lie decades apart: seconds and milliseconds in one column."""
        if self.low[1] and self.low[0] <= submit <= self.high[0]:
            return
        here = (submit, self.place.where)
        if not self.low[1]:
            self.low = self.high = here
        self.low, self.high = min(self.low, here), max(self.high, here)
        if self.high[0] - self.low[0] > _LONGEST_MS:
            other = self.low[1] if here == self.high else self.high[1]
            years = (self.high[0] - self.low[0]) / (365.25 * TIMES["d"])
            self.place.fail(
                f"{self.columns['submit'].name} is {years:.0f} years from the value in {other}", "write all in one unit"
            )

    def notes(self, jobs: TraceBuilder) -> list[str]:
        """Return sentences on the missing information of the log."""
        notes = []
        if "time_limit" not in self.columns:
            notes.append("The log has no time limits of its users: backfilling goes by estimated running times.")
        elif self.limits < len(jobs):
            notes.append(f"{len(jobs) - self.limits} jobs have no time limit.")
        if "user" not in self.columns:
            notes.append("The log has no users: all jobs are one user's.")
        if self.times["submit"].kind == "a time of day":
            notes.append("Times have no zone, so they are off by an hour across a change to or from summer time.")
        return notes
