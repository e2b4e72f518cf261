"""Optimus (Peng et al., EuroSys 2018): the job comes first that is predicted to be done soonest.

As the evaluation of MLFS describes it: it predicts when a job converges, and favours the job that will be finished
sooner. Every `epoch` the iterations that a job still needs are predicted from its losses (Section 3.1): up to the first
of which the predicted loss reduction is below `threshold` of the untrained model's loss, and no more than it has left.
Their number times the time of one iteration is what it needs; the cluster is filled in that order, and where runs may
pause, those ahead preempt those behind.

What is simpler, or other:

- Optimus gives each job a number of workers and parameter servers, one after the other where it saves most time for
  what it takes. Here a job runs with all of its tasks or waits, so that what is left of the rule is the order.
- The time of an iteration is the longest chain of estimated durations, not a fitted function of workers and servers.
- Without three losses, a job is taken to need all iterations that it has left.
- A job is not stopped when it is predicted to have converged; it then has one iteration left, and goes on first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.params import NotNegative, Number
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._forecast import forecast
from mlsched.heuristics.taskgraph.measures import Floats, iteration_ticks
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import epochs, serve
from mlsched.instances.taskgraph import Round, Snapshot

#: How finely the iteration of convergence is looked for, in steps of equal ratio.
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
    memory: dict[str, Any] | None,
    rng: np.random.Generator,
    epoch: Number = 10,
    threshold: NotNegative = 0.001,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, dict[str, Any]]:
    """Serve jobs by rising predicted time until they converge, predicted anew every `epoch` ticks.

    threshold: a job has converged when an iteration brings less of the untrained model's loss.
    stop, nodes: as for fifo.
    """
    memory, due = epochs(snapshot, memory, epoch)
    if due:
        last = snapshot.finished + needed(snapshot, threshold)
        memory["of"] = dict(zip(snapshot.job_id.astype(str).tolist(), last.tolist(), strict=True))
    placer = Placer(snapshot, stop, nodes)
    most = placer.stop_after.astype(np.float64)
    last = np.array([memory["of"].get(str(job), end) for job, end in zip(snapshot.job_id.tolist(), most, strict=True)])
    left = np.maximum(np.minimum(last, most) - snapshot.finished, 1) * iteration_ticks(snapshot)
    pauses = serve(placer, left)
    return placer.round(pauses, memory["next"] if pauses or placer.open.any() else 0), memory


def needed(snapshot: Snapshot, threshold: float) -> Floats:
    """For each job, the iterations until it converges, at least 1 and at most those that it has left."""
    left: Floats = np.maximum(snapshot.max_iterations - snapshot.finished, 1).astype(np.float64)
    predicted = forecast(snapshot)
    if predicted is None:
        return left
    jobs, window, ahead = predicted
    steps = np.maximum(left[jobs, None] ** (np.arange(POINTS) / (POINTS - 1)), 1)
    at = window.last_iteration[:, None] + steps
    slow = ahead.loss_at(at - 1) - ahead.loss_at(at) < threshold
    found = left.copy()
    found[jobs] = np.where(slow.any(axis=1), steps[np.arange(len(jobs)), slow.argmax(axis=1)], left[jobs])
    return found
