"""MLFS before its reinforcement learning has converged (Section 3): MLF-H places, MLF-C controls the load."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph import mlf_c
from mlsched.heuristics.taskgraph._mlf_inner import Inner
from mlsched.heuristics.taskgraph._mlf_priority import OVERDUE
from mlsched.heuristics.taskgraph.mlf_h import TASK_QUEUEING, world
from mlsched.instances.taskgraph import Round, Snapshot


@solver("mlfs-h", problem="taskgraph", called="online", stateful=True, world=world, paper="MLFS, Sections 3.3 and 3.5")
def answer(
    snapshot: Snapshot,
    *,
    memory: mlf_c.Memory | None,
    rng: np.random.Generator,
    queueing: Annotated[str, TASK_QUEUEING] = "held",
    overdue: Annotated[str, OVERDUE] = "tick",
    options: Literal["given", "evaluation"] = "given",
) -> tuple[Round, mlf_c.Memory]:
    """Combine MLF-H with MLF-C at the paper's values; their parameters are those of `mlf-h` and `mlf-c`.

    queueing, overdue: as for mlf-h. options: as for mlf-c.
    """
    rule = Inner("mlf-h", rng, (memory or {}).get("rule"), {"queueing": queueing, "overdue": overdue})
    return mlf_c.controlled(snapshot, mlf_c.Settings(options=options), rule, memory)
