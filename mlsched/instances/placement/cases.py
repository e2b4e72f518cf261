"""Hard features of a placement instance: named special cases, and relaxations that show the binding constraint."""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import UNLIMITED
from mlsched.instances.placement.instance import Instance, Plan


def cases(instance: Instance, plan: Plan) -> dict[str, bool]:
    """Return the named special cases of an instance and its optimal plan: True if the case occurs."""
    tasks = plan.workers + plan.ps
    running = instance.run_workers + instance.run_ps
    placed = np.atleast_1d(tasks.any(axis=1))
    new_here, running_here = (tasks > 0).sum(axis=0), (running > 0).sum(axis=0)
    return {
        "a job waits": bool((~placed).any()),
        "all jobs wait": bool(len(placed)) and not placed.any(),
        "a job waits though it would fit": any(_fits_alone(instance, plan, int(j)) for j in np.flatnonzero(~placed)),
        "new jobs share a server": bool((new_here > 1).any()),
        "a new job joins a running one": bool(((new_here > 0) & (running_here > 0)).any()),
        "a job is spread": bool(((tasks > 0).sum(axis=1) > 1).any()),
        "workers and PSs apart": bool(((plan.ps > 0) & (plan.workers == 0)).any()),
        "all-reduce": bool((instance.job_ps == 0).any()),
    }


def _fits_alone(instance: Instance, plan: Plan, job: int) -> bool:
    """Return whether first fit can add the waiting job to the plan, within the caps and apart from some types."""
    running = len(instance.run_type)
    placed = int(plan.workers.any(axis=1).sum())
    if placed >= min(instance.most_new, instance.most_jobs - running):
        return False
    apart = instance.apart[instance.job_type[job]]
    new_hosts = ((plan.workers + plan.ps) > 0) & (apart[instance.job_type] > 0)[:, None]
    run_hosts = ((instance.run_workers + instance.run_ps) > 0) & (apart[instance.run_type] > 0)[:, None]
    free_of_foes = ~(new_hosts.any(axis=0) | run_hosts.any(axis=0))
    free = instance.server_free - plan.workers.T @ instance.worker_demand - plan.ps.T @ instance.ps_demand
    free = free[free_of_foes]
    tasks = [instance.worker_demand[job]] * int(instance.job_workers[job])
    tasks += [instance.ps_demand[job]] * int(instance.job_ps[job])
    for demand in tasks:
        fits = (free >= demand).all(axis=1)
        if not fits.any():
            return False
        free[int(fits.argmax())] -= demand
    return True


def relaxations(instance: Instance) -> dict[str, Instance]:
    """Return the instance without each constraint, by name. A constraint binds if the optimum improves without it."""
    relaxed = {
        "interference": instance.replace(
            sigma_worker=np.zeros_like(instance.sigma_worker),
            sigma_ps=np.zeros_like(instance.sigma_ps),
            linear=np.zeros_like(instance.linear),
            quadratic=np.zeros_like(instance.quadratic),
        ),
        "network": instance.replace(
            rho_ps=np.zeros_like(instance.rho_ps), rho_worker=np.zeros_like(instance.rho_worker)
        ),
        "separation": instance.replace(apart=np.zeros_like(instance.apart)),
        "caps on jobs": instance.replace(most_jobs=UNLIMITED, most_new=UNLIMITED),
    }
    for r, name in enumerate(instance.resources):
        workers, ps = instance.worker_demand.copy(), instance.ps_demand.copy()
        workers[:, r] = ps[:, r] = 0
        relaxed[f"capacity of {name}"] = instance.replace(worker_demand=workers, ps_demand=ps)
    return relaxed
