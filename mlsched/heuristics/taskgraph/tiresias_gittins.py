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

import dataclasses
import math
from typing import Any

import numpy as np

from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.core.params import Number
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._gittins import index
from mlsched.heuristics.taskgraph.measures import Floats, per_job, remaining_time
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, serve
from mlsched.heuristics.taskgraph.tiresias import COUNTED, KNOB, THRESHOLDS, Memory
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.units import gpu_seconds


@dataclasses.dataclass(frozen=True)
class Standing:
    """Where each job stands, an entry a job: its queue (0: top), and since its last promotion the GPU-seconds it has
    attained and the ticks it has executed and waited.
    """

    queue: IntArray
    attained: Floats
    executed: IntArray
    waited: IntArray


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
    standing, promoted = _standings(snapshot, memory["promoted"])
    sizes = _ended(snapshot, memory)[-window:]
    known = np.sort(np.array(sizes, dtype=np.float64))
    column, seconds = gpu_seconds(snapshot, "tiresias-gittins")
    served: Floats = np.asarray(snapshot.service[:, column] * seconds)
    quantum = np.array([*THRESHOLDS, np.inf])[standing.queue]
    placer = Placer(snapshot, stop, nodes)
    started = np.where(snapshot.first_start >= 0, snapshot.first_start, UNLIMITED)
    keys = (standing.queue, -index(known, served, quantum), started, snapshot.arrival, snapshot.job_id)
    pauses = serve(placer, *keys)
    wake = _next_change(placer, pauses, standing) if snapshot.pausing == "keep" else 0
    held = seconds * per_job(snapshot, holding(placer, pauses) * snapshot.demand[:, column])
    return placer.round(pauses, wake), {"promoted": promoted, "seen": _seen(placer, served, held), "sizes": sizes}


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


def _standings(snapshot: Snapshot, memory: Memory) -> tuple[Standing, Memory]:
    """Where each job stands after promotions, and the memory of these."""
    column, seconds = gpu_seconds(snapshot, "tiresias-gittins")
    stay = np.where(snapshot.first_start >= 0, snapshot.now - snapshot.first_start, 0)
    waited = np.maximum(stay - snapshot.executed, 0)
    counts = np.array([snapshot.service[:, column], snapshot.executed, waited])
    base = np.zeros_like(counts)
    if memory:
        order = np.argsort(snapshot.job_id, kind="stable")
        names = np.array(memory["job"], dtype=np.int64)
        place = order[np.minimum(np.searchsorted(snapshot.job_id, names, sorter=order), len(order) - 1)]
        there = snapshot.job_id[place] == names
        base[:, place[there]] = np.array([memory[name] for name in COUNTED])[:, there]
    since = counts - base
    attained: Floats = np.asarray(since[0] * seconds)
    queue = np.asarray((attained >= THRESHOLDS[0]) * 1 + (attained >= THRESHOLDS[1]))
    starves = (queue > 0) & (snapshot.idle_since < snapshot.now) & (since[2] >= KNOB * since[1])
    if starves.any():
        base[:, starves], since[:, starves], queue[starves], attained[starves] = counts[:, starves], 0, 0, 0
    risen = np.flatnonzero(base.any(axis=0))
    columns = zip(("job", *COUNTED), (snapshot.job_id, *base), strict=True)
    kept = {name: row[risen].tolist() for name, row in columns} if risen.size else {}
    return Standing(queue, attained, since[1], since[2]), kept


def _next_change(placer: Placer, pauses: list[int], standing: Standing) -> int:
    """When, if nothing else happens, a running job next sinks or a waiting one is promoted; 0: never."""
    snapshot = placer.snapshot
    column, seconds = gpu_seconds(snapshot, "tiresias-gittins")
    holds = holding(placer, pauses)
    rate = seconds * per_job(snapshot, holds * snapshot.demand[:, column])
    runs = per_job(snapshot, holds) > 0
    limit = np.array([*THRESHOLDS, math.inf])[standing.queue]
    waits = bool(pauses or placer.open.any())  # where nothing waits, nobody is preempted
    sinks = waits & runs & (rate > 0) & np.isfinite(limit)
    rises = ~runs & (standing.queue > 0)
    ticks = np.concatenate(
        [
            (limit[sinks] - standing.attained[sinks]) / rate[sinks],
            KNOB * standing.executed[rises] - standing.waited[rises],
        ]
    )
    return snapshot.now + max(1, math.ceil(ticks.min())) if ticks.size else 0
