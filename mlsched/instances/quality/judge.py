"""The judge of the quality problem, written only from the problem statement.

1. Every job gets an integer number of cores. A waiting job gets 0.
2. A running job gets at least `least` cores and at most its own cap `most`.
3. All jobs together get at most the cores that are not reserved: sum a_j <= cores - reserved.
4. `total_loss_reduction` = sum over the jobs of weight * gain[j, a_j]; a waiting job gains gain[j, 0] = 0.
5. `worst_loss` = the largest weight * loss[j, a_j] among the running jobs; 0 without running jobs.

Plain loops over Python integers; it does not share code with the models and rules it judges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.instances.quality.instance import Instance, Plan

#: Each objective, and its value from weight * gain of every job and weight * loss of every running job. Values never
#: decrease in either number.
VALUES: dict[Objective, Callable[[list[int], list[int]], int]] = {
    Objective("total_loss_reduction", "max", "ppm", "sum over the jobs of weight * gain"): (
        lambda gains, losses: sum(gains)
    ),
    Objective("worst_loss", "min", "ppm", "largest weight * loss among the jobs that run"): (
        lambda gains, losses: max(losses, default=0)
    ),
}


def violations(instance: Instance, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible."""
    if not isinstance(plan, instance.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(instance.plan_type.kind)}"]
    answer: Any = plan
    cores: list[int] = answer.cores.tolist()
    jobs = len(instance.most)
    if len(cores) != jobs:
        return [f"cores has {len(cores)} entries, expected {jobs}, one for each job"]
    faults = []
    for j, count in enumerate(cores):
        if int(instance.waiting[j]):
            if count != 0:
                faults.append(f"job {j} waits and gets {count} cores: must get none")
        elif count < instance.least:
            faults.append(f"job {j} gets {count} cores: the least is {instance.least}")
        elif count > int(instance.most[j]):
            faults.append(f"job {j} gets {count} cores: its cap is {int(instance.most[j])}")
    there = instance.cores - instance.reserved
    if sum(cores) > there:
        faults.append(f"the jobs get {sum(cores)} cores: {there} are not reserved")
    return faults


def evaluate(instance: Instance, plan: Plan) -> dict[str, int]:
    """Evaluate the objectives of a well-formed `plan`; `violations` checks feasibility."""
    cores: list[int] = plan.cores.tolist()
    jobs, widest = len(instance.most), instance.gain.shape[1] - 1
    if len(cores) != jobs:
        raise InvalidInput(f"the plan cannot be evaluated: cores has {len(cores)} entries, there are {jobs} jobs")
    gains, losses = [], []
    for j, count in enumerate(cores):
        if count > widest:
            raise InvalidInput(f"the plan cannot be evaluated: job {j} gets {count} cores, tables end at {widest}")
        weight = int(instance.weight[j])
        gains.append(weight * int(instance.gain[j, count]))
        if not int(instance.waiting[j]):
            losses.append(weight * int(instance.loss[j, count]))
    return {objective.name: value(gains, losses) for objective, value in VALUES.items()}
