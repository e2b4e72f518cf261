"""Preemption by enumeration: every assignment of TE jobs to nodes, every set of victims."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray, ints
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.preemption import Instance, Plan

#: Limit on plans per run: about 5 s.
MOST_PLANS = 2**26
#: Candidates whose subsets are tabulated at once: a few hundred MB.
MOST_CANDIDATES = 18


#: Objective -> its value without the term for waiting jobs, for each row of `chosen` (0 or 1 for each candidate).
BASES: dict[str, Callable[[Instance, Any, Any], Any]] = {
    "total_score": lambda instance, candidates, chosen: chosen @ instance.score[candidates],
    "victim_count": lambda instance, candidates, chosen: chosen.sum(axis=1),
    "max_grace_period": lambda instance, candidates, chosen: (chosen * instance.job_grace[candidates]).max(
        axis=1, initial=0
    ),
}


@exact_algorithm("brute-force", problem="preemption", objectives=tuple(BASES))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Examine every plan; instances of up to 2^26 plans (about 5 s)."""
    candidates, deadline = np.flatnonzero(instance.preemptible), Deadline(limits.seconds)
    nodes, tes = len(instance.node_capacity), len(instance.te_demand)
    plans = 2 ** len(candidates) * (nodes + 1) ** tes
    if plans > MOST_PLANS:
        raise TooLarge(f"brute-force: there are more than {MOST_PLANS} plans: use cp-sat or highs")
    if len(candidates) > MOST_CANDIDATES:
        raise TooLarge(f"brute-force: {len(candidates)} preemptible jobs are more than {MOST_CANDIDATES}: use cp-sat")
    victim_sets = (np.arange(2 ** len(candidates))[:, None] >> np.arange(len(candidates))) & 1
    base = BASES[objective](instance, candidates, victim_sets)
    cost_of_waiting = 1 + int(base.max(initial=0))
    room = _free_for_te_jobs(instance, candidates, victim_sets)
    best: tuple[int, tuple[int, ...], int] | None = None
    for te_node in deadline.over(itertools.product(range(-1, nodes), repeat=tes)):
        need = np.zeros_like(instance.node_free)
        for t, node in enumerate(te_node):
            if node >= 0:
                need[node] += instance.te_demand[t]
        busy = np.flatnonzero(need.any(axis=1))
        feasible = (room[:, busy] >= need[busy]).all(axis=(1, 2))
        if not feasible.any():
            continue
        subset = int(np.argmin(np.where(feasible, base, np.iinfo(np.int64).max)))
        value = int(base[subset]) + cost_of_waiting * te_node.count(-1)
        if best is None or value < best[0]:
            best = value, te_node, subset
    assert best is not None  # all TE jobs waiting, without victims, is always feasible
    plan = Plan(te_node=ints(best[1]), victims=candidates[victim_sets[best[2]] == 1])
    return Outcome("optimal", plan, best[0], work={"plans": plans})


def _free_for_te_jobs(instance: Instance, candidates: IntArray, victim_sets: IntArray) -> IntArray:
    """Return the resources for TE jobs on each node: sets of victims x nodes x resources."""
    released = np.zeros((len(candidates), *instance.node_free.shape), dtype=np.int64)
    released[np.arange(len(candidates)), instance.job_node[candidates]] = instance.job_demand[candidates]
    flat = victim_sets @ released.reshape(len(candidates), instance.node_free.size)
    return flat.reshape(len(victim_sets), *instance.node_free.shape) + instance.node_free + instance.node_draining
