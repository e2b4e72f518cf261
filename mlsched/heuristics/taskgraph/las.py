"""Least attained service: the job with the least service so far comes first, whatever its remaining work.

It is also known as foreground-background (Nuyens and Wierman, "The Foreground-Background queue: a survey",
Performance Evaluation 65, 2008). On one machine, without known sizes, it minimises mean response times if the
remaining time of a job grows with its service. There, jobs with equally little service share the machine evenly.
Here:

- Service is counted in complete turns. Ties go to running jobs, then to the earlier arrival, so jobs take turns
  instead of sharing. The first turn is a quantum, each further turn longer by the share `growth`: a job of a thousand
  quanta takes 15 turns at growth = .5, and a thousand at 0. At 0, a small quantum gives the rule of the survey. A
  pause has a cost (`Snapshot.pause_cost`). Turns that do not grow never end if a pause costs a job more than a turn.
  On 300 jobs of Helios at 30 s, there are 56 pauses per job against 3, and mean completion times 12 % longer.
- Service is GPU-seconds (`by = work`: two-dimensional in the terms of Tiresias) or seconds (`time`).
- Jobs that do not fit are skipped. A gang starts and is preempted as a unit.
- If runs may not pause, jobs are at most preempted between their iterations, and never in the simulator of
  iterations: a waiting job there has attained 0 service, and the rule is FIFO.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from mlsched.core.params import NotNegative, Positive
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph import _order
from mlsched.heuristics.taskgraph._order import Job, Order
from mlsched.instances.taskgraph import Round, Snapshot

EPSILON = float(np.finfo(np.float64).eps)


def order(
    *, quantum: float = 3600.0, growth: float = 0.5, by: str = "work", stop: str = "most", nodes: str = "auto"
) -> Order:
    """Return the order of the jobs' current turns."""

    def attained(job: Job) -> float:
        return job.gpu_seconds if by == "work" else job.executed * job.tick_seconds

    def turn(job: Job) -> int:
        return turns(attained(job), quantum, growth)[0]

    def end_of_turn(job: Job) -> int | None:
        """Return the time at which the job ends its turn."""
        rate = job.gpu_rate if by == "work" else job.tick_seconds
        service = attained(job)
        remaining = turns(service, quantum, growth)[1] - service
        return job.now + max(1, math.ceil(remaining / rate)) if rate > 0 else None

    return Order(turn, preempts=True, until=end_of_turn, needs_gpus="las", stop=stop, nodes=nodes)


@solver(
    "las",
    problem="taskgraph",
    called="online",
    order=order,
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

    by: "work" - GPU-seconds; "time" - seconds in which some task of the job ran. quantum: length of the first turn,
    in this unit; growth: the share by which each turn is longer than the turn before, 0: equal turns. Needs a
    resource that counts GPUs and the length of a tick, as tiresias does. stop, nodes: as for fifo.
    """
    return _order.answer(snapshot, order(quantum=quantum, growth=growth, by=by, stop=stop, nodes=nodes))


def turns(attained: float, quantum: float, growth: float) -> tuple[int, float]:
    """Return the number of the turn that a job is in, and the attained service at which that ends.

    Turn k begins at quantum ((1 + growth)^k - 1) / growth: each is longer by the share `growth` than the one before.
    """
    if not growth:
        number = math.floor(attained / quantum * (1 + 4 * EPSILON))  # the end of a turn belongs to the next turn
        return number, (number + 1) * quantum
    longer = math.log1p(growth)
    number = math.floor(math.log1p(growth * attained / quantum) / longer + 1e-9)
    return number, quantum * math.expm1(longer * (number + 1)) / growth
