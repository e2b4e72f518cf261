"""Facts about a job of a running world that the key of an order may use (`heuristics/taskgraph/_order.Job`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from mlsched.heuristics.taskgraph._order import gpu_second, gpu_units, unknown
from mlsched.heuristics.taskgraph.measures import units_of_shares
from mlsched.simulation.taskgraph.iterations.view import ticks
from mlsched.simulation.taskgraph.iterations.workload import WHOLE

if TYPE_CHECKING:
    from mlsched.simulation.taskgraph.iterations.placements import Placements
    from mlsched.simulation.taskgraph.iterations.state import JobState


class Facts:
    """Constant facts of the jobs of a workload of gangs without edges, with tasks of equal length."""

    def __init__(self, world: Placements) -> None:
        self.world, jobs = world, world.workload
        self.priority: list[int] = jobs.priority.tolist()
        self.user: list[int] = jobs.user.tolist()
        self.deadline: list[int] = jobs.deadline.tolist()
        self.time_limit: list[int] = jobs.time_limit.tolist()
        self.pause_cost: list[int] = (-(-jobs.pause_cost // WHOLE)).tolist()
        self.iterations: list[int] = jobs.max_iterations.tolist()
        first = np.array([begin for begin, _ in jobs.tasks], dtype=np.int64)[jobs.template]
        once = jobs.max_iterations == 1
        self.true: list[int] = ticks(jobs.duration[first], jobs.scale, once).tolist()
        oracle = world.options.information == "oracle"
        self.told: list[int] = self.true if oracle else ticks(jobs.estimate[first], jobs.told, once).tolist()
        self.tick_seconds = jobs.tick_ms / 1000
        column, unit = gpu_units(jobs)
        self.column, self.gpu_second = gpu_second(jobs)
        amounts = [int(jobs.demand[begin:end, column].sum()) if unit else 0 for begin, end in jobs.tasks]
        self.gpus = [amount / unit if unit else 0.0 for amount in amounts]
        self.gpu_rate = [amount * self.gpu_second for amount in amounts]
        self.share_units, self.task_units = [0] * len(jobs.tasks), [0] * len(jobs.demand)

    def count_shares(self, demanded: list[bool]) -> None:
        """Recount the dominant shares of tasks and jobs over the `demanded` resources of the jobs in the system."""
        jobs = self.world.workload
        units = units_of_shares(jobs.demand * np.array(demanded), jobs.node_capacity)
        self.task_units = units.tolist()
        self.share_units = [sum(self.task_units[begin:end]) for begin, end in jobs.tasks]

    def remaining(self, state: JobState, start: int | None = None) -> int:
        """Return the estimated remaining ticks of a job, or of its task that last started at a time."""
        number, begin = state.number, state.begin
        later = self.iterations[number] - state.finished - 1
        if begin >= 0 and (over := (ticks := self.world.now - begin) * WHOLE - state.head) >= 0:
            gained = 1 + over // (state.cycle or 1)  # iterations that have ended in the current segment
            length = self.true[number]
            rest = length - ticks - (state.head + (gained - 1) * state.cycle) // -WHOLE
            later -= gained
        else:
            length = self.true[number] if state.finished > 0 else self.told[number]
            rest = length - length * state.part // WHOLE if state.state[0] else length
            if begin >= 0:
                start = max(state.start) if start is None else start
                if state.cost > 0:
                    start = max(start, min(begin - (-state.cost // WHOLE), self.world.now))
                rest -= self.world.now - start
        if rest <= 0:
            rest = min(length, 1)
        return later * length + rest if later > 0 else rest


class RunningJob:
    """Job of a running world, in the form for keys."""

    __slots__ = ("_facts", "_state", "arrival", "number", "pause_cost")

    def __init__(self, facts: Facts, state: JobState) -> None:
        self._facts, self._state = facts, state
        number = self.number = state.number
        self.arrival, self.pause_cost = facts.world.arrivals[number], facts.pause_cost[number]

    def __getattr__(self, name: str) -> NoReturn:
        raise unknown(name)

    @property
    def now(self) -> int:
        return self._facts.world.now

    @property
    def priority(self) -> int:
        return self._facts.priority[self.number]

    @property
    def user(self) -> int:
        return self._facts.user[self.number]

    @property
    def tasks(self) -> int:
        return len(self._state.node)

    @property
    def gpus(self) -> float:
        return self._facts.gpus[self._state.template]

    @property
    def gpu_rate(self) -> float:
        return self._facts.gpu_rate[self._state.template]

    @property
    def share_units(self) -> int:
        return self._facts.share_units[self._state.template]

    @property
    def tick_seconds(self) -> float:
        return self._facts.tick_seconds

    @property
    def deadline(self) -> int:
        return self._facts.deadline[self.number]

    @property
    def time_limit(self) -> int:
        return self._facts.time_limit[self.number]

    @property
    def first_start(self) -> int:
        return self._state.first_start

    @property
    def runs(self) -> bool:
        return self._state.placed > 0

    @property
    def executed(self) -> int:
        """Return the ticks in which the job ran."""
        state = self._state
        return state.executed + (self._facts.world.now - state.busy_since if state.placed else 0)

    @property
    def idle_since(self) -> int:
        return self._facts.world.now if self._state.placed else self._state.idle_since

    @property
    def gpu_ticks(self) -> int:
        """Return the attained service, in units of the GPU resource."""
        state, column = self._state, self._facts.column
        return state.counted[column] + state.held[column] * (self._facts.world.now - state.since) if column >= 0 else 0

    @property
    def gpu_second(self) -> float:
        return self._facts.gpu_second

    @property
    def gpu_seconds(self) -> float:
        """Return the attained service."""
        return self.gpu_ticks * self._facts.gpu_second

    @property
    def finished(self) -> int:
        """Return the finished iterations."""
        state = self._state
        parts_done = max(self._facts.world.now - state.begin, 0) * WHOLE
        if state.begin < 0 or parts_done < state.head:
            return state.finished
        return state.finished + 1 + (parts_done - state.head) // max(state.cycle, 1)

    @property
    def iterations_left(self) -> int:
        """Return the remaining iterations, including the current one."""
        return self._facts.iterations[self.number] - self.finished

    @property
    def remaining(self) -> int:
        """Return the estimated remaining ticks of the job."""
        return self._facts.remaining(self._state)

    @property
    def remaining_work(self) -> int:
        """Return the estimated remaining ticks of each task, times its share units."""
        facts, state = self._facts, self._state
        starts = state.start
        if starts.count(starts[0]) == len(starts):
            return facts.remaining(state) * facts.share_units[state.template]
        first = facts.world.workload.tasks[state.template][0]  # some tasks have moved, and others have not
        return sum(facts.remaining(state, start) * facts.task_units[task] for task, start in enumerate(starts, first))
