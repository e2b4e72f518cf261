"""The judge of the placement problem, written only from the problem statement.

1. A new job has all its workers and PSs on servers, or it waits with none of them placed.
2. On every server and for every resource: demand of the new tasks there <= free.
3. At most `most_new` new jobs are placed; running and placed jobs are at most `most_jobs`.
4. Two jobs whose types are `apart` never share a server, unless both were running there before.
5. The slowest server that hosts a part of a job sets its pace: slowdown in thousandths, rounded down once from the
exact sum of interference and network terms (formula in `Instance`); speed = K * 1000 // slowdown; total_speed = sum
over running and placed jobs.

Plain loops over Python integers and fractions; it does not share code with the models and rules it judges. Loops visit
only the parts of jobs that servers host, because most servers host few of the jobs.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.instances.placement.instance import Instance, Plan


@dataclasses.dataclass(frozen=True)
class Job:
    """A concurrent job: its name in messages, its type and K, all its workers and PSs, and the parts on each server.

    `parts` maps a server to the (workers, PSs) there; servers without a part of the job are absent.
    """

    name: str
    new: bool
    kind: int
    speed: int
    workers: int
    ps: int
    parts: dict[int, tuple[int, int]]


def violations(instance: Instance, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible."""
    if not isinstance(plan, instance.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(instance.plan_type.kind)}"]
    answer: Any = plan
    malformed = _malformed(instance, answer)
    return malformed or _overfull(instance, answer) + _too_many(instance, answer) + _together(instance, answer)


def _malformed(instance: Instance, plan: Plan) -> list[str]:
    jobs, servers = len(instance.job_type), len(instance.server_free)
    for name, table in (("workers", plan.workers), ("ps", plan.ps)):
        if jobs and table.shape != (jobs, servers):
            return [f"{name} is {' x '.join(map(str, table.shape))}, expected {jobs} x {servers} (jobs x servers)"]
    faults = []
    for j in range(jobs):
        w, p = sum(plan.workers[j].tolist()), sum(plan.ps[j].tolist())
        whole = (int(instance.job_workers[j]), int(instance.job_ps[j]))
        if (w, p) not in (whole, (0, 0)):
            faults.append(f"job {j} has {w} workers and {p} PSs placed, expected {whole[0]} and {whole[1]}, or none")
    return faults


def _overfull(instance: Instance, plan: Plan) -> list[str]:
    need = [[0] * len(instance.resources) for _ in instance.server_free]
    for j in range(len(instance.job_type)):
        a_worker, a_ps = instance.worker_demand[j].tolist(), instance.ps_demand[j].tolist()
        for s, (w, p) in _hosted_parts(plan.workers[j].tolist(), plan.ps[j].tolist()).items():
            for r in range(len(instance.resources)):
                need[s][r] += w * a_worker[r] + p * a_ps[r]
    faults = []
    for s, free in enumerate(instance.server_free.tolist()):
        for r, resource in enumerate(instance.resources):
            if need[s][r] > free[r]:
                faults.append(f"server {s}: its new tasks need {need[s][r]} {resource}, free are {free[r]}")
    return faults


def _too_many(instance: Instance, plan: Plan) -> list[str]:
    placed = sum(1 for j in range(len(instance.job_type)) if any(plan.workers[j].tolist()))
    running = len(instance.run_type)
    faults = []
    if placed > instance.most_new:
        faults.append(f"{placed} new jobs are placed: at most {instance.most_new} may be")
    if placed + running > instance.most_jobs:
        faults.append(f"{placed} placed and {running} running jobs: at most {instance.most_jobs} may be concurrent")
    return faults


def _hosted_parts(workers: list[int], ps: list[int]) -> dict[int, tuple[int, int]]:
    """Return the (workers, PSs) of a job by server, for the servers that host a part of it."""
    return {s: (w, p) for s, (w, p) in enumerate(zip(workers, ps, strict=True)) if w + p > 0}


