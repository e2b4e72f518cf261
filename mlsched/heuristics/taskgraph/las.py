"""Least attained service: the job that has been served least comes first, whatever is left of it.

Also known as foreground-background (Nuyens and Wierman, "The Foreground-Background queue: a survey", Performance
Evaluation 65, 2008): on one machine, without knowing sizes, it minimises mean response times where the longer a job has
run, the longer it is likely to go on. There, jobs that have been served as little share the machine evenly. Here:

- Service is counted in whole turns; of jobs with as many, those that run come first, then the earlier arrival. So
  jobs take turns instead of sharing. The first turn is a quantum, each further one longer by the share `growth`: a
  job of a thousand quanta takes 15 turns at growth = .5, and a thousand at 0, where a small quantum gives the rule of
  the survey. A pause costs something (`Snapshot.pause_cost`), and turns that do not grow never end where it costs a job
  more than a turn: on 300 jobs of Helios at 30 s, 56 pauses a job against 3, and mean completion times 12 % longer.
- Service is GPU-seconds (`by = work`: what Tiresias calls two-dimensional) or seconds (`time`).
- What does not fit is passed by. A gang starts and is preempted whole.
- Where runs may not pause, jobs are preempted between their iterations at most, and in the simulator of iterations
  never: what waits there has attained nothing, and the rule is FIFO.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from mlsched.core.params import NotNegative, Positive
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.measures import Flags, Floats, per_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.units import gpu_seconds

EPSILON = float(np.finfo(np.float64).eps)


@solver(
    "las",
    problem="taskgraph",
    called="online",
    world=lambda params: {"pausing": "keep"},
    paper="Nuyens and Wierman, Performance Evaluation 2008",
)
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    quantum: Positive = 3600.0,
    growth: NotNegative = 0.5,
    by: Literal["work", "time"] = "work",
    stop: str = "most",
    nodes: str = "auto",
) -> Round:
    """Serve jobs in order of attained service, in whole turns; where runs may pause, they preempt those served more.

    by: "work" - GPU-seconds; "time" - seconds in which some task of the job ran. quantum: so many of them are the first
    turn; growth: the share by which each turn is longer than the one before, 0: all are a quantum. Needs a resource
    that counts GPUs and the length of a tick, as tiresias does. stop, nodes: as for fifo.
    """
    column, seconds = gpu_seconds(snapshot, "las")
    tick = snapshot.tick_ms / 1000
    attained: Floats = np.asarray(snapshot.service[:, column] * seconds if by == "work" else snapshot.executed * tick)
    number, end = turns(attained, quantum, growth)
    placer = Placer(snapshot, stop, nodes)
    pauses = serve(placer, number)
    if snapshot.pausing != "keep" or not (pauses or placer.open.any()):
        return placer.round()  # nobody can, or has to, be preempted when a turn is over
    holds = holding(placer, pauses)
    amount = per_job(snapshot, holds * snapshot.demand[:, column]) * seconds
    rate: Floats = np.asarray(amount if by == "work" else tick * (per_job(snapshot, holds) > 0))
    return placer.round(pauses, _next_turn(snapshot.now, end - attained, rate))


def turns(attained: Floats, quantum: float, growth: float) -> tuple[Floats, Floats]:
    """The number of the turn that each job is in, and the attained service at which that ends.

    Turn k begins at quantum ((1 + growth)^k - 1) / growth: each is longer by the share `growth` than the one before.
    """
    if not growth:
        number: Floats = np.floor(attained / quantum * (1 + 4 * EPSILON))  # what ends a turn is in the next one
        return number, (number + 1) * quantum
    longer = math.log1p(growth)
    number = np.floor(np.log1p(growth * attained / quantum) / longer + 1e-9)
    return number, quantum * np.expm1(longer * (number + 1)) / growth


def _next_turn(now: int, remaining: Floats, rate: Floats) -> int:
    """When the first of the jobs that run ends its turn; 0: never. rate: what each is served in a tick."""
    served: Flags = rate > 0
    ticks = remaining[served] / rate[served]
    return now + max(1, math.ceil(ticks.min())) if ticks.size else 0
