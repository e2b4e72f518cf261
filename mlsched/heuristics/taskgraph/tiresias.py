"""Tiresias' two-dimensional least attained service (2D-LAS; Gu et al., NSDI 2019, Section 3.3), cut into queues.

Attained service is GPUs x time, in GPU-seconds. A job starts in the top queue and sinks when its service passes a
threshold. Queues are served from the top, each by first start, new jobs last, and jobs that do not fit are skipped. A
job below the top queue returns to the top when its waiting time since its first start is `knob` times its execution
time. Service, waiting and execution then restart from 0. Thresholds of 3,250 and 7,200 GPU-seconds and the counting
of waiting are from the authors' simulator (github.com/SymbioticLab/Tiresias, `dlas_sim_jobs`).

Simplifications and differences:

- Tasks of jobs without gangs (`Snapshot.gang`) start one by one; Tiresias gives a job all of its GPUs or none.
- Runs are interrupted only in worlds with pausing = "keep". There the rule requests a wake-up when a job sinks or is
  promoted, as the simulator does. Elsewhere it preempts between iterations, and is only called at events.
- The cost of a pause is the world's (`Snapshot.pause_cost`); thresholds and `keep` determine the number of pauses.
  Tiresias' prototype writes and reads checkpoints.
- Consolidation (Section 3.4): gangs with skewed tensors go to as few nodes as possible, all others to nodes chosen as
  in all list rules (`_place.Placer`). The paper measures tensors on the network; here a task's model parameters
  replace them, and a job is skewed if its largest task has at least `skew` times the mean. The paper does not state
  its limit, and graphs of traces lack parameters: without `skew`, jobs are not skewed. A skewed job takes the fewest
  nodes that are free, and does not wait for fewer.
- 2D-Gittins, for known distributions of service, is `tiresias-gittins`.
- Waiting for data between tasks counts as waiting if all tasks of the job are idle.
- Promotions pause jobs often if the thresholds are short compared with the total service of jobs. A job on 64 GPUs
  passes the last threshold in two minutes, is paused, and is back after `knob` times as long. `knob` 0 is the paper's
  infinite PROMOTEKNOB, and corresponds to `dlas-gpu` of the authors' simulator; `dlas-gpu-8` is 8.
- By first start is the paper's order inside a queue; the simulator puts waiting jobs behind running jobs (`keep`).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from mlsched.core.fields import UNLIMITED, BoolArray
from mlsched.core.params import NotNegative, check_range
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph import _order
from mlsched.heuristics.taskgraph._order import Job, Order
from mlsched.heuristics.taskgraph.measures import per_job
from mlsched.instances.taskgraph import Round, Snapshot

#: A list for each promoted job: its id, and its attained service (units x ticks), executed and waited ticks at the
#: last promotion.
Memory = dict[str, list[int]]
COUNTED = ("service", "executed", "waited")
#: Defaults: GPU-seconds at which a job sinks, and its waiting time before a promotion over its execution time.
THRESHOLDS, KNOB = (3250.0, 7200.0), 8.0


class Standing(NamedTuple):
    """The queue of a job (0: top), and since its last promotion attained GPU-seconds, executed and waited ticks."""

    queue: int
    attained: float
    executed: int
    waited: int


class Queues:
    """Thresholds between queues, and the service of jobs at their last promotion."""

    def __init__(self, thresholds: tuple[float, float], knob: float, memory: Memory | None = None) -> None:
        self.thresholds, self.knob = thresholds, knob
        columns = [(memory or {}).get(name, []) for name in ("job", *COUNTED)]
        self.promoted: dict[int, tuple[int, int, int]] = {
            job: (service, executed, waited) for job, service, executed, waited in zip(*columns, strict=True)
        }

    def memory(self, snapshot: Snapshot) -> Memory:
        """Return the memory of the jobs of a snapshot."""
        there = [job for job in snapshot.job_id.tolist() if any(self.promoted.get(job, ()))]
        rows = [(job, *self.promoted[job]) for job in there]
        return {name: list(column) for name, column in zip(("job", *COUNTED), zip(*rows, strict=True), strict=False)}

    def standing(self, job: Job) -> Standing:
        """Return the queue of a job and its service since the last promotion."""
        service, executed, waited = _service_counts(job)
        if (before := self.promoted.get(job.number)) is not None:
            service, executed, waited = service - before[0], executed - before[1], waited - before[2]
        attained = service * job.gpu_second
        first, second = self.thresholds
        return Standing((attained >= first) + (attained >= second), attained, executed, waited)

    def sinks(self, job: Job) -> int | None:
        """Return the time at which a running job sinks, or None."""
        standing = self.standing(job)
        limit = (*self.thresholds, math.inf)[standing.queue]
        if limit == math.inf or job.gpu_rate <= 0:
            return None
        return job.now + max(1, math.ceil((limit - standing.attained) / job.gpu_rate))

    def rises(self, job: Job) -> int | None:
        """Return the time at which a waiting job is promoted, or None."""
        standing = self.standing(job)
        if not self.knob or not standing.queue:
            return None
        return job.now + math.ceil(self.knob * standing.executed - standing.waited)

    def promote(self, job: Job) -> None:
        """Put a job into the top queue."""
        self.promoted[job.number] = _service_counts(job)


def _service_counts(job: Job) -> tuple[int, int, int]:
    """Return attained service (units x ticks), executed and waited ticks of a job."""
    executed, first = job.executed, job.first_start
    return job.gpu_ticks, executed, max(job.now - first - executed, 0) if first >= 0 else 0


def _order_by_queues(queues: Queues, skew: float, keep: bool, stop: str, nodes: str) -> Order:
    """Return the order by queues, then by first start."""

    def key(job: Job) -> tuple[int, ...]:
        first_start = job.first_start if job.first_start >= 0 else UNLIMITED
        queue = queues.standing(job).queue
        return (queue, not job.runs, first_start) if keep else (queue, first_start, job.arrival, job.number)

    return Order(
        key,
        preempts=True,
        until=queues.sinks,
        rises=queues.rises,
        promote=queues.promote,
        restart=queues.promoted.clear,
        packs=functools.partial(skewed, limit=skew) if skew else None,
        needs_gpus="tiresias",
        stop=stop,
        nodes=nodes,
    )


def order(
    *,
    first: float = THRESHOLDS[0],
    second: float = THRESHOLDS[1],
    knob: float = KNOB,
    skew: float = 0.0,
    keep: bool = False,
    stop: str = "most",
    nodes: str = "auto",
) -> Order:
    """Return the order of jobs by their queues, without a memory of earlier decisions."""
    check_range("second", second, first)
    check_range("skew", skew, 0)
    return _order_by_queues(Queues((first, second), knob), skew, keep, stop, nodes)


@solver(
    "tiresias",
    problem="taskgraph",
    called="online",
    stateful=True,
    order=order,
    world=lambda params: {"pausing": "keep"},
    paper="Gu et al., NSDI 2019, Section 3.3",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: Memory | None,
    rng: np.random.Generator,
    first: NotNegative = THRESHOLDS[0],
    second: float = THRESHOLDS[1],
    knob: NotNegative = KNOB,
    skew: float = 0.0,
    keep: bool = False,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Memory]:
    """Start ready tasks by queue, then by first start; where runs may be paused without loss, lower jobs are preempted.

    first, second: thresholds, GPU-seconds (inf: one queue less); the higher, the fewer pauses. knob: 0 never
    promotes. skew: a gang is consolidated if its largest task has this many times the mean of parameters; 0: never.
    keep: inside a queue, waiting jobs come after running jobs. stop, nodes: as for fifo. Needs a resource that counts
    GPUs and the length of a tick (`instances/taskgraph/units.py`); refuses inputs without them.
    """
    check_range("second", second, first)
    queues = Queues((first, second), knob, memory)
    outcome = _order.answer(snapshot, _order_by_queues(queues, skew, keep, stop, nodes))
    return outcome, queues.memory(snapshot)


def skewed(snapshot: Snapshot, limit: float) -> BoolArray:
    """Return for each job if its largest task has at least `limit` times the tasks' mean of model parameters."""
    check_range("skew", limit, 0)
    largest = np.zeros(len(snapshot.arrival))
    np.maximum.at(largest, snapshot.task_job, snapshot.parameters)
    mean = per_job(snapshot, snapshot.parameters) / np.bincount(snapshot.task_job, minlength=len(largest))
    return np.asarray((largest > 0) & (largest >= limit * mean))
