"""MLF-RL, the reinforcement learning of MLFS (Wang, Liu and Shen, CoNEXT 2020, Section 3.4).

A network scores which task leaves an overloaded node, which waiting or leaving task is next, and on which underloaded
node it goes; what is not chosen stays in the queue. Where every iteration queues anew (`queueing=iteration`), it first
scores which running jobs give way; that network is another one, with weights of its own. How the paper's action becomes
a sequence of such choices, and what each row of the state holds, is in `simulation/taskgraph/allocation.py` and
`allocation_features.py`. Trained by `mlsched train mlf-rl`: imitation of MLF-H's runs, then REINFORCE on Eq. 7
(`training/taskgraph/_mlf_rl.py`).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.errors import InvalidFile
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.measures import stops_after
from mlsched.heuristics.taskgraph.mlf_h import world
from mlsched.heuristics.taskgraph.preemption import QUEUEING
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.learned.net import Mlp, sample, scorer
from mlsched.learned.weights import Weights, of
from mlsched.simulation.taskgraph.allocation import FEATURES_OF, Allocation, chosen


@solver("mlf-rl", problem="taskgraph", called="online", world=world, paper="MLFS, Section 3.4")
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    weights: str = "",
    greedy: bool = True,
    queueing: Annotated[str, QUEUEING] = "held",
    stop: str = "most",
) -> Round:
    """A trained network relieves nodes and places tasks (not recommended: no better than MLF-H).

    weights: a file that `mlsched train mlf-rl` wrote; "": the weights that come with mlsched. greedy: always the
    highest score; otherwise drawn, as in training. queueing: "held", or "iteration": what runs may give way; each has
    weights of its own. stop: as for fifo.
    """
    net = scorer(trained(weights, queueing), FEATURES_OF[queueing])
    allocation = Allocation(snapshot, stops_after(snapshot, stop), queueing=queueing)
    return chosen(allocation, lambda due: choose(net, due, None if greedy else rng))


def trained(weights: str, queueing: str) -> Weights:
    """The weights in a file, or for "" those that come with mlsched for this interpretation of how often a job queues.

    InvalidFile: they are for the other one.
    """
    found = of("mlf-rl", "taskgraph", weights, "" if queueing == "held" else f"-{queueing}")
    # Files from before there was a choice do not name it.
    if (learnt := found.card["recipe"].get("queueing", "held")) != queueing:
        raise InvalidFile(
            f"{found.source}: holds weights for queueing: {learnt}, expected for {queueing}; give queueing={learnt}, "
            "or train others"
        )
    return found


def choose(net: Mlp, due: Allocation, rng: np.random.Generator | None) -> int:
    """The row of the highest score, or with `rng` one drawn from the softmax."""
    logits = np.where(due.mask, net(due.rows())[:, 0], np.float32(-np.inf))
    return int(logits.argmax() if rng is None else sample(logits, rng))
