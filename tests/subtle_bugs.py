"""Twelve more schedulers with one mistake each, smaller than those of `planted_bugs`: an index, a count, a sign."""

from __future__ import annotations

import numpy as np
from planted_bugs import Planted, changed, good, misread, mistaken

from mlsched.core.registry import registry

# -- preemption -------------------------------------------------------------------------------------------------------


def counts_draining_twice(instance, *, rng):
    """Places TE jobs without victims where there is room, and takes for room what drains, two times over."""
    room, te_node = instance.node_free + 2 * instance.node_draining, []
    for demand in instance.te_demand:
        fits = (room >= demand).all(axis=1)
        te_node.append(int(fits.argmax()) if fits.any() else -1)
        if fits.any():
            room[te_node[-1]] -= demand
    return instance.plan_type(te_node=te_node, victims=[])


def spends_released_room_twice(instance, *, rng):
    """Empties a node for a TE job, and takes the whole of it to be free for the next one."""
    room, te_node, victims = instance.node_free + instance.node_draining, [], set()
    for demand in instance.te_demand:
        fits = np.flatnonzero((room >= demand).all(axis=1))
        cleared = room.copy()
        able = instance.preemptible & ~np.isin(np.arange(len(instance.job_node)), list(victims))
        np.add.at(cleared, instance.job_node[able], instance.job_demand[able])
        could = np.flatnonzero((cleared >= demand).all(axis=1))
        if fits.size:
            te_node.append(int(fits[0]))
            room[te_node[-1]] -= demand
        elif could.size:
            te_node.append(int(could[0]))
            victims |= set(np.flatnonzero(able & (instance.job_node == could[0])).tolist())
            room[could[0]] = cleared[could[0]]
        else:
            te_node.append(-1)
    return instance.plan_type(te_node=te_node, victims=sorted(victims))


# -- quality ----------------------------------------------------------------------------------------------------------


def rounds_up(instance, *, rng):
    """Everyone gets an equal share, rounded up."""
    running = instance.running
    share = -(-instance.available // max(1, len(running)))
    return instance.plan(np.clip(share, instance.least, np.maximum(instance.most[running], instance.least)))


def serves_who_waits(instance, *, rng):
    """The last job gets a core that nobody has, also where it waits."""
    cores = good("quality")(instance, rng=rng).cores.copy()
    if len(cores) and cores.sum() < instance.available and cores[-1] < instance.most[-1]:
        cores[-1] += 1
    return instance.plan_type(cores=cores)


# -- placement --------------------------------------------------------------------------------------------------------


def passes_the_last_server(instance, *, rng):
    """An index too few: the last server never hosts anything, so nothing ever fits where it is the only one."""
    if not len(instance.server_free):
        return good("placement")(instance, rng=rng)
    free = instance.server_free.copy()
    free[-1] = 0
    demands = ("worker_demand", "ps_demand")
    at_least_one = {name: np.maximum(getattr(instance, name), 1) for name in demands}
    return good("placement")(changed(instance, server_free=free, **at_least_one), rng=rng)


# -- workers ----------------------------------------------------------------------------------------------------------


def never_counts_the_first(instance, *, rng):
    """Forgets to take off what the first job has got."""
    made = good("workers")(instance, rng=rng)
    if len(made.workers) < 2:
        return made
    rest = {name: getattr(instance, name)[1:] for name in ROWS}
    others = good("workers")(changed(instance, **rest), rng=rng)
    return made.replace(workers=np.append(made.workers[:1], others.workers), ps=np.append(made.ps[:1], others.ps))


ROWS = (
    "worker_demand", "ps_demand", "cost", "waiting", "remaining", "model", "current_workers", "current_ps", "waited",
)  # fmt: skip


def seeds_itself(instance, *, rng):
    """Breaks ties by a generator that it makes from the length of all earlier answers."""
    made = good("workers")(instance, rng=rng)
    SEEN.append(len(made.workers))
    if sum(SEEN) % 5 == 4:
        return made.replace(workers=np.zeros_like(made.workers), ps=np.zeros_like(made.ps))
    return made


SEEN: list[int] = []


# -- taskgraph --------------------------------------------------------------------------------------------------------


def takes_capacity_for_free(snapshot, *, rng):
    """Leaves out of the count what runs already; a rule that decides now."""
    free, starts = snapshot.node_capacity.copy(), []
    for task in np.flatnonzero(snapshot.startable).tolist():
        fits = np.flatnonzero(snapshot.may_start_on(task) & (free >= snapshot.demand[task]).all(axis=1))
        if fits.size:
            starts.append((task, int(fits[0])))
            free[starts[-1][1]] -= snapshot.demand[task]
    return snapshot.round(starts)


def leaves_the_last_job_out(snapshot, *, rng):
    """An index too few, in a rule that decides now: of the jobs that are there the last one is never served."""
    made = registry().solvers["taskgraph", "best-effort-fifo"].function(snapshot, rng=rng)
    last = len(snapshot.arrival) - 1
    kept = snapshot.task_job[made.start_task] != last
    columns = ("start_task", "start_node", "start_gpu")
    return made.replace(**{name: getattr(made, name)[kept] for name in columns})


def _one_edge_less(instance):
    names = ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")
    return {name: getattr(instance, name)[:-1] for name in names}


def forgets_an_edge(instance, *, rng):
    """Reads one dependency too few."""
    return good("taskgraph")(changed(instance, **_one_edge_less(instance)), rng=rng)


def one_more(instance):
    return instance.preemption_limit + 1


def beside_running(instance):
    return instance.most_jobs + len(instance.run_type)


SUBTLE = (
    Planted("preemption", "counts what drains twice", mistaken(counts_draining_twice)),
    Planted("preemption", "preempts once too often", misread("preemption", preemption_limit=one_more)),
    Planted("preemption", "spends released room twice", mistaken(spends_released_room_twice)),
    Planted("quality", "rounds shares up", mistaken(rounds_up)),
    Planted("quality", "serves who waits", mistaken(serves_who_waits)),
    Planted("placement", "leaves running jobs out of the count", misread("placement", most_jobs=beside_running)),
    Planted("placement", "passes the last server", mistaken(passes_the_last_server), check="runs"),
    Planted("workers", "never counts the first job", mistaken(never_counts_the_first)),
    Planted("workers", "remembers how much it said", mistaken(seeds_itself), check="reproducible"),
    Planted("taskgraph", "takes capacity for free", mistaken(takes_capacity_for_free), {"called": "online"}),
    Planted("taskgraph", "leaves the last job out", mistaken(leaves_the_last_job_out), {"called": "online"}, "answers"),
    Planted("taskgraph", "forgets an edge", mistaken(forgets_an_edge)),
)
