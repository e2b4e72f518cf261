"""Tiresias' two-dimensional least attained service (2D-LAS; Gu et al., NSDI 2019), discretised into queues.

Attained service is GPUs x time. A job starts in the top queue and sinks when its service passes a threshold; queues are
served from the top, each by first start, jobs that have not started last. A job below the top queue that has waited
`knob` times as long as it has executed goes back to the top, both counts starting anew. Thresholds 3,250 and 7,200
GPU-seconds, and what promotion does, are those of the authors' simulator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.core.params import within
from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._place import Placer, by_job
from mlsched.instances.taskgraph import Round, Snapshot

#: Job id -> its attained service and executed ticks when it was last promoted.
Memory = dict[str, list[int]]


@answerer("tiresias", problem="taskgraph", asks="decision", stateful=True, paper="Gu et al., NSDI 2019, Section 3.3")
def answer(
    snapshot: Snapshot,
    *,
    memory: Memory | None,
    rng: np.random.Generator,
    first: float = 3250.0,
    second: float = 7200.0,
    knob: float = 8.0,
    gpu: int = 100,
    tick: float = 60.0,
    stop: str = "most",
) -> tuple[Round, Memory]:
    """Start ready tasks by queue, then by first start; where runs may be paused without loss, lower jobs give way.

    first, second: thresholds, GPU-seconds (inf: one queue less). knob: 0 never promotes. gpu: units of the resource
    "gpu" (or, without one, the first resource) that make a GPU; tick: seconds of a tick; both as the library's
    generator has them. Elsewhere than with pausing = "keep", jobs give way between their iterations. stop: as for fifo.
    """
    within("knob", knob, 0)
    within("first", first, 0)
    within("second", second, first)
    within("gpu", gpu, 1)
    within("tick", tick, 0, open_low=True)
    queue, kept = queues(snapshot, memory or {}, (first, second), knob, tick / gpu)
    started = np.where(snapshot.first_start >= 0, snapshot.first_start, UNLIMITED)
    placer = Placer(snapshot, stop)
    tasks = by_job(snapshot, queue, started)
    if snapshot.pausing != "keep":
        placer.start_in_order(tasks)
        return placer.round(), kept
    return _preempting(placer, tasks, np.lexsort((snapshot.arrival, started, queue))), kept


def queues(
    snapshot: Snapshot, memory: Memory, thresholds: tuple[float, float], knob: float, seconds: float
) -> tuple[IntArray, Memory]:
    """The queue of each job (0: top) after promotions, and the memory of these. `seconds`: GPU-s a unit x tick."""
    resource = snapshot.resources.index("gpu") if "gpu" in snapshot.resources else 0
    kept: Memory = {}
    queue = np.zeros(len(snapshot.arrival), dtype=np.int64)
    for j, name in enumerate(map(str, snapshot.job_id.tolist())):
        service = int(snapshot.service[j, resource]) if snapshot.resources else 0
        executed = int(snapshot.executed[j])
        base = memory.get(name, [0, 0])
        queue[j] = _queue((service - base[0]) * seconds, thresholds)
        waited = snapshot.now - int(snapshot.idle_since[j])
        if knob and queue[j] and waited and waited >= knob * (executed - base[1]):
            base, queue[j] = [service, executed], 0
        if base != [0, 0]:
            kept[name] = base
    return queue, kept


def _queue(service: float, thresholds: tuple[float, float]) -> int:
    return sum(service >= threshold for threshold in thresholds)


def _preempting(placer: Placer, tasks: IntArray, jobs: Any) -> Round:
    """Fill the cluster anew in order of the jobs: what runs keeps its node if that is still free, else it pauses."""
    snapshot = placer.snapshot
    running = np.flatnonzero(snapshot.state == 1)
    np.add.at(placer.free, snapshot.node[running], snapshot.demand[running])
    pauses = []
    for job in jobs.tolist():
        for task in running[snapshot.task_job[running] == job].tolist():
            node = int(snapshot.node[task])
            if (placer.free[node] >= snapshot.demand[task]).all():
                placer.free[node] -= snapshot.demand[task]
            else:
                pauses.append(task)
        placer.start_in_order(tasks[snapshot.task_job[tasks] == job])
    plan = placer.round()
    return snapshot.round(
        start=placer.starts, pause=pauses, stop=list(zip(plan.stop_job.tolist(), plan.stop_after.tolist(), strict=True))
    )
