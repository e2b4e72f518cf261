"""MLF-RL-plus: a learned order of jobs that give way to each other, each placed on as few nodes as possible.

Ours, in the place of MLFS' reinforcement learning (MLF-RL, Wang, Liu and Shen, CoNEXT 2020, Section 3.4), for worlds in
which runs may pause and go on. What the policy learns is who goes first: a job's place in the order is a weighted sum
of what is seen of it and of the jobs beside it (`plus_order.py`), the least first. Who then runs, pauses and starts is
up to the engine of all preemptive rules (`heuristics/taskgraph/preemption.py`). Trained by `mlsched train mlf-rl-plus`
(`training/taskgraph/_mlf_rl_plus.py`): it begins with the order by the time that jobs have left, and is improved by
an evolution strategy.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.learned.net import scorer
from mlsched.learned.taskgraph.plus_order import FEATURES, features, standing
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
    """Serve jobs in a learned order; what comes later gives way.

    weights: a file that `mlsched train mlf-rl-plus` wrote; "": the weights that come with mlsched. stop, nodes: as for
    fifo; by default a gang takes as few nodes as it can. Asks for a world with pausing = "keep"; where runs may not
    pause, it says who starts.
    """
    net = scorer(of("mlf-rl-plus", "taskgraph", weights), FEATURES)
    placer = Placer(snapshot, stop, nodes)
    rows = features(standing(snapshot, placer.stop_after)).T.astype(np.float32)
    return placer.round(serve(placer, net(rows)[:, 0]))
