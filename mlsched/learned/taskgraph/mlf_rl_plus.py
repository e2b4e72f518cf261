"""MLF-RL-plus: a learned preemptive order of jobs, each placed on as few nodes as possible.

Ours, in place of MLFS' reinforcement learning (MLF-RL, Wang, Liu and Shen, CoNEXT 2020, Section 3.4), for worlds in
which runs may pause and resume. The policy learns the order of jobs: the key of a job is a weighted sum of its own
features and of features of the other jobs (`plus_order.py`), smallest first. The engine of all preemptive rules then
starts, pauses and resumes jobs (`heuristics/taskgraph/preemption.py`). Trained by `mlsched train mlf-rl-plus`
(`training/taskgraph/_mlf_rl_plus.py`): an evolution strategy improves the order by remaining time.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.learned.net import scoring_network
from mlsched.learned.taskgraph.plus_order import FEATURES, features, standing_of
from mlsched.learned.weights import of


@solver(
    "mlf-rl-plus",
    problem="taskgraph",
    called="online",
    world=lambda params: {"pausing": "keep"},
    objectives=("total_jct",),
    paper="ours, after MLFS",
)
def answer(
    snapshot: Snapshot, *, rng: np.random.Generator, weights: str = "", stop: str = "most", nodes: str = "few"
) -> Round:
    """Serve jobs in a learned order; later jobs are preempted.

    Requests a world with pausing = "keep". If runs may not pause, it decides only which jobs start.

    Args:
        snapshot: Current state of the cluster.
        weights: File that `mlsched train mlf-rl-plus` wrote; "" for the weights that come with mlsched.
        stop: As for fifo.
        nodes: As for fifo; by default a gang takes as few nodes as possible.
    """
    net = scoring_network(of("mlf-rl-plus", "taskgraph", weights), FEATURES)
    placer = Placer(snapshot, stop, nodes)
    rows = features(standing_of(snapshot, placer.stop_after)).T.astype(np.float32)
    return placer.round(serve(placer, net(rows)[:, 0]))
