"""Tiresias' two-dimensional least attained service (2D-LAS; Gu et al., NSDI 2019, Section 3.3), cut into queues.

Attained service is GPUs x time, in GPU-seconds. A job starts in the top queue and sinks when its service passes a
threshold; queues are served from the top, each by first start, jobs that have not started last, and what does not fit
is passed by. A job below the top queue that has waited, since it first started, `knob` times as long as it has executed
goes back to the top, and service, waiting and execution start anew. Thresholds of 3,250 and 7,200 GPU-seconds and the
counting of waiting are those of the authors' simulator (github.com/SymbioticLab/Tiresias, `dlas_sim_jobs`).

What is simpler, or other, here:

- Tasks of jobs that are no gangs (`Snapshot.gang`) start one by one; Tiresias gives a job all of its GPUs or none.
- Runs are interrupted only in worlds with pausing = "keep"; there the rule asks to be woken when a job sinks or is
  promoted, as the simulator does. Elsewhere it preempts between iterations, and is asked at events only.
- What a pause costs is the world's (`Snapshot.pause_cost`); thresholds and `keep` say how often it is paid. Tiresias'
  prototype writes and reads checkpoints.
- Consolidation (Section 3.4): gangs whose tensors are skewed go to as few nodes as possible, all others to nodes chosen
  as by all list rules (`_place.Placer`). The paper measures tensors on the network; here a task's model parameters
  stand for them, and a job is skewed if its largest task holds at least `skew` times the mean. The paper gives no
  number for its limit, and graphs of traces have no parameters: without `skew`, no job is. A skewed job takes the
  fewest nodes that are free, and does not wait for fewer.
- 2D-Gittins, for known distributions of service, is `tiresias-gittins`.
- Waiting for data between tasks counts as waiting where no task of the job runs.
- Promotions pause jobs often where the thresholds are short beside what jobs attain in all: a job on 64 GPUs passes the
  last one in two minutes, is paused, and is back after `knob` times as long. `knob` 0 is the paper's infinite
  PROMOTEKNOB, and what the authors' simulator does under the name `dlas-gpu`; `dlas-gpu-8` is 8.
- By first start is the paper's order inside a queue; the simulator puts the waiting jobs behind those that run
  (`keep`).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.core.params import NotNegative, within
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.measures import Flags, Floats, by_class, by_job, per_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, preempt_by_priority, settled
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING
from mlsched.instances.taskgraph.units import gpu_seconds

#: Of jobs that have been promoted, a list each: their ids, and their attained service (units x ticks), executed and
#: waited ticks when they last were.
Memory = dict[str, list[int]]
COUNTED = ("service", "executed", "waited")
#: By default: GPU-seconds at which a job sinks, and how long it waits for a promotion, times as it has executed.
THRESHOLDS, KNOB = (3250.0, 7200.0), 8.0


@dataclasses.dataclass(frozen=True)
class Standing:
    """Where each job stands, an entry a job: its queue (0: top), and since its last promotion the GPU-seconds it has
    attained and the ticks it has executed and waited.
    """

    queue: IntArray
    attained: Floats
    executed: IntArray
    waited: IntArray


@solver(
    "tiresias",
    problem="taskgraph",
    called="online",
    stateful=True,
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

    first, second: thresholds, GPU-seconds (inf: one queue less); the higher, the fewer pauses. knob: 0 never promotes.
    skew: a gang whose largest task holds so many times the mean of parameters is consolidated; 0: none is. keep: inside
    a queue, what waits comes after what runs. stop, nodes: as for fifo. Needs a resource that counts GPUs and the
    length of a tick (`instances/taskgraph/units.py`); refuses what lacks them.
    """
    within("second", second, first)
    thresholds = (first, second)
    standing, kept = standings(snapshot, memory or {}, thresholds, knob)
    placer = Placer(snapshot, stop, nodes)
    placer.packed |= skewed(snapshot, skew)
    return serve(placer, standing, thresholds, knob, keep=keep)[0], kept


