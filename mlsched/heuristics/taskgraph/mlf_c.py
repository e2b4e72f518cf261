"""MLF-C, the load control of MLFS (Wang, Liu and Shen, CoNEXT 2020, Section 3.5): jobs stop early.

Jobs stop early if their users allow it, and earlier while the system is overloaded. A user chooses for a job: i, it
runs its iterations; ii, OptStop ends it when it is close to its final accuracy; iii, it ends with its required
accuracy. The user also names the other options to which the system may switch it. The system is overloaded when tasks
would stay in the queue, or the overload degree O_c exceeds h_s. A job then ends as soon as any of its allowed options
ends it. Placement is another rule's (`rule`), which sees the jobs with their last iterations.

A job is only stopped at observed values: its accuracy after the last finished iteration, and the losses so far.
Estimated accuracies only determine when to look again.

Interpretations of points that the paper leaves open:

- Tasks are in the queue if the placing rule, called first without the switches, would leave them there.
- O_c is the mean over nodes of the Euclidean norm of their utilisations, by use including the round's starts. It is
  up to sqrt(resources) if all are full.
- A job that pays at least `pays` is not switched; by default every job may be.
- A job that is to stop ends with its current iteration. If the overload is over before that, it continues.
- OptStop's answer is kept; it looks again when a job has run a tenth more iterations than at the last look.
- An option, `give_up`, lets OptStop also end jobs that will miss their required accuracy.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import BoolArray, IntArray
from mlsched.core.losses.belief import MIN_LOSSES
from mlsched.core.params import NotNegative, Range
from mlsched.core.registry import registry, solver
from mlsched.heuristics.taskgraph import _mlf_stop
from mlsched.heuristics.taskgraph._mlf_inner import Inner
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING, WAITING

#: `looks`: job id -> iterations finished when OptStop last looked, and 1 if it stopped the job. `rule`: the memory of
#: the placing rule, if it has one.
Memory = dict[str, Any]

OPTSTOP, REQUIRED = 1, 2
#: OptStop looks at a job again when its iterations have grown by this factor.
LOOK_AGAIN = 1.1


def _world_of_rule(params: Data) -> Data:
    """Return the options of the world that the placing rule requires."""
    rule, settings = registry().solver("taskgraph", params["rule"])
    return rule.world_options(settings)


@dataclasses.dataclass(frozen=True)
class Settings(ValidatedFields):
    """The parameters of MLF-C.

    options: "given" - the jobs' own; "evaluation" - as in Section 4.1, all OptStop, and to be switched to the
    required accuracy. optstop: "curves" or "secretary" (`_mlf_stop`). give_up: OptStop also ends jobs that will miss
    their required accuracy. h_s: limit of O_c. pays: payment from which on a job is not switched, ppm; 0: every job
    may be switched.
    """

    options: Literal["given", "evaluation"] = "given"
    optstop: Literal["curves", "secretary"] = "curves"
    give_up: bool = False
    h_s: NotNegative = 0.9
    pays: Annotated[int, Range(0)] = 0


@solver("mlf-c", problem="taskgraph", called="online", stateful=True, world=_world_of_rule, paper="MLFS, Section 3.5")
def answer(
    snapshot: Snapshot,
    *,
    memory: Memory | None,
    rng: np.random.Generator,
    rule: str = "best-effort-fifo",
    given: Settings,
) -> tuple[Round, Memory]:
    """Stop jobs as their options allow, and let `rule` place the tasks.

    rule: any rule for snapshots, with its default parameters. given: `Settings`.
    """
    return controlled(snapshot, given, Inner(rule, rng, (memory or {}).get("rule")), memory)


def controlled(snapshot: Snapshot, given: Settings, rule: Inner, memory: Memory | None) -> tuple[Round, Memory]:
    """Return the rule's round for jobs that end as their options allow."""
    jobs = len(snapshot.arrival)
    options, permits = snapshot.option, snapshot.permits
    if given.options == "evaluation":
        options, permits = np.full(jobs, OPTSTOP), np.full(jobs, 1 << REQUIRED)
    spared = (snapshot.payment >= given.pays) & (given.pays > 0)
    own = [options == option for option in (OPTSTOP, REQUIRED)]
    may = [has | (~spared & (permits >> option & 1 == 1)) for option, has in zip((OPTSTOP, REQUIRED), own, strict=True)]
    control = Control(snapshot, (memory or {}).get("looks", {}), given)
    last = control.last_iterations(*own)
    plan, rule_memory = rule.ask(snapshot, last)
    if _leaves_waiting(snapshot, plan, last) or overload_degree(snapshot, plan) > given.h_s:
        switched = control.last_iterations(*may)
        if not np.array_equal(switched, last):
            plan, rule_memory = rule.ask(snapshot, switched)
            last = switched
    changed = np.flatnonzero(last != snapshot.stop_after)
    wakes = [time for time in (plan.wake_at, control.next_look(plan.start_task, *may)) if time]
    plan = plan.replace(stop_job=changed, stop_after=last[changed], wake_at=min(wakes, default=0))
    return plan, {"looks": control.looks, "rule": rule_memory}


