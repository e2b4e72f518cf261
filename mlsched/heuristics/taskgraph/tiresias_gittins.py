"""Tiresias' two-dimensional Gittins index (Gu et al., NSDI 2019, Section 3.3), cut into queues.

The distribution of sizes (GPUs x time) is known, but not the size of a job. The job with the largest chance to end
soon per expected use comes first: `_gittins.index`. Queues, thresholds and promotion are those of `tiresias`. Inside
a queue the larger index comes first, then the first start. The quantum of a queue is its upper threshold, and
infinite for the last queue.

The distribution is observed: the sizes of the last `window` jobs that ended. Until a job has ended, the rule is
`tiresias`.

Simplifications beyond `tiresias`:

- The paper does not define the source of the distribution; it takes the trace's own.
- A job's size is counted up to the round that finds it gone, and by the estimates at most to its end. If runs may
  pause, there is a round at every end that leaves a job.
- The index of a running job changes while it runs; it is only evaluated at events.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import UNLIMITED, FloatArray, IntArray
from mlsched.core.params import Number
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._gittins import index
from mlsched.heuristics.taskgraph.measures import per_job, remaining_time
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, serve
from mlsched.heuristics.taskgraph.tiresias import COUNTED, KNOB, THRESHOLDS, Memory
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.units import gpu_seconds


@dataclasses.dataclass(frozen=True)
class Standing:
    """Queue of each job (0: top), and since its last promotion its GPU-seconds, executed and waited ticks."""

    queue: IntArray
    attained: FloatArray
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
    memory: Data | None,
    rng: np.random.Generator,
    window: Number = 1000,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Data]:
    """Serve the queues of tiresias, each by falling Gittins index over observed sizes.

    stop, nodes: as for tiresias, whose default thresholds and `knob` count. window: number of ended jobs, the last
    ones, whose sizes are remembered.
    """
    memory = memory or {"promoted": {}, "seen": {}, "sizes": []}
    standing, promoted = _current_standings(snapshot, memory["promoted"])
    sizes = _ended_sizes(snapshot, memory)[-window:]
    distribution = np.sort(np.array(sizes, dtype=np.float64))
    column, seconds = gpu_seconds(snapshot, "tiresias-gittins")
    service: FloatArray = np.asarray(snapshot.service[:, column] * seconds)
    quantum = np.array([*THRESHOLDS, np.inf])[standing.queue]
    placer = Placer(snapshot, stop, nodes)
    first_start = np.where(snapshot.first_start >= 0, snapshot.first_start, UNLIMITED)
    keys = (standing.queue, -index(distribution, service, quantum), first_start, snapshot.arrival, snapshot.job_id)
    pauses = serve(placer, *keys)
    wake = _next_change(placer, pauses, standing) if snapshot.pausing == "keep" else 0
    rate = seconds * per_job(snapshot, holding(placer, pauses) * snapshot.demand[:, column])
    return placer.round(pauses, wake), {
        "promoted": promoted,
        "seen": _observed_service(placer, service, rate),
        "sizes": sizes,
    }


def _observed_service(placer: Placer, served: FloatArray, held: FloatArray) -> Data:
    """Return the present time, and three numbers for each job that runs after this round.

    The numbers are its attained service, its service per tick, and its estimated remaining ticks.
    """
    snapshot, runs = placer.snapshot, np.flatnonzero(held)
    columns = (snapshot.job_id, served, held, remaining_time(snapshot, placer.stop_after))
    rows = zip(*(column[runs].tolist() for column in columns), strict=True)
    return {"now": snapshot.now, "jobs": {str(job): list(row) for job, *row in rows}}


def _ended_sizes(snapshot: Snapshot, memory: Data) -> list[float]:
    """Return the sizes of the jobs that have ended so far, the last ones last."""
    earlier, here = memory["seen"], set(snapshot.job_id.tolist())
    departures = [row for job, row in earlier.get("jobs", {}).items() if int(job) not in here]
    return list(memory["sizes"]) + [
        had + rate * min(snapshot.now - earlier["now"], remaining) for had, rate, remaining in departures
    ]


def _current_standings(snapshot: Snapshot, memory: Memory) -> tuple[Standing, Memory]:
    """Return the standing of each job after promotions, and the memory of the promotions."""
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
    attained: FloatArray = np.asarray(since[0] * seconds)
    queue = np.asarray((attained >= THRESHOLDS[0]) * 1 + (attained >= THRESHOLDS[1]))
    starves = (queue > 0) & (snapshot.idle_since < snapshot.now) & (since[2] >= KNOB * since[1])
    if starves.any():
        base[:, starves], since[:, starves], queue[starves], attained[starves] = counts[:, starves], 0, 0, 0
    risen = np.flatnonzero(base.any(axis=0))
    columns = zip(("job", *COUNTED), (snapshot.job_id, *base), strict=True)
    updated = {name: row[risen].tolist() for name, row in columns} if risen.size else {}
    return Standing(queue, attained, since[1], since[2]), updated


def _next_change(placer: Placer, pauses: list[int], standing: Standing) -> int:
    """Return when, without other events, a running job next sinks or a waiting job is promoted; 0: never."""
    snapshot = placer.snapshot
    column, seconds = gpu_seconds(snapshot, "tiresias-gittins")
    holds = holding(placer, pauses)
    rate = seconds * per_job(snapshot, holds * snapshot.demand[:, column])
    runs = per_job(snapshot, holds) > 0
    limit = np.array([*THRESHOLDS, math.inf])[standing.queue]
    waits = bool(pauses or placer.open.any())  # without waiting jobs, preemption is impossible
    sinks = waits & runs & (rate > 0) & np.isfinite(limit)
    rises = ~runs & (standing.queue > 0)
    ticks = np.concatenate(
        [
            (limit[sinks] - standing.attained[sinks]) / rate[sinks],
            KNOB * standing.executed[rises] - standing.waited[rises],
        ]
    )
    return snapshot.now + max(1, math.ceil(ticks.min())) if ticks.size else 0
