"""Twelve schedulers with one mistake each that were written after the checks, to see how many these find.

They found eight. Memories were not held to be JSON, and few contended placements had types that must be apart; two
rules, which others have replaced, broke nothing in any run.
"""

from __future__ import annotations

import numpy as np
from planted_bugs import Planted, changed, good, mistaken

from mlsched.core.registry import registry

# -- preemption -------------------------------------------------------------------------------------------------------


def places_beside_its_victims(instance, *, rng):
    """Where it suspends somebody, it places the last TE job on the node after the right one."""
    made = good("preemption")(instance, rng=rng)
    if not len(made.victims) or made.te_node[-1] < 0:
        return made
    te_node = made.te_node.copy()
    te_node[-1] = (te_node[-1] + 1) % len(instance.node_free)
    return made.replace(te_node=te_node)


def free_of_grace_is_free(instance, *, rng):
    """Takes the limit not to hold for jobs without a grace period."""
    preemptions = np.where(instance.job_grace == 0, 0, instance.job_preemptions)
    limit = max(1, instance.preemption_limit)
    return good("preemption")(changed(instance, job_preemptions=preemptions, preemption_limit=limit), rng=rng)


def counts_from_one(instance, *, rng):
    """Names the job after each victim."""
    made = good("preemption")(instance, rng=rng)
    return made.replace(victims=made.victims + 1)


# -- quality ----------------------------------------------------------------------------------------------------------


def reads_caps_backwards(instance, *, rng):
    """Takes the caps in the reverse order."""
    return good("quality")(changed(instance, most=instance.most[::-1].copy()), rng=rng)


def draws_from_everyones_stream(instance, *, rng):
    """Breaks ties by NumPy's global generator."""
    cores = good("quality")(instance, rng=rng).cores.copy()
    if len(cores) > 1 and np.random.random() < 0.2 and cores[0] > instance.least:
        cores[0] -= 1
    return instance.plan_type(cores=cores)


# -- placement --------------------------------------------------------------------------------------------------------


def apart_from_the_old_alone(instance, *, rng):
    """Keeps new jobs apart from running ones, and not from each other: it asks about them one by one."""
    tasks = np.zeros((2, len(instance.job_type), len(instance.server_free)), dtype=np.int64)
    free, places = instance.server_free.copy(), instance.most_new
    fields = ("job_type", "job_speed", "job_workers", "job_ps", "worker_demand", "ps_demand")
    most = instance.most_jobs
    for j in range(len(instance.job_type)):
        one = {name: getattr(instance, name)[j : j + 1] for name in fields}
        made = good("placement")(changed(instance, **one, server_free=free, most_new=places, most_jobs=most), rng=rng)
        tasks[:, j] = made.workers[0], made.ps[0]
        free = free - np.outer(made.workers[0], instance.worker_demand[j]) - np.outer(made.ps[0], instance.ps_demand[j])
        places, most = places - int(made.workers.any()), most - int(made.workers.any())
    return instance.plan_type(workers=tasks[0], ps=tasks[1])


def another_ps(instance, *, rng):
    """Starts a PS more than there should be for jobs of two workers."""
    made = good("placement")(instance, rng=rng)
    ps = made.ps.copy()
    for job in np.flatnonzero((made.workers.sum(axis=1) == 2) & (made.ps.sum(axis=1) > 0)).tolist():
        ps[job, int(ps[job].argmax())] += 1
    return made.replace(ps=ps)


# -- workers ----------------------------------------------------------------------------------------------------------


def workers_for_ps(instance, *, rng):
    """Hands out the two numbers in the wrong order."""
    made = good("workers")(instance, rng=rng)
    return made.replace(workers=made.ps, ps=made.workers)


def sorts_its_tables(instance, *, rng):
    """Writes the tables of cost in the order that suits it."""
    made = good("workers")(instance, rng=rng)
    instance.cost.setflags(write=True)
    instance.cost.sort(axis=2)
    return made


# -- taskgraph --------------------------------------------------------------------------------------------------------


def a_tick_early(instance, *, rng):
    """Starts the last run a tick before it may."""
    made = good("taskgraph")(instance, rng=rng)
    if not len(made.start):
        return made
    start = made.start.copy()
    last = int(start.argmax())
    start[last] = max(0, start[last] - 1)
    return made.replace(start=start)


def fifo(snapshot, rng):
    return registry().solvers["taskgraph", "best-effort-fifo"].function(snapshot, rng=rng)


def pauses_without_asking(snapshot, *, rng):
    """Pauses what has run for long while others wait, whether or not runs may be paused."""
    running = np.flatnonzero((snapshot.state == 1) & (snapshot.now - snapshot.start > 3))
    return fifo(snapshot, rng).replace(pause_task=running[:1])


def remembers_arrays(snapshot, *, memory, rng):
    """Keeps in its memory what is no JSON."""
    return fifo(snapshot, rng), {"seen": snapshot.job_id}


FRESH = (
    Planted("preemption", "places beside its victims", mistaken(places_beside_its_victims)),
    Planted("preemption", "takes jobs without grace for free", mistaken(free_of_grace_is_free)),
    Planted("preemption", "counts jobs from one", mistaken(counts_from_one)),
    Planted("quality", "reads caps backwards", mistaken(reads_caps_backwards)),
    Planted("quality", "draws from everyone's stream", mistaken(draws_from_everyones_stream), check="reproducible"),
    Planted("placement", "keeps new jobs apart from old ones alone", mistaken(apart_from_the_old_alone), check="runs"),
    Planted("placement", "starts another PS", mistaken(another_ps)),
    Planted("workers", "gives workers for PSs", mistaken(workers_for_ps)),
    Planted("workers", "sorts its tables", mistaken(sorts_its_tables), check="reproducible"),
    Planted("taskgraph", "starts a tick early", mistaken(a_tick_early)),
    Planted("taskgraph", "pauses without asking", mistaken(pauses_without_asking), {"called": "online"}),
    Planted(
        "taskgraph", "remembers arrays", mistaken(remembers_arrays), {"called": "online", "stateful": True}, "runs"
    ),
)
