"""Tetris: multi-resource packing by alignment, less work first (Grandl et al., SIGCOMM 2014; Harmony Section VI-B)."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import within
from mlsched.core.registry import answerer
from mlsched.heuristics.placement._room import WORKER, Room
from mlsched.instances.placement import Instance, Plan


@answerer("tetris", problem="placement", warm_start=True, paper="Tetris (Grandl et al. 2014)")
def answer(instance: Instance, *, rng: np.random.Generator, weight: float = 1.0) -> Plan:
    """Best (task, server) by dot(demand, available) - eps x remaining work; eps = mean alignment / mean work x weight.

    The job of the best task comes next, whole; its other tasks go where they align best. Work of a job: its demand in
    shares of a server, summed, times its isolated length 1/K.
    """
    within("weight", weight, 0, 10**6)
    room = Room(instance)
    waiting = list(range(len(instance.job_type)))
    work = _work(instance)
    while waiting:
        best = {job: _best_alignment(room, job) for job in waiting}
        fitting = [job for job in waiting if best[job] >= 0]
        if not fitting:
            break
        mean_work = max(1e-12, float(np.mean([work[job] for job in fitting])))
        eps = weight * float(np.mean([best[job] for job in fitting])) / mean_work
        chosen = max(fitting, key=lambda job: (best[job] - eps * work[job], -job))
        room.place(chosen, most_aligned)
        waiting.remove(chosen)
    return room.plan()


def alignment(room: Room, job: int, kind: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """dot(demand, available) with each server, both in shares of the server."""
    return np.asarray((room.demand(job, kind) / room.capacity * (room.free / room.capacity)).sum(axis=1))


def most_aligned(room: Room, job: int, kind: int, able: IntArray) -> int:
    """The server that aligns best; ties go to the lowest index."""
    return int(able[np.argmax(alignment(room, job, kind)[able])])


def _best_alignment(room: Room, job: int) -> float:
    able = room.able(job, WORKER)
    return float(alignment(room, job, WORKER)[able].max()) if able.size else -1.0


def _work(instance: Instance) -> list[float]:
    capacity = np.maximum(instance.server_capacity.max(axis=0), 1)
    tasks = instance.job_workers[:, None] * instance.worker_demand + instance.job_ps[:, None] * instance.ps_demand
    shares = (tasks / capacity).sum(axis=1)
    return [float(x) for x in shares * 1e6 / np.maximum(instance.job_speed, 1)]
