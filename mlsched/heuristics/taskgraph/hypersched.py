"""HyperSched (Liaw et al., SoCC 2019): jobs that learn little pause, those that learn most go on before their deadline.

As the evaluation of MLFS uses it, with jobs for trials. Rungs lie at `grace` x `factor`^i iterations. A job that
reaches a rung leaves its accuracy there; while that is below the best 1 / `factor` of all that have been left there, at
any rung that it has reached, the job is to pause, and is promoted when it no longer is, as others leave theirs. The
cluster is filled with the jobs that go on or are promoted, those of the highest rung and accuracy first; then with new
ones, by arrival; then, since nothing should idle, with those that are to pause. Last come jobs that have no time left
before their deadline for what would count: those past it, and new ones that would not reach the first rung. Where runs
may pause, those behind give way, at the latest when a job reaches a rung. Rungs, cut-offs and what is left idle follow
github.com/ucbrise/hypersched.

What is simpler, or other:

- No resizing: HyperSched gives its best trials more GPUs towards the deadline. Here a job has what it asks for.
- Its trials train one model, and their accuracies compare. Jobs here do not: what is compared is the share of the
  required accuracy (of 1 where none is required).
- All of its trials have one deadline, at which the experiment ends; here each job has its own, and nothing is killed.
- At every rung the last `window` accuracies are kept.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Number, Range
from mlsched.core.registry import answerer
from mlsched.heuristics.taskgraph._give_way import holding, serve
from mlsched.heuristics.taskgraph._measures import Flags, iteration_ticks, per_job, remaining_time
from mlsched.heuristics.taskgraph._place import Placer
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.instance import FULL_ACCURACY

#: What a job is served as: it goes on, is new, is to pause, or can no longer gain anything by its deadline.
GOES_ON, NEW, PAUSES, LATE = 0, 1, 2, 3
#: Rung -> job -> the share of its required accuracy that it left there.
Rungs = dict[str, dict[str, float]]


@answerer(
    "hypersched",
    problem="taskgraph",
    asks="decision",
    stateful=True,
    world=lambda params: {"pausing": "keep"},
    objectives=("accuracy_met",),
    paper="HyperSched, SoCC 2019, as in MLFS, Section 2",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: Rungs | None,
    rng: np.random.Generator,
    grace: Number = 1,
    factor: Annotated[int, Range(2)] = 4,
    window: Annotated[int, Range(2)] = 1000,
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Rungs]:
    """Serve jobs by what they have learned at the rungs that they reached, while their deadline leaves time.

    grace: iterations of the first rung; factor: between two rungs. window: accuracies kept a rung.
    stop, nodes: as for fifo.
    """
    required = np.where(snapshot.required > 0, snapshot.required, FULL_ACCURACY)
    share = snapshot.accuracy_seen / required
    reached = rungs_reached(snapshot.finished.tolist(), grace, factor)
    kept = left_behind(memory or {}, snapshot.job_id.tolist(), reached, share.tolist(), window)
    short = lacking(kept, snapshot.job_id.tolist(), reached, factor)
    rung = np.array(reached)
    standing = np.where(rung < 0, NEW, np.where(short, PAUSES, GOES_ON))
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


def rungs_reached(finished: list[int], grace: int, factor: int) -> list[int]:
    """For each job, the highest rung that it has reached by so many iterations; -1: none."""
    found = []
    for iterations in finished:
        rung, milestone = -1, grace
        while iterations >= milestone:
            rung, milestone = rung + 1, milestone * factor
        found.append(rung)
    return found


def left_behind(memory: Rungs, jobs: list[int], reached: list[int], share: list[float], window: int) -> Rungs:
    """The rungs with what the jobs leave at those that they have newly reached; of each, the last entries."""
    kept = {rung: dict(values) for rung, values in memory.items()}
    for job, top, value in zip(jobs, reached, share, strict=True):
        for rung in range(top + 1):
            kept.setdefault(str(rung), {}).setdefault(str(job), value)
    return {rung: dict(list(values.items())[-window:]) for rung, values in kept.items()}


def lacking(rungs: Rungs, jobs: list[int], reached: list[int], factor: int) -> Flags:
    """For each job, whether at some rung it was below the best 1 / `factor` of all that are remembered there."""
    best = 100 * (1 - 1 / factor)
    cut = {rung: float(np.percentile(list(values.values()), best)) for rung, values in rungs.items() if len(values) > 1}
    found = [
        any(rungs[str(rung)].get(str(job), np.inf) < cut.get(str(rung), -np.inf) for rung in range(top + 1))
        for job, top in zip(jobs, reached, strict=True)
    ]
    return np.array(found, dtype=np.bool_)
