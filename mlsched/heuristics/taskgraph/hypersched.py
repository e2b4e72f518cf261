"""HyperSched (Liaw et al., SoCC 2019): jobs that learn little pause, those that learn most go on before their deadline.

As the evaluation of MLFS uses it, with jobs for trials. Rungs lie at `grace` x `factor`^i iterations. A job that
reaches a rung leaves its accuracy there; while that is below the best 1 / `factor` of all that have been left there, at
any rung that it has reached, the job is to pause, and is promoted when it no longer is, as others leave theirs. The
cluster is filled with the jobs that go on or are promoted, those of the highest rung and accuracy first; then with new
ones, by arrival; then, since nothing should idle, with those that are to pause. Last come jobs that have no time left
before their deadline for what would count: those past it, and new ones that would not reach the first rung. Where runs
may pause, those behind are preempted, at the latest when a job reaches a rung. Rungs, cut-offs and what is left idle
follow github.com/ucbrise/hypersched.

What is simpler, or other:

- No resizing: HyperSched gives its best trials more GPUs towards the deadline. Here a job has what it asks for.
- Its trials train one model, and their accuracies compare. Jobs here do not: what is compared is the share of the
  required accuracy (of 1 where none is required).
- All of its trials have one deadline, at which the experiment ends; here each job has its own, and nothing is killed.
- At every rung the last `WINDOW` accuracies are kept.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Number, Range
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.measures import Flags, iteration_ticks, per_job, remaining_time
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.columns import FULL_ACCURACY

#: What a job is served as: it goes on, is new, is to pause, or can no longer gain anything by its deadline.
GOES_ON, NEW, PAUSES, LATE = 0, 1, 2, 3
#: How many accuracies are kept a rung.
WINDOW = 1000
#: `rungs`: of each, the shares of their required accuracies that jobs left there, the last ones; `cuts`: below which of
#: them a job is to pause; `left`: of each job in the system that has reached a rung, what it left at each.
Memory = dict[str, Any]
EMPTY: Memory = {"rungs": [], "cuts": [], "left": {}}
#: The cut of a rung at which one job has left something: nobody is below it.
NOTHING = -1.0


@solver(
    "hypersched",
    problem="taskgraph",
    called="online",
    stateful=True,
    world=lambda params: {"pausing": "keep"},
    objectives=("accuracy_met",),
    paper="HyperSched, SoCC 2019, as in MLFS, Section 2",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: Memory | None,
    rng: np.random.Generator,
    grace: Number = 1,
    factor: Annotated[int, Range(2)] = 4,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Memory]:
    """Serve jobs by what they have learned at the rungs that they reached, while their deadline leaves time.

    grace: iterations of the first rung; factor: between two rungs.
    stop, nodes: as for fifo.
    """
    required = np.where(snapshot.required > 0, snapshot.required, FULL_ACCURACY)
    share = snapshot.accuracy_seen / required
    rung = rungs_reached(snapshot.finished, grace, factor)
    trained = np.flatnonzero(rung >= 0)
    names = snapshot.job_id[trained].astype(str).tolist()
    kept = left_behind(memory or EMPTY, names, rung[trained].tolist(), share[trained].tolist(), factor)
    standing = np.where(rung < 0, NEW, GOES_ON)
    standing[trained[lacking(kept)]] = PAUSES
    first = np.where(rung < 0, np.maximum(grace - snapshot.finished, 0) * iteration_ticks(snapshot), 0)
    standing[snapshot.now + first > snapshot.deadline] = LATE
    goes_on = standing == GOES_ON
    placer = Placer(snapshot, stop, nodes)
    pauses = serve(placer, standing, np.where(goes_on, -rung, 0), np.where(goes_on, -share, 0))
    return placer.round(pauses, _next_rung(placer, pauses, grace * factor ** (rung + 1))), kept


def _next_rung(placer: Placer, pauses: list[int], milestone: IntArray) -> int:
    """When, by the estimates, the first of the jobs that run reaches its next rung; 0: never, or nobody waits."""
    snapshot = placer.snapshot
    runs = per_job(snapshot, holding(placer, pauses)) > 0
    runs &= milestone < placer.stop_after
    if not runs.any() or not (pauses or placer.open.any()):
        return 0
    return snapshot.now + max(1, int(remaining_time(snapshot, milestone)[runs].min()))


def rungs_reached(finished: IntArray, grace: int, factor: int) -> IntArray:
    """For each job, the highest rung that it has reached by so many iterations; -1: none."""
    milestones = [grace]
    while milestones[-1] <= finished.max(initial=0):
        milestones.append(milestones[-1] * factor)
    return np.asarray(np.searchsorted(np.array(milestones), finished, side="right") - 1)


def left_behind(memory: Memory, jobs: list[str], reached: list[int], share: list[float], factor: int) -> Memory:
    """The memory with what jobs in the system leave at the rungs that they have newly reached.

    What does not change is shared with the memory before.
    """
    before, new = memory["left"], dict[int, list[float]]()
    left = {}
    for job, top, value in zip(jobs, reached, share, strict=True):
        mine = before.get(job, ())
        if len(mine) <= top:
            for rung in range(len(mine), top + 1):
                new.setdefault(rung, []).append(value)
            mine = [*mine, *[value] * (top + 1 - len(mine))]
        left[job] = mine
    if not new:
        return {**memory, "left": left}
    rungs, cuts = list(memory["rungs"]), list(memory["cuts"])
    for rung in sorted(new):
        if rung == len(rungs):
            rungs.append([])
            cuts.append(NOTHING)
        rungs[rung] = [*rungs[rung], *new[rung]][-WINDOW:]
        if len(rungs[rung]) > 1:
            cuts[rung] = _best(rungs[rung], factor)
    return {"rungs": rungs, "cuts": cuts, "left": left}


def lacking(memory: Memory) -> Flags:
    """For each job of `left`, whether at some rung it was below the best 1 / `factor` of all that are remembered."""
    left = memory["left"].values()
    if not left:
        return np.zeros(0, dtype=np.bool_)
    counts = np.fromiter(map(len, left), dtype=np.int64, count=len(left))
    first = np.cumsum(counts) - counts
    values = np.fromiter(itertools.chain.from_iterable(left), dtype=np.float64, count=int(counts.sum()))
    rung = np.arange(len(values)) - np.repeat(first, counts)
    return np.asarray(np.logical_or.reduceat(values < np.array(memory["cuts"])[rung], first))


def _best(values: list[float], factor: int) -> float:
    """Where the best 1 / `factor` of the values begin, between two of them in proportion (as `numpy.percentile`)."""
    at = (len(values) - 1) * (1 - 1 / factor)
    low = int(at)
    below, above = np.partition(values, [low, min(low + 1, len(values) - 1)])[[low, min(low + 1, len(values) - 1)]]
    return float(below + (above - below) * (at - low))