def overload_degree(snapshot: Snapshot, plan: Round) -> float:
    """Return O_c: the mean over nodes of the norm of their utilisations. Tasks that start count with their demand."""
    use = snapshot.node_usage
    usage = snapshot.demand * (snapshot.duration > 0)[:, None]
    np.add.at(use, plan.start_node, usage[plan.start_task])
    norms = np.sqrt(((use / np.maximum(snapshot.node_capacity, 1)) ** 2).sum(axis=1))
    return float(norms.mean())


def _leaves_waiting(snapshot: Snapshot, found: Round, last: IntArray) -> bool:
    """Return if a round leaves tasks in the queue that could start with enough room."""
    waiting = snapshot.startable & (last > snapshot.finished)[snapshot.task_job]
    waiting[found.start_task] = False
    return bool(waiting.any() or len(found.pause_task))


class Control:
    """Stopping decisions of each option for a snapshot. `looks` is kept from round to round (see `Memory`)."""

    def __init__(self, snapshot: Snapshot, looks: dict[str, list[int]], given: Settings) -> None:
        self.snapshot, self._given = snapshot, given
        previous = [looks.get(name, [0, 0]) for name in map(str, snapshot.job_id.tolist())]
        self._looked, self._done = np.array(previous, dtype=np.int64).reshape(-1, 2).T.copy()

    @property
    def looks(self) -> dict[str, list[int]]:
        """Return the entries of present jobs, which are to be kept."""
        columns = (self.snapshot.job_id, self._looked, self._done)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {str(name): [looked, stop] for name, looked, stop in rows if looked}

    def last_iterations(self, optstop: BoolArray, required: BoolArray) -> IntArray:
        """Return the number of iterations after which each job ends, if these options apply to these jobs."""
        snapshot = self.snapshot
        ends = required & (snapshot.accuracy_seen >= snapshot.required) & (snapshot.finished > 0)
        ends |= optstop & self._stopped_by_optstop(optstop & ~ends)
        in_iteration = np.zeros(len(ends), dtype=np.int64)
        in_iteration[snapshot.task_job[snapshot.state != WAITING]] = 1
        low = np.maximum(snapshot.min_iterations, snapshot.finished + in_iteration)
        return np.asarray(np.where(ends, low, snapshot.max_iterations))

    def _stopped_by_optstop(self, among: BoolArray) -> BoolArray:
        """Return the jobs that OptStop stops; it looks at jobs of `among` with new iterations."""
        due = among & (self._done == 0) & (self.snapshot.finished >= np.ceil(LOOK_AGAIN * self._looked))
        due &= self.snapshot.finished > self._looked
        due &= _mlf_stop.may_ask(self.snapshot)
        jobs = np.flatnonzero(due)
        if jobs.size:
            settings = self._given
            if settings.optstop == "curves":
                stops = _mlf_stop.by_curves(self.snapshot, jobs, settings.give_up)
            else:
                stops = _mlf_stop.by_secretary(self.snapshot, jobs)
            self._looked[jobs], self._done[jobs] = self.snapshot.finished[jobs], stops
        return np.asarray(self._done == 1)

    def next_look(self, started: IntArray, optstop: BoolArray, required: BoolArray) -> int:
        """Return the next time at which one of these options may end a job that runs or has tasks `started`.

        It is 0 without such a job, or if rounds come by themselves. By iterations, the time between placements has no
        events; elsewhere every end of a run is followed by a round.
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
        candidates = runs & (optstop | required) & (snapshot.finished + ahead < snapshot.max_iterations)
        if not candidates.any():
            return 0
        length = np.ones(len(runs), dtype=np.int64)
        np.maximum.at(length, snapshot.task_job, snapshot.tails)
        return int(snapshot.now + (ahead * length)[candidates].min())
