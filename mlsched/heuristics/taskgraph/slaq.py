"""SLAQ (Zhang et al., SoCC 2017): the job with the largest predicted gain of quality in the next epoch comes first.

As the evaluation of MLFS uses it: "chooses the job with the maximum loss reduction per unit runtime". Every `epoch`
all jobs are ranked by their predicted loss reduction during the epoch, as a share of their largest reduction in one
iteration so far (Section 4.1). The cluster is filled in that order, and if runs may pause, earlier jobs preempt later
jobs. With `queueing = held` running jobs keep their nodes: by Section 3.3.3 of MLFS, SLAQ does not preempt.

Simplifications and differences:

- SLAQ gives each job a number of cores, each core to the job that gains most by it. Here a job runs with all of its
  tasks or waits, so only the order of the rule remains.
- A job with fewer than three losses comes before all others, as every new job has a core at once in SLAQ. Jobs that
  report no losses (trace jobs) are therefore served by arrival.
- Predictions are made once per epoch; a job that arrives in between is a new job until the next.
- An epoch's iterations take the longest chain of estimated durations, and transfers are not counted.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import FloatArray, IntArray, ints
from mlsched.core.params import Number
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._forecast import forecast
from mlsched.heuristics.taskgraph.measures import by_job, iteration_ticks
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import QUEUEING, epochs, serve, world_of_queueing
from mlsched.instances.taskgraph import Round, Snapshot


@solver(
    "slaq",
    problem="taskgraph",
    called="online",
    stateful=True,
    world=world_of_queueing,
    objectives=("total_accuracy",),
    paper="SLAQ, Section 4, as in MLFS, Section 4.1",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: Data | None,
    rng: np.random.Generator,
    epoch: Number = 10,
    queueing: Annotated[str, QUEUEING] = "iteration",
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Data]:
    """Serve jobs by falling predicted loss reduction of the next `epoch` ticks.

    queueing: "iteration" - earlier jobs preempt later jobs; "held" - running jobs keep their nodes. stop, nodes: as for
    fifo.
    """
    memory, due = epochs(snapshot, memory, epoch)
    if due:
        remaining = np.maximum(snapshot.stop_after - snapshot.finished, 1)
        jobs, result = gains(snapshot, np.minimum(epoch / np.maximum(iteration_ticks(snapshot), 1), remaining))
        memory["of"] = dict(zip(snapshot.job_id[jobs].astype(str).tolist(), result.tolist(), strict=True))
    gain = np.array([memory["of"].get(str(job), np.inf) for job in snapshot.job_id.tolist()])
    placer = Placer(snapshot, stop, nodes)
    pauses = list[int]()
    if queueing == "held":
        placer.start_in_order(by_job(snapshot, -gain))
    else:
        pauses = serve(placer, -gain)
    return placer.round(pauses, memory["next"] if pauses or placer.open.any() else 0), memory


def gains(snapshot: Snapshot, steps: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the jobs with a prediction, and the loss reduction of each over `steps` further iterations.

    In units of the largest reduction of one iteration so far; 0 for a job whose loss has never fallen.
    """
    result = forecast(snapshot)
    if result is None:
        return ints([]), np.zeros(0)
    jobs, window, ahead = result
    falls = -np.diff(window.losses, axis=0) / np.maximum(np.diff(window.iterations, axis=0), 1)
    largest = np.where(window.observed[1:] & window.observed[:-1], falls, 0).max(axis=0, initial=0.0)
    reduction = ahead.reduction_at(window.last_iteration + steps[jobs])
    return jobs, np.where(largest > 0, reduction / np.where(largest > 0, largest, 1.0), 0.0)
