"""Thirty schedulers, each with one mistake that needs two features of an instance at once.

Written from the statements of the problems, before any of them was run against the test kit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from planted_bugs import Planted, changed, good, misread

from mlsched.instances.workers.instance import NEVER


def _if(condition: Callable[[Any], Any], wrong: Callable[[Any], Any], name: str) -> dict[str, Callable[[Any], Any]]:
    """A field that is read wrongly where the condition holds."""
    return {name: lambda instance: wrong(instance) if condition(instance) else getattr(instance, name)}


def _bug(problem: str, mistake: str, make: Callable[[], Callable[..., Any]]) -> Planted:
    return Planted(problem, mistake, make)


def places_the_impossible(instance, *, rng):
    """A TE job that is larger than every node is placed on a node without jobs."""
    made = good("preemption")(instance, rng=rng)
    empty = np.setdiff1d(np.arange(len(instance.node_free)), instance.job_node)
    impossible = np.array([(d > instance.node_capacity).any(axis=1).all() for d in instance.te_demand], dtype=bool)
    if not empty.size or not impossible.any():
        return made
    return made.replace(te_node=np.where(impossible, empty[0], made.te_node))


def suspends_one_of_twins(instance, *, rng):
    """Of victims that look the same, one is named, if three or more TE jobs wait."""
    made = good("preemption")(instance, rng=rng)
    if len(instance.te_demand) < 3:
        return made
    looks = {}
    for job in made.victims.tolist():
        looks.setdefault((int(instance.job_node[job]), *instance.job_demand[job].tolist()), job)
    return made.replace(victims=sorted(looks.values()))


def workers_without_ps(instance, *, rng):
    """A new job that waits cheaply gets its workers without PSs."""
    made = good("workers")(instance, rng=rng)
    cheap = (instance.waiting < instance.cost.min(axis=(1, 2))) & (instance.current_workers == 0)
    return made.replace(ps=np.where(cheap, 0, made.ps))


def _late(instance: Any) -> Any:
    """Jobs of which a later core gains more than an earlier one."""
    return np.array([(np.diff(g, 2) > 0).any() for g in instance.gain], dtype=bool)


def forgets_running(instance, *, rng):
    """Sees no running job, and so no type that a new one must be apart from."""
    return good("placement")(
        changed(
            instance,
            run_type=instance.run_type[:0],
            run_speed=instance.run_speed[:0],
            run_workers=instance.run_workers[:0],
            run_ps=instance.run_ps[:0],
            most_jobs=instance.most_jobs - len(instance.run_type),
        ),
        rng=rng,
    )


def without_edges(wrong: Callable[[Any], Any]) -> Callable[[], Callable[..., Any]]:
    """Does not see the edges that `wrong` marks."""
    names = ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")

    def rule(instance, *, rng):
        kept = ~wrong(instance)
        return good("taskgraph")(changed(instance, **{n: getattr(instance, n)[kept] for n in names}), rng=rng)

    return lambda: rule


def forgets_what_runs(instance, *, rng):
    """Does not see runs under way, if there are two resources."""
    names = ("fixed_task", "fixed_node", "fixed_start", "fixed_gpu")
    if len(instance.resources) < 2:
        return good("taskgraph")(instance, rng=rng)
    return good("taskgraph")(changed(instance, **{n: getattr(instance, n)[:0] for n in names}), rng=rng)


def _second_free(instance: Any, name: str, free: Any) -> Any:
    """A demand without its second resource, for the jobs that are marked."""
    demand = getattr(instance, name).copy()
    demand[free, 1:] = 0
    return demand


PAIRS = (
    _bug("preemption", "counts draining room twice for three TE jobs", misread("preemption", **_if(
        lambda i: len(i.te_demand) >= 3, lambda i: i.node_free + i.node_draining, "node_free"))),
    _bug("preemption", "knows no limit with two resources", misread("preemption", **_if(
        lambda i: len(i.resources) >= 2, lambda i: 0 * i.job_preemptions, "job_preemptions"))),
    _bug("preemption", "suspends jobs without grace period again", misread(
        "preemption", job_preemptions=lambda i: np.where(i.job_grace == 0, 0, i.job_preemptions))),
    _bug("preemption", "allows one more where nodes drain", misread("preemption", **_if(
        lambda i: i.node_draining.any(), lambda i: i.preemption_limit + 1, "preemption_limit"))),
    _bug("preemption", "places what fits nowhere on an empty node", lambda: places_the_impossible),
    _bug("preemption", "suspends one of twins for three TE jobs", lambda: suspends_one_of_twins),
    _bug("preemption", "looks at one resource if a job needs nothing of one", misread("preemption", **_if(
        lambda i: (i.te_demand == 0).any(), lambda i: np.where(np.arange(len(i.resources)) > 0, 0, i.te_demand),
        "te_demand"))),
    _bug("quality", "uses reserved cores if a job waits", misread("quality", **_if(
        lambda i: i.waiting.any(), lambda i: 0, "reserved"))),
    _bug("quality", "gives one core if a job is important", misread("quality", **_if(
        lambda i: (i.weight > 1).any(), lambda i: min(i.least, 1), "least"))),
    _bug("quality", "runs waiting jobs without weight", misread(
        "quality", waiting=lambda i: np.where(i.weight == 0, 0, i.waiting))),
    _bug("quality", "takes the table's end for the cap of late gains", misread(
        "quality", most=lambda i: np.where(_late(i), i.gain.shape[1] - 1, i.most))),
    _bug("quality", "uses reserved cores if the least is two", misread("quality", **_if(
        lambda i: i.least >= 2, lambda i: 0, "reserved"))),
    _bug("workers", "lets running jobs train as they cannot", misread(
        "workers", cost=lambda i: np.where((i.cost == NEVER) & (i.current_workers > 0)[:, None, None], 1, i.cost))),
    _bug("workers", "forgets the second resource of jobs whose PSs need nothing", misread(
        "workers", worker_demand=lambda i: _second_free(i, "worker_demand", (i.ps_demand == 0).all(axis=1)))),
    _bug("workers", "has no end of the second resource for three jobs", misread("workers", **_if(
        lambda i: len(i.waiting) >= 3 and len(i.resources) >= 2,
        lambda i: np.append(i.capacity[:1], 10**6 + 0 * i.capacity[1:]), "capacity"))),
    _bug("workers", "reads tables the other way round with a backlog", misread("workers", **_if(
        lambda i: i.backlog > 0, lambda i: i.cost.transpose(0, 2, 1), "cost"))),
    _bug("workers", "gives new jobs that wait cheaply no PS", lambda: workers_without_ps),
    _bug("workers", "trains the untrainable among three jobs", misread("workers", **_if(
        lambda i: len(i.waiting) >= 3,
        lambda i: np.where((i.cost == NEVER).all(axis=(1, 2))[:, None, None], 1, i.cost), "cost"))),
    _bug("placement", "sees no running job", lambda: forgets_running),
    _bug("placement", "counts new jobs only against the limit", misread(
        "placement", most_jobs=lambda i: i.most_jobs + len(i.run_type))),
    _bug("placement", "forgets the second resource of all-reduce jobs", misread(
        "placement", worker_demand=lambda i: _second_free(i, "worker_demand", i.job_ps == 0))),
    _bug("placement", "knows no limit of new jobs if one has several workers", misread("placement", **_if(
        lambda i: (i.job_workers > 1).any(), lambda i: len(i.job_type), "most_new"))),
    _bug("placement", "takes full servers for empty with three new jobs", misread("placement", **_if(
        lambda i: len(i.job_type) >= 3,
        lambda i: np.where((i.server_free == 0).all(axis=1)[:, None], i.server_capacity, i.server_free),
        "server_free"))),
    _bug("placement", "keeps nothing apart with three new jobs", misread("placement", **_if(
        lambda i: len(i.job_type) >= 3, lambda i: 0 * i.apart, "apart"))),
    _bug("taskgraph", "knows no arrival later than zero", misread("taskgraph", **_if(
        lambda i: i.now > 0, lambda i: 0 * i.arrival, "arrival"))),
    _bug("taskgraph", "runs anywhere with two resources", misread("taskgraph", **_if(
        lambda i: len(i.resources) >= 2, lambda i: 0 * i.eligible + 1, "eligible"))),
    _bug("taskgraph", "transfers in no time where tasks may move", misread("taskgraph", **_if(
        lambda i: i.movement == "between_iterations", lambda i: 0 * i.edge_delay, "edge_delay"))),
    _bug("taskgraph", "sees no edge to the next iteration where iterations are a choice", without_edges(
        lambda i: (i.edge_lag == 1) & bool((i.min_iterations < i.max_iterations).any()))),
    _bug("taskgraph", "runs that take no time wait for nothing", without_edges(
        lambda i: (i.edge_lag == 0) & (i.duration[i.edge_to] == 0))),
    _bug("taskgraph", "does not see what runs with two resources", lambda: forgets_what_runs),
)  # fmt: skip
