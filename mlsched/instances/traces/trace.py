"""What a trace says about its jobs (`Trace`) and its machines (`Nodes`), one column an attribute.

Units: times in seconds, run times in milliseconds, GPUs and CPUs in thousandths (`milli`), memory in MiB. A number the
trace does not give is `UNKNOWN` (-1), a text it does not give is ''. A column is never guessed.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput

Column = npt.NDArray[np.int64]

#: What each part of a job asks for: (cpu_milli, memory_mib, gpus_milli).
Tasks = tuple[tuple[int, int, int], ...]

UNKNOWN = -1
"""Stands in a numeric column for what the trace does not say."""


#: Columns that may be left out where no job has a value.
_MAY_LACK = ("time_limit_ms", "node_count", "pause_cost_ms")


def _read_only(owner: str, name: str, values: npt.ArrayLike, length: int) -> Column:
    """A read-only int64 copy of `values`, or `InvalidInput` if it is not one column of `length` integers."""
    column = np.asarray(values)
    if column.ndim != 1 or len(column) != length:
        raise InvalidInput(f"{owner}.{name} has shape {column.shape}: must be one column of {length}, as ids has")
    if column.size and column.dtype.kind not in "iu":
        raise InvalidInput(f"{owner}.{name} has dtype {column.dtype}: must be integers")
    column = column.astype(np.int64)  # astype copies, so the caller's own array stays writable
    column.flags.writeable = False
    return column


@dataclass(frozen=True, eq=False)
class _Table:
    """Columns of equal length with value equality (a dataclass's own `==` fails on arrays)."""

    ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():  # pickling loses numpy's read-only mark
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)

    def _freeze(self, numbers: Sequence[str], texts: Sequence[str]) -> None:
        owner = type(self).__name__
        object.__setattr__(self, "ids", tuple(self.ids))
        if len(set(self.ids)) != len(self.ids):
            raise InvalidInput(f"{owner}.ids has repeated ids: must be unique")
        for name in numbers:
            object.__setattr__(self, name, _read_only(owner, name, getattr(self, name), len(self)))
        for name in texts:
            column = tuple(getattr(self, name))
            if len(column) != len(self):
                raise InvalidInput(f"{owner}.{name} has {len(column)} texts: must have {len(self)}, as ids has")
            object.__setattr__(self, name, column)

    def _at_least(self, minimum: int, *names: str) -> None:
        for name in names:
            column: Column = getattr(self, name)
            if len(column) and (low := int(column.min())) < minimum:
                where = self.ids[int(column.argmin())]
                raise InvalidInput(f"{type(self).__name__}.{name} of {where!r} is {low}: must be >= {minimum}")


@dataclass(frozen=True, eq=False)
class Trace(_Table):
    """The jobs of a trace, in order of submit time (jobs of equal submit time in file order).

    Only jobs with a known run time > 0 are here; `dropped` counts the others by reason. Numeric columns are read-only
    int64 arrays, text columns tuples, all as long as `ids`.

    Attributes:
        ids: unique job ids; a trace without ids gets `job-<row>`, a repeated id gets `#2`, `#3`, ...
        submit: submit time in whole seconds after the first submit here (fractions are cut), so `submit[0]` is 0.
        duration_ms: true run time, in milliseconds, > 0.
        gpu_count: GPUs the job holds, each whole or in part; 0 for a CPU job.
        gpus_milli: total GPU demand in 1/1000 GPU, at most 1000 * `gpu_count`.
        cpu_milli: total CPU demand in 1/1000 core, or -1.
        memory_mib: total memory demand in MiB, or -1.
        qos: quality-of-service class as the trace spells it, or ''.
        group: user group or virtual cluster, or ''.
        status: how the job ended, as the trace spells it, or ''.
        source: path and format name.
        dropped: how many rows are not here, by reason.
        notes: sentences on what the trace lacks or distorts.
        user: who submitted the job, or ''.
        time_limit_ms: the user's own estimate of the run time (a batch system's limit), in milliseconds, or -1.
        node_count: on how many nodes the job was to run, as the log states it, or -1.
        pause_cost_ms: for how long it holds what it asks for without progress whenever it goes on after a pause, or -1.
        tasks: what each part of the job asked for, as the log states it: (cpu_milli, memory_mib, gpus_milli) each, 0
            where it states none; () where it does not say. One entry a job, or none at all where no job has any.
    """

    submit: Column
    duration_ms: Column
    gpu_count: Column
    gpus_milli: Column
    cpu_milli: Column
    memory_mib: Column
    qos: tuple[str, ...]
    group: tuple[str, ...]
    status: tuple[str, ...]
    source: str
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    time_limit_ms: Column = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    node_count: Column = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    pause_cost_ms: Column = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    tasks: tuple[Tasks, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.user):
            object.__setattr__(self, "user", ("",) * len(self))
        for name in _MAY_LACK:
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.full(len(self), UNKNOWN))
        numbers = ("submit", "duration_ms", "gpu_count", "gpus_milli", "cpu_milli", "memory_mib")
        self._freeze((*numbers, *_MAY_LACK), ("qos", "group", "status", "user"))
        object.__setattr__(self, "dropped", dict(self.dropped))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "tasks", tuple(self.tasks))
        if self.tasks and len(self.tasks) != len(self):
            raise InvalidInput(f"Trace.tasks has {len(self.tasks)} entries: must have {len(self)}, as ids has, or none")
        self._at_least(0, "submit", "gpu_count", "gpus_milli")
        self._at_least(1, "duration_ms")
        self._at_least(UNKNOWN, "cpu_milli", "memory_mib", *_MAY_LACK)
        if len(self) and (self.submit[0] != 0 or (np.diff(self.submit) < 0).any()):
            raise InvalidInput(
                "Trace.submit must start at 0 and never fall; sort the jobs and subtract the first submit"
            )
        if (over := np.flatnonzero(self.gpus_milli > 1000 * self.gpu_count)).size:
            job = self.ids[int(over[0])]
            raise InvalidInput(f"Trace.gpus_milli of {job!r} must be at most 1000 * gpu_count")


