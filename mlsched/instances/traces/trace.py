"""Contents of a trace: its jobs (`Trace`) and its machines (`Nodes`), one column per attribute.

Units: times in seconds, run times in milliseconds, GPUs and CPUs in thousandths (`milli`), memory in MiB. A missing
number is `UNKNOWN` (-1), a missing text is ''. A column is never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core import html
from mlsched.core.brief import count_of, short_repr
from mlsched.core.errors import InvalidInput
from mlsched.instances.traces.account import Account

Column = npt.NDArray[np.int64]

#: Demand of each part of a job: (cpu_milli, memory_mib, gpus_milli).
Tasks = tuple[tuple[int, int, int], ...]

UNKNOWN = -1
"""Stands in a numeric column for what the trace does not say."""
ABSENT = -(2**62)
"""Stands for it where -1 may be a value: in priorities, and in times, which are counted from the first submit."""
Place = tuple[str, int]
"""A node by its name ('': the log names none), and what a job holds of its GPUs, in 1/1000, or UNKNOWN."""

#: Columns that may be omitted if all jobs lack a value.
_MAY_LACK = ("time_limit_ms", "node_count", "pause_cost_ms")
#: Such columns in which -1 may be a value.
MAY_BE_ABSENT = ("priority", "eligible_ms")
#: Texts that may be left out.
_TEXTS = ("user", "partition", "gpu_type", "model", "rates", "after")
#: All columns of numbers and of texts.
NUMBER_COLUMNS = (
    *("submit", "duration_ms", "gpu_count", "gpus_milli", "cpu_milli", "memory_mib"),
    *(*_MAY_LACK, *MAY_BE_ABSENT),
)
TEXT_COLUMNS = ("qos", "group", "status", *_TEXTS)


def _empty_column() -> Column:
    return np.zeros(0, dtype=np.int64)


def _read_only(owner: str, name: str, values: npt.ArrayLike, length: int) -> Column:
    """Return a read-only int64 copy of `values`; raise InvalidInput unless it has `length` integers."""
    column = np.asarray(values)
    if column.ndim != 1 or len(column) != length:
        raise InvalidInput(f"{owner}.{name} has shape {column.shape}, expected one column of {length}, as ids has")
    if column.size and column.dtype.kind not in "iu":
        raise InvalidInput(f"{owner}.{name} has dtype {column.dtype}, expected integers")
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
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.compare)

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
            raise InvalidInput(f"{owner}.ids has repeated ids, expected unique")
        for name in numbers:
            object.__setattr__(self, name, _read_only(owner, name, getattr(self, name), len(self)))
        for name in texts:
            column = tuple(getattr(self, name))
            if len(column) != len(self):
                raise InvalidInput(f"{owner}.{name} has {len(column)} texts, expected {len(self)}, as ids has")
            object.__setattr__(self, name, column)

    def _at_least(self, minimum: int, *names: str) -> None:
        for name in names:
            column: Column = getattr(self, name)
            if len(column) and (low := int(column.min())) < minimum:
                where = self.ids[int(column.argmin())]
                raise InvalidInput(f"{type(self).__name__}.{name} of {where!r} is {low}, expected >= {minimum}")


@dataclass(frozen=True, eq=False)
class Runs:
    """Logged times and nodes of the runs of jobs.

    An interrupted job has several runs, one after another; a job of pods has one run per pod, at the same time.

    Attributes:
        job: The job's number in the trace, non-decreasing; the runs of a job in order of time.
        start_ms, end_ms: In milliseconds after the first submit; below 0 if a job is logged to start before.
        places: Nodes of each run that the log names; () if absent.
    """

    job: Column = field(default_factory=_empty_column)
    start_ms: Column = field(default_factory=_empty_column)
    end_ms: Column = field(default_factory=_empty_column)
    places: tuple[tuple[Place, ...], ...] = ()

    def __post_init__(self) -> None:
        for name in ("job", "start_ms", "end_ms"):
            object.__setattr__(self, name, _read_only("Runs", name, getattr(self, name), len(self.places)))

    def __len__(self) -> int:
        return len(self.places)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Runs:
            return NotImplemented
        numbers = ("job", "start_ms", "end_ms")
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in numbers)
        return same and self.places == other.places

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Trace(_Table):
    """The jobs of a trace, in order of submit time (jobs of equal submit time in file order).

    Only jobs with a known run time > 0 are here; `dropped` counts the others by reason. Numeric columns are read-only
    int64 arrays, text columns tuples, all as long as `ids`.

    Attributes:
        ids: Unique job ids; a trace without ids gets `job-<row>`, a repeated id gets `#2`, `#3`, ...
        submit: Submit time in integer seconds after the first submit here (fractions are cut), so `submit[0]` is 0.
        duration_ms: True run time, in milliseconds, > 0.
        gpu_count: GPUs of the job, each complete or in part; 0 for a CPU job.
        gpus_milli: Total GPU demand in 1/1000 GPU, at most 1000 * `gpu_count`.
        cpu_milli: Total CPU demand in 1/1000 core, or -1.
        memory_mib: Total memory demand in MiB, or -1.
        qos: Quality-of-service class as the trace spells it, or ''.
        group: User group or virtual cluster, or ''.
        status: Final state of the job, as the trace spells it, or ''.
        source: Path and format name.
        dropped: Number of omitted rows, by reason.
        notes: Sentences on missing or distorted information.
        user: User who submitted the job, or ''.
        time_limit_ms: The user's own estimate of the run time (a batch system's limit), in milliseconds, or -1.
        node_count: Number of nodes that the job requested in the log, or -1.
        pause_cost_ms: Time that it uses its resources without progress after each resume, in milliseconds, or -1.
        tasks: Logged demand of each part of the job: (cpu_milli, memory_mib, gpus_milli) each, 0 for missing amounts;
            () if absent. One entry per job, or an empty tuple if all jobs lack it.
        partition: The part of the cluster that the job may run in (several: "a,b"), or ''.
        gpu_type: The GPU model that it requests (several: "V100|T4"), or ''.
        model: The model that it trains, by its name in a table of throughputs, or ''.
        rates: Its speed on each GPU type ("v100=12.5|k80=3", 0: it cannot run), or ''.
        priority: The larger, the sooner; or ABSENT.
        eligible_ms: Earliest possible start, in milliseconds after the first submit, or ABSENT.
        after: Ids of jobs that must have ended before ("7,9"), or ''.
        runs: Logged times and nodes of jobs; empty if absent.
        account: Account of every row.
        origin_ms: Time of the first submit on the log's clock, in milliseconds; for dates, since 1970.
        clock: 1 numbers, 2 dates, 3 dates with a zone, 0 not known.
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
    time_limit_ms: Column = field(default_factory=_empty_column)
    node_count: Column = field(default_factory=_empty_column)
    pause_cost_ms: Column = field(default_factory=_empty_column)
    tasks: tuple[Tasks, ...] = ()
    partition: tuple[str, ...] = ()
    gpu_type: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()
    priority: Column = field(default_factory=_empty_column)
    eligible_ms: Column = field(default_factory=_empty_column)
    after: tuple[str, ...] = ()
    runs: Runs = field(default_factory=Runs)
    account: Account = field(default_factory=Account, compare=False)
    origin_ms: int = 0
    clock: int = 0

    def __repr__(self) -> str:
        return short_repr(self, count_of(len(self), "job"), self.source)

    def _repr_html_(self) -> str:
        """Render the account of rows and the missing information for notebooks."""
        lines = [[line] for line in (*self.account.sentences(), *self.notes)]
        return html.titled_block(
            "log", [count_of(len(self), "job"), self.source], html.html_table(["what was read"], lines)
        )

    def __post_init__(self) -> None:
        for name in _TEXTS:
            if not len(getattr(self, name)):
                object.__setattr__(self, name, ("",) * len(self))
        for names, nothing in ((_MAY_LACK, UNKNOWN), (MAY_BE_ABSENT, ABSENT)):
            for name in names:
                if not len(getattr(self, name)):
                    object.__setattr__(self, name, np.full(len(self), nothing))
        self._freeze(NUMBER_COLUMNS, TEXT_COLUMNS)
        object.__setattr__(self, "dropped", dict(self.dropped))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "tasks", tuple(self.tasks))
        if self.tasks and len(self.tasks) != len(self):
            raise InvalidInput(f"Trace.tasks has {len(self.tasks)} entries, expected {len(self)}, as ids has, or 0")
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
        jobs = self.runs.job
        if len(jobs) and (jobs[0] < 0 or jobs[-1] >= len(self) or (np.diff(jobs) < 0).any()):
            raise InvalidInput("Trace.runs.job must name jobs of the trace, and never fall")

    @property
    def start_ms(self) -> Column:
        """Return the first start of each job, in milliseconds after the first submit; ABSENT if not logged."""
        return self._times_of_runs(self.runs.start_ms, first=True)

    @property
    def end_ms(self) -> Column:
        """Return the end of each job's last run, in milliseconds after the first submit; ABSENT if not logged."""
        return self._times_of_runs(self.runs.end_ms, first=False)

    def _times_of_runs(self, times: Column, *, first: bool) -> Column:
        column = np.full(len(self), ABSENT)
        order = slice(None, None, -1 if first else 1)  # of several assignments to a job, the last counts
        column[self.runs.job[order]] = times[order]
        return column


@dataclass(frozen=True, eq=False)
class Nodes(_Table):
    """The machines of a cluster, in file order.

    Attributes:
        ids: Unique node names.
        cpu_milli: 1/1000 cores.
        memory_mib: Memory in MiB.
        gpus: Complete GPUs, 0 for a CPU node.
        model: GPU model as the trace spells it, '' for a CPU node.
        source: Path and format name.
        partition: The parts of the cluster that the node belongs to ("a,b"), '' if absent from the list.
    """

    cpu_milli: Column
    memory_mib: Column
    gpus: Column
    model: tuple[str, ...]
    source: str = ""
    partition: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.partition):
            object.__setattr__(self, "partition", ("",) * len(self))
        self._freeze(("cpu_milli", "memory_mib", "gpus"), ("model", "partition"))
        self._at_least(0, "cpu_milli", "memory_mib", "gpus")
