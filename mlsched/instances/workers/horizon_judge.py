"""The judge of workers over a horizon, written from the statement of the fluid model alone.

1. Stages follow each other from time 0; a stage never ends before it begins.
2. A job works only from its arrival on and up to the stage at whose end it finishes, in configurations in which it can
train. A stage in which a job works begins no earlier than the job arrives.
3. In a stage, a job's configurations together take no more time than the stage lasts: a job is in one at a time.
4. In a stage, for every resource: sum of (time x demand) over all entries <= capacity x length of the stage. With every
entry spread evenly over the stage, the demand of all mixtures fits at every instant: time-sharing. Without a floor:
parts of iterations count, and changing configurations is free.
5. By its finish each job has done all its iterations: sum of time / (time of an iteration) >= B. Because plans have
integer ns, up to GRAIN ns are granted to each of the job's entries, and WORK of B for the accuracy of an LP solver.
6. `total_jct` = sum over the jobs of (end of its stage `finish` - arrival), in ms.

3. and 4. are checked in integers, exactly. Plain loops; it does not share code with the models and rules it judges.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.instances.workers.horizon import Horizon, Stages

#: An entry of `time` that means "cannot train" (2^53).
CANNOT = 9007199254740992
#: ns granted to every entry: its own rounding and the rounding of its stage's ends.
GRAIN = 2
#: Share of a job's iterations that may be missing.
WORK = Fraction(1, 10**7)
#: ns in a ms.
NS = 1000000


def violations(horizon: Horizon, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible."""
    if not isinstance(plan, horizon.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(horizon.plan_type.kind)}"]
    answer: Any = plan
    malformed = _malformed(horizon, answer)
    return malformed or [*_early_or_late(horizon, answer), *_overfull(horizon, answer), *_unfinished(horizon, answer)]


def _malformed(horizon: Horizon, plan: Stages) -> list[str]:
    jobs, stages = len(horizon.arrival), len(plan.ends)
    if len(plan.finish) != jobs:
        return [f"finish has {len(plan.finish)} entries, expected {jobs}, one for each job"]
    faults = []
    for k in range(1, stages):
        if int(plan.ends[k]) < int(plan.ends[k - 1]):
            faults.append(f"stage {k} ends at {int(plan.ends[k])} ns, before it begins at {int(plan.ends[k - 1])}")
    for j in range(jobs):
        if int(plan.finish[j]) >= stages:
            faults.append(f"job {j} finishes with stage {int(plan.finish[j])}: there are {stages} stages")
    _, most_workers, most_ps = horizon.time.shape
    for e in range(len(plan.stage)):
        k, j, w, p = int(plan.stage[e]), int(plan.job[e]), int(plan.workers[e]), int(plan.ps[e])
        if k >= stages or j >= jobs:
            faults.append(f"entry {e} is of stage {k} and job {j}: there are {stages} stages and {jobs} jobs")
        elif w > most_workers or p > most_ps:
            faults.append(
                f"entry {e}: job {j} has {w} workers and {p} PSs: its table ends at {most_workers}, {most_ps}"
            )
        elif int(horizon.time[j, w - 1, p - 1]) == CANNOT:
            faults.append(f"entry {e}: job {j} has {w} workers and {p} PSs: it cannot train with so many")
    return faults


def _begin_of_stage(plan: Stages, stage: int) -> int:
    return int(plan.ends[stage - 1]) if stage else 0


def _early_or_late(horizon: Horizon, plan: Stages) -> list[str]:
    faults = []
    for e in range(len(plan.stage)):
        k, j = int(plan.stage[e]), int(plan.job[e])
        if int(plan.time[e]) and _begin_of_stage(plan, k) < int(horizon.arrival[j]) * NS:
            faults.append(
                f"job {j} works in stage {k}, which begins at {_begin_of_stage(plan, k)} ns: "
                f"it arrives at {int(horizon.arrival[j]) * NS}"
            )
        if k > int(plan.finish[j]):
            faults.append(f"job {j} works in stage {k}: it has finished with stage {int(plan.finish[j])}")
    return faults


def _overfull(horizon: Horizon, plan: Stages) -> list[str]:
    faults = []
    time_of: dict[tuple[int, int], int] = {}
    use_of: dict[tuple[int, int], int] = {}
    for e in range(len(plan.stage)):
        k, j, time = int(plan.stage[e]), int(plan.job[e]), int(plan.time[e])
        time_of[k, j] = time_of.get((k, j), 0) + time
        for r in range(len(horizon.resources)):
            demand = int(plan.workers[e]) * int(horizon.worker_demand[j, r])
            demand += int(plan.ps[e]) * int(horizon.ps_demand[j, r])
            use_of[k, r] = use_of.get((k, r), 0) + time * demand
    for (k, j), time in time_of.items():
        length = int(plan.ends[k]) - _begin_of_stage(plan, k)
        if time > length:
            faults.append(f"job {j} spends {time} ns in stage {k}, which lasts {length}")
    for (k, r), amount in use_of.items():
        there = int(horizon.capacity[r]) * (int(plan.ends[k]) - _begin_of_stage(plan, k))
        if amount > there:
            faults.append(f"in stage {k} the jobs use {amount} ns of {horizon.resources[r]}: there are {there}")
    return faults


def _unfinished(horizon: Horizon, plan: Stages) -> list[str]:
    progress = [Fraction(0)] * len(horizon.arrival)
    for e in range(len(plan.stage)):
        j, w, p = int(plan.job[e]), int(plan.workers[e]), int(plan.ps[e])
        progress[j] += Fraction(int(plan.time[e]) + GRAIN, int(horizon.time[j, w - 1, p - 1]))
    faults = []
    for j, iterations in enumerate(progress):
        target = int(horizon.remaining[j])
        if iterations < target * (1 - WORK):
            faults.append(f"job {j} has done {float(iterations):.9g} iterations by its finish: it has {target}")
        end = int(plan.ends[int(plan.finish[j])])
        if end < int(horizon.arrival[j]) * NS:
            faults.append(f"job {j} finishes at {end} ns: it arrives at {int(horizon.arrival[j]) * NS}")
    return faults


def evaluate(horizon: Horizon, plan: Stages) -> dict[str, float]:
    """Evaluate the objectives, in ms, of a well-formed `plan`; `violations` checks feasibility."""
    if malformed := _malformed(horizon, plan):
        raise InvalidInput(f"the plan cannot be evaluated: {malformed[0]}")
    total = 0
    for j in range(len(horizon.arrival)):
        total += int(plan.ends[int(plan.finish[j])]) - int(horizon.arrival[j]) * NS
    return {"total_jct": total / NS}