def _concurrent(instance: Instance, plan: Plan) -> list[Job]:
    """Return the running jobs, then the new jobs that are placed."""
    jobs = []
    for i in range(len(instance.run_type)):
        workers, ps = instance.run_workers[i].tolist(), instance.run_ps[i].tolist()
        kind, speed = int(instance.run_type[i]), int(instance.run_speed[i])
        jobs.append(Job(f"running job {i}", False, kind, speed, sum(workers), sum(ps), _hosted_parts(workers, ps)))
    for j in range(len(instance.job_type)):
        workers, ps = plan.workers[j].tolist(), plan.ps[j].tolist()
        if any(workers):
            kind, speed = int(instance.job_type[j]), int(instance.job_speed[j])
            jobs.append(Job(f"job {j}", True, kind, speed, sum(workers), sum(ps), _hosted_parts(workers, ps)))
    return jobs


def _hosted_jobs(instance: Instance, jobs: list[Job]) -> list[list[Job]]:
    """Return the jobs with a part on each server, in the order of `jobs`."""
    here: list[list[Job]] = [[] for _ in instance.server_free]
    for job in jobs:
        for s in job.parts:
            here[s].append(job)
    return here


def _together(instance: Instance, plan: Plan) -> list[str]:
    faults = []
    for s, here in enumerate(_hosted_jobs(instance, _concurrent(instance, plan))):
        for k, one in enumerate(here):
            for other in here[k + 1 :]:  # running jobs come first: a new job is the second
                if other.new and int(instance.apart[one.kind, other.kind]):
                    kinds = f"{instance.types[one.kind]} and {instance.types[other.kind]}"
                    faults.append(f"server {s}: {one.name} and {other.name} ({kinds}) must not share a server")
    return faults


def evaluate(instance: Instance, plan: Plan) -> dict[str, int]:
    """Evaluate the objectives of a well-formed `plan`; `violations` checks feasibility."""
    return {"total_speed": sum(speeds(instance, plan))}


def speeds(instance: Instance, plan: Plan) -> list[int]:
    """Return the speed of every running job, then of every new job (0: it waits), 1e-6 of the job per interval."""
    if malformed := _malformed(instance, plan):
        raise InvalidInput(f"the plan cannot be evaluated: {malformed[0]}")
    jobs = _concurrent(instance, plan)
    here = _hosted_jobs(instance, jobs)
    speed_of = [job.speed * 1000 // max(_slowdown(instance, job, here[s], s) for s in job.parts) for job in jobs]
    placed = iter(speed_of[len(instance.run_type) :])
    waits = [not any(plan.workers[j].tolist()) for j in range(len(instance.job_type))]
    return speed_of[: len(instance.run_type)] + [0 if wait else next(placed) for wait in waits]


def _slowdown(instance: Instance, job: Job, here: list[Job], s: int) -> int:
    """Return the slowdown of `job` on server `s` in thousandths, rounded down; `here`: all jobs with a part there."""
    pressures = range(len(instance.pressures))
    sigma, use = 0, [0 for _ in pressures]  # millionths; thousandths of the server
    for other in here:
        if other is job:
            continue
        w, p = other.parts[s]
        sigma += w * int(instance.sigma_worker[job.kind, other.kind]) + p * int(instance.sigma_ps[job.kind, other.kind])
        for d in pressures:
            use[d] += w * int(instance.use_worker[other.kind, d]) + p * int(instance.use_ps[other.kind, d])
    linear, quadratic = instance.linear[job.kind].tolist(), instance.quadratic[job.kind].tolist()
    first = sum(linear[d] * use[d] for d in pressures)
    second = sum(quadratic[d][e] * use[d] * use[e] for d in pressures for e in pressures)
    exact = 10**6 + sigma + Fraction(first, 1000) + Fraction(second, 10**6)  # in millionths
    workers, ps = job.parts[s]
    if job.ps and (workers or instance.network_at == "tasks"):
        exact += int(instance.rho_ps[job.kind]) * Fraction(job.ps - ps, job.ps)
    if job.workers > 1 and workers:
        exact += int(instance.rho_worker[job.kind]) * Fraction(job.workers - workers, job.workers - 1)
    return int(exact // 1000)
