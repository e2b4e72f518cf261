"""Quality over many epochs, exactly: dynamic programming over epochs, with a bound that prunes states.

State: the epoch, and the core-epochs of each job so far. Three rules keep it small.

1. *All useful cores are allocated.* A state in which every job has had at least the same core-epochs is never worse:
   copy the decisions of the other state, and leave the cores of a finished job idle, or give them to a
   waiting job that takes its position (`least` cores are enough for it). Losses are at most the same, and goals are
   reached at the latest at the same time. So allocations with room for a useful core need not be tried. Cores beyond
   those that finish a job within the epoch are useful only if it reaches its goal sooner.
2. *A single job* gives a bound: its cost with all useful cores from its state on. The sum of these costs (for the
   worst losses: the largest) is never more than the future cost.
3. *An incumbent*: the run that in each epoch selects the state of least cost plus bound. States whose cost plus bound
   reaches it are dropped.

The search proceeds by layers, so the smallest cost plus bound of a layer is a bound when a limit ends the search.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.formulation import Limits, Outcome, StoppedBy
from mlsched.core.registry import exact_algorithm
from mlsched.instances.quality import Epochs, Horizon

State = tuple[int, ...]
#: Objective -> the sum or maximum of the jobs' costs in an epoch.
COMBINED: dict[str, Callable[[list[int]], int]] = {
    "total_loss": sum,
    "total_worst_loss": max,
    "total_time_to_goal": sum,
}


@exact_algorithm("epoch-dp", problem="quality", objectives=tuple(COMBINED), called="offline")
def answer(instance: Horizon, *, objective: str, limits: Limits, hint: Epochs | None = None) -> Outcome:
    """Dynamic programming over the epochs of a run; for some four jobs on some eight cores."""
    program = Program(instance, objective)
    deadline, states = Deadline(limits.seconds), 0
    start: State = (0,) * len(instance.submit)
    value, rows = program.dive(start)
    if program.ended(start):
        return Outcome("optimal", _plan_of_path(instance, []), 0, work={"states": 0})
    #: Layers: for each state its cost, and the state and the allocation from which it was reached.
    layers: list[dict[State, tuple[int, State, State]]] = [{start: (0, start, start)}]
    lowest, last = program.bound(0, start), None
    reason: StoppedBy = "proof"
    while layers[-1] and reason == "proof":
        layer, epoch = layers[-1], len(layers) - 1
        lowest = max(lowest, min(cost + program.bound(epoch, state) for state, (cost, _, _) in layer.items()))
        following: dict[State, tuple[int, State, State]] = {}
        for state, (cost, _, _) in layer.items():
            if deadline.passed() or (limits.work is not None and states >= limits.work):
                reason = "time limit" if deadline.passed() else "work limit"
                break
            states += 1
            for allocation in program.allocations(epoch, state):
                after, further = program.step(epoch, state, allocation)
                total = cost + further
                if program.ended(after):
                    if total < value:
                        value, last = total, (epoch, state, allocation)
                elif after in following and following[after][0] <= total:
                    continue
                elif total + program.bound(epoch + 1, after) < value:
                    following[after] = total, state, allocation
        layers.append(following)
    if last is not None:
        rows = _path_of_allocations(layers, *last)
    bound = value if reason == "proof" else min(lowest, value)
    return Outcome(
        "optimal" if bound == value else "feasible", _plan_of_path(instance, rows), bound, reason, {"states": states}
    )


def _path_of_allocations(
    layers: list[dict[State, tuple[int, State, State]]], epoch: int, state: State, allocation: State
) -> list[State]:
    """Return the allocations that lead to a state at an epoch, and the allocation there."""
    rows = [allocation]
    while epoch:
        _, state, allocation = layers[epoch][state]
        rows.append(allocation)
        epoch -= 1
    return rows[::-1]


def _plan_of_path(horizon: Horizon, rows: list[State]) -> Epochs:
    return Epochs(cores=np.array(rows, dtype=np.int64).reshape(len(rows), len(horizon.submit)))


@dataclasses.dataclass(frozen=True)
class Program:
    """A horizon and an objective as tables of each job's costs, by its core-epochs so far."""

    horizon: Horizon
    objective: str

    def __post_init__(self) -> None:
        h, epoch = self.horizon, 1000 * self.horizon.epoch
        jobs = range(len(h.submit))
        total = [int(h.work[j]) * int(h.iterations[j]) for j in jobs]
        sets = {
            "jobs": jobs,
            "needed": [-(-t // epoch) for t in total],  # core-epochs until a job is finished
            "first": [-(-int(s) // h.epoch) for s in h.submit],  # first epoch of a job
            "most": [min(int(m), h.cores) for m in h.most],
            "losses": [self._losses_of_job(j, total[j]) for j in jobs],
        }
        for name, value in sets.items():
            object.__setattr__(self, name, value)
        object.__setattr__(
            self, "alone", [[self._single_job_cost(j, u) for u in range(self.needed[j] + 1)] for j in jobs]
        )

    jobs: range = dataclasses.field(init=False)
    needed: list[int] = dataclasses.field(init=False)
    first: list[int] = dataclasses.field(init=False)
    most: list[int] = dataclasses.field(init=False)
    losses: list[list[int]] = dataclasses.field(init=False)
    alone: list[list[int]] = dataclasses.field(init=False)

    def _losses_of_job(self, job: int, total: int) -> list[int]:
        """Return the weighted loss of a job by its core-epochs so far, in ppm."""
        h = self.horizon
        finished = np.minimum(np.arange(self.needed_of(total) + 1) * 1000 * h.epoch, total)
        whole, rest = np.divmod(finished, int(h.work[job]))
        here, there = h.loss[job, whole], h.loss[job, np.minimum(whole + 1, h.loss.shape[1] - 1)]
        best_step: list[int] = (int(h.weight[job]) * (here - (here - there) * rest // int(h.work[job]))).tolist()
        return best_step

    def needed_of(self, total: int) -> int:
        """Return the core-epochs that `total` core-milliseconds take."""
        return -(-total // (1000 * self.horizon.epoch))

    def ended(self, state: State) -> bool:
        """Return whether all jobs are finished."""
        return all(u >= n for u, n in zip(state, self.needed, strict=True))

    def allocations(self, epoch: int, state: State) -> Iterator[State]:
        """Yield the allocations that must be tried (1 of the module's docstring)."""
        h = self.horizon
        there = [j for j in self.jobs if self.first[j] <= epoch and state[j] < self.needed[j]]
        running = there[: h.cores // h.least]
        caps = {j: self._useful_cores(j, state[j]) for j in running}
        allocation = [0] * len(state)

        def fill(place: int, remaining: int) -> Iterator[State]:
            if place == len(running):
                yield tuple(allocation)
                return
            job, behind = running[place], running[place + 1 :]
            high = min(caps[job], remaining - h.least * len(behind))
            low = max(h.least, min(caps[job], remaining - sum(caps[j] for j in behind)))
            for count in range(low, high + 1):
                allocation[job] = count
                yield from fill(place + 1, remaining - count)
            allocation[job] = 0

        yield from fill(0, min(h.cores, sum(caps.values())))

    def _useful_cores(self, job: int, had: int) -> int:
        """Return the number of cores that may be useful to a job in an epoch."""
        if self.objective == "total_time_to_goal":
            return self.most[job]
        return min(self.most[job], max(self.horizon.least, self.needed[job] - had))

    def step(self, epoch: int, state: State, given: State) -> tuple[State, int]:
        """Return the next state, and the cost of the epoch."""
        after = tuple(min(u + a, n) for u, a, n in zip(state, given, self.needed, strict=True))
        costs = [self._epoch_cost(epoch, j, state[j], given[j]) for j in self.jobs if self.first[j] <= epoch]
        return after, COMBINED[self.objective](costs) if costs else 0

    def _epoch_cost(self, epoch: int, job: int, had: int, allocation: int) -> int:
        """Return a job's cost in an epoch with `allocation` cores, after `had` core-epochs; 0 if it needs no more."""
        if had >= self.needed[job]:
            return 0
        if self.objective != "total_time_to_goal":
            return self.losses[job][had]
        return self._goal_time(epoch, job, had, allocation)

    def _goal_time(self, epoch: int, job: int, had: int, allocation: int) -> int:
        """Return the weighted ms from submission to the job's goal, if it reaches it in this epoch; else 0."""
        h, length = self.horizon, 1000 * self.horizon.epoch
        missing = int(h.goal[job]) * int(h.work[job]) - had * length
        if not 0 < missing <= allocation * length:
            return 0
        return int(h.weight[job]) * (epoch * length + -(-missing // allocation) - 1000 * int(h.submit[job]))

    def bound(self, epoch: int, state: State) -> int:
        """Return a lower bound on the cost of all runs from this state at this epoch (2 of the module's docstring)."""
        costs = [self._single_cost_at_epoch(j, epoch, state[j]) for j in self.jobs]
        return COMBINED[self.objective](costs) if costs else 0

    def _single_cost_at_epoch(self, job: int, epoch: int, had: int) -> int:
        """Return the cost of the job by itself, from this epoch on."""
        cost = self.alone[job][had]
        if self.objective == "total_time_to_goal" and cost:
            wait = 1000 * (max(epoch, self.first[job]) * self.horizon.epoch - int(self.horizon.submit[job]))
            return cost + int(self.horizon.weight[job]) * wait
        return cost

    def _single_job_cost(self, job: int, had: int) -> int:
        """Return the cost of the job from here with all useful cores; times count from now."""
        cost, h = 0, self.horizon
        if self.objective == "total_time_to_goal":
            missing = int(h.goal[job]) * int(h.work[job]) - had * 1000 * h.epoch
            return int(h.weight[job]) * -(-missing // self.most[job]) if missing > 0 else 0
        while had < self.needed[job]:
            cost += self.losses[job][had]
            had += self.most[job]
        return cost

    def dive(self, state: State) -> tuple[int, list[State]]:
        """Return the value and the allocations of a first run (3 of the module's docstring)."""
        value, epoch, rows = 0, 0, list[State]()
        while not self.ended(state):
            options = [
                (allocation, *self.step(epoch, state, allocation)) for allocation in self.allocations(epoch, state)
            ]
            allocation, state, cost = min(options, key=lambda o: o[2] + self.bound(epoch + 1, o[1]))
            rows.append(allocation)
            value, epoch = value + cost, epoch + 1
        return value, rows
