"""MLFS before its reinforcement learning has converged (Section 3): MLF-H places, MLF-C controls the load."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph import mlf_c, mlf_h
from mlsched.heuristics.taskgraph._mlf_inner import Inner
from mlsched.instances.taskgraph import Round, Snapshot


@solver(
    "mlfs-h", problem="taskgraph", called="online", stateful=True, world=mlf_h.world, paper="MLFS, Sections 3.3 and 3.5"
)
def answer(
    snapshot: Snapshot,
    *,
    memory: mlf_c.Memory | None,
    rng: np.random.Generator,
    heuristic: mlf_h.Settings,
    control: mlf_c.Settings,
) -> tuple[Round, mlf_c.Memory]:
    """MLF-H with MLF-C: the parameters are those of `mlf-h` and `mlf-c`."""
    rule = Inner("mlf-h", rng, (memory or {}).get("rule"), dataclasses.asdict(heuristic))
    return mlf_c.controlled(snapshot, control, rule, memory)