@dataclass(frozen=True, eq=False)
class Nodes(_Table):
    """The machines of a cluster, in file order.

    Attributes:
        ids: unique node names.
        cpu_milli: 1/1000 cores.
        memory_mib: memory in MiB.
        gpus: whole GPUs, 0 for a CPU node.
        model: GPU model as the trace spells it, '' for a CPU node.
        source: path and format name.
    """

    cpu_milli: Column
    memory_mib: Column
    gpus: Column
    model: tuple[str, ...]
    source: str = ""

    def __post_init__(self) -> None:
        self._freeze(("cpu_milli", "memory_mib", "gpus"), ("model",))
        self._at_least(0, "cpu_milli", "memory_mib", "gpus")


class TraceBuilder:
    """Collects jobs in file order, as compactly as a stream of millions asks for, and sorts them into a `Trace`.

    Args:
        limit: the number of jobs after which `full` turns true (dropped rows do not count); None for no limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._numbers = array("q")
        self._ids: list[str] = []
        self._texts: list[tuple[str, str, str, str]] = []
        self._tasks: dict[int, Tasks] = {}  # of the jobs whose parts are known, by their place in the file
        self.dropped: dict[str, int] = {}
        self.notes: list[str] = []
        self._cut = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def rows(self) -> int:
        """Rows seen so far, kept or dropped."""
        return len(self._ids) + sum(self.dropped.values())

    @property
    def full(self) -> bool:
        """Whether `limit` jobs are in: the reader stops here."""
        return self._limit is not None and len(self._ids) >= self._limit

    def seconds(self, submit_ms: int) -> int:
        """A submit time in whole seconds; what is cut off is said in the notes."""
        self._cut = max(self._cut, submit_ms % 1000)
        return submit_ms // 1000

    def drop(self, reason: str) -> None:
        """Count a row that is legitimately no job with a run time."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1

    def add(
        self,
        job: str,
        submit: int,
        duration_ms: int,
        gpu_count: int,
        *,
        gpus_milli: int | None = None,
        cpu_milli: int = UNKNOWN,
        memory_mib: int = UNKNOWN,
        qos: str = "",
        group: str = "",
        status: str = "",
        user: str = "",
        time_limit_ms: int = UNKNOWN,
        node_count: int = UNKNOWN,
        pause_cost_ms: int = UNKNOWN,
        tasks: Tasks = (),
    ) -> None:
        """Add a job; `submit` in s from any origin, `gpus_milli` whole GPUs unless given. A zero run is dropped."""
        if duration_ms == 0:
            self.drop("zero run time")
            return
        milli = 1000 * gpu_count if gpus_milli is None else gpus_milli
        numbers = (submit, duration_ms, gpu_count, milli, cpu_milli, memory_mib, time_limit_ms)
        self._numbers.extend((*numbers, node_count, pause_cost_ms))
        if tasks:
            self._tasks[len(self._ids)] = tasks
        self._ids.append(job)
        self._texts.append((qos, group, status, user))

    def build(self, source: str) -> Trace:
        """The trace of the jobs so far."""
        table = np.frombuffer(self._numbers, dtype=np.int64).reshape(-1, 9)
        order = np.argsort(table[:, 0], kind="stable")
        table = table[order]
        ids = self._unique_ids()
        texts = [self._texts[i] for i in order]
        if self._cut:
            self.notes.append(f"Submit times are cut to whole seconds: by up to {self._cut} ms.")
        return Trace(
            ids=tuple(ids[i] for i in order),
            submit=table[:, 0] - table[:1, 0],
            duration_ms=table[:, 1],
            gpu_count=table[:, 2],
            gpus_milli=table[:, 3],
            cpu_milli=table[:, 4],
            memory_mib=table[:, 5],
            qos=tuple(row[0] for row in texts),
            group=tuple(row[1] for row in texts),
            status=tuple(row[2] for row in texts),
            user=tuple(row[3] for row in texts),
            time_limit_ms=table[:, 6],
            node_count=table[:, 7],
            pause_cost_ms=table[:, 8],
            tasks=tuple(self._tasks.get(i, ()) for i in order.tolist()) if self._tasks else (),
            source=source,
            dropped=self.dropped,
            notes=tuple(self.notes),
        )

    def _unique_ids(self) -> list[str]:
        """The ids in file order, the second use of an id being `id#2`; says in the notes how many it renamed."""
        taken = set(self._ids)
        if len(taken) == len(self._ids):
            return self._ids
        uses: dict[str, int] = {}
        unique: list[str] = []
        for job in self._ids:
            count = uses.get(job, 0) + 1
            name = job if count == 1 else f"{job}#{count}"
            while count > 1 and name in taken:
                count += 1
                name = f"{job}#{count}"
            uses[job] = count
            taken.add(name)
            unique.append(name)
        renamed = sum(a != b for a, b in zip(unique, self._ids, strict=True))
        self.notes.append(f"{renamed} jobs repeat the id of an earlier one; #2, #3, ... is appended to theirs.")
        return unique
