"""The judge of preemption over time, written only from the problem statement: it carries a run out step by step.

1. The scheduler acts at the multiples of `tick`. There, in this order: jobs leave whose work has been done or whose
grace period has ended since (at their own second); newly submitted jobs join the queue; the queue is served.
2. The queue has TE jobs, then victims, then the other BE jobs; each class in order of submission. From the top, each
job starts on the first node with room for it, and a job without room blocks all jobs behind it.
3. A TE job without room requests a decision. If the decision is to wait, it requests again once a job has left a node.
4. The decision names victims and a node, or -1 (wait). Victims are running BE jobs, not suspended yet, that were
suspended fewer than `preemption_limit` times before. On the node, demand <= free + use of the victims, these and
earlier ones, for every resource. With `eager`, it waits only if every node would lack room with all such BE jobs
suspended, and then without victims.
5. A TE job with a promised node starts there as soon as there is room, or else on the first other node with room; until
then it blocks all jobs behind it.
6. A victim keeps its node for its grace period and then joins the queue with its remaining work. "work": its work in
the grace period counts, and it may even finish. "paused": it stops at the signal. Without grace period it leaves at
once, with its work since its start cut to a multiple of `snapshot`.
7. A plan has exactly the requested decisions; every job finishes.
8. Slowdown = 1 + waiting / execution, waiting = finish - submission - execution; in millionths, rounded down.
Re-scheduling interval: from a victim's signal to its next start; a victim that finishes within its grace period is
excluded.

Plain loops over Python integers; it does not share code with the simulated world and the solvers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.instances.preemption.horizon import Decisions, Horizon

OBJECTIVES = (
    Objective("total_rescheduling", "min", "s", "sum of the re-scheduling intervals: signal to next start"),
    Objective("total_te_slowdown", "min", "millionths", "sum of the TE jobs' slowdowns"),
    Objective("total_be_slowdown", "min", "millionths", "sum of the BE jobs' slowdowns"),
    Objective("victim_count", "min", "jobs", "how often a BE job is suspended"),
)


class Run:
    """A run of a horizon up to its next request; `carry_out` a decision to continue."""

    def __init__(self, horizon: Horizon) -> None:
        self.horizon = horizon
        jobs = range(len(horizon.submit))
        self.now = -1
        self.remaining = [int(horizon.execution[j]) for j in jobs]
        self.coming, self.waiting = list(jobs), list[int]()
        self.node: dict[int, int] = {}  # of the jobs on a node
        self.start: dict[int, int] = {}
        self.signal: dict[int, int] = {}  # of the victims that have not left yet
        self.count = [0 for _ in jobs]
        self.suspended: dict[int, int] = {}  # of the victims that wait: when they were signalled
        self.finish: dict[int, int] = {}
        self.intervals: list[int] = []
        self.promised: dict[int, int] = {}
        self.refused = False
        #: (job, node, start, end, signal) of every stay on a node; signal -1: it was not suspended.
        self.stays: list[tuple[int, int, int, int, int]] = []

    # -- questions ----------------------------------------------------------------------------------------------------

    def question(self) -> int | None:
        """Advance to the next TE job that requests a decision; None when all jobs are done.

        Something always happens before: a job without room waits for a job on a node, and every job leaves its node.
        """
        while True:
            asking = self._serve_queue()
            if asking is not None:
                return asking
            if len(self.finish) == len(self.horizon.submit):
                return None
            times = [self._leaving_time(job) for job in self.node] + [int(self.horizon.submit[j]) for j in self.coming]
            tick = self.horizon.tick
            self.now = -(-max(min(times), self.now + 1) // tick) * tick
            for job in sorted(self.node):
                if self._leaving_time(job) <= self.now:
                    self._leave_node(job, self._leaving_time(job))
            self.waiting += [j for j in self.coming if self.horizon.submit[j] <= self.now]
            self.coming = [j for j in self.coming if self.horizon.submit[j] > self.now]

    def candidates(self) -> list[int]:
        """Return the BE jobs that may be suspended now."""
        able = [j for j in self.node if not self.horizon.te[j] and j not in self.signal]
        return sorted(j for j in able if self.count[j] < self.horizon.preemption_limit)

    def fits(self, job: int, node: int, victims: list[int]) -> bool:
        """Check that the job fits on a node without `victims` and all earlier victims."""
        staying = [j for j in self.node if j not in self.signal and j not in victims]
        return self._check_room(job, node, staying)

    def faults(self, asking: int, node: int, victims: list[int]) -> list[str]:
        """Return the faults of promising `node` (-1: none) to TE job `asking` and suspending `victims` (rule 4)."""
        there, able = len(self.horizon.node_capacity), self.candidates()
        if node >= there:
            return [f"TE job {asking} is promised node {node}: there are {there}"]
        wrong = [
            f"job {j} cannot be suspended at {self.now} s"
            for k, j in enumerate(victims)
            if j not in able or j in victims[:k]
        ]
        if wrong:
            return wrong
        if node >= 0 and not self.fits(asking, node, victims):
            return [
                f"TE job {asking} is promised node {node} at {self.now} s: it has no room there with its victims gone"
            ]
        if node < 0 and self.horizon.eager:
            if any(self.fits(asking, n, able) for n in range(there)):
                return [f"TE job {asking} waits at {self.now} s: victims could make room for it"]
            if victims:
                return [f"TE job {asking} waits at {self.now} s and suspends jobs: nobody is helped"]
        return []

    def carry_out(self, asking: int, node: int, victims: list[int]) -> None:
        """Promise `node` (-1: none) to TE job `asking` and suspend `victims`; the decision has no faults."""
        if node >= 0:
            self.promised[asking] = node
        else:
            self.refused = True
        for job in victims:
            self.count[job] += 1
            self.signal[job] = self.now
        for job in victims:
            if not self.horizon.grace[job]:
                self._leave_node(job, self.now)

    # -- the rules ----------------------------------------------------------------------------------------------------

    def _check_room(self, job: int, node: int, holders: list[int]) -> bool:
        """Check rule 2: the job fits beside these jobs on the node."""
        h = self.horizon
        for r in range(len(h.resources)):
            usage = sum(int(h.demand[j, r]) for j in holders if self.node[j] == node)
            if usage + int(h.demand[job, r]) > int(h.node_capacity[node, r]):
                return False
        return True

    def _serve_queue(self) -> int | None:
        """Serve the queue by rules 2, 3 and 5; return a TE job that requests a decision, or None."""
        victims = set(self.suspended)
        for job in sorted(self.waiting, key=lambda j: (not self.horizon.te[j], j not in victims, j)):
            order = list(range(len(self.horizon.node_capacity)))
            if job in self.promised:
                order.insert(0, self.promised[job])
            host = next((n for n in order if self._check_room(job, n, list(self.node))), None)
            if host is None:
                asks = self.horizon.te[job] and job not in self.promised and not self.refused
                return job if asks else None
            self.promised.pop(job, None)
            self.waiting.remove(job)
            self.node[job], self.start[job] = host, self.now
            if job in self.suspended:
                self.intervals.append(self.now - self.suspended.pop(job))
        return None

    def _leaving_time(self, job: int) -> int:
        """Return when a job leaves its node, by rules 1 and 6."""
        completion = self.start[job] + self.remaining[job]
        if job not in self.signal:
            return completion
        grace_end = self.signal[job] + int(self.horizon.grace[job])
        return grace_end if self.horizon.during_grace == "paused" else min(completion, grace_end)

    def _leave_node(self, job: int, time: int) -> None:
        h, signal = self.horizon, self.signal.pop(job, None)
        worked = time - self.start[job]
        if signal is not None and not h.grace[job]:
            worked = worked // h.snapshot * h.snapshot
        elif signal is not None and h.during_grace == "paused":
            worked = signal - self.start[job]
        self.remaining[job] -= worked
        self.stays.append((job, self.node.pop(job), self.start[job], time, -1 if signal is None else signal))
        self.refused = False
        if self.remaining[job] == 0:
            self.finish[job] = time
        else:
            assert signal is not None, "only victims leave before their work is done"
            self.suspended[job] = signal
            self.waiting.append(job)

    # -- values -----------------------------------------------------------------------------------------------------

    def values(self) -> dict[str, int]:
        """Return the objective values of a finished run, by rule 8."""
        h = self.horizon
        slow = [0, 0]
        for job, finish in self.finish.items():
            waited = finish - int(h.submit[job]) - int(h.execution[job])
            slow[int(h.te[job])] += 10**6 + 10**6 * waited // int(h.execution[job])
        totals = (sum(self.intervals), slow[1], slow[0], sum(self.count))
        return {objective.name: total for objective, total in zip(OBJECTIVES, totals, strict=True)}


def violations(horizon: Horizon, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible. The first ends the run."""
    if not isinstance(plan, horizon.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(horizon.plan_type.kind)}"]
    return _carried_out(horizon, plan)[0]


