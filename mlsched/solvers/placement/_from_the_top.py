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

from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray
from mlsched.core.formulation import Limits, Outcome, StoppedBy
from mlsched.formulations.placement._configurations import Space, Table, TooLong, TooMany
from mlsched.formulations.placement._master import Bound, Master, build, price
from mlsched.instances.placement import Instance, Plan
from mlsched.instances.placement.pace import Pace
from mlsched.solvers.placement._relaxation import solve as solve_lp

#: Most configurations that are listed (about 100 bytes each a job).
MOST_CONFIGURATIONS = 400_000
#: Levels a job of the successive LPs; 0: all.
LEVELS = (40, 120, 0)
#: First share of the bound by which the target T lies below it, and the factor from one target to the next.
FIRST_STEP, STEP_FACTOR = 0.001, 2.0
#: A model of at most so many configurations is solved in less time than several parts of it: its first share is larger.
FEW, FIRST_STEP_OF_FEW = 500, 0.05
#: An LP is solved again as long as it shrinks the model to this share.
SHRINK = 0.8
#: One integer master may take this share of what is left of the limits, and at least so many seconds.
SHARE, LEAST_SECONDS = 0.3, 3.0


@dataclasses.dataclass
class Found:
    """What an integer master says: "optimal" (its best is above T), "infeasible" (nothing is), or a limit struck."""

    status: Literal["optimal", "infeasible", "limit"]
    use: IntArray | None  # how many servers use each configuration
    bound: int | None  # on the value of what the master holds; None: nothing proved
    work: dict[str, float]


@dataclasses.dataclass
class Answer:
    """What `Found` says, with the plan decoded."""

    status: Literal["optimal", "infeasible", "limit"]
    plan: Plan | None
    bound: int | None
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
    left = search.left()
    if search.upper <= search.lower or left is None:
        return search.outcome()
    try:
        table = search.space.configurations(search.lower, MOST_CONFIGURATIONS, left.seconds)
    except TooMany:
        search.stopped = "backend"
        return search.outcome()
    except TooLong:
        search.stopped = "time limit"
        return search.outcome()
    return _bounded(search, table, solver)


def _bounded(search: Search, table: Table, solver: Solver) -> Outcome:
    """Step 2 of this module's docstring, then step 3."""
    alive: list[dict[int, int]] | None = None
    master, priced = None, None
    for levels in LEVELS:
        left = search.left()
        if left is None:
            return search.outcome()
        master = build(search.space, table, levels, alive)
        prices = solve_lp(master, left.seconds) if _answerable(master) else None
        priced = None if prices is None else price(master, prices)
        if priced is not None:
            search.upper = min(search.upper, max(priced.value, search.lower))
            if search.upper <= search.lower:
                return search.outcome()
            rows, cuts = priced.useful(search.lower)
            table, alive = table.keep(rows), _alive(master, cuts)
    assert master is not None
    return _from_the_top(search, master, priced, solver)


def _from_the_top(search: Search, master: Master, priced: Bound | None, solver: Solver) -> Outcome:
    """Step 3 of this module's docstring. `master` has all levels."""
    share = FIRST_STEP if len(master.table) > FEW else FIRST_STEP_OF_FEW
    step, hard = max(1, int(share * search.upper)), False
    while search.upper > search.lower:
        target = max(search.lower, search.upper - step)
        if 2 * (target - search.lower) < search.upper - target:
            target = search.lower  # the rest is not worth a step of its own
        left = search.left()
        if left is None:
            break
        found = _above(search, master, priced, target, hard, solver)
        search.work.update(found.work)
        if found.plan is not None:
            search.offer(found.plan)
        if found.status == "limit":
            # What the master holds is at most its bound; what it does not hold is at most the target.
            bound = search.upper if found.bound is None else max(target, found.bound)
            search.upper = max(search.lower, min(search.upper, bound))
            if found.plan is None and hard:
                step *= 2
            hard = True
        else:
            search.upper = max(search.lower, min(search.upper, target))
            step = int(STEP_FACTOR * step) + 1
    return search.outcome()


def _slice(search: Search) -> Limits | None:
    """The share of what is left that one integer master may take; None when nothing is left."""
    left = search.left()
    if left is None:
        return None
    seconds = None if left.seconds is None else max(LEAST_SECONDS, SHARE * left.seconds)
    if seconds is not None and left.seconds is not None:
        seconds = min(seconds, left.seconds)
    return dataclasses.replace(left, seconds=seconds, work=None if left.work is None else max(0.01, SHARE * left.work))


def _above(search: Search, master: Master, priced: Bound | None, target: int, hard: bool, solver: Solver) -> Answer:
    """The best plan over what an LP says can be in plans above `target`, shrunk until it shrinks no more.

    Plans above the target are asked for; when that has proved `hard`, any better than the incumbent.
    """
    while priced is not None:
        rows, cuts = priced.useful(target)
        before = len(master.table) + len(master.cuts.job)
        master = build(search.space, master.table.keep(rows), 0, _alive(master, cuts))
        if len(master.table) + len(master.cuts.job) > SHRINK * before:
            break
        left = search.left()
        prices = None if left is None or not _answerable(master) else solve_lp(master, left.seconds)
        priced = None if prices is None else price(master, prices)
        if priced is not None and priced.value <= target:
            return Answer("infeasible", None, None, {})
    left = _slice(search)
    if not _answerable(master):
        return Answer("infeasible", None, None, {})
    if left is None:
        return Answer("limit", None, None, {})
    found = solver(master, search.lower if hard else target, left)
    plan = None if found.use is None else search.plan_of(master, found.use)
    return Answer(found.status, plan, found.bound, found.work)


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
        raise TooLarge(f"job_workers, job_ps: a job has {parts} parts; exact answerers take at most 1024")
