"""The facts about a job of a running world that the key of an order may use (`heuristics/taskgraph/_order.Job`)."""

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
    """What never changes of the jobs of a workload of gangs without edges, whose tasks take equally long."""

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
        self.share_units = [0] * len(jobs.tasks)

    def count_shares(self, demanded: list[bool]) -> None:
        """State the resources that some job in the system demands: shares are counted in units of these alone."""
        jobs = self.world.workload
        units = units_of_shares(jobs.demand * np.array(demanded), jobs.node_capacity)
        self.share_units = [int(units[begin:end].sum()) for begin, end in jobs.tasks]


class RunningJob:
    """A job of a running world, as keys see it."""

    __slots__ = ("_facts", "_state", "number")

    def __init__(self, facts: Facts, state: JobState) -> None:
        self._facts, self._state, self.number = facts, state, state.number

    def __getattr__(self, name: str) -> NoReturn:
        raise unknown(name)

    @property
    def now(self) -> int:
        return self._facts.world.now

    @property
    def arrival(self) -> int:
        return self._facts.world.arrivals[self.number]

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
    def pause_cost(self) -> int:
        return self._facts.pause_cost[self.number]

    @property
    def first_start(self) -> int:
        return self._state.first_start

    @property
    def runs(self) -> bool:
        return self._state.placed > 0

    @property
    def executed(self) -> int:
        """Ticks in which the job ran."""
        state = self._state
        return state.executed + (self._facts.world.now - state.busy_since if state.placed else 0)

    @property
    def idle_since(self) -> int:
        return self._facts.world.now if self._state.placed else self._state.idle_since

    @property
    def gpu_ticks(self) -> int:
        """Attained service, in units of the resource that counts GPUs."""
        state, column = self._state, self._facts.column
        return state.counted[column] + state.held[column] * (self._facts.world.now - state.since) if column >= 0 else 0

    @property
    def gpu_second(self) -> float:
        return self._facts.gpu_second

    @property
    def gpu_seconds(self) -> float:
        """Attained service."""
        return self.gpu_ticks * self._facts.gpu_second

    def _standing(self) -> tuple[int, int, int]:
        """Finished iterations, ticks of an iteration, and ticks left of the one under way."""
        state, facts, number = self._state, self._facts, self.number
        finished, elapsed, begin = state.finished, 0, state.begin
        if begin >= 0:
            now = facts.world.now
            done = (now - begin) * WHOLE if now > begin else 0
            if done >= state.head:
                gained = 1 + (done - state.head) // (state.cycle or 1)
                length = facts.true[number]
                left = length - (now - begin) - (state.head + (gained - 1) * state.cycle) // -WHOLE
                return finished + gained, length, left if left > 0 else min(length, 1)
            start = state.start[0]
            if state.cost > 0:
                start = max(start, min(begin - (-state.cost // WHOLE), now))
            elapsed = now - start
        length = facts.true[number] if finished > 0 else facts.told[number]
        if state.state[0]:
            elapsed += length * state.part // WHOLE
        left = length - elapsed
        return finished, length, left if left > 0 else min(length, 1)

    @property
    def finished(self) -> int:
        """Iterations finished."""
        return self._standing()[0]

    @property
    def iterations_left(self) -> int:
        """Iterations, the one under way included."""
        return self._facts.iterations[self.number] - self._standing()[0]

    @property
    def remaining(self) -> int:
        """Estimated ticks that the job still runs."""
        finished, length, last = self._standing()
        later = self._facts.iterations[self.number] - finished - 1
        return later * length + last if later > 0 else last

    @property
    def remaining_work(self) -> int:
        """The same, times the share units of all tasks."""
        return self.remaining * self._facts.share_units[self._state.template]
