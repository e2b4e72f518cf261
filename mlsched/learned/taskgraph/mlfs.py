"""MLFS whole (Wang, Liu and Shen, CoNEXT 2020, Section 3): MLF-H places until MLF-RL is well trained, then MLF-RL does;
MLF-C controls the load.

When that switch comes is a stated test, so that a run can be replayed. `switch="converged"`: MLF-RL answers where the
card of its weights says that their training met the recipe's criterion (its reward had come to rest, no lower than
MLF-H's, see `training/taskgraph/_mlf_rl.py`); else MLF-H does, and this is `mlfs-h`. `switch="always"`:
whatever the card says. Either way MLF-H answers for the first `learning` ticks of a run, the time in which the paper
gathers what it trains on.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._mlf_inner import Inner
from mlsched.heuristics.taskgraph._mlf_priority import OVERDUE
from mlsched.heuristics.taskgraph.mlf_c import Settings, controlled
from mlsched.heuristics.taskgraph.mlf_h import world
from mlsched.heuristics.taskgraph.preemption import QUEUEING
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.learned.taskgraph import mlf_rl

#: That of `mlf-c`, and `since`: when the run's first question came.
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
    queueing: Annotated[str, QUEUEING] = "held",
    overdue: Annotated[str, OVERDUE] = "tick",
    options: Literal["given", "evaluation"] = "given",
) -> tuple[Round, Memory]:
    """MLF-RL with MLF-C, and MLF-H in its place until the switch.

    weights: as for `mlf-rl`. switch: "converged" or "always". learning: ticks from the first question on in which
    MLF-H answers. queueing: of both. overdue: of MLF-H. options: as for `mlf-c`.
    """
    since = int((memory or {}).get("since", snapshot.now))
    trained = switch == "always" or mlf_rl.trained(weights, queueing).card.get("trained") is True
    if trained and snapshot.now - since >= learning:
        rule = Inner("mlf-rl", rng, None, {"queueing": queueing, "weights": weights})
    else:
        rule = Inner("mlf-h", rng, None, {"queueing": queueing, "overdue": overdue})
    plan, kept = controlled(snapshot, Settings(options=options), rule, memory)
    return plan, kept | {"since": since}
