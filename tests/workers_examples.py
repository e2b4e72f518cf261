"""Workers instances whose optima were worked out by hand.

`small()`: 3 GPUs and 8 cores. Costs by workers (rows) and PSs (columns):

    job 0, worker 1 GPU 2 cores, PS 1 core: 100  80     waiting 300
                                             60  40
    job 1, worker 1 GPU 1 core, PS 2 cores:  90  70     waiting 200
                                             50   -  (not allowed)

A pair each takes 2 GPUs and 6 cores and costs 190. Best: job 0 with 1 worker and 2 PSs (4 cores), job 1 with 2 workers
and 1 PS (4 cores): 80 + 50 = 130.
"""

from __future__ import annotations

import numpy as np

from mlsched.instances.workers import NEVER, PROBLEM, Instance
from mlsched.instances.workers.generate import SPEEDS

SMALL = {
    "resources": ["gpu", "cpu"],
    "models": ["a", "b"],
    "capacity": [3, 8],
    "worker_demand": [[1, 2], [1, 1]],
    "ps_demand": [[0, 1], [0, 2]],
    "cost": [[[100, 80], [60, 40]], [[90, 70], [50, NEVER]]],
    "waiting": [300, 200],
    "remaining": [10, 10],
    "model": [0, 1],
    "current_workers": [2, 0],
    "current_ps": [1, 0],
    "waited": [5, 3],
}


def small(**changes) -> Instance:
    """The instance of this module's docstring, with some fields changed."""
    return Instance(**{**SMALL, **changes})


def generated(number: int) -> Instance:
    """The `number`-th instance of the agreement tests: sizes and knobs drawn, then the generator asked."""
    rng = np.random.default_rng([2019, number])
    jobs = int(rng.integers(2, 5))
    most = 5 if jobs < 4 else 4
    drawn = PROBLEM.generate(
        rng,
        jobs=jobs,
        scale=float(rng.choice([0.2, 0.4, 0.6, 0.8])),
        cpu_factor=float(rng.choice([0.3, 0.5, 1.0])),
        memory_factor=float(rng.choice([0.3, 0.5, 1.0])),
        speed=str(rng.choice(SPEEDS)),
        gaps=float(rng.choice([0.0, 0.2, 0.5])),
        most_workers=int(rng.integers(2, most + 1)),
        most_ps=int(rng.integers(2, most + 1)),
        waiting=str(rng.choice(["slowest", "pair"])),
        delay=float(rng.choice([0.0, 60.0, 600.0])),
    )
    cost, waiting, job = drawn.cost.copy(), drawn.waiting.copy(), int(rng.integers(jobs))
    kind = rng.uniform()
    if kind < 0.08:
        cost[job] = NEVER
    elif kind < 0.3:
        # A job that may wait cheaply: not everyone who fits runs.
        waiting[job] = min(int(waiting[job]), int(cost[job].min() * rng.uniform(0.5, 3)))
    return drawn.replace(cost=cost, waiting=waiting)


def one_resource(cost, capacity, demand=1):
    """Jobs of one resource; cost[j] by numbers of workers, one PS of no demand."""
    jobs = len(cost)
    zeros = np.zeros(jobs, dtype=np.int64)
    return Instance(
        resources=("gpu",),
        models=("m",),
        capacity=np.array([capacity]),
        worker_demand=np.full((jobs, 1), demand),
        ps_demand=np.zeros((jobs, 1), dtype=np.int64),
        cost=np.array(cost, dtype=np.int64)[:, :, None],
        waiting=zeros + 10**6,
        remaining=zeros + 1,
        model=zeros,
        current_workers=zeros,
        current_ps=zeros,
        waited=zeros,
    )
