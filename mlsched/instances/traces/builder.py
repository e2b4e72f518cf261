"""Collects the jobs of a log row by row, with an account of every row, and sorts them into a `Trace`."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NoReturn, Protocol

import numpy as np

from mlsched.core.params import CountOrNone
from mlsched.instances.traces.account import NAMED, Account, Rows
from mlsched.instances.traces.trace import (
    ABSENT,
    MAY_BE_ABSENT,
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    UNKNOWN,
    Column,
    Place,
    Runs,
    Tasks,
    Trace,
)

#: A run from a reader: start and end in ms on the clock of the submits, and its places.
Run = tuple[int, int, tuple[Place, ...]]
#: Origin of a log's clock.
NUMBERS, DATES, ZONED = 1, 2, 3
#: Kinds of times (`values.Times`) -> kind of clock.
KINDS = {"a time of day": DATES, "a time of day with a zone": ZONED}
_GIVEN = ("submit", "duration_ms", "gpu_count", "gpus_milli")
#: The optional columns of a job, with the value of each if the log lacks it.
COLUMNS: Mapping[str, Any] = {
    **{name: ABSENT if name in MAY_BE_ABSENT else UNKNOWN for name in NUMBER_COLUMNS if name not in _GIVEN},
    **dict.fromkeys(TEXT_COLUMNS, ""),
}
_OTHER_NUMBERS = itemgetter(*(name for name in NUMBER_COLUMNS if name not in _GIVEN))
_TEXTS = itemgetter(*TEXT_COLUMNS)
_NO_NUMBERS = array("q", _OTHER_NUMBERS(COLUMNS))


class Source(Protocol):
    """The source of rows: names the current row, and rejects it."""

    @property
    def where(self) -> str:
        """Describe the current row, for messages."""

    def fail(self, problem: str, remedy: str = "") -> NoReturn:
        """Refuse the current row."""


@dataclass(frozen=True)
class LogOptions:
    """Options of the reader of a log.

    Attributes:
        log_cluster: Cluster to read from a log of several clusters; "" rejects a second cluster.
        log_shards: Shards (Slurm's gres/shard) per GPU; 0 leaves shards uncounted.
    """

    log_cluster: str = ""
    log_shards: CountOrNone = 0


class TraceBuilder:
    """The jobs so far, stored compactly for streams of millions.

    Args:
        limit: Number of jobs after which `full` turns true (other rows do not count); None for no limit.
        place: Source of the rows.
        clock: Kind of its times: `NUMBERS`, `DATES` or `ZONED` dates; readers set it.
        strict: Reject the first row that is not a job, instead of skipping it.
        options: Further options of the reader.
    """

    def __init__(
        self,
        limit: int | None = None,
        place: Source | None = None,
        *,
        strict: bool = False,
        options: LogOptions = LogOptions(),  # frozen
    ) -> None:
        self.place, self.options = place, options
        self.cluster = options.log_cluster  # of the rows so far
        self._limit, self._strict = limit, strict
        self._numbers = array("q")
        self._ids: list[str] = []
        self._texts: list[tuple[str, ...]] = []
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}  # rows of texts, many of them equal
        #: Columns of a job without other numbers -> its row of texts.
        self._of_texts: dict[tuple[tuple[str, Any], ...], tuple[str, ...]] = {}
        self._tasks: dict[int, Tasks] = {}  # of the jobs whose parts are known, by their place in the file
        self._run_numbers = array("q")  # job in file order, start, end
        self._places: list[tuple[Place, ...]] = []
        self.notes: list[str] = []
        self.clock = NUMBERS
        self.unread: tuple[str, ...] = ()
        self._kinds: dict[str, dict[str, tuple[int, list[str]]]] = {"skipped": {}, "joined": {}, "changed": {}}
        self._cut = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def rows(self) -> int:
        """Return the number of rows so far, of all kinds."""
        skipped, joined = self._kinds["skipped"], self._kinds["joined"]
        if not skipped and not joined:
            return len(self._ids)
        return len(self._ids) + sum(count for kinds in (skipped, joined) for count, _ in kinds.values())

    @property
    def dropped(self) -> dict[str, int]:
        """Return the number of skipped rows, by reason."""
        return {reason: count for reason, (count, _) in self._kinds["skipped"].items()}

    @property
    def full(self) -> bool:
        """Check that `limit` jobs are present: the reader stops here."""
        return self._limit is not None and len(self._ids) >= self._limit

    def named(self, job: str) -> str:
        """Return the name of the current row: its own, or its place in the file."""
        if not job and self.place is not None:
            self.change("has no id: named by its place")
            return self.place.where.replace(" ", "-")
        return job

    def seconds(self, submit_ms: int) -> int:
        """Convert a submit time to integer seconds; count the truncated fractions."""
        if fraction := submit_ms % 1000:
            self._cut = max(self._cut, fraction)
            self.change("submit cut to a whole second")
        return submit_ms // 1000

    def drop(self, reason: str, where: str = "") -> None:
        """Skip the current row (or the row at `where`), which is not a finished job; reject it in strict mode."""
        if self._strict and self.place is not None:
            at = f"{where} " if where else ""
            self.place.fail(
                f"{at}is not a job that ran: {reason}", "complete or remove the row, or read without strict"
            )
        self._count_row("skipped", reason, where)

    def join(self, what: str, where: str = "") -> None:
        """Count the current row as a part of another row's job."""
        self._count_row("joined", what, where)

    def change(self, what: str) -> None:
        """Note that the job of the current row is changed when it is read."""
        self._count_row("changed", what)

    def _count_row(self, what: str, kind: str, where: str = "") -> None:
        count, first = self._kinds[what].get(kind, (0, []))
        if len(first) < NAMED and self.place is not None:
            first = [*first, where or self.place.where]
        self._kinds[what][kind] = (count + 1, first)

    def add(
        self,
        job: str,
        submit: int,
        duration_ms: int,
        gpu_count: int,
        *,
        gpus_milli: int | None = None,
        runs: Iterable[Run] = (),
        tasks: Tasks = (),
        **columns: Any,
    ) -> None:
        """Add a job; `submit` in s from any origin, `gpus_milli` complete GPUs unless given. A run of 0 ms is dropped.

        runs: In ms from the origin of the submits. columns: The other columns of `Trace` by name, as far as the log has
        them (`COLUMNS`); `eligible_ms` in ms from that origin.
        """
        if duration_ms == 0:
            self.drop("zero run time")
            return
        milli = 1000 * gpu_count if gpus_milli is None else gpus_milli
        key = tuple(columns.items())
        texts, others = self._of_texts.get(key), _NO_NUMBERS
        if texts is None:
            row = {**COLUMNS, **columns}
            if len(row) > len(COLUMNS):
                raise TypeError(f"unknown column {next(name for name in columns if name not in COLUMNS)!r} of a trace")
            texts, others = _TEXTS(row), array("q", _OTHER_NUMBERS(row))
            if not row["after"]:
                texts = self._known.setdefault(texts, texts)
                if others == _NO_NUMBERS:
                    self._of_texts[key] = texts
        self._numbers.extend((submit, duration_ms, gpu_count, milli))
        self._numbers.extend(others)
        self._texts.append(texts)
        if tasks:
            self._tasks[len(self._ids)] = tasks
        for start, end, places in runs:
            self._run_numbers.extend((len(self._ids), start, end))
            self._places.append(places)
        self._ids.append(job)

    def build(self, source: str) -> Trace:
        """Build the trace of the jobs so far."""
        table = np.frombuffer(self._numbers, dtype=np.int64).reshape(-1, len(NUMBER_COLUMNS)).copy()
        order = np.argsort(table[:, 0], kind="stable")
        table, places = table[order], order.tolist()
        ids = self._unique_ids()
        if self._cut:
            self.notes.append(f"Submit times are cut to whole seconds: by up to {self._cut} ms.")
        first = int(table[0, 0]) if len(table) else 0
        table[:, 0] -= first
        eligible = table[:, NUMBER_COLUMNS.index("eligible_ms")]
        eligible[eligible != ABSENT] -= 1000 * first
        columns: dict[str, Any] = {name: table[:, column] for column, name in enumerate(NUMBER_COLUMNS)}
        texts = map(self._texts.__getitem__, places)
        columns |= dict(
            zip(TEXT_COLUMNS, zip(*texts, strict=True) if places else [()] * len(TEXT_COLUMNS), strict=True)
        )
        return Trace(
            ids=tuple(map(ids.__getitem__, places)),
            **columns,
            tasks=tuple(self._tasks.get(i, ()) for i in places) if self._tasks else (),
            source=source,
            dropped=self.dropped,
            notes=tuple(self.notes),
            runs=self._build_runs(order, first),
            account=self._build_account(),
            origin_ms=1000 * first,
            clock=self.clock,
        )

    def _build_runs(self, order: Column, first: int) -> Runs:
        """Build the runs by job, in order of time."""
        job, start, end = np.frombuffer(self._run_numbers, dtype=np.int64).reshape(-1, 3).T
        if not len(job):
            return Runs()
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        by = np.lexsort((start, rank[job]))
        origin = 1000 * first
        places = tuple(self._places[i] for i in by.tolist())
        return Runs(rank[job][by], start[by] - origin, end[by] - origin, places)

    def _build_account(self) -> Account:
        def kinds(what: str) -> Mapping[str, Rows]:
            return {kind: Rows(count, tuple(first)) for kind, (count, first) in self._kinds[what].items()}

        return Account(
            rows=self.rows,
            jobs=len(self),
            skipped=kinds("skipped"),
            joined=kinds("joined"),
            changed=kinds("changed"),
            whole=not self.full,
            unread=self.unread,
        )

    def _unique_ids(self) -> list[str]:
        """Return the ids in file order, the second use of an id as `id#2`; the notes count the renamed ids."""
        used_ids = set(self._ids)
        if len(used_ids) == len(self._ids):
            return self._ids
        uses: dict[str, int] = {}
        unique: list[str] = []
        for job in self._ids:
            count = uses.get(job, 0) + 1
            name = job if count == 1 else f"{job}#{count}"
            while count > 1 and name in used_ids:
                count += 1
                name = f"{job}#{count}"
            uses[job] = count
            used_ids.add(name)
            unique.append(name)
        renamed = sum(a != b for a, b in zip(unique, self._ids, strict=True))
        self.notes.append(f"{renamed} jobs repeat the id of an earlier one; #2, #3, ... is appended to theirs.")
        return unique
