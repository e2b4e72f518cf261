"""MLFS, complete (Wang, Liu and Shen, CoNEXT 2020, Section 3): MLF-H until MLF-RL is trained, then MLF-RL.

MLF-C controls the load. The switch is an explicit test, so that a run can be replayed. With `switch="converged"`,
MLF-RL answers if the card of its weights records that training met its criterion: a settled reward, at least that of
MLF-H (`training/taskgraph/_mlf_rl.py`). Otherwise MLF-H answers, as in `mlfs-h`. With `switch="always"`, the card is
ignored. In both cases MLF-H answers for the first `learning` ticks of a run, in which the paper gathers its training
data.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._mlf_inner import Inner
from mlsched.heuristics.taskgraph._mlf_priority import OVERDUE
from mlsched.heuristics.taskgraph.mlf_c import Settings, controlled
from mlsched.heuristics.taskgraph.mlf_h import TASK_QUEUEING, world
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.learned.taskgraph import mlf_rl

#: The memory of `mlf-c`, and `since`: the time of the run's first decision.
Memory = dict[str, Any]

SWITCHES = ("converged", "always")


@solver("mlfs", problem="taskgraph", called="online", stateful=True, world=world, paper="MLFS, Section 3")
def answer(
    snapshot: Snapshot,
    *,
    memory: Memory | None,
    rng: np.random.Generator,
    weights: str = "",
    switch: Annotated[str, SWITCHES] = "converged",
    learning: Annotated[int, Range(0)] = 0,
    queueing: Annotated[str, TASK_QUEUEING] = "held",
    overdue: Annotated[str, OVERDUE] = "tick",
    options: Literal["given", "evaluation"] = "given",
) -> tuple[Round, Memory]:
    """Combine MLF-RL with MLF-C; MLF-H answers until the switch.

    Args:
        snapshot: Current state of the cluster.
        rng: Source of randomness of both.
        weights: As for `mlf-rl`.
        switch: "converged" or "always".
        learning: Ticks from the first decision in which MLF-H answers.
        queueing: As for MLF-H. MLF-RL knows two: to it, "last-task" is "iteration".
        overdue: As for MLF-H.
        options: As for `mlf-c`.
    """
    since = int((memory or {}).get("since", snapshot.now))
    learnt = "held" if queueing == "held" else "iteration"
    trained = switch == "always" or mlf_rl.trained_weights(weights, learnt).card.get("trained") is True
    if trained and snapshot.now - since >= learning:
        rule = Inner("mlf-rl", rng, None, {"queueing": learnt, "weights": weights})
    else:
        rule = Inner("mlf-h", rng, None, {"queueing": queueing, "overdue": overdue})
    plan, memory_after = controlled(snapshot, Settings(options=options), rule, memory)
    return plan, memory_after | {"since": since}
