"""Optimus (Peng et al., EuroSys 2018): the job with the earliest predicted end comes first.

As the evaluation of MLFS describes it: the rule predicts when a job converges, and prefers jobs that finish sooner.
Every `epoch` it predicts the iterations that a job still needs from its losses (Section 3.1). It counts up to the
first iteration whose predicted loss reduction is below `threshold` of the untrained model's loss, and at most the
remaining iterations. Their number times the time of one iteration is the job's remaining time. The cluster is filled
in that order, and if runs may pause, earlier jobs preempt later jobs.

Simplifications and differences:

- Optimus gives each job numbers of workers and parameter servers, by their saving of time per resource. Here a job
  runs with all of its tasks or waits, so only the order of the rule remains.
- The time of an iteration is the longest chain of estimated durations, not a fitted function of workers and servers.
- Without three losses, a job is assumed to need all of its remaining iterations.
- A job is not stopped at its predicted convergence; it then has one iteration left, and comes first.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import FloatArray
from mlsched.core.params import NotNegative, Number
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._forecast import forecast
from mlsched.heuristics.taskgraph.measures import iteration_ticks
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import epochs, serve
from mlsched.instances.taskgraph import Round, Snapshot

#: Number of steps of equal ratio in the search for the iteration of convergence.
POINTS = 64


@solver(
    "optimus",
    problem="taskgraph",
    called="online",
    stateful=True,
    world=lambda params: {"pausing": "keep"},
    objectives=("total_jct",),
    paper="Optimus, Section 4.1, as in MLFS, Section 2",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: Data | None,
    rng: np.random.Generator,
    epoch: Number = 10,
    threshold: NotNegative = 0.001,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Data]:
    """Serve jobs by rising predicted time until they converge, predicted again every `epoch` ticks.

    threshold: a job has converged when an iteration reduces the loss by less than this share of the untrained
    model's. stop, nodes: as for fifo.
    """
    memory, due = epochs(snapshot, memory, epoch)
    if due:
        last = snapshot.finished + needed(snapshot, threshold)
        memory["of"] = dict(zip(snapshot.job_id.astype(str).tolist(), last.tolist(), strict=True))
    placer = Placer(snapshot, stop, nodes)
    most = placer.stop_after.astype(np.float64)
    last = np.array([memory["of"].get(str(job), end) for job, end in zip(snapshot.job_id.tolist(), most, strict=True)])
    remaining = np.maximum(np.minimum(last, most) - snapshot.finished, 1) * iteration_ticks(snapshot)
    pauses = serve(placer, remaining)
    return placer.round(pauses, memory["next"] if pauses or placer.open.any() else 0), memory


def needed(snapshot: Snapshot, threshold: float) -> FloatArray:
    """Return for each job the iterations until it converges, at least 1 and at most its remaining iterations."""
    remaining: FloatArray = np.maximum(snapshot.max_iterations - snapshot.finished, 1).astype(np.float64)
    predicted = forecast(snapshot)
    if predicted is None:
        return remaining
    jobs, window, ahead = predicted
    steps = np.maximum(remaining[jobs, None] ** (np.arange(POINTS) / (POINTS - 1)), 1)
    at = window.last_iteration[:, None] + steps
    slow = ahead.loss_at(at - 1) - ahead.loss_at(at) < threshold
    result = remaining.copy()
    result[jobs] = np.where(slow.any(axis=1), steps[np.arange(len(jobs)), slow.argmax(axis=1)], remaining[jobs])
    return result
