"""The exact algorithm that `cp-sat` and `highs` share; only the integer master problem is theirs.

1. UB0, classes, patterns; configurations whose loss is below UB0 - LB (`_configurations`).
2. LP bounds with speeds in 40, 120 and all levels; each removes configurations and cuts by reduced cost (`_master`).
   Bounds are Lagrangian values of rounded prices in integers: valid whatever the LP solver's floats did.
3. From the top: let T be a little below the bound. Every plan of value above T uses only columns that cost at most
   bound - T, so the integer master over those columns either holds the optimum or proves T a bound; then T is lowered.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.formulation import Limits, Outcome, StoppedBy
from mlsched.formulations.placement._configurations import Space, Table, TooMany
from mlsched.formulations.placement._master import Master, build, price
from mlsched.formulations.placement._pace import Pace
from mlsched.formulations.placement._relaxation import solve as solve_lp
from mlsched.instances.placement import Instance, Plan

#: Most configurations that are listed (about 100 bytes each a job).
MOST_CONFIGURATIONS = 400_000
#: Levels a job of the successive LPs; 0: all.
LEVELS = (40, 120, 0)
#: First share of the bound by which the target T lies below it, and the factor from one target to the next.
FIRST_STEP, STEP_FACTOR = 0.001, 3.0


@dataclasses.dataclass
class Found:
    """What an integer master says: "optimal" (its best is above T), "infeasible" (nothing is), or a limit struck."""

    status: Literal["optimal", "infeasible", "limit"]
    use: IntArray | None  # how many servers use each configuration
    bound: int | None  # on the value of what the master holds; None: nothing proved
    work: dict[str, float]


#: Solve an integer master for plans of value above T within limits.
Solver = Callable[[Master, int, Limits], Found]


class Search:
    """One run: incumbent, bound, and what is left of the limits."""

    def __init__(self, instance: Instance, limits: Limits, hint: Plan | None) -> None:
        self.instance, self.limits, self.started = instance, limits, time.perf_counter()
        self.pace = Pace(instance)
        self.space = Space(instance, self.pace)
        self.work: Counter[str] = Counter()
        shape = (len(instance.job_type), len(instance.server_free))
        self.plan = Plan(workers=np.zeros(shape, dtype=np.int64), ps=np.zeros(shape, dtype=np.int64))
        self.lower, self.upper = self.value(self.plan), self.space.upper
        self.stopped: StoppedBy = "proof"
        if hint is not None:
            self.offer(hint)

    def value(self, plan: Plan) -> int:
        """total_speed of a plan."""
        w = np.concatenate([self.instance.run_workers, plan.workers])[None]
        p = np.concatenate([self.instance.run_ps, plan.ps])[None]
        return int(self.pace.total(w, p)[0])

    def offer(self, plan: Plan) -> None:
        """Keep a plan if it is the best so far."""
        value = self.value(plan)
        if value > self.lower:
            self.lower, self.plan = value, plan

    def left(self) -> Limits | None:
        """What is left of the limits; None when nothing is."""
        seconds, work = self.limits.seconds, self.limits.work
        if seconds is not None:
            seconds -= time.perf_counter() - self.started
            if seconds <= 0:
                self.stopped = "time limit"
                return None
        if work is not None:
            work -= self.work["deterministic_time"] + self.work["nodes"]
            if work <= 0:
                self.stopped = "work limit"
                return None
        return dataclasses.replace(self.limits, seconds=seconds, work=work)

    def outcome(self) -> Outcome:
        """The answer so far."""
        self.upper = max(self.upper, self.lower)
        done = self.upper == self.lower
        stopped: StoppedBy = "proof" if done else self.stopped
        return Outcome("optimal" if done else "feasible", self.plan, self.upper, stopped, dict(self.work))

    def plan_of(self, master: Master, use: IntArray) -> Plan:
        """The plan in which so many servers of its class use each configuration."""
        table = np.zeros((2, *self.plan.workers.shape), dtype=np.int64)
        next_of = [iter(c.servers) for c in self.space.classes]
        for c in np.flatnonzero(use > 0).tolist():
            for _ in range(int(use[c])):
                s = next(next_of[int(master.table.group[c])])
                table[0, :, s] = master.table.w[c, self.space.running :]
                table[1, :, s] = master.table.p[c, self.space.running :]
        return Plan(workers=table[0], ps=table[1])


def prove(instance: Instance, limits: Limits, hint: Plan | None, solver: Solver) -> Outcome:
    """The optimum of `instance`, or the best plan and a valid bound when a limit strikes."""
    search = Search(instance, limits, hint)
    if search.upper <= search.lower:
        return search.outcome()
    try:
        table = search.space.configurations(search.lower, MOST_CONFIGURATIONS)
    except TooMany:
        search.stopped = "backend"
        return search.outcome()
    alive: list[dict[int, int]] | None = None
    master, priced = None, None
    for levels in LEVELS:
        left = search.left()
        if left is None or not _complete(search.space, table):
            break
        master = build(search.space, table, levels, alive)
        if not _answerable(master):
            table = table.keep(np.zeros(0, dtype=np.int64))
            break
        prices = solve_lp(master, left.seconds)
        if prices is None:
            search.left()
            break
        priced = price(master, prices)
        search.upper = min(search.upper, max(priced.value, search.lower))
        if search.upper <= search.lower:
            return search.outcome()
        rows, cuts = priced.useful(search.lower)
        table, alive = table.keep(rows), _alive(master, cuts)
    if not _complete(search.space, table):
        # Some class or job has no column left: no plan is better than the incumbent.
        search.upper = search.lower
        return search.outcome()
    return _from_the_top(search, table, alive, solver)


def _from_the_top(search: Search, table: Table, alive: list[dict[int, int]] | None, solver: Solver) -> Outcome:
    """Step 3 of this module's docstring."""
    step = max(1, int(FIRST_STEP * search.upper))
    while search.upper > search.lower:
        left = search.left()
        if left is None:
            break
        target = max(search.lower, search.upper - step)
        if search.upper - target > (target - search.lower):
            target = search.lower  # the rest is not worth a step of its own
        master = build(search.space, table, 0, alive)
        prices = solve_lp(master, left.seconds) if _answerable(master) else None
        if prices is not None:
            priced = price(master, prices)
            search.upper = min(search.upper, max(priced.value, search.lower))
            if search.upper <= target:
                continue
            rows, cuts = priced.useful(target)
            master = build(search.space, table.keep(rows), 0, _alive(master, cuts))
            rows, cuts = priced.useful(search.lower)
        left = search.left()
        if left is None:
            break
        found = solver(master, target, left) if _answerable(master) else Found("infeasible", None, None, {})
        search.work.update(found.work)
        if found.use is not None:
            search.offer(search.plan_of(master, found.use))
        if found.status == "optimal":
            search.upper = search.lower
        elif found.status == "infeasible":
            search.upper = target
        else:
            bound = search.upper if found.bound is None else found.bound
            search.upper = min(search.upper, max(target, bound, search.lower))
            search.left()
            break
        step = int(STEP_FACTOR * step) + 1
    return search.outcome()


def _alive(master: Master, cuts: Any) -> list[dict[int, int]]:
    """Of each job: pattern -> the best speed of its remaining cuts."""
    alive: list[dict[int, int]] = [{} for _ in range(master.space.total)]
    kept = master.cuts.keep(cuts)
    for job, pattern, speed in zip(kept.job.tolist(), kept.pattern.tolist(), kept.speed.tolist(), strict=True):
        alive[job][pattern] = max(alive[job].get(pattern, 0), speed)
    return alive


def _complete(space: Space, table: Table) -> bool:
    """Whether every class has a configuration left."""
    return len(np.unique(table.group)) == len(space.classes)


def _answerable(master: Master) -> bool:
    """Whether every class has a configuration and every running job a cut: else no plan is left in the model."""
    jobs = np.unique(master.cuts.job)
    return _complete(master.space, master.table) and int((jobs < master.space.running).sum()) == master.space.running


def check_size(instance: Instance) -> None:
    """Refuse jobs whose parts alone are too many to list."""
    parts = ((instance.job_workers + 1) * (instance.job_ps + 1)).max(initial=0)
    if parts > 1024:
        raise InvalidInput(f"job_workers, job_ps: a job has {parts} parts; exact answerers take at most 1024")
