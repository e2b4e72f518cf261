"""Greedy placement followed by simulated annealing; this library's own method.

It sees the true interference and network penalties, as the judge does. The rules of the papers do not.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.deadline import Deadline
from mlsched.core.formulation import NO_LIMITS, Limits
from mlsched.core.params import CountOrNone, Range
from mlsched.core.registry import solver
from mlsched.heuristics.placement._annealing import State, anneal, greedy
from mlsched.instances.placement import Instance, Plan
from mlsched.instances.placement.pace import Pace

#: Moves per job when the search starts a proof, if jobs times servers are at most SMALL. The proof of such an
#: instance takes less time than further moves.
START_MOVES, SMALL = 200, 60


def _start_parameters(instance: Instance) -> Data:
    return {"moves": START_MOVES} if len(instance.job_type) * len(instance.server_free) <= SMALL else {}


@solver(
    "local-search",
    problem="placement",
    objectives=("total_speed",),
    information="oracle",
    warm_start=True,
    as_start=_start_parameters,
    paper="none",
)
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    limits: Limits = NO_LIMITS,
    moves: CountOrNone = 1000,
    rounds: Annotated[int, Range(1, 10**4)] = 2,
) -> Plan:
    """Return the best of `rounds` annealing runs of `moves` random moves per job, each from a greedy start."""
    pace = Pace(instance)
    deadline = Deadline(limits.seconds)
    plans: list[Plan] = []
    for round_ in range(rounds):
        if plans and deadline.passed():
            break
        remaining = deadline.remaining()
        state = State(instance, pace)
        greedy(state, rng)
        share = None if remaining is None else remaining / (rounds - round_)
        plans.append(anneal(state, rng, moves * len(instance.job_type), share))
    return max(plans, key=lambda plan: _objective_value(instance, pace, plan))


def _objective_value(instance: Instance, pace: Pace, plan: Plan) -> int:
    w = np.concatenate([instance.run_workers, plan.workers])[None]
    p = np.concatenate([instance.run_ps, plan.ps])[None]
    return int(pace.total(w, p)[0])
