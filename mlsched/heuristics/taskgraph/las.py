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
from mlsched.heuristics.taskgraph import _order
from mlsched.heuristics.taskgraph._order import Job, Order
from mlsched.instances.taskgraph import Round, Snapshot

EPSILON = float(np.finfo(np.float64).eps)


def order(
    *, quantum: float = 3600.0, growth: float = 0.5, by: str = "work", stop: str = "most", nodes: str = "auto"
) -> Order:
    """Return the order of the turns that jobs are in."""

    def attained(job: Job) -> float:
        return job.gpu_seconds if by == "work" else job.executed * job.tick_seconds

    def turn(job: Job) -> int:
        return turns(attained(job), quantum, growth)[0]

    def ends(job: Job) -> int | None:
        """When the job ends its turn."""
        rate = job.gpu_rate if by == "work" else job.tick_seconds
        served = attained(job)
        left = turns(served, quantum, growth)[1] - served
        return job.now + max(1, math.ceil(left / rate)) if rate > 0 else None

    return Order(turn, preempts=True, until=ends, needs_gpus="las", stop=stop, nodes=nodes)


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

    by: "work" - GPU-seconds; "time" - seconds in which some task of the job ran. quantum: so many of them are the first
    turn; growth: the share by which each turn is longer than the one before, 0: all are a quantum. Needs a resource
    that counts GPUs and the length of a tick, as tiresias does. stop, nodes: as for fifo.
    """
    return _order.answer(snapshot, order(quantum=quantum, growth=growth, by=by, stop=stop, nodes=nodes))


def turns(attained: float, quantum: float, growth: float) -> tuple[int, float]:
    """Return the number of the turn that a job is in, and the attained service at which that ends.

    Turn k begins at quantum ((1 + growth)^k - 1) / growth: each is longer by the share `growth` than the one before.
    """
    if not growth:
        number = math.floor(attained / quantum * (1 + 4 * EPSILON))  # what ends a turn is in the next one
        return number, (number + 1) * quantum
    longer = math.log1p(growth)
    number = math.floor(math.log1p(growth * attained / quantum) / longer + 1e-9)
    return number, quantum * math.expm1(longer * (number + 1)) / growth
