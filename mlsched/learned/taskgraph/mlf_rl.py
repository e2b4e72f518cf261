"""MLF-RL, the reinforcement learning of MLFS (Wang, Liu and Shen, CoNEXT 2020, Section 3.4).

A network scores three choices: the task that leaves an overloaded node, the next waiting or leaving task, and its
underloaded node. Tasks that are not chosen stay in the queue. With `queueing=iteration`, every iteration queues again;
another network with its own weights first scores the running jobs to preempt. `simulation/taskgraph/allocation.py` and
`allocation_features.py` turn the paper's action into a sequence of such choices and define the rows of the state.
Trained by `mlsched train mlf-rl`: imitation of MLF-H's runs, then REINFORCE on Eq. 7 (`training/taskgraph/_mlf_rl.py`).
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
from mlsched.learned.net import Mlp, sample, scoring_network
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
    """Relieve nodes and place tasks by a trained network.

    Args:
        snapshot: Current state of the cluster.
        rng: Source of randomness of drawn choices.
        weights: File that `mlsched train mlf-rl` wrote; "" for the weights that come with mlsched.
        greedy: Always take the highest score; False draws, as in training.
        queueing: "held", or "iteration", in which running jobs may be preempted; each has its own weights.
        stop: As for fifo.
    """
    net = scoring_network(trained_weights(weights, queueing), FEATURES_OF[queueing])
    allocation = Allocation(snapshot, stops_after(snapshot, stop), queueing=queueing)
    return chosen(allocation, lambda due: choose(net, due, None if greedy else rng))


def trained_weights(weights: str, queueing: str) -> Weights:
    """Return the weights in a file, or for "" the weights that come with mlsched for this queueing.

    Raises:
        InvalidFile: The weights are for the other queueing.
    """
    stored = of("mlf-rl", "taskgraph", weights, "" if queueing == "held" else f"-{queueing}")
    # Files from before there was a choice do not name it.
    if (learnt := stored.card["recipe"].get("queueing", "held")) != queueing:
        raise InvalidFile(
            f"{stored.source}: weights for queueing: {learnt}, expected for {queueing}; give queueing={learnt}, "
            "or train others"
        )
    return stored


def choose(net: Mlp, due: Allocation, rng: np.random.Generator | None) -> int:
    """Return the row of the highest score, or with `rng` a row drawn from the softmax."""
    logits = np.where(due.mask, net(due.rows())[:, 0], np.float32(-np.inf))
    return int(logits.argmax() if rng is None else sample(logits, rng))
