"""First in, first out, as in Gavel: without rates (`fifo`) and with them (`fifo_perf`).

`fifo` keeps a job on its type until it ends; then the next in the queue takes its place, if it fits. The intended rule
draws a random type with enough free GPUs for each new job. In the program, a variable left from a loop overwrites the
draw (`stale`). Every job gets the last type in the alphabet among those with free GPUs, v100, even if the job does not
fit. The program also removes the drawn type from the list instead of the full one. Both ways check with the job's real
rates that it can run on its type; if not, it waits without blocking others. The intended rule draws only types on which
a job can run. A job whose nodes have failed queues again.

`fifo_perf` reassigns all GPUs each time. In order of arrival each job gets its fastest type with enough free GPUs,
until one fits on no type.
"""

from __future__ import annotations

import random

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares


class _Fifo:
    """Types of the jobs, kept until they end."""

    remembers = ("given",)

    def __init__(self, readings: Readings) -> None:
        self.stale, self.draw = readings.fifo == "stale", random.Random(readings.seed)
        self.given: dict[int, str] = {}

    def __call__(self, query: Asked) -> FloatArray:
        here = dict(zip(query.jobs.tolist(), query.gpus.tolist(), strict=True))
        free = dict(zip(query.types, query.capacity.tolist(), strict=True))
        able = {
            job: {kind for kind, runs in zip(query.types, row, strict=True) if runs}
            for job, row in zip(query.jobs.tolist(), query.runs.tolist(), strict=True)
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
        self._fill_from_queue(queue, here, free, able)
        result = np.zeros((len(query.jobs), len(query.types)))
        for row, job in enumerate(query.jobs.tolist()):
            if job in self.given:
                result[row, query.types.index(self.given[job])] = 1.0
        return result

    def _fill_from_queue(
        self, queue: list[int], here: dict[int, int], free: dict[str, int], able: dict[int, set[str]]
    ) -> None:
        """Assign types to the jobs of the queue, until one fits on no type."""
        entries = sorted(kind for kind, count in free.items() if count > 0)
        for job in queue:
            with_room = [kind for kind in entries if free[kind] >= here[job]]
            if not with_room:
                return
            result = with_room if self.stale else [kind for kind in with_room if kind in able[job]]
            if not result:
                continue
            sample = result[self.draw.randrange(len(result))]
            kind = entries[-1] if self.stale else sample
            if kind not in able[job]:
                continue
            self.given[job] = kind
            free[kind] -= here[job]
            if free[kind] == 0:
                entries.remove(sample)


def in_order(query: Asked, order: list[int]) -> FloatArray:
    """Return shares of 1 in `order`: each row gets its fastest type with enough free GPUs, until one never fits."""
    free = query.capacity.tolist()
    alphabet = sorted(range(len(query.types)), key=lambda m: query.types[m])
    result = np.zeros(query.rate.shape)
    rate, gpus = query.rate.tolist(), query.gpus.tolist()
    for row in order:
        able = [m for m in alphabet if free[m] >= gpus[row]]
        if not able:
            break
        best = max(able, key=lambda m: rate[row][m])
        if rate[row][best]:  # a job that cannot run on the free types waits without blocking others
            result[row, best] = 1.0
            free[best] -= gpus[row]
    return result


def _start_perf(readings: Readings) -> Shares:
    return lambda query: in_order(query, np.argsort(query.jobs, kind="stable").tolist())


FIFO = Policy("fifo", _Fifo, strict=True, doc="in order of arrival, without rates")
FIFO_PERF = Policy("fifo_perf", _start_perf, aware=True, strict=True, doc="in order of arrival, each on its fastest")
