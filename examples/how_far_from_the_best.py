"""How far are schedulers from the best that any could do? Gangs on a busy cluster, and a rule of one's own.

`run.bound` is below every schedule of the jobs, whoever makes it; `run.gaps` is how far a run is above it.
"""

import numpy as np

import mlsched


def widest_first(snapshot, *, rng):
    """Start the gangs with the most tasks first, wherever they fit."""
    free, starts = snapshot.free.copy(), []
    tasks_of = np.bincount(snapshot.task_job, minlength=len(snapshot.arrival))
    for job in np.argsort(-tasks_of, kind="stable"):
        left, placed = free.copy(), []
        for task in np.flatnonzero((snapshot.task_job == job) & snapshot.startable):
            fits = np.flatnonzero((left >= snapshot.demand[task]).all(axis=1))
            if len(fits):
                left[fits[0]] -= snapshot.demand[task]
                placed.append((task, fits[0]))
        if len(placed) == tasks_of[job]:
            free, starts = left, starts + placed
    return snapshot.round(start=starts)


load = mlsched.workload("synthetic:gangs:jobs=150,nodes=2,load=0.95", seed=1)
POLICIES = {"fifo": "fifo", "widest first": widest_first, "srpt": "srpt", "srpt, preemptive": "srpt:preempt=true"}
for name, policy in POLICIES.items():
    run = mlsched.simulate(load, policy)
    print(f"{name:18} mean JCT {run.summary()['mean_jct']:6.0f} ticks, {run.gaps['total_jct']} above the bound")
print("No scheduler can have a mean JCT below", run.bound["total_jct"] // len(load.arrival), "ticks.")
