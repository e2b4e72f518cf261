"""Rules that are an order of jobs: a key per job, the smallest first, and the way in which jobs are served by it.

`answer` serves one snapshot. A simulated run over gangs without graphs serves the same order step by step
(`simulation/taskgraph/iterations/engine.py`): it computes a key when a job begins to wait, and not at every event.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput, MlschedError, SolverError, describe_exception, did_you_mean, shorten
from mlsched.core.fields import BoolArray, IntArray
from mlsched.core.solver import Solver, adapt_signature
from mlsched.heuristics.taskgraph.measures import (
    by_job,
    per_job,
    remaining_ticks,
    remaining_time,
    share_units,
    sum_per_job,
)
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, refuse_unless_pausing, serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.gpus import GPU_UNITS, gpu_column
from mlsched.instances.taskgraph.states import RUNNING
from mlsched.instances.taskgraph.units import gpu_seconds

Key = Any


class Job(Protocol):
    """The facts about a job that a key may use, as the docstring of `order` lists them."""

    number: int
    now: int
    arrival: int
    priority: int
    user: int
    tasks: int
    gpus: float
    share_units: int
    tick_seconds: float
    deadline: int
    time_limit: int
    pause_cost: int
    first_start: int
    runs: bool
    finished: int
    iterations_left: int
    remaining: int
    remaining_work: int
    executed: int
    idle_since: int
    gpu_seconds: float
    gpu_rate: float
    gpu_ticks: int
    gpu_second: float


@dataclasses.dataclass(frozen=True)
class Order:
    """An order of jobs.

    Attributes:
        key: the key of a job, a number or a tuple; the smallest comes first, then the earlier arrival. Jobs of a higher
            priority come before all others.
        strict: a job without room blocks all behind it.
        preempts: jobs that run are preempted by jobs before them in the order, if runs may pause.
        needs_gpus: the name of a rule that counts GPU-seconds; refuse a cluster without GPUs or ticks of known length.
        must_pause: refuse a simulation in which runs may not pause.
        ages: keys of waiting jobs change with time, and are computed at every decision.
        falls: keys of running jobs only fall while they run.
        until: the time at which the key of a running job next changes; None if it does not. With it, keys of running
            jobs are constant between these times.
        rises: the time at which a waiting job is promoted; None if it is not.
        promote: called with a waiting job whose time has come; its key changes.
        restart: called before a run; forget the jobs of another one.
        reserves: the first job without room gets a reservation, and others start only if they do not delay it: "count",
            "nodes" or "auto", see `easy_backfill`; "" for none. Only runs over logs serve such an order.
        pools: "user": the user whose running jobs have the least share comes first; then the earlier arrival, whatever
            the priorities. "job": each job is a pool. Only runs over logs serve such an order.
        share: the share of a pool: "tasks", the number of its running tasks, or "dominant", the largest share of any
            resource of the cluster that these hold.
        packs: of a snapshot, the gangs that go to as few nodes as possible, (jobs,).
        stop, nodes: as for fifo.
    """

    key: Callable[[Any], Key]
    strict: bool = False
    preempts: bool = False
    must_pause: str = ""
    needs_gpus: str = ""
    ages: bool = False
    falls: bool = False
    until: Callable[[Any], int | None] | None = None
    rises: Callable[[Any], int | None] | None = None
    promote: Callable[[Any], None] | None = None
    restart: Callable[[], None] | None = None
    reserves: str = ""
    pools: str = ""
    share: str = "tasks"
    packs: Callable[[Snapshot], BoolArray] | None = None
    stop: str = "most"
    nodes: str = "auto"

    def keyed(self, job: Any) -> tuple[Any, ...]:
        """Return the key of a job as a tuple."""
        key = self.key(job)
        return key if type(key) is tuple else (key,)

    def as_solver(self, name: str, problem: str, key: Callable[..., object], params: Mapping[str, Any]) -> Solver:
        """Return a solver of task graphs that serves jobs in this order by the key function of a user."""
        if problem != "taskgraph":
            raise InvalidInput(f"{name}: is an order of jobs, expected a scheduler of {problem}; use it with taskgraph")
        if params:
            raise InvalidInput(f"{name}: does not take parameter '{next(iter(params))}'; write it into the key")
        return Solver(
            name,
            problem,
            "heuristic",
            key,
            rule=adapt_signature(functools.partial(by_order, key=key), stateful=False),
            called="online",
            order=functools.partial(_declared_order, self),
            world=functools.partial(_pausing_options, self),
        )


def answer(snapshot: Snapshot, order: Order) -> Round:
    """Return the round that serves the jobs of a snapshot in an order."""
    if order.must_pause:
        refuse_unless_pausing(snapshot, order.must_pause)
    if order.needs_gpus:
        gpu_seconds(snapshot, order.needs_gpus)
    placer = Placer(snapshot, order.stop, order.nodes)
    if order.packs is not None:
        placer.packed |= order.packs(snapshot)
    facts = Facts(snapshot, placer.stop_after)
    count = len(snapshot.arrival)
    if order.rises is not None and order.promote is not None:
        for job in (SnapshotJob(facts, at) for at in range(count)):
            if job.idle_since < job.now and (time := order.rises(job)) is not None and time <= job.now:
                order.promote(job)
    present = np.arange(count) if order.preempts else np.unique(snapshot.task_job[placer.open])
    ranks = np.zeros(count, dtype=np.int64)
    ranks[present] = _ranks_of_keys([order.keyed(SnapshotJob(facts, at)) for at in present.tolist()])
    if not order.preempts:
        placer.start_in_order(by_job(snapshot, ranks), strict=order.strict)
        return placer.round()
    pauses = serve(placer, ranks)
    if order.until is None or snapshot.pausing != "keep":
        return placer.round(pauses)
    facts.holds = holding(placer, pauses)
    runs = per_job(snapshot, facts.holds) > 0
    times: list[int | None] = []
    if pauses or placer.open.any():  # otherwise a change of a key cannot preempt a job
        times += [order.until(SnapshotJob(facts, at)) for at in np.flatnonzero(runs).tolist()]
    if order.rises is not None:
        times += [order.rises(SnapshotJob(facts, at)) for at in np.flatnonzero(~runs).tolist()]
    wakes = [max(snapshot.now + 1, time) for time in times if time is not None]
    return placer.round(pauses, min(wakes, default=0))


def _ranks_of_keys(keys: list[tuple[Any, ...]]) -> IntArray:
    """Return the rank of each key among the distinct keys."""
    ranks = np.zeros(len(keys), dtype=np.int64)
    before, rank = None, -1
    for at in sorted(range(len(keys)), key=keys.__getitem__):
        if keys[at] != before:
            before, rank = keys[at], rank + 1
        ranks[at] = rank
    return ranks


def gpu_units(question: Any) -> tuple[int, int]:
    """Return the column of the resource that counts GPUs and the amount of one GPU; (-1, 0) without one."""
    column = gpu_column(question.resources)
    return column, 0 if column < 0 else question.gpu_unit or GPU_UNITS[question.resources[column]]


def gpu_second(question: Any) -> tuple[int, float]:
    """Return that column, and the GPU-seconds of one of its units in one tick; (-1, 0.0) without such a resource."""
    column, unit = gpu_units(question)
    return column, question.tick_ms / 1000 / unit if unit else 0.0


class Facts:
    """The columns of a snapshot that `Job` names, as lists; each is made when it is first read."""

    def __init__(self, snapshot: Snapshot, stop_after: IntArray) -> None:
        self.snapshot, self.stop_after = snapshot, stop_after
        self.holds: BoolArray = np.ones(len(snapshot.task_job), dtype=np.bool_)  # tasks: whether it occupies a node
        self.made: dict[str, list[Any]] = {}

    def column(self, name: str) -> list[Any]:
        """Return a fact of every job."""
        result = self.made.get(name)
        if result is None:
            make = _FACTS.get(name)
            if make is None:
                raise unknown(name)
            result = self.made[name] = np.broadcast_to(make(self), len(self.snapshot.arrival)).tolist()
        return result

    @property
    def units(self) -> IntArray:
        """Return the dominant shares of the tasks in integer units."""
        return share_units(self.snapshot)

    def gpus(self) -> Any:
        """Return the GPUs of all tasks of each job."""
        column, unit = gpu_units(self.snapshot)
        return sum_per_job(self.snapshot, self.snapshot.demand[:, column]) / unit if unit else 0.0

    def gpu_ticks(self) -> Any:
        """Return the attained service of each job, in units of the resource that counts GPUs, times ticks."""
        column, seconds = gpu_second(self.snapshot)
        return self.snapshot.service[:, column] if seconds else 0

    def gpu_seconds(self) -> Any:
        """Return the attained service of each job in GPU-seconds."""
        return self.gpu_ticks() * gpu_second(self.snapshot)[1]

    def gpu_rate(self) -> Any:
        """Return for each job the service per tick of the tasks that occupy nodes after the round."""
        column, seconds = gpu_second(self.snapshot)
        return per_job(self.snapshot, self.holds * self.snapshot.demand[:, column]) * seconds if seconds else 0.0

    def remaining_work(self) -> IntArray:
        """Return for each job the remaining ticks of each task times its share units."""
        return sum_per_job(self.snapshot, remaining_ticks(self.snapshot, self.stop_after) * self.units)


_FACTS: dict[str, Callable[[Facts], Any]] = {
    "number": lambda f: f.snapshot.job_id,
    "now": lambda f: f.snapshot.now,
    "arrival": lambda f: f.snapshot.arrival,
    "priority": lambda f: f.snapshot.priority,
    "user": lambda f: f.snapshot.user,
    "tasks": lambda f: np.bincount(f.snapshot.task_job, minlength=len(f.snapshot.arrival)),
    "gpus": Facts.gpus,
    "share_units": lambda f: sum_per_job(f.snapshot, f.units),
    "tick_seconds": lambda f: f.snapshot.tick_ms / 1000,
    "deadline": lambda f: f.snapshot.deadline,
    "time_limit": lambda f: f.snapshot.time_limit,
    "pause_cost": lambda f: f.snapshot.pause_cost,
    "first_start": lambda f: f.snapshot.first_start,
    "runs": lambda f: per_job(f.snapshot, f.snapshot.state == RUNNING) > 0,
    "finished": lambda f: f.snapshot.finished,
    "iterations_left": lambda f: f.stop_after - f.snapshot.finished,
    "remaining": lambda f: remaining_time(f.snapshot, f.stop_after),
    "remaining_work": Facts.remaining_work,
    "executed": lambda f: f.snapshot.executed,
    "idle_since": lambda f: f.snapshot.idle_since,
    "gpu_ticks": Facts.gpu_ticks,
    "gpu_second": lambda f: gpu_second(f.snapshot)[1],
    "gpu_seconds": Facts.gpu_seconds,
    "gpu_rate": Facts.gpu_rate,
}


def unknown(name: str) -> AttributeError:
    """Return the error about a fact that jobs do not have."""
    names = sorted(Job.__annotations__)
    return AttributeError(f"job.{name}: unknown fact{did_you_mean(name, names)}; there are {', '.join(names)}")


class SnapshotJob:
    """A job of a snapshot, as keys see it (`Job`)."""

    __slots__ = ("_at", "_facts", "_made")

    def __init__(self, facts: Facts, at: int) -> None:
        self._facts, self._made, self._at = facts, facts.made, at

    def __getattr__(self, name: str) -> Any:
        column = self._made.get(name)
        return (self._facts.column(name) if column is None else column)[self._at]


def by_order(snapshot: Snapshot, *, rng: np.random.Generator, key: Any) -> Round:
    """Answer a snapshot by a user's key function that `order` has declared."""
    return answer(snapshot, key.__order__)


