"""The judge of the preemption problem, written only from the problem statement.

1. Every TE job has a node or waits (-1).
2. A victim is a listed BE job, named once, that has been preempted fewer than `preemption_limit` times.
3. On every node and for every resource: demand of the TE jobs placed there <= free + draining + demand of the victims
there.
4. Objectives: base + D * (number of waiting TE jobs), D = 1 + the largest base value any plan can have. A plan that
defers fewer TE jobs is therefore always better.

Plain loops over Python integers; it does not share code with the models and rules it judges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.instances.preemption.instance import Instance, Plan

#: Each objective, and the base value of suspending some BE jobs.
BASES: dict[Objective, Callable[[Instance, list[int]], int]] = {
    Objective("total_score", "min", "millionths", "sum of Eq. 3 over the victims, after the deferred TE jobs"): (
        lambda instance, jobs: sum(int(instance.score[j]) for j in jobs)
    ),
    Objective("victim_count", "min", "jobs", "number of victims, after the number of deferred TE jobs"): (
        lambda instance, jobs: len(jobs)
    ),
    Objective("max_grace_period", "min", "s", "longest grace period among victims, after the deferred TE jobs"): (
        lambda instance, jobs: max((int(instance.job_grace[j]) for j in jobs), default=0)
    ),
}


def violations(instance: Instance, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible."""
    if not isinstance(plan, instance.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(instance.plan_type.kind)}"]
    answer: Any = plan
    te_node, victims = answer.te_node.tolist(), answer.victims.tolist()
    malformed = _malformed(instance, te_node, victims)
    return malformed or _overfull(instance, te_node, victims) + _over_limit(instance, victims)


def _malformed(instance: Instance, te_node: list[int], victims: list[int]) -> list[str]:
    tes, nodes, jobs = len(instance.te_demand), len(instance.node_capacity), len(instance.job_node)
    if len(te_node) != tes:
        return [f"te_node has {len(te_node)} entries, expected {tes}, one for each TE job"]
    faults = [f"TE job {t} is placed on node {n}: there are {nodes}" for t, n in enumerate(te_node) if n >= nodes]
    faults += [f"victim {j} does not exist: there are {jobs} BE jobs" for j in victims if j >= jobs]
    faults += [f"BE job {j} is listed as a victim twice" for j in sorted(set(victims)) if victims.count(j) > 1]
    return faults


def _overfull(instance: Instance, te_node: list[int], victims: list[int]) -> list[str]:
    faults = []
    for node in sorted({n for n in te_node if n >= 0}):
        for r, resource in enumerate(instance.resources):
            needed = sum(int(instance.te_demand[t, r]) for t, n in enumerate(te_node) if n == node)
            there = int(instance.node_free[node, r]) + int(instance.node_draining[node, r])
            there += sum(int(instance.job_demand[j, r]) for j in victims if int(instance.job_node[j]) == node)
            if needed > there:
                faults.append(f"node {node}: its TE jobs need {needed} {resource}, free and released are {there}")
    return faults


def _over_limit(instance: Instance, victims: list[int]) -> list[str]:
    limit = instance.preemption_limit
    return [
        f"victim {j} has been preempted {int(instance.job_preemptions[j])} times: the limit is {limit}"
        for j in victims
        if int(instance.job_preemptions[j]) >= limit
    ]


def evaluate(instance: Instance, plan: Plan) -> dict[str, int]:
    """Evaluate the objectives of a well-formed `plan`; `violations` checks feasibility."""
    te_node, victims = plan.te_node.tolist(), plan.victims.tolist()
    if malformed := _malformed(instance, te_node, victims):
        raise InvalidInput(f"the plan cannot be evaluated: {malformed[0]}")
    deferred = te_node.count(-1)
    limit = instance.preemption_limit
    candidates = [j for j in range(len(instance.job_node)) if int(instance.job_preemptions[j]) < limit]
    return {
        objective.name: base(instance, victims) + (1 + base(instance, candidates)) * deferred
        for objective, base in BASES.items()
    }
