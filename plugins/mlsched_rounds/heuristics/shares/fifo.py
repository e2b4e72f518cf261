"""First in, first out, as Gavel has it: without rates (`fifo`) and with them (`fifo_perf`).

`fifo` keeps a job on the type it was given until it is done; then the next in the queue takes its place, if it fits.
Others are given any type with enough free GPUs, drawn at random - or so it is meant. In the program the draw is
overwritten by a variable left from a loop (`stale`): every job gets the last type in the alphabet among those with free
GPUs, v100, whether it has room or not; and a type that is full is not struck off the list, but the drawn one. Both ways
check with the job's real rates that it can run on its type; if not, it waits and does not hold up others. As it is
meant, only types on which a job can run are drawn. A job that can no longer run where it was given GPUs (its nodes have
failed) queues again.

`fifo_perf` gives out everything anew each time: in order of arrival each job gets the type that is fastest for it among
those with enough free GPUs, until one fits nowhere.
"""

from __future__ import annotations

import random

import numpy as np

from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.solvers.shares import Floats


class _Fifo:
    """The jobs' types, kept until they are done."""

    remembers = ("given",)

    def __init__(self, readings: Readings) -> None:
        self.stale, self.draw = readings.fifo == "stale", random.Random(readings.seed)
        self.given: dict[int, str] = {}

    def __call__(self, asked: Asked) -> Floats:
        here = dict(zip(asked.jobs.tolist(), asked.gpus.tolist(), strict=True))
        free = dict(zip(asked.types, asked.capacity.tolist(), strict=True))
        able = {
            job: {kind for kind, runs in zip(asked.types, row, strict=True) if runs}
            for job, row in zip(asked.jobs.tolist(), asked.runs.tolist(), strict=True)
        }
        self.given = {job: kind for job, kind in self.given.items() if job not in here or kind in able[job]}
        queue = [job for job in sorted(here) if job not in self.given]
        for job in sorted(self.given):
            kind = self.given[job]
            if job in here:
                free[kind] -= here[job]
                continue
            del self.given[job]
            if queue and here[queue[0]] <= free[kind] and kind in able[queue[0]]:
                following = queue.pop(0)
                self.given[following] = kind
                free[kind] -= here[following]
        self._fill(queue, here, free, able)
        found = np.zeros((len(asked.jobs), len(asked.types)))
        for row, job in enumerate(asked.jobs.tolist()):
            if job in self.given:
                found[row, asked.types.index(self.given[job])] = 1.0
        return found

    def _fill(self, queue: list[int], here: dict[int, int], free: dict[str, int], able: dict[int, set[str]]) -> None:
        """Types for the jobs of the queue, until one fits nowhere."""
        listed = sorted(kind for kind, count in free.items() if count > 0)
        for job in queue:
            with_room = [kind for kind in listed if free[kind] >= here[job]]
            if not with_room:
                return
            found = with_room if self.stale else [kind for kind in with_room if kind in able[job]]
            if not found:
                continue
            drawn = found[self.draw.randrange(len(found))]
            kind = listed[-1] if self.stale else drawn
            if kind not in able[job]:
                continue
            self.given[job] = kind
            free[kind] -= here[job]
            if free[kind] == 0:
                listed.remove(drawn)


def in_order(asked: Asked, order: list[int]) -> Floats:
    """Shares of 1: row after row in `order`, the type with enough free GPUs that is fastest; until one fits nowhere."""
    free = asked.capacity.tolist()
    alphabet = sorted(range(len(asked.types)), key=lambda m: asked.types[m])
    found = np.zeros(asked.rate.shape)
    rate, gpus = asked.rate.tolist(), asked.gpus.tolist()
    for row in order:
        able = [m for m in alphabet if free[m] >= gpus[row]]
        if not able:
            break
        best = max(able, key=lambda m: rate[row][m])
        if rate[row][best]:  # a job that cannot run where there is room waits, and holds nobody up
            found[row, best] = 1.0
            free[best] -= gpus[row]
    return found


def _start_perf(readings: Readings) -> Shares:
    return lambda asked: in_order(asked, np.argsort(asked.jobs, kind="stable").tolist())


FIFO = Policy("fifo", _Fifo, strict=True, doc="in order of arrival, without rates")
FIFO_PERF = Policy("fifo_perf", _start_perf, aware=True, strict=True, doc="in order of arrival, each on its fastest")
