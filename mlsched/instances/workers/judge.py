"""The judge of the workers problem, written only from the problem statement.

1. Every job has at least one worker and one PS, or neither (then it waits).
2. A job's workers and PSs are within its table, in a combination with which it can train.
3. For every resource: demand of all workers and PSs together <= capacity.
4. `total_jct` = sum over the jobs of cost[j, workers, ps], or waiting[j] for a job that has neither.

Plain loops over Python integers; it does not share code with the models and rules it judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.instances.workers.instance import Instance, Plan

#: An entry of `cost` that means "cannot train" (2^53).
CANNOT = 9007199254740992


def violations(instance: Instance, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible."""
    if not isinstance(plan, instance.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(instance.plan_type.kind)}"]
    answer: Any = plan
    return _malformed(instance, answer) or _overfull(instance, answer)


def _malformed(instance: Instance, plan: Plan) -> list[str]:
    jobs = len(instance.waiting)
    for name, counts in (("workers", plan.workers), ("ps", plan.ps)):
        if len(counts) != jobs:
            return [f"{name} has {len(counts)} entries, expected {jobs}, one for each job"]
    _, most_workers, most_ps = instance.cost.shape
    faults = []
    for j in range(jobs):
        w, p = int(plan.workers[j]), int(plan.ps[j])
        if w == 0 and p == 0:
            continue
        if w == 0 or p == 0:
            faults.append(f"job {j} has {w} workers and {p} PSs, expected at least one of each, or neither")
        elif w > most_workers or p > most_ps:
            faults.append(f"job {j} has {w} workers and {p} PSs: its table ends at {most_workers} and {most_ps}")
        elif int(instance.cost[j, w - 1, p - 1]) == CANNOT:
            faults.append(f"job {j} has {w} workers and {p} PSs: it cannot train with so many")
    return faults


def _overfull(instance: Instance, plan: Plan) -> list[str]:
    faults = []
    for r, resource in enumerate(instance.resources):
        need = 0
        for j in range(len(instance.waiting)):
            need += int(plan.workers[j]) * int(instance.worker_demand[j, r])
            need += int(plan.ps[j]) * int(instance.ps_demand[j, r])
        there = int(instance.capacity[r])
        if need > there:
            faults.append(f"the jobs need {need} {resource}: the capacity is {there}")
    return faults


def evaluate(instance: Instance, plan: Plan) -> dict[str, int]:
    """Evaluate the objectives of a well-formed `plan`; `violations` checks feasibility."""
    if malformed := _malformed(instance, plan):
        raise InvalidInput(f"the plan cannot be evaluated: {malformed[0]}")
    total = 0
    for j in range(len(instance.waiting)):
        w, p = int(plan.workers[j]), int(plan.ps[j])
        total += int(instance.cost[j, w - 1, p - 1]) if w else int(instance.waiting[j])
    return {"total_jct": total}
