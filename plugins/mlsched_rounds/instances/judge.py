"""The judge of the rounds problem, written only from the statement.

1. In the coming round of `length` ms, every job runs in one configuration, a number of GPUs of one type, or waits (-1).
2. A job runs only if its rate is above 0.
3. The jobs on a type use at most its number of GPUs: sum of config_gpus <= capacity.
4. A running job does min(remaining, floor(rate * time / 10^6)) steps. The time is the length of the round, less `pause`
   ms if the job changes its configuration. A waiting job does 0 steps. (mSteps/s * ms = 10^-6 steps.)
5. `goodput_cost` (Sia) = sum of goodput_cost of the chosen configurations, and of waiting_cost of the jobs that wait.
6. `total_steps` (Gavel's total throughput) = sum of the steps of rule 4.
7. `least_served` (max-min fairness) = the smallest floor(10^12 (done + steps) / (weight * usual * (age + length))): the
   service of a job relative to its usual rate, per weight, from its arrival to the end of the round, in ppm.
8. `worst_ratio` (finish-time fairness) = the largest ceil(1000 * expected end / fair end). The expected end is age +
   length + the work that then remains at the fair rate. The fair end is isolated + the work that remains now at the
   fair rate.
9. `last_end` (total duration) = the round, and the longest time that a job then needs in its fastest configuration,
   rounded up, ms.

Rules 7 to 9 are about the jobs that can run on some type; if there are not any, the values are 0. Plain loops over
Python integers: independent of the models and heuristics that it judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched_rounds.instances.instance import Instance, Plan

OBJECTIVES = (
    Objective("goodput_cost", "min", "ppm", "sum of (goodput over the row's smallest)^p, lambda for who waits (Sia)"),
    Objective("total_steps", "max", "steps", "steps of all jobs in the round (Gavel's total throughput)"),
    Objective("least_served", "max", "ppm", "what the worst-served job has had of its usual rate (max-min fairness)"),
    Objective("worst_ratio", "min", "thousandths", "largest finish-time ratio (Themis' fairness)"),
    Objective("last_end", "min", "ms", "when the last job can end at the soonest (total duration)"),
)


def violations(instance: Instance, plan: Any) -> list[str]:
    """Return the errors of `plan` as sentences; empty if it is feasible."""
    if not isinstance(plan, instance.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(instance.plan_type.kind)}"]
    answer: Any = plan
    choice: list[int] = answer.config.tolist()
    jobs, configs = len(instance.remaining), len(instance.config_type)
    if len(choice) != jobs:
        return [f"config has {len(choice)} entries, expected {jobs}, one for each job"]
    faults = []
    usage = [0] * len(instance.capacity)
    for j, c in enumerate(choice):
        if c >= configs:
            faults.append(f"job {j} runs in configuration {c}: there are {configs}")
        elif c >= 0:
            if not int(instance.rate[j, c]):
                faults.append(f"job {j} runs in configuration {c}: its rate there is 0")
            usage[int(instance.config_type[c])] += int(instance.config_gpus[c])
    for m, gpus in enumerate(usage):
        if gpus > int(instance.capacity[m]):
            faults.append(f"the jobs hold {gpus} GPUs of type {m}: there are {int(instance.capacity[m])}")
    return faults


def steps(instance: Instance, j: int, c: int) -> int:
    """Return the steps that job j makes in the round with configuration c, -1 for none (rule 4)."""
    if c < 0:
        return 0
    time = instance.length - (instance.pause if c != int(instance.current[j]) else 0)
    return min(int(instance.remaining[j]), int(instance.rate[j, c]) * max(0, time) // 10**6)


def evaluate(instance: Instance, plan: Plan) -> dict[str, int]:
    """Return objective name -> value. `plan` must be well-formed; `violations` checks its feasibility."""
    choice: list[int] = plan.config.tolist()
    jobs, configs = len(instance.remaining), len(instance.config_type)
    if len(choice) != jobs:
        raise InvalidInput(f"the plan cannot be evaluated: config has {len(choice)} entries, there are {jobs} jobs")
    cost = total = 0
    service, ratios, ends = [], [], []
    for j, c in enumerate(choice):
        if c >= configs:
            raise InvalidInput(f"the plan cannot be evaluated: job {j} runs in configuration {c} of {configs}")
        cost += int(instance.goodput_cost[j, c]) if c >= 0 else int(instance.waiting_cost[j])
        did = steps(instance, j, c)
        total += did
        fastest = max(instance.rate[j].tolist(), default=0)
        if fastest:
            rest, fair = int(instance.remaining[j]) - did, int(instance.fair[j])
            old = int(instance.age[j]) + instance.length
            share = int(instance.weight[j]) * int(instance.usual[j]) * old
            service.append(10**12 * (int(instance.done[j]) + did) // share)
            ends_after = fair * old + 10**6 * rest
            ought = fair * int(instance.isolated[j]) + 10**6 * int(instance.remaining[j])
            ratios.append(-(-1000 * ends_after // ought))
            ends.append(-(-(10**6) * rest // fastest))
    return {
        "goodput_cost": cost,
        "total_steps": total,
        "least_served": min(service, default=0),
        "worst_ratio": max(ratios, default=0),
        "last_end": instance.length + max(ends) if ends else 0,
    }
