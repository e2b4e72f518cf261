"""Tiresias' two-dimensional Gittins index (Gu et al., NSDI 2019, Section 3.3), cut into queues.

Where the distribution of sizes (GPUs x time) is known, though no job's own, the job comes first that is likeliest to
end soon for what it will use: `_gittins.index`. Queues, thresholds and promotion are those of `tiresias`; inside a
queue the larger index comes first, then the first start. The quantum of a queue is its upper threshold; the last
queue's has no end.

The distribution is observed: the sizes of the last `window` jobs that ended; until one has, the rule is `tiresias`.

Beyond what `tiresias` simplifies:

- The paper does not say how the distribution comes to be known; it takes the trace's own.
- A job's size is counted up to the round that finds it gone, and by the estimates no farther than to its end. Where
  runs may pause, there is a round at every end that leaves a job.
- The index of a running job changes while it runs; it is looked at when something happens, not in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.params import Number
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._gittins import index
from mlsched.heuristics.taskgraph.measures import Floats, per_job, remaining_time
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding
from mlsched.heuristics.taskgraph.tiresias import KNOB, THRESHOLDS, serve, standings
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.units import gpu_seconds


@solver(
    "tiresias-gittins",
    problem="taskgraph",
    called="online",
    stateful=True,
    world=lambda params: {"pausing": "keep"},
    paper="Gu et al., NSDI 2019, Section 3.3",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: dict[str, Any] | None,
    rng: np.random.Generator,
    window: Number = 1000,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, dict[str, Any]]:
    """Serve the queues of tiresias, each by falling Gittins index over observed sizes.

    stop, nodes: as for tiresias, whose default thresholds and `knob` count. window: of so many jobs that ended last,
    sizes are remembered.
    """
    memory = memory or {"promoted": {}, "seen": {}, "sizes": []}
    standing, promoted = standings(snapshot, memory["promoted"], THRESHOLDS, KNOB)
    sizes = _ended(snapshot, memory)[-window:]
    known = np.sort(np.array(sizes, dtype=np.float64))
    column, seconds = gpu_seconds(snapshot, "tiresias-gittins")
    served: Floats = np.asarray(snapshot.service[:, column] * seconds)
    quantum = np.array([*THRESHOLDS, np.inf])[standing.queue]
    placer = Placer(snapshot, stop, nodes)
    chosen, pauses = serve(placer, standing, THRESHOLDS, KNOB, index(known, served, quantum))
    held = seconds * per_job(snapshot, holding(placer, pauses) * snapshot.demand[:, column])
    return chosen, {"promoted": promoted, "seen": _seen(placer, served, held), "sizes": sizes}


def _seen(placer: Placer, served: Floats, held: Floats) -> dict[str, Any]:
    """Of every job that runs on: its service by now, that of a tick from now on, and the estimated ticks left.

    And the time.
    """
    snapshot, runs = placer.snapshot, np.flatnonzero(held)
    columns = (snapshot.job_id, served, held, remaining_time(snapshot, placer.stop_after))
    rows = zip(*(column[runs].tolist() for column in columns), strict=True)
    return {"now": snapshot.now, "jobs": {str(job): list(row) for job, *row in rows}}


def _ended(snapshot: Snapshot, memory: dict[str, Any]) -> list[float]:
    """The sizes of the jobs that have ended so far, the last ones last."""
    seen, here = memory["seen"], set(snapshot.job_id.tolist())
    gone = [row for job, row in seen.get("jobs", {}).items() if int(job) not in here]
    return list(memory["sizes"]) + [had + rate * min(snapshot.now - seen["now"], left) for had, rate, left in gone]
