"""Dominant resource fairness (Ghodsi et al., NSDI 2011, Algorithm 1): the lowest dominant share is served next.

The users of the paper are jobs here. What is simpler, or other:

- Tasks of one job may ask for different amounts; the paper's users have one demand vector each.
- Where a task of the poorest job fits nowhere, its next task and then the next job are tried; Algorithm 1 stops. The
  paper divides one pool; here a task must fit one node, so that stopping would leave nodes idle.
- All jobs weigh the same (the paper's weighted form is Section 4.3). As in the paper, what runs is not interrupted.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._place import Placer
from mlsched.instances.taskgraph import Round, Snapshot


@answerer("drf", problem="taskgraph", asks="decision", paper="Ghodsi et al., NSDI 2011, Algorithm 1")
def answer(snapshot: Snapshot, *, rng: np.random.Generator, stop: str = "most") -> Round:
    """Again and again start a ready task of the job whose largest share of any resource of the cluster is least.

    stop: as for fifo.
    """
    total = np.maximum(snapshot.node_capacity.sum(axis=0), 1)
    held = np.zeros((len(snapshot.arrival), len(snapshot.resources)))
    running = np.flatnonzero(snapshot.state == 1)
    np.add.at(held, snapshot.task_job[running], snapshot.demand[running])

    def taken(task: int) -> None:
        if snapshot.duration[task]:
            held[snapshot.task_job[task]] += snapshot.demand[task]

    placer = Placer(snapshot, stop)
    placer.start_by_share(lambda jobs: (held[jobs] / total).max(axis=1, initial=0.0), taken)
    return placer.round()
