"""Greedy placement followed by simulated annealing."""

from __future__ import annotations

import numpy as np

from mlsched.core.formulation import Limits
from mlsched.core.registry import answerer
from mlsched.formulations.placement._pace import Pace
from mlsched.formulations.placement._search import State, anneal, greedy
from mlsched.instances.placement import Instance, Plan


@answerer("local-search", problem="placement", objectives=("total_speed",), warm_start=True, paper="none")
def answer(
    instance: Instance, *, rng: np.random.Generator, limits: Limits | None = None, moves: int = 1000, rounds: int = 2
) -> Plan:
    """Best of `rounds` annealing runs of `moves` random moves a job, each from a greedy start."""
    pace = Pace(instance)
    seconds = None if limits is None or limits.seconds is None else limits.seconds / max(1, rounds)
    plans = []
    for _ in range(max(1, rounds)):
        state = State(instance, pace)
        greedy(state, rng)
        plans.append(anneal(state, rng, moves * len(instance.job_type), seconds))
    return max(plans, key=lambda plan: _value(instance, pace, plan))


def _value(instance: Instance, pace: Pace, plan: Plan) -> int:
    w = np.concatenate([instance.run_workers, plan.workers])[None]
    p = np.concatenate([instance.run_ps, plan.ps])[None]
    return int(pace.total(w, p)[0])
