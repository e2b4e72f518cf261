"""MLF-C, the load control of MLFS (Wang, Liu and Shen, CoNEXT 2020, Section 3.5): jobs stop early where their users let
them, and earlier while the system is overloaded.

A user chooses for a job: i, it runs its iterations; ii, OptStop ends it when it is about as accurate as it will get;
iii, it ends with its required accuracy; and which other options the system may switch it to. The system is overloaded
when tasks would stay in the queue, or the overload degree O_c exceeds h_s; then a job ends as soon as any option says
so that it may be switched to. Placement is another rule's (`rule`), which sees the jobs with their last iterations.

A job is only ever stopped at what it has been seen to reach: its accuracy after the last finished iteration, and the
losses so far. Estimated accuracies say when to look again, never when to stop.

Interpretations, where the paper is silent:

- Tasks are in the queue when the placing rule, asked first without the switches, would leave them there.
- O_c is the mean over nodes of the Euclidean norm of their utilisations, by use and with what the round starts, and so
  up to sqrt(resources) where all are full.
- A job that pays at least `pays` is not switched; by default nobody is spared.
- A job that is to stop ends with the iteration that it has begun. When the overload is over before that, it goes on.
- OptStop's answer is kept; it looks again when a job has run a tenth more iterations than at the last look.
- That OptStop also ends jobs that will miss their required accuracy is an option, `give_up`.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import IntArray
from mlsched.core.losses.belief import MIN_LOSSES
from mlsched.core.params import NotNegative, Range
from mlsched.core.registry import registry, solver
from mlsched.heuristics.taskgraph import _mlf_stop
from mlsched.heuristics.taskgraph._mlf_inner import Inner
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING, WAITING

Flags = npt.NDArray[np.bool_]
#: `looks`: job id -> iterations finished when OptStop last looked, and 1 if it said stop. `rule`: that of the placing
#: rule, if it has one.
Memory = dict[str, Any]

OPTSTOP, REQUIRED = 1, 2
#: OptStop looks at a job again when it has run so much more.
LOOK_AGAIN = 1.1


def _world(params: dict[str, Any]) -> dict[str, Any]:
    """What the placing rule asks of the world."""
    rule, settings = registry().solver("taskgraph", params["rule"])
    return rule.world_options(settings)


@dataclasses.dataclass(frozen=True)
class Settings(ValidatedFields):
    """The parameters of MLF-C.

    options: "given" - the jobs' own; "evaluation" - as in Section 4.1, all OptStop, and to be switched to the required
    accuracy. optstop: "curves" or "secretary" (`_mlf_stop`). give_up: OptStop also ends jobs that will miss their
    required accuracy. h_s: limit of O_c. pays: payment from which on a job is not switched, ppm; 0: none is spared.
    """

    options: Literal["given", "evaluation"] = "given"
    optstop: Literal["curves", "secretary"] = "curves"
    give_up: bool = False
    h_s: NotNegative = 0.9
    pays: Annotated[int, Range(0)] = 0


@solver("mlf-c", problem="taskgraph", called="online", stateful=True, world=_world, paper="MLFS, Section 3.5")
def answer(
    snapshot: Snapshot,
    *,
    memory: Memory | None,
    rng: np.random.Generator,
    rule: str = "best-effort-fifo",
    given: Settings,
) -> tuple[Round, Memory]:
    """Stop jobs as their options allow, and let `rule` place what runs.

    rule: any rule for snapshots, with its default parameters. given: `Settings`.
    """
    return controlled(snapshot, given, Inner(rule, rng, (memory or {}).get("rule")), memory)


def controlled(snapshot: Snapshot, given: Settings, rule: Inner, memory: Memory | None) -> tuple[Round, Memory]:
    """The rule's round for jobs that end as their options allow."""
    jobs = len(snapshot.arrival)
    chosen, permits = snapshot.option, snapshot.permits
    if given.options == "evaluation":
        chosen, permits = np.full(jobs, OPTSTOP), np.full(jobs, 1 << REQUIRED)
    spared = (snapshot.payment >= given.pays) & (given.pays > 0)
    own = [chosen == option for option in (OPTSTOP, REQUIRED)]
    may = [has | (~spared & (permits >> option & 1 == 1)) for option, has in zip((OPTSTOP, REQUIRED), own, strict=True)]
    control = Control(snapshot, (memory or {}).get("looks", {}), given)
    last = control.last_iterations(*own)
    plan, kept = rule.ask(snapshot, last)
    if _stay(snapshot, plan, last) or overload_degree(snapshot, plan) > given.h_s:
        switched = control.last_iterations(*may)
        if not np.array_equal(switched, last):
            plan, kept = rule.ask(snapshot, switched)
            last = switched
    changed = np.flatnonzero(last != snapshot.stop_after)
    wakes = [time for time in (plan.wake_at, control.next_look(plan.start_task, *may)) if time]
    plan = plan.replace(stop_job=changed, stop_after=last[changed], wake_at=min(wakes, default=0))
    return plan, {"looks": control.looks, "rule": kept}


