"""Histories of random placements, as Harmony's reward model is trained on (Section VI-A of its paper).

"We generate jobs with random resource configurations, place them randomly and measure the training speed of each job;
the number of jobs generated and their worker/PS configurations are sufficient to saturate resource capacity". A
placement is a set of running jobs: variants of the six models, each task on a random server with room, until the next
job does not fit.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.instances.placement import Instance
from mlsched.instances.placement.generate import worker_demand
from mlsched.instances.placement.models import MODELS, PS, RESOURCES, SERVER, interference
from mlsched.instances.placement.pace import Pace

#: Isolated speed of every job, so large that rounding does not show.
ALONE = 10**9


def random_placement(
    rng: np.random.Generator, kind: str = "pairwise", servers: int = 6, most_tasks: int = 3
) -> Instance:
    """Place jobs task by task at random until a job does not fit, as running jobs. kind: of interference."""
    free = np.tile(np.array(SERVER, dtype=np.int64), (servers, 1))
    types: list[int] = []
    tables: list[IntArray] = []
    while True:
        model, (workers, ps) = int(rng.integers(len(MODELS))), rng.integers(1, most_tasks + 1, 2).tolist()
        remaining, on = free.copy(), np.zeros((2, servers), dtype=np.int64)
        for task, demand in [(0, worker_demand(model))] * workers + [(1, PS)] * ps:
            able = np.flatnonzero((remaining >= demand).all(axis=1))
            if not able.size:
                break
            server = int(rng.choice(able))
            remaining[server] -= demand
            on[task, server] += 1
        if on.sum() < workers + ps:
            break
        free = remaining
        types.append(model)
        tables.append(on)
    table, none = np.array(tables).reshape(len(types), 2, servers), np.zeros(0, dtype=np.int64)
    return Instance(
        resources=RESOURCES,
        server_capacity=np.tile(np.array(SERVER), (servers, 1)),
        server_free=free,
        **interference(kind),
        run_type=np.array(types, dtype=np.int64),
        run_speed=np.full(len(types), ALONE),
        run_workers=table[:, 0],
        run_ps=table[:, 1],
        job_type=none,
        job_speed=none,
        job_workers=none,
        job_ps=none,
        worker_demand=np.zeros((0, len(SERVER)), dtype=np.int64),
        ps_demand=np.zeros((0, len(SERVER)), dtype=np.int64),
    )


def measured_slowdowns(instance: Instance) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the measured slowdown of each running job: its time divided by its isolated time."""
    return np.asarray(Pace(instance).at_server(instance.run_workers.T, instance.run_ps.T).max(axis=0) / 1000)
