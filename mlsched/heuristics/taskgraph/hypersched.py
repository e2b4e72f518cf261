"""HyperSched (Liaw et al., SoCC 2019): slowly learning jobs pause; the best learners run before their deadline.

As the evaluation of MLFS uses it, with jobs for trials. Rungs are at `grace` x `factor`^i iterations. A job that
reaches a rung records its accuracy there. While that is below the best 1 / `factor` of all records of a rung that it
has reached, the job is to pause. It is promoted when further records change that. The cluster is filled in this
order: jobs that continue or are promoted, the highest rung and accuracy first; new jobs, by arrival; jobs that are to
pause, so that nodes do not idle; jobs without enough time left before their deadline. The last group are overdue
jobs, and new jobs that would not reach the first rung. If runs may pause, later jobs are preempted, at the latest
when a job reaches a rung. Rungs, cut-offs and idle capacity follow github.com/ucbrise/hypersched.

Simplifications and differences:

- Resizing is left out: HyperSched gives its best trials more GPUs towards the deadline. Here a job has its demand.
- Its trials train one model, and their accuracies compare. Jobs here do not: the rule compares the share of the
  required accuracy (of 1 without a requirement).
- All of its trials have one deadline, at which the experiment ends; here each job has its own, and jobs are not
  killed.
- At every rung the last `WINDOW` accuracies are kept.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np

from mlsched.core.fields import BoolArray, IntArray
from mlsched.core.params import Number, Range
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph.measures import iteration_ticks, per_job, remaining_time
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.columns import FULL_ACCURACY

#: State of a job: it continues, is new, is to pause, or can no longer gain anything by its deadline.
GOES_ON, NEW, PAUSES, LATE = 0, 1, 2, 3
#: Number of accuracies that are kept per rung.
WINDOW = 1000
#: `rungs`: the last shares of their required accuracies that jobs recorded at each rung. `cuts`: the share at each
#: rung below which a job is to pause. `left`: the records of each present job at its rungs.
Memory = dict[str, Any]
EMPTY: Memory = {"rungs": [], "cuts": [], "left": {}}
#: The cut of a rung with one record: all jobs are above it.
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
    """Serve jobs by their accuracy at the rungs that they reached, while their deadline leaves time.

    grace: iterations of the first rung; factor: between two rungs. stop, nodes: as for fifo.
    """
    required = np.where(snapshot.required > 0, snapshot.required, FULL_ACCURACY)
    share = snapshot.accuracy_seen / required
    rung = rungs_reached(snapshot.finished, grace, factor)
    trained = np.flatnonzero(rung >= 0)
    names = snapshot.job_id[trained].astype(str).tolist()
    updated = left_behind(memory or EMPTY, names, rung[trained].tolist(), share[trained].tolist(), factor)
    standing = np.where(rung < 0, NEW, GOES_ON)
    standing[trained[lacking(updated)]] = PAUSES
    first = np.where(rung < 0, np.maximum(grace - snapshot.finished, 0) * iteration_ticks(snapshot), 0)
    standing[snapshot.now + first > snapshot.deadline] = LATE
    goes_on = standing == GOES_ON
    placer = Placer(snapshot, stop, nodes)
    pauses = serve(placer, standing, np.where(goes_on, -rung, 0), np.where(goes_on, -share, 0))
    return placer.round(pauses, _time_of_next_rung(placer, pauses, grace * factor ** (rung + 1))), updated


def _time_of_next_rung(placer: Placer, pauses: list[int], milestone: IntArray) -> int:
    """Return when, by the estimates, the first running job reaches its next rung; 0: never, or without waiting jobs."""
    snapshot = placer.snapshot
    runs = per_job(snapshot, holding(placer, pauses)) > 0
    runs &= milestone < placer.stop_after
    if not runs.any() or not (pauses or placer.open.any()):
        return 0
    return snapshot.now + max(1, int(remaining_time(snapshot, milestone)[runs].min()))


def rungs_reached(finished: IntArray, grace: int, factor: int) -> IntArray:
    """Return for each job the highest rung that it has reached by `finished` iterations, or -1."""
    milestones = [grace]
    while milestones[-1] <= finished.max(initial=0):
        milestones.append(milestones[-1] * factor)
    return np.asarray(np.searchsorted(np.array(milestones), finished, side="right") - 1)


def left_behind(memory: Memory, jobs: list[str], reached: list[int], share: list[float], factor: int) -> Memory:
    """Return the memory with the records of present jobs at newly reached rungs.

    Unchanged parts are shared with the memory before.
    """
    before, new = memory["left"], dict[int, list[float]]()
    remaining = {}
    for job, top, value in zip(jobs, reached, share, strict=True):
        mine = before.get(job, ())
        if len(mine) <= top:
            for rung in range(len(mine), top + 1):
                new.setdefault(rung, []).append(value)
            mine = [*mine, *[value] * (top + 1 - len(mine))]
        remaining[job] = mine
    if not new:
        return {**memory, "left": remaining}
    rungs, cuts = list(memory["rungs"]), list(memory["cuts"])
    for rung in sorted(new):
        if rung == len(rungs):
            rungs.append([])
            cuts.append(NOTHING)
        rungs[rung] = [*rungs[rung], *new[rung]][-WINDOW:]
        if len(rungs[rung]) > 1:
            cuts[rung] = _cut_value(rungs[rung], factor)
    return {"rungs": rungs, "cuts": cuts, "left": remaining}


def lacking(memory: Memory) -> BoolArray:
    """Return for each job of `left` if at some rung it was below the best 1 / `factor` of all records."""
    remaining = memory["left"].values()
    if not remaining:
        return np.zeros(0, dtype=np.bool_)
    counts = np.fromiter(map(len, remaining), dtype=np.int64, count=len(remaining))
    first = np.cumsum(counts) - counts
    values = np.fromiter(itertools.chain.from_iterable(remaining), dtype=np.float64, count=int(counts.sum()))
    rung = np.arange(len(values)) - np.repeat(first, counts)
    return np.asarray(np.logical_or.reduceat(values < np.array(memory["cuts"])[rung], first))


def _cut_value(values: list[float], factor: int) -> float:
    """Return the value at which the best 1 / `factor` begin, interpolated in proportion (as `numpy.percentile`)."""
    at = (len(values) - 1) * (1 - 1 / factor)
    low = int(at)
    below, above = np.partition(values, [low, min(low + 1, len(values) - 1)])[[low, min(low + 1, len(values) - 1)]]
    return float(below + (above - below) * (at - low))
