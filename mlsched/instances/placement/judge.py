"""The judge of the placement problem, written from the statement alone.

1. A new job has all its workers and PSs on servers, or none at all (it waits).
2. On every server and for every resource: demand of the new tasks there <= free.
3. At most `most_new` new jobs are placed; running and placed jobs are at most `most_jobs`.
4. Two jobs whose types are `apart` share no server, unless both were running there before.
5. The pace of a job is set by the slowest server that hosts a part of it: slowdown in thousandths, rounded down once
   from the exact sum of interference and network terms (formula in `Instance`); speed = K * 1000 // slowdown;
   total_speed = sum over running and placed jobs.

Plain loops over Python integers and fractions: shares no code with the models and rules it judges.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mlsched.core.errors import InvalidInput

if TYPE_CHECKING:
    from mlsched.instances.placement.instance import Instance, Plan

#: A concurrent job: type, K, its workers and its PSs on each server, and its name in sentences.
Job = tuple[int, int, list[int], list[int], str]


def violations(instance: Instance, plan: Any) -> list[str]:
    """Sentences that say what is wrong with `plan`; empty when it is feasible."""
    if not isinstance(plan, instance.plan_type):
        return [f"the answer is a {type(plan).__name__}: must be a {instance.plan_type.kind}"]
    answer: Any = plan
    found = _malformed(instance, answer)
    return found or _overfull(instance, answer) + _too_many(instance, answer) + _together(instance, answer)


def _malformed(instance: Instance, plan: Plan) -> list[str]:
    jobs, servers = len(instance.job_type), len(instance.server_free)
    for name, table in (("workers", plan.workers), ("ps", plan.ps)):
        if jobs and table.shape != (jobs, servers):
            return [f"{name} is {' x '.join(map(str, table.shape))}: must be {jobs} x {servers} (jobs x servers)"]
    found = []
    for j in range(jobs):
        w, p = sum(plan.workers[j].tolist()), sum(plan.ps[j].tolist())
        whole = (int(instance.job_workers[j]), int(instance.job_ps[j]))
        if (w, p) not in (whole, (0, 0)):
            found.append(f"job {j} has {w} workers and {p} PSs placed: must be {whole[0]} and {whole[1]}, or none")
    return found


def _overfull(instance: Instance, plan: Plan) -> list[str]:
    found = []
    jobs = range(len(instance.job_type))
    for s in range(len(instance.server_free)):
        for r, resource in enumerate(instance.resources):
            need = sum(int(plan.workers[j, s]) * int(instance.worker_demand[j, r]) for j in jobs)
            need += sum(int(plan.ps[j, s]) * int(instance.ps_demand[j, r]) for j in jobs)
            free = int(instance.server_free[s, r])
            if need > free:
                found.append(f"server {s}: its new tasks need {need} {resource}, free are {free}")
    return found


def _too_many(instance: Instance, plan: Plan) -> list[str]:
    placed = sum(1 for j in range(len(instance.job_type)) if any(plan.workers[j].tolist()))
    running = len(instance.run_type)
    found = []
    if placed > instance.most_new:
        found.append(f"{placed} new jobs are placed: at most {instance.most_new} may be")
    if placed + running > instance.most_jobs:
        found.append(f"{placed} placed and {running} running jobs: at most {instance.most_jobs} may be concurrent")
    return found


def _concurrent(instance: Instance, plan: Plan) -> list[Job]:
    jobs: list[Job] = [
        (
            int(instance.run_type[i]),
            int(instance.run_speed[i]),
            instance.run_workers[i].tolist(),
            instance.run_ps[i].tolist(),
            f"running job {i}",
        )
        for i in range(len(instance.run_type))
    ]
    for j in range(len(instance.job_type)):
        workers, ps = plan.workers[j].tolist(), plan.ps[j].tolist()
        if any(workers):
            jobs.append((int(instance.job_type[j]), int(instance.job_speed[j]), workers, ps, f"job {j}"))
    return jobs


def _together(instance: Instance, plan: Plan) -> list[str]:
    jobs = _concurrent(instance, plan)
    found = []
    for s in range(len(instance.server_free)):
        here = [job for job in jobs if job[2][s] + job[3][s] > 0]
        for k, one in enumerate(here):
            for other in here[k + 1 :]:
                new = not (one[4].startswith("running") and other[4].startswith("running"))
                if new and int(instance.apart[one[0], other[0]]):
                    kinds = f"{instance.types[one[0]]} and {instance.types[other[0]]}"
                    found.append(f"server {s}: {one[4]} and {other[4]} ({kinds}) must not share a server")
    return found


def evaluate(instance: Instance, plan: Plan) -> dict[str, int]:
    """Objective name -> value. `plan` must be well-formed; whether it is feasible is `violations`' to say."""
    return {"total_speed": sum(speeds(instance, plan))}


def speeds(instance: Instance, plan: Plan) -> list[int]:
    """Speed of every running job, then of every new one (0: it waits), 1e-6 of the job an interval."""
    if malformed := _malformed(instance, plan):
        raise InvalidInput(f"the plan cannot be evaluated: {malformed[0]}")
    jobs, found = _concurrent(instance, plan), []
    for k, job in enumerate(jobs):
        others = jobs[:k] + jobs[k + 1 :]
        hosts = [s for s in range(len(instance.server_free)) if job[2][s] + job[3][s] > 0]
        found.append(job[1] * 1000 // max(_slowdown(instance, job, others, s) for s in hosts))
    placed = iter(found[len(instance.run_type) :])
    waits = [not any(plan.workers[j].tolist()) for j in range(len(instance.job_type))]
    return found[: len(instance.run_type)] + [0 if wait else next(placed) for wait in waits]


def _slowdown(instance: Instance, job: Job, others: list[Job], s: int) -> int:
    """Slowdown of `job` on server `s` in thousandths, rounded down."""
    kind, _, workers, ps, _ = job
    exact = Fraction(10**6)  # in millionths
    use = [Fraction(0) for _ in instance.pressures]
    for other, _, their_workers, their_ps, _ in others:
        w, p = their_workers[s], their_ps[s]
        exact += w * int(instance.sigma_worker[kind, other]) + p * int(instance.sigma_ps[kind, other])
        for d in range(len(use)):
            amount = w * int(instance.use_worker[other, d]) + p * int(instance.use_ps[other, d])
            use[d] += Fraction(amount, 1000)
    for d, u in enumerate(use):
        exact += int(instance.linear[kind, d]) * u
        for e, v in enumerate(use):
            exact += int(instance.quadratic[kind, d, e]) * u * v
    all_workers, all_ps = sum(workers), sum(ps)
    if all_ps and (workers[s] or instance.network_at == "tasks"):
        exact += int(instance.rho_ps[kind]) * Fraction(all_ps - ps[s], all_ps)
    if all_workers > 1 and workers[s]:
        exact += int(instance.rho_worker[kind]) * Fraction(all_workers - workers[s], all_workers - 1)
    return int(exact // 1000)
