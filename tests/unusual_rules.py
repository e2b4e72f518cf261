"""Ten correct rules that are unlike those of the library: `check_scheduler` must find nothing wrong with any.

They are wasteful, lazy or stubborn, and keep every rule of their problem's statement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mlsched.core.registry import registry
from mlsched.instances.workers import NEVER


@dataclasses.dataclass(frozen=True)
class Unusual:
    """A problem, the rule, and how it is to be called."""

    problem: str
    rule: Callable[..., Any]
    calling: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.problem}: {self.rule.__name__}"


# -- preemption -------------------------------------------------------------------------------------------------------


def tightest_node(instance, *, rng):
    """The last TE job first, each to the node on which the least remains free; nobody is suspended."""
    room, te_node = instance.node_free + instance.node_draining, [-1] * len(instance.te_demand)
    for te in reversed(range(len(te_node))):
        fits = np.flatnonzero((room >= instance.te_demand[te]).all(axis=1))
        if fits.size:
            te_node[te] = int(min(fits, key=lambda n: (int(room[n].sum()), -n)))
            room[te_node[te]] -= instance.te_demand[te]
    return instance.plan_type(te_node=te_node, victims=[])


def clears_a_node(instance, *, rng):
    """Suspends everyone it may on the last node that a TE job then fits, needed or not."""
    room, te_node, victims = instance.node_free + instance.node_draining, [], set()
    for demand in instance.te_demand:
        able = instance.preemptible & ~np.isin(np.arange(len(instance.job_node)), list(victims))
        cleared = room.copy()
        np.add.at(cleared, instance.job_node[able], instance.job_demand[able])
        fits = np.flatnonzero((cleared >= demand).all(axis=1))
        te_node.append(int(fits[-1]) if fits.size else -1)
        if fits.size:
            node = te_node[-1]
            victims |= set(np.flatnonzero(able & (instance.job_node == node)).tolist())
            room[node] = cleared[node] - demand
    return instance.plan_type(te_node=te_node, victims=sorted(victims))


# -- quality ----------------------------------------------------------------------------------------------------------


def equal_and_no_more(instance, *, rng):
    """The same number of cores for every job, as far as its cap goes; what does not divide stays idle."""
    caps = instance.most[instance.running]
    share = instance.available // max(1, len(caps))
    return instance.plan(np.minimum(caps, max(share, instance.least)))


def drawn_cores(instance, *, rng):
    """Cores go to jobs at random."""
    cores = np.full(len(instance.running), instance.least)
    for _ in range(instance.available - int(cores.sum())):
        room = np.flatnonzero(cores < instance.most[instance.running])
        if room.size:
            cores[rng.choice(room)] += 1
    return instance.plan(cores)


# -- placement --------------------------------------------------------------------------------------------------------


def never_splits_a_job(instance, *, rng):
    """A job goes whole to one server, or waits; one that is too large for every server waits for ever."""
    free = instance.server_free.copy()
    shape = (len(instance.job_type), len(free))
    workers, ps = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    kinds = [set(instance.run_type[hosts].tolist()) for hosts in ((instance.run_workers + instance.run_ps) > 0).T]
    open_places = min(instance.most_new, instance.most_jobs - len(instance.run_type))
    for job, kind in enumerate(instance.job_type.tolist()):
        w, p = int(instance.job_workers[job]), int(instance.job_ps[job])
        need = w * instance.worker_demand[job] + p * instance.ps_demand[job]
        for server in range(len(free)):
            alone = not any(instance.apart[kind, other] for other in kinds[server])
            if open_places > 0 and alone and (free[server] >= need).all():
                workers[job, server], ps[job, server] = w, p
                free[server] -= need
                kinds[server].add(kind)
                open_places -= 1
                break
    return instance.plan_type(workers=workers, ps=ps)


# -- workers ----------------------------------------------------------------------------------------------------------


def all_or_nobody(instance, *, rng):
    """Fair in the strict sense: every job gets one worker and one PS, or nobody gets anything."""
    jobs = len(instance.waiting)
    pair = jobs > 0 and bool((instance.cost[:, 0, 0] != NEVER).all())
    fits = bool(((instance.worker_demand + instance.ps_demand).sum(axis=0) <= instance.capacity).all())
    given = np.full(jobs, int(pair and fits))
    return instance.plan_type(workers=given, ps=given)


def one_at_a_time(instance, *, rng):
    """The first job that can train has the cluster to itself, with its fewest tasks; all others wait."""
    jobs = len(instance.waiting)
    workers, ps = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    for job in range(jobs):
        for w, p in (np.argwhere(instance.cost[job] != NEVER) + 1).tolist():
            need = w * instance.worker_demand[job] + p * instance.ps_demand[job]
            if not workers.any() and (need <= instance.capacity).all():
                workers[job], ps[job] = w, p
    return instance.plan_type(workers=workers, ps=ps)


# -- taskgraph --------------------------------------------------------------------------------------------------------


def fifo(snapshot, rng):
    return registry().solvers["taskgraph", "best-effort-fifo"].function(snapshot, rng=rng)


def _only(snapshot, made, tasks):
    kept = np.isin(made.start_task, tasks)
    columns = ("start_task", "start_node", "start_gpu")
    return made.replace(**{name: getattr(made, name)[kept] for name in columns})


def one_job_after_another(snapshot, *, rng):
    """The job that came first has the cluster to itself until it is done."""
    if not len(snapshot.job_id):
        return snapshot.round()
    return _only(snapshot, fifo(snapshot, rng), np.flatnonzero(snapshot.task_job == int(snapshot.arrival.argmin())))


def last_job_first(snapshot, *, rng):
    """Of the jobs of which something could start, fully served is the one that came last; then it is asked again."""
    made = fifo(snapshot, rng)
    jobs = snapshot.task_job[made.start_task]
    return _only(snapshot, made, np.flatnonzero(snapshot.task_job == int(jobs.max(initial=0))))


def one_node_for_a_job(snapshot, *, rng):
    """All tasks of a job run on one node: the first that could hold them all at once. Where there is none, it waits."""
    if snapshot.gpu_unit:
        return fifo(snapshot, rng)
    free, starts = snapshot.free, []
    for job in range(len(snapshot.arrival)):
        tasks = np.flatnonzero(snapshot.task_job == job)
        node = _home_of(snapshot, tasks)
        if node is None:
            continue
        ready = [t for t in tasks.tolist() if snapshot.startable[t] and snapshot.may_start_on(t)[node]]
        if snapshot.gang[job]:
            need = snapshot.demand[ready].sum(axis=0)
            if len(ready) == len(tasks) and (free[node] >= need).all():
                starts += [(t, node) for t in ready]
                free[node] -= need
            continue
        for task in ready:
            need = snapshot.demand[task] * (snapshot.duration[task] > 0)
            if (free[node] >= need).all():
                starts.append((task, node))
                free[node] -= need
    return snapshot.round(starts)


def _home_of(snapshot, tasks):
    """The node of a job: one that may run all of its tasks, and could hold them all at once."""
    need = snapshot.demand[tasks].sum(axis=0)
    able = (snapshot.node_capacity >= need).all(axis=1) & snapshot.eligible[snapshot.task_class[tasks]].all(axis=0)
    return int(able.argmax()) if able.any() else None


UNUSUAL = (
    Unusual("preemption", tightest_node),
    Unusual("preemption", clears_a_node),
    Unusual("quality", equal_and_no_more),
    Unusual("quality", drawn_cores),
    Unusual("placement", never_splits_a_job),
    Unusual("workers", all_or_nobody),
    Unusual("workers", one_at_a_time),
    Unusual("taskgraph", one_job_after_another, {"called": "online"}),
    Unusual("taskgraph", last_job_first, {"called": "online"}),
    Unusual("taskgraph", one_node_for_a_job, {"called": "online"}),
)
