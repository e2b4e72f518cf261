"""Tetris: multi-resource packing by alignment, less work first (Grandl et al., SIGCOMM 2014; Harmony Section VI-B).

Tetris fills machines (its Section 3.2): "when resources on a machine become available", it takes the tasks that fit
there, scores each by the dot product of its demand with what the machine has free, both in shares of the machine,
places the best one, and goes on until nothing fits there. To finish jobs early (3.3) it subtracts eps times the
remaining work of the task's job, eps being the mean alignment over the mean work of the candidates. Harmony says what
comes out of it: "Tetris tries to put the jobs together to avoid wasting resource fragments". That is `order="machine"`,
the default. `order="task"` looks for the best server of a task instead: the dot product is then largest on the emptiest
server, and a rule that is meant to pack spreads.

Simplifications. Machines are filled in the order of the instance: a batch finds them all at once, and Tetris does not
say which comes first (the same group's later simulator takes them by number, too). A placed job must be whole, which
Tetris' tasks need not be: jobs that are left in parts when the last machine is full are rolled back, the one with the
most work is left out, and the others are tried again. A job's remaining work is all of it, since a job that waits has
not begun: its demand in shares of the largest server, summed, times its length alone (1/K). Fairness among users (the
share of jobs that may be chosen), the barrier hint for stages, and the penalty for remote data are left out: Harmony's
jobs have no users and no stages, and its text mentions none of them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.heuristics.placement._room import PS, WORKER, Room
from mlsched.instances.placement import Instance, Plan

Task = tuple[int, int]


@solver("tetris", problem="placement", warm_start=True, paper="Tetris (Grandl et al. 2014)")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    weight: Annotated[float, Range(0, 10**6)] = 1.0,
    order: Literal["machine", "task"] = "machine",
) -> Plan:
    """Machine by machine, the task of most dot(demand, free) - eps x remaining work of its job.

    weight: times eps = mean alignment / mean work (0: packing alone). order: "machine" fills one server after another;
    "task" takes the best pair of task and server, then the other tasks of that job where they align best.
    """
    room = Room(instance)
    if order == "task":
        _by_task(room, weight)
    else:
        _by_machine(room, weight)
    return room.plan()


# -- machine by machine -----------------------------------------------------------------------------------------------


def _by_machine(room: Room, weight: float) -> None:
    """Fill the servers; what is not whole then is rolled back, and all but the job with the most work try again."""
    work = _work(room.instance)
    waiting = set(range(len(work)))
    while True:
        remaining = {
            (job, kind): int(count[job])
            for kind, count in ((WORKER, room.instance.job_workers), (PS, room.instance.job_ps))
            for job in sorted(waiting)
        }
        begun: set[int] = set()
        for server in range(len(room.free)):
            _fill(room, server, remaining, begun, work, weight)
        in_parts = {job for job in begun if remaining[job, WORKER] or remaining[job, PS]}
        room.open -= len(begun - in_parts)
        waiting -= begun - in_parts
        if not in_parts:
            return
        for job in in_parts:
            room.take_out(job)
        waiting.remove(max(in_parts, key=lambda job: (work[job], job)))


def _fill(
    room: Room, server: int, remaining: dict[Task, int], begun: set[int], work: list[float], weight: float
) -> None:
    """Place the best of the tasks `remaining` on `server` until none fits; at most `room.open` jobs are begun."""
    while True:
        aligned = {
            task: alignment(room, *task, server)
            for task, count in remaining.items()
            if count and (task[0] in begun or len(begun) < room.open) and room.has_space(*task, server)
        }
        if not aligned:
            return
        job, kind = _best(aligned, work, weight)
        room.put(job, kind, server)
        remaining[job, kind] -= 1
        begun.add(job)


def _best(aligned: dict[Task, float], work: list[float], weight: float) -> Task:
    """The task of the highest score; ties go to the first job, and to its workers."""
    best: dict[int, float] = {}
    for (job, _), a in aligned.items():
        best[job] = max(best.get(job, 0.0), a)
    eps = _eps(best, work, weight)
    return max(aligned, key=lambda task: (aligned[task] - eps * work[task[0]], -task[0], -task[1]))


# -- task by task -----------------------------------------------------------------------------------------------------


def _by_task(room: Room, weight: float) -> None:
    """The job of the best (worker, server) comes next, whole; its other tasks go where they align best."""
    waiting, work = list(range(len(room.instance.job_type))), _work(room.instance)
    while waiting:
        best = {}
        for job in waiting:
            able = room.able(job, WORKER)
            if able.size:
                best[job] = float(alignments(room, job, WORKER)[able].max())
        if not best:
            return
        eps = _eps(best, work, weight)
        chosen = max(best, key=lambda job: (best[job] - eps * work[job], -job))
        room.place(chosen, most_aligned)
        waiting.remove(chosen)


def most_aligned(room: Room, job: int, kind: int, able: IntArray) -> int:
    """The server that aligns best; ties go to the lowest index."""
    return int(able[np.argmax(alignments(room, job, kind)[able])])


# -- scores -----------------------------------------------------------------------------------------------------------


def alignments(room: Room, job: int, kind: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """dot(demand, free) with each server, both in shares of the server."""
    return np.asarray((room.demand(job, kind) / room.capacity * (room.free / room.capacity)).sum(axis=1))


def alignment(room: Room, job: int, kind: int, server: int) -> float:
    """dot(demand, free) with one server."""
    capacity = room.capacity[server]
    return float((room.demand(job, kind) / capacity) @ (room.free[server] / capacity))


def _eps(best: dict[int, float], work: list[float], weight: float) -> float:
    """What a unit of work costs: `weight` times the mean alignment over the mean work of the candidates."""
    mean_work = max(1e-12, float(np.mean([work[job] for job in best])))
    return weight * float(np.mean(list(best.values()))) / mean_work


def _work(instance: Instance) -> list[float]:
    """Work of each job: its demand in shares of the largest server, summed, times its length alone in intervals."""
    capacity = np.maximum(instance.server_capacity.max(axis=0), 1)
    tasks = instance.job_workers[:, None] * instance.worker_demand + instance.job_ps[:, None] * instance.ps_demand
    shares = (tasks / capacity).sum(axis=1)
    return [float(x) for x in shares * 1e6 / np.maximum(instance.job_speed, 1)]