@validate_arguments
def order(
    key: Callable[[Any], Key] | None = None, *, strict: bool = False, preempts: bool = False, ages: bool = False
) -> Any:
    """Turn a function that returns a job's key into a scheduler: jobs are served by their keys, the smallest first.

    `mlsched.simulate(workload, my_key)` and `mlsched simulate my_rules:my_key` run it over logs at the speed of the
    built-in rules. A gang starts as a whole; nodes are chosen as by all list rules. Equal keys: the earlier arrival.

    Facts of a job (times are in ticks since the start of the log, lengths in ticks):

    - `number`, `user`, `priority`: of the job; `now`: time of the decision; `tick_seconds`: length of a tick, 0 if not
      stated.
    - `arrival`; `deadline`; `first_start`: time of its first start, -1 before; `runs`: whether it runs now.
    - `tasks`: number of its tasks; `gpus`: GPUs of all tasks together, 0 if the cluster counts none; `share_units`:
      dominant shares of all tasks, in whole units.
    - `time_limit`: running time that its user stated, 0 if none; `pause_cost`: ticks without progress after a pause.
    - `remaining`: estimated ticks that it still runs; `remaining_work`: the same, times the share units of its tasks.
    - `executed`: ticks in which it ran; `idle_since`: since when no task of it runs (now, if one does).
    - `finished`: whole iterations done; `iterations_left`: the other ones, the one under way included.
    - `gpu_seconds`: attained service; `gpu_rate`: its growth per tick while the job runs; `gpu_ticks`: attained service
      in units of the resource that counts GPUs, times ticks; `gpu_second`: GPU-seconds of one of these.

    Args:
        key: the function `(job) -> number or tuple` of the facts of a job, see below.
        strict: a job without room blocks all behind it; otherwise later jobs may pass.
        preempts: jobs that run are preempted by jobs before them. The simulation lets runs pause, unless options say
            otherwise.
        ages: the key changes while a job waits (it uses `job.now`). Then all keys are computed at every decision.

    Returns:
        The function itself.

    Raises:
        InvalidInput: the argument is not a function of a job.

    Examples:
        >>> @mlsched.order
        ... def short_and_small(job):
        ...     return job.remaining * job.gpus
    """
    if key is None:
        return functools.partial(order, strict=strict, preempts=preempts, ages=ages)
    if not callable(key):
        raise InvalidInput(f"order: {key!r}, expected a function of a job; decorate one with @mlsched.order")
    job_order = Order(_Checked(key), strict=strict, preempts=preempts, ages=ages)
    key.__dict__["__order__"] = job_order
    return key


class _Checked:
    """A user's key function; its results must be comparable."""

    def __init__(self, function: Callable[[Any], Key]) -> None:
        self.function = function

    def __call__(self, job: Any) -> Key:
        name = getattr(self.function, "__name__", "key")
        try:
            key = self.function(job)
        except MlschedError:
            raise
        except Exception as error:  # user code raises any exception
            raise SolverError(
                f"{name}: job {job.number} at tick {job.now}: raised {describe_exception(error)}"
            ) from error
        for part in key if type(key) is tuple else (key,):
            if not isinstance(part, (int, float, np.integer, np.floating)) or math.isnan(part):
                rule = "expected a number or a tuple of numbers that are not NaN"
                raise SolverError(f"{name}: job {job.number} at tick {job.now}: key {shorten(repr(part))}, {rule}")
        return key


def _declared_order(order: Order) -> Order:
    return order


def _pausing_options(order: Order, params: Data) -> Data:
    """Return the options of the simulator that a preemptive order implies."""
    return {"pausing": "keep"} if order.preempts else {}