def evaluate(horizon: Horizon, plan: Decisions) -> dict[str, int]:
    """Evaluate the objectives of a feasible plan."""
    return finished(horizon, plan).values()


def finished(horizon: Horizon, plan: Decisions) -> Run:
    """Return the complete run of a feasible plan; raise InvalidInput for an infeasible one."""
    faults, run = _carried_out(horizon, plan)
    if faults:
        raise InvalidInput(f"the plan cannot be evaluated: {faults[0]}")
    return run


def _carried_out(horizon: Horizon, plan: Any) -> tuple[list[str], Run]:
    """Return the faults of a plan, and the run up to the first fault."""
    run, asked = Run(horizon), len(plan.te)
    by = plan.by.tolist()
    if by != sorted(by) or any(k >= asked for k in by):
        return [f"by: {by}, must not fall, and be below {asked} (the number of decisions)"], run
    for k in range(asked):
        victims = [int(j) for d, j in zip(by, plan.victim.tolist(), strict=True) if d == k]
        asking = run.question()
        if asking is None:
            return [f"decision {k} is never asked for: the run has ended"], run
        if int(plan.te[k]) != asking:
            return [f"decision {k} is for TE job {int(plan.te[k])}: at {run.now} s TE job {asking} asks"], run
        if faults := run.faults(asking, int(plan.node[k]), victims):
            return [f"decision {k}: {fault}" for fault in faults], run
        run.carry_out(asking, int(plan.node[k]), victims)
    further = run.question()
    return ([] if further is None else [f"TE job {further} asks at {run.now} s: there are {asked} decisions"]), run