def serve(
    placer: Placer,
    standing: Standing,
    thresholds: tuple[float, float],
    knob: float,
    index: Floats | None = None,
    keep: bool = False,
) -> tuple[Round, list[int]]:
    """The round that serves the queues from the top, each by falling `index` (if any), then by first start.

    With it, the tasks that pause. keep: what runs comes before what waits in its queue.
    """
    snapshot = placer.snapshot
    if settled(placer):
        pauses_matter = snapshot.pausing == "keep"
        return placer.round((), _next_change(placer, [], standing, thresholds, knob) if pauses_matter else 0), []
    started = np.where(snapshot.first_start >= 0, snapshot.first_start, UNLIMITED)
    order = [started] if index is None else [-index, started]
    if keep:
        order.insert(0, per_job(snapshot, snapshot.state == RUNNING) == 0)
    tasks = by_job(snapshot, standing.queue, *order)
    if snapshot.pausing != "keep":
        placer.start_in_order(tasks)
        return placer.round(), []
    pauses = preempt_by_priority(
        placer, tasks, np.lexsort((snapshot.arrival, *reversed(order), standing.queue, *by_class(snapshot)))
    )
    return placer.round(pauses, _next_change(placer, pauses, standing, thresholds, knob)), pauses


def skewed(snapshot: Snapshot, limit: float) -> Flags:
    """jobs: whether the largest task holds at least `limit` times the tasks' mean of model parameters; 0: none."""
    largest = np.zeros(len(snapshot.arrival))
    within("skew", limit, 0)
    if not limit:
        return largest > 0
    np.maximum.at(largest, snapshot.task_job, snapshot.parameters)
    mean = per_job(snapshot, snapshot.parameters) / np.bincount(snapshot.task_job, minlength=len(largest))
    return np.asarray((largest > 0) & (largest >= limit * mean))


def standings(
    snapshot: Snapshot, memory: Memory, thresholds: tuple[float, float], knob: float
) -> tuple[Standing, Memory]:
    """Where each job stands after promotions, and the memory of these."""
    column, seconds = gpu_seconds(snapshot, "tiresias")
    stay = np.where(snapshot.first_start >= 0, snapshot.now - snapshot.first_start, 0)
    waited = np.maximum(stay - snapshot.executed, 0)
    counts = np.array([snapshot.service[:, column], snapshot.executed, waited])
    base = np.zeros_like(counts)
    if memory:
        order = np.argsort(snapshot.job_id, kind="stable")
        names = np.array(memory["job"], dtype=np.int64)
        place = order[np.minimum(np.searchsorted(snapshot.job_id, names, sorter=order), len(order) - 1)]
        there = snapshot.job_id[place] == names
        base[:, place[there]] = np.array([memory[name] for name in COUNTED])[:, there]
    since = counts - base
    attained: Floats = np.asarray(since[0] * seconds)
    queue = np.asarray((attained >= thresholds[0]) * 1 + (attained >= thresholds[1]))
    if knob:
        starves = (queue > 0) & (snapshot.idle_since < snapshot.now) & (since[2] >= knob * since[1])
        if starves.any():
            base[:, starves], since[:, starves], queue[starves], attained[starves] = counts[:, starves], 0, 0, 0
    risen = np.flatnonzero(base.any(axis=0))
    columns = zip(("job", *COUNTED), (snapshot.job_id, *base), strict=True)
    kept = {name: row[risen].tolist() for name, row in columns} if risen.size else {}
    return Standing(queue, attained, since[1], since[2]), kept


def _next_change(
    placer: Placer, pauses: list[int], standing: Standing, thresholds: tuple[float, float], knob: float
) -> int:
    """When, if nothing else happens, a running job next sinks or a waiting one is promoted; 0: never."""
    snapshot = placer.snapshot
    column, seconds = gpu_seconds(snapshot, "tiresias")
    holds = holding(placer, pauses)
    rate = seconds * per_job(snapshot, holds * snapshot.demand[:, column])
    runs = per_job(snapshot, holds) > 0
    limit = np.array([*thresholds, math.inf])[standing.queue]
    waits = bool(pauses or placer.open.any())  # where nothing waits, nobody is preempted
    sinks = waits & runs & (rate > 0) & np.isfinite(limit)
    rises = ~runs & (standing.queue > 0) & (knob > 0)
    ticks = np.concatenate(
        [
            (limit[sinks] - standing.attained[sinks]) / rate[sinks],
            knob * standing.executed[rises] - standing.waited[rises],
        ]
    )
    return snapshot.now + max(1, math.ceil(ticks.min())) if ticks.size else 0