def overload_degree(snapshot: Snapshot, plan: Round) -> float:
    """Return O_c: the mean over nodes of the norm of their utilisations. Tasks that start count with their demand."""
    use = snapshot.node_usage
    held = snapshot.demand * (snapshot.duration > 0)[:, None]
    np.add.at(use, plan.start_node, held[plan.start_task])
    norms = np.sqrt(((use / np.maximum(snapshot.node_capacity, 1)) ** 2).sum(axis=1))
    return float(norms.mean())


def _stay(snapshot: Snapshot, found: Round, last: IntArray) -> bool:
    """Whether a round leaves tasks in the queue that could start, were there room."""
    waiting = snapshot.startable & (last > snapshot.finished)[snapshot.task_job]
    waiting[found.start_task] = False
    return bool(waiting.any() or len(found.pause_task))


class Control:
    """What each option says of the jobs of a snapshot. `looks` is kept from round to round (see `Memory`)."""

    def __init__(self, snapshot: Snapshot, looks: dict[str, list[int]], given: Settings) -> None:
        self.snapshot, self._given = snapshot, given
        known = [looks.get(name, [0, 0]) for name in map(str, snapshot.job_id.tolist())]
        self._looked, self._done = np.array(known, dtype=np.int64).reshape(-1, 2).T.copy()

    @property
    def looks(self) -> dict[str, list[int]]:
        """What is to be kept: of the jobs that are still there."""
        columns = (self.snapshot.job_id, self._looked, self._done)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {str(name): [looked, done] for name, looked, done in rows if looked}

    def last_iterations(self, optstop: Flags, required: Flags) -> IntArray:
        """jobs: after how many iterations each ends, where OptStop and the required accuracy count for these jobs."""
        snapshot = self.snapshot
        ends = required & (snapshot.accuracy_seen >= snapshot.required) & (snapshot.finished > 0)
        ends |= optstop & self._optimal(optstop & ~ends)
        begun = np.zeros(len(ends), dtype=np.int64)
        begun[snapshot.task_job[snapshot.state != WAITING]] = 1
        low = np.maximum(snapshot.min_iterations, snapshot.finished + begun)
        return np.asarray(np.where(ends, low, snapshot.max_iterations))

    def _optimal(self, among: Flags) -> Flags:
        """jobs: whether OptStop says stop; it looks at those among which it is asked for and that have run on."""
        due = among & (self._done == 0) & (self.snapshot.finished >= np.ceil(LOOK_AGAIN * self._looked))
        due &= self.snapshot.finished > self._looked
        due &= _mlf_stop.may_ask(self.snapshot)
        jobs = np.flatnonzero(due)
        if jobs.size:
            given = self._given
            if given.optstop == "curves":
                said = _mlf_stop.by_curves(self.snapshot, jobs, given.give_up)
            else:
                said = _mlf_stop.by_secretary(self.snapshot, jobs)
            self._looked[jobs], self._done[jobs] = self.snapshot.finished[jobs], said
        return np.asarray(self._done == 1)

    def next_look(self, started: IntArray, optstop: Flags, required: Flags) -> int:
        """When a job that runs, or has tasks `started`, is next expected to be where one of these options may end it.

        0: none is, or rounds come by themselves.
        By iterations nothing happens between placements; elsewhere every end of a run is followed by a round.
        """
        snapshot = self.snapshot
        if snapshot.simulator != "iterations":
            return 0
        runs = np.zeros(len(snapshot.arrival), dtype=np.bool_)
        runs[snapshot.task_job[snapshot.state == RUNNING]] = True
        runs[snapshot.task_job[started]] = True
        enough = snapshot.accuracy[snapshot.accuracy_table] >= snapshot.required[:, None]
        reach = np.where(enough.any(axis=1), enough.argmax(axis=1), snapshot.max_iterations)
        again = np.maximum(np.ceil(LOOK_AGAIN * self._looked).astype(np.int64), MIN_LOSSES)
        target = np.where(required, reach, snapshot.max_iterations)
        target = np.minimum(target, np.where(optstop & (self._done == 0), again, snapshot.max_iterations))
        ahead = np.maximum(target - snapshot.finished, 1)
        asked = runs & (optstop | required) & (snapshot.finished + ahead < snapshot.max_iterations)
        if not asked.any():
            return 0
        length = np.ones(len(runs), dtype=np.int64)
        np.maximum.at(length, snapshot.task_job, snapshot.tails)
        return int(snapshot.now + (ahead * length)[asked].min())
