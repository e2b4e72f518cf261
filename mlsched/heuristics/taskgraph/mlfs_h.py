"""MLFS before its reinforcement learning has converged (Section 3): MLF-H places, MLF-C controls the load."""

from __future__ import annotations

import numpy as np

from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._mlf_inner import Inner
from mlsched.heuristics.taskgraph.mlf_c import Memory, Settings, controlled
from mlsched.heuristics.taskgraph.mlf_h import world
from mlsched.instances.taskgraph import Round, Snapshot


@answerer(
    "mlfs-h", problem="taskgraph", asks="decision", stateful=True, world=world, paper="MLFS, Sections 3.3 and 3.5"
)
def answer(
    snapshot: Snapshot,
    *,
    memory: Memory | None,
    rng: np.random.Generator,
    alpha: float = 0.3,
    gamma: float = 0.8,
    gamma_d: float = 0.3,
    gamma_r: float = 0.3,
    gamma_w: float = 0.35,
    h_r: float = 0.9,
    p_s: float = 0.1,
    levels: int = 10,
    scale: float = 0.0,
    urgency: bool = True,
    deadline: bool = True,
    bandwidth: bool = True,
    migration: bool = True,
    options: str = "given",
    optstop: str = "curves",
    close: float = 0.01,
    confidence: float = 0.95,
    give_up: bool = False,
    h_s: float = 0.9,
    normalise: bool = False,
    pays: int = 0,
) -> tuple[Round, Memory]:
    """MLF-H with MLF-C: the parameters are those of `mlf-h` and `mlf-c`."""
    heuristic = {
        "alpha": alpha,
        "gamma": gamma,
        "gamma_d": gamma_d,
        "gamma_r": gamma_r,
        "gamma_w": gamma_w,
        "h_r": h_r,
        "p_s": p_s,
        "levels": levels,
        "scale": scale,
        "urgency": urgency,
        "deadline": deadline,
        "bandwidth": bandwidth,
        "migration": migration,
    }
    given = Settings(options, optstop, close, confidence, give_up, h_s, normalise, pays)
    rule = Inner("mlf-h", rng, (memory or {}).get("rule"), heuristic)
    return controlled(snapshot, given, rule, memory)
