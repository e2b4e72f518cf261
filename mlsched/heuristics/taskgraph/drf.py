"""Dominant resource fairness (Ghodsi et al., NSDI 2011): the job with the lowest dominant share is served next."""

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
    placer.start_by_share(lambda job: float((held[job] / total).max(initial=0.0)), taken)
    return placer.round()
