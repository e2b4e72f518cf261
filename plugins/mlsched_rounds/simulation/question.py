"""The rounds instance of a simulation: one configuration for each type and number of GPUs."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray, ints
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.goodput import Configurations
from mlsched_rounds.instances.tables import State, from_rates
from mlsched_rounds.simulation.options import Options
from mlsched_rounds.simulation.simulator import Rounds
from mlsched_rounds.simulation.workload import Workload

#: The largest weight of the instance.
MOST_WEIGHT = 10**6


def whole(weight: IntArray) -> IntArray:
    """Convert weights to the least integers in the same ratio, at most 10^6 (then rounded)."""
    least: IntArray = weight // np.gcd.reduce(weight) if len(weight) else weight
    most = int(least.max(initial=1))
    if most <= MOST_WEIGHT:
        return least
    scale: IntArray = np.maximum(1, np.rint(least * (MOST_WEIGHT / most))).astype(np.int64)
    return scale


class Asker:
    """Makes instances of the state of a run, and reads plans for the last one."""

    def __init__(self, workload: Workload, options: Options) -> None:
        self.workload, self.options = workload, options
        self.sizes: IntArray = np.unique(workload.gpus)
        types = len(workload.types)
        self.type = np.repeat(np.arange(types), len(self.sizes))
        self.size = np.tile(self.sizes, types)
        self.weight = whole(workload.weight)

    def ask(self, rounds: Rounds) -> Instance:
        """Return the instance of the round that begins now."""
        w, jobs = self.workload, rounds.active
        # A job that keeps its GPUs for empty slices (`Options.emptied`) still requests them: for a step.
        rest = ints(max(1, rounds.remaining[j]) for j in jobs.tolist())
        progress = (
            w.steps[jobs] - rest if rounds.progress is None else ints(rounds.progress.done[j] for j in jobs.tolist())
        )
        usage = np.full(len(w.submit), -1)
        for kind, before in enumerate(rounds.held):
            for (job,) in before:
                usage[job] = int(np.flatnonzero((self.type == kind) & (self.size == w.gpus[job]))[0])
        return from_rates(
            rounds.rate[jobs][:, self.type] * (w.gpus[jobs, None] == self.size),
            Configurations(self.type, self.size, w.capacity),
            State(
                remaining=rest,
                done=progress,
                age=rounds.now - np.array([rounds.arrival[j] for j in jobs.tolist()]),
                current=usage[jobs],
                restarts=np.zeros(len(jobs), dtype=np.int64),
                restart_seconds=np.full(len(jobs), float(self.options.resume)),
                weight=self.weight[jobs],
            ),
            length=float(self.options.round),
            pause=float(self.options.resume),
            type_names=w.types,
        )

    def kinds(self, plan: Plan) -> IntArray:
        """Return the type on which each job of the last instance runs, -1: it waits."""
        return np.where(plan.config >= 0, self.type[plan.config], -1)
