"""Least attained service: the job that has been served least comes first, whatever is left of it.

Also known as foreground-background (Nuyens and Wierman, "The Foreground-Background queue: a survey", Performance
Evaluation 65, 2008): on one machine, without knowing sizes, it minimises mean response times where the longer a job has
run, the longer it is likely to go on. There, jobs that have been served as little share the machine evenly. Here:

- Service is counted in whole quanta; of jobs with as many, those that run come first, then the earlier arrival. So
  jobs take turns of a quantum instead of sharing, and with a small quantum it is the rule of the survey.
- Service is GPU-seconds (`by = work`: what Tiresias calls two-dimensional) or seconds (`time`).
- What does not fit is passed by. A gang starts and is preempted whole; a pause costs nothing.
- Where runs may not pause, jobs are preempted between their iterations at most, and in the physics of iterations never:
  what waits there has attained nothing, and the rule is FIFO.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from mlsched.core.params import Positive
from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._measures import Flags, Floats, per_job
from mlsched.heuristics.taskgraph._place import Placer
from mlsched.heuristics.taskgraph._preemption import holding, serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.units import gpu_seconds


@answerer(
    "las",
    problem="taskgraph",
    asks="decision",
    world=lambda params: {"pausing": "keep"},
    paper="Nuyens and Wierman, Performance Evaluation 2008",
)
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    quantum: Positive = 3600.0,
    by: Literal["work", "time"] = "work",
    stop: str = "most",
    nodes: str = "auto",
) -> Round:
    """Serve jobs in order of attained service, in whole quanta; where runs may pause, they preempt those served more.

    by: "work" - GPU-seconds; "time" - seconds in which some task of the job ran. quantum: so many of them. Needs a
    resource that counts GPUs and the length of a tick, as tiresias does. stop, nodes: as for fifo.
    """
    column, seconds = gpu_seconds(snapshot, "las")
    tick = snapshot.tick_ms / 1000
    attained: Floats = np.asarray(snapshot.service[:, column] * seconds if by == "work" else snapshot.executed * tick)
    turns = np.floor(attained / quantum)
    placer = Placer(snapshot, stop, nodes)
    pauses = serve(placer, turns)
    if snapshot.pausing != "keep" or not (pauses or placer.open.any()):
        return placer.round()  # nobody can, or has to, be preempted when a quantum is over
    holds = holding(placer, pauses)
    amount = per_job(snapshot, holds * snapshot.demand[:, column]) * seconds
    rate: Floats = np.asarray(amount if by == "work" else tick * (per_job(snapshot, holds) > 0))
    return placer.round(pauses, _next_turn(snapshot.now, quantum, turns, attained, rate))


def _next_turn(now: int, quantum: float, turns: Floats, attained: Floats, rate: Floats) -> int:
    """When the first of the jobs that run has had one more quantum; 0: never. rate: what each is served in a tick."""
    served: Flags = rate > 0
    ticks = ((turns + 1) * quantum - attained)[served] / rate[served]
    return now + max(1, math.ceil(ticks.min())) if ticks.size else 0
