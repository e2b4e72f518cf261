"""Tetris: multi-resource packing by alignment, less work first (Grandl et al., SIGCOMM 2014; Harmony Section VI-B).

Tetris fills machines (its Section 3.2): "when resources on a machine become available", it scores the tasks that fit
there. The score is the dot product of the task's demand with the machine's free capacity, both in shares of the
machine. It places the best task and repeats until no task fits. To finish jobs early (3.3), it subtracts eps times
the remaining work of the task's job; eps is the mean alignment over the mean work of the candidates. Harmony
describes the result: "Tetris tries to put the jobs together to avoid wasting resource fragments". This is
`order="machine"`, the default. `order="task"` looks for the best server of a task instead. The dot product is then
largest on the emptiest server, and a packing rule spreads.

Simplifications:

- Machines are filled in the order of the instance, since all of a batch's machines become available at once. Tetris
  does not define their order; the same group's later simulator also takes them by number.
- A placed job must be complete, unlike in Tetris. Jobs that are incomplete when the last machine is full are rolled
  back, the job with the most work is left out, and the others are tried again.
- A job's remaining work is all of its work, since a waiting job has not begun: its demand in shares of the largest
  server, summed, times its isolated length (1/K).
- Fairness among users (the share of jobs that may be chosen), the barrier hint for stages, and the penalty for remote
  data are left out. Harmony's jobs lack users and stages, and its text does not mention these parts.
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
    """Fill machine by machine, by largest dot(demand, free) - eps x remaining work of the task's job.

    weight: factor on eps = mean alignment / mean work (0: only packing). order: "machine" fills one server after
    another; "task" takes the best pair of task and server, then the best aligned server for each other task of that
    job.
    """
    room = Room(instance)
    if order == "task":
        _place_by_task(room, weight)
    else:
        _fill_by_machine(room, weight)
    return room.plan()


# -- machine by machine -----------------------------------------------------------------------------------------------


def _fill_by_machine(room: Room, weight: float) -> None:
    """Fill the servers; roll incomplete jobs back and retry them without the job with the most work."""
    work = _work_of_jobs(room.instance)
    waiting = set(range(len(work)))
    while True:
        remaining = {
            (job, kind): int(count[job])
            for kind, count in ((WORKER, room.instance.job_workers), (PS, room.instance.job_ps))
            for job in sorted(waiting)
        }
        opened: set[int] = set()
        for server in range(len(room.free)):
            _fill_server(room, server, remaining, opened, work, weight)
        in_parts = {job for job in opened if remaining[job, WORKER] or remaining[job, PS]}
        room.open -= len(opened - in_parts)
        waiting -= opened - in_parts
        if not in_parts:
            return
        for job in in_parts:
            room.take_out(job)
        waiting.remove(max(in_parts, key=lambda job: (work[job], job)))


def _fill_server(
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
        job, kind = _best_task(aligned, work, weight)
        room.put(job, kind, server)
        remaining[job, kind] -= 1
        begun.add(job)


def _best_task(aligned: dict[Task, float], work: list[float], weight: float) -> Task:
    """Return the task of the highest score: its alignment minus the price of its job's work.

    Ties go to the first job, and to its workers.

    Args:
        aligned: Task -> its alignment with the server.
        work: Work of each job.
        weight: Weight of the work against the alignment.
    """
    best: dict[int, float] = {}
    for (job, _), a in aligned.items():
        best[job] = max(best.get(job, 0.0), a)
    eps = _price_of_work(best, work, weight)
    return max(aligned, key=lambda task: (aligned[task] - eps * work[task[0]], -task[0], -task[1]))


# -- task by task -----------------------------------------------------------------------------------------------------


def _place_by_task(room: Room, weight: float) -> None:
    """Place the job of the best (worker, server) pair next; its other tasks go to their best aligned servers."""
    waiting, work = list(range(len(room.instance.job_type))), _work_of_jobs(room.instance)
    while waiting:
        best = {}
        for job in waiting:
            able = room.able(job, WORKER)
            if able.size:
                best[job] = float(alignments(room, job, WORKER)[able].max())
        if not best:
            return
        eps = _price_of_work(best, work, weight)
        best_job = max(best, key=lambda job: (best[job] - eps * work[job], -job))
        room.place(best_job, most_aligned)
        waiting.remove(best_job)


def most_aligned(room: Room, job: int, kind: int, able: IntArray) -> int:
    """Return the best aligned server; ties go to the lowest index."""
    return int(able[np.argmax(alignments(room, job, kind)[able])])


# -- scores -----------------------------------------------------------------------------------------------------------


def alignments(room: Room, job: int, kind: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return dot(demand, free) with each server, both in shares of the server."""
    return np.asarray((room.demand(job, kind) / room.capacity * (room.free / room.capacity)).sum(axis=1))


def alignment(room: Room, job: int, kind: int, server: int) -> float:
    """Return dot(demand, free) with one server."""
    capacity = room.capacity[server]
    return float((room.demand(job, kind) / capacity) @ (room.free[server] / capacity))


def _price_of_work(best: dict[int, float], work: list[float], weight: float) -> float:
    """Return the price per unit of work: `weight` times the mean alignment over the mean work of the candidates."""
    mean_work = max(1e-12, float(np.mean([work[job] for job in best])))
    return weight * float(np.mean(list(best.values()))) / mean_work


def _work_of_jobs(instance: Instance) -> list[float]:
    """Return the work of each job: demand in shares of the largest server, summed, times isolated intervals."""
    capacity = np.maximum(instance.server_capacity.max(axis=0), 1)
    tasks = instance.job_workers[:, None] * instance.worker_demand + instance.job_ps[:, None] * instance.ps_demand
    shares = (tasks / capacity).sum(axis=1)
    return [float(x) for x in shares * 1e6 / np.maximum(instance.job_speed, 1)]
