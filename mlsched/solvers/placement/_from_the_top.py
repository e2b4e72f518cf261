"""The common exact algorithm of `cp-sat` and `highs`, which differ only in the integer master problem.

1. The upper bound UB0, classes and patterns, and the configurations whose loss is below UB0 - LB (`_configurations`).
2. LP bounds with speeds in 40, 120 and all levels; each removes configurations and cuts by reduced cost (`_master`).
   A bound is the Lagrangian value of rounded prices, in integers: it is valid despite the LP solver's floats.
3. From the top: let T be slightly below the bound. A plan of value above T uses only columns whose reduced cost is
   at most bound - T. So the integer master over those columns either gives the optimum or proves that T is a bound;
   then T is lowered. With `assembling`, a master of few columns is answered without a solver (`_assembly`).
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable
from typing import Literal

import numpy as np

from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import TooLarge
from mlsched.core.fields import BoolArray, IntArray
from mlsched.core.formulation import Limits, Outcome, StoppedBy
from mlsched.formulations.placement._configurations import Space, Table, TooMany
from mlsched.formulations.placement._master import Bound, Master, build, plan_of, price
from mlsched.instances.placement import Instance, Plan
from mlsched.instances.placement.pace import Pace
from mlsched.solvers.backends.limits import WORK
from mlsched.solvers.placement._assembly import TooManyStates, assemble
from mlsched.solvers.placement._relaxation import solve as solve_lp

#: Limit on listed configurations; each takes about 100 bytes per job.
MOST_CONFIGURATIONS = 400_000
#: Levels per job of the successive LPs; 0: all.
LEVELS = (40, 120, 0)
#: First distance of the target T below the bound, as a share of the bound, and its factor from one target to the next.
FIRST_STEP, STEP_FACTOR = 0.001, 2.0
#: A model of at most FEW configurations is solved in less time than several parts of it. If its first part is
#: infeasible (it has the optimum if the bound is tight), the next target is at least this share below the bound.
FEW, NEXT_STEP_OF_FEW = 500, 0.05
#: An LP is solved again as long as it shrinks the model to this share.
SHRINK = 0.8
#: A master is assembled if at most this number of configurations has low enough prices, and within this number of
#: states.
MOST_ASSEMBLED, MOST_STATES = 250, 300_000
#: A state in CP-SAT's deterministic time, roughly, for work limits.
WORK_OF_STATE = 1e-6
#: One integer master may take this share of the remaining limits, or this number of seconds if that is more.
SHARE, LEAST_SECONDS = 0.3, 3.0


@dataclasses.dataclass
class MasterAnswer:
    """An integer master's result: "optimal" (the best plan above T), "infeasible" (none above T), or "limit"."""

    status: Literal["optimal", "infeasible", "limit"]
    use: IntArray | None  # number of servers per configuration
    bound: int | None  # upper bound on the master's plans; None without a proof
    work: dict[str, float]


@dataclasses.dataclass
class Answer:
    """A `MasterAnswer` with its plan decoded."""

    status: Literal["optimal", "infeasible", "limit"]
    plan: Plan | None
    bound: int | None
    work: dict[str, float]


#: Solve an integer master for plans of value above T within limits.
Solver = Callable[[Master, int, Limits], MasterAnswer]


class Search:
    """One run: incumbent, lower and upper bound, and the remaining limits."""

    def __init__(self, instance: Instance, limits: Limits, hint: Plan | None, assembling: bool) -> None:
        self.instance, self.limits, self.deadline = instance, limits, Deadline(limits.seconds)
        self.pace = Pace(instance)
        self.space = Space(instance, self.pace)
        self.work: dict[str, float] = defaultdict(float)
        shape = (len(instance.job_type), len(instance.server_free))
        self.plan = Plan(workers=np.zeros(shape, dtype=np.int64), ps=np.zeros(shape, dtype=np.int64))
        self.lower, self.upper = self.value(self.plan), self.space.upper
        self.stopped: StoppedBy = "proof"
        #: Most configurations of an assembled master; reduced after one was too large.
        self.most_assembled = MOST_ASSEMBLED if assembling else 0
        if hint is not None:
            self.offer(hint)

    def value(self, plan: Plan) -> int:
        """Return total_speed of a plan."""
        w = np.concatenate([self.instance.run_workers, plan.workers])[None]
        p = np.concatenate([self.instance.run_ps, plan.ps])[None]
        return int(self.pace.total(w, p)[0])

    def offer(self, plan: Plan) -> None:
        """Make a plan the incumbent if it is better."""
        value = self.value(plan)
        if value > self.lower:
            self.lower, self.plan = value, plan

    def spend(self, work: dict[str, float]) -> None:
        """Count work."""
        for name, amount in work.items():
            self.work[name] += amount

    def remaining(self) -> Limits | None:
        """Return the remaining limits; None if they are used up."""
        seconds, work = self.deadline.remaining(), self.limits.work
        if seconds is not None and seconds <= 0:
            self.stopped = "time limit"
            return None
        if work is not None:
            work -= self.work.get(WORK, 0) + self.work.get("nodes", 0)
            if work <= 0:
                self.stopped = "work limit"
                return None
        return dataclasses.replace(self.limits, seconds=seconds, work=work)

    def outcome(self) -> Outcome:
        """Return the answer so far."""
        self.upper = max(self.upper, self.lower)
        finished = self.upper == self.lower
        reason: StoppedBy = "proof" if finished else self.stopped
        return Outcome("optimal" if finished else "feasible", self.plan, self.upper, reason, dict(self.work))


def prove(
    instance: Instance, limits: Limits, hint: Plan | None, solver: Solver, *, assembling: bool = False
) -> Outcome:
    """Prove the optimum of `instance`, or return the best plan and a valid bound at a limit."""
    search = Search(instance, limits, hint, assembling)
    remaining = search.remaining()
    if search.upper <= search.lower or remaining is None:
        return search.outcome()
    try:
        table = search.space.configurations(search.lower, MOST_CONFIGURATIONS, search.deadline)
        return _bound_by_relaxations(search, table, solver)
    except TooMany:
        search.stopped = "backend"
    except OutOfTime:
        search.stopped = "time limit"
    return search.outcome()


def _bound_by_relaxations(search: Search, table: Table, solver: Solver) -> Outcome:
    """Tighten the bound by LPs with more and more speed levels (step 2), then go down from it (step 3)."""
    alive: list[dict[int, int]] | None = None
    master, priced = None, None
    for levels in LEVELS:
        remaining = search.remaining()
        if remaining is None:
            return search.outcome()
        master = build(search.space, table, levels, alive, search.deadline)
        prices = solve_lp(master, remaining.seconds) if _answerable(master) else None
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
    """Lower the target from the bound until a plan reaches it (step 3); `master` has all levels."""
    few = len(master.table) <= FEW
    step, hard = max(1, int(FIRST_STEP * search.upper)), False
    while search.upper > search.lower:
        target = max(search.lower, search.upper - step)
        if 2 * (target - search.lower) < search.upper - target:
            target = search.lower  # the remaining range is too small for a separate step
        remaining = search.remaining()
        if remaining is None:
            break
        answer = _solve_above_target(search, master, priced, target, hard, solver)
        search.spend(answer.work)
        if answer.plan is not None:
            search.offer(answer.plan)
        if answer.status == "limit":
            # A plan of the master is at most its bound, every other plan at most the target.
            bound = search.upper if answer.bound is None else max(target, answer.bound)
            search.upper = max(search.lower, min(search.upper, bound))
            if answer.plan is None and hard:
                step *= 2
            hard = True
        else:
            search.upper = max(search.lower, min(search.upper, target))
            step = int(STEP_FACTOR * step) + 1
            if few:
                step = max(step, int(NEXT_STEP_OF_FEW * search.upper))
    return search.outcome()


def _limits_of_master(search: Search) -> Limits | None:
    """Return the share of the remaining limits for one integer master; None if they are used up."""
    remaining = search.remaining()
    if remaining is None:
        return None
    seconds = None if remaining.seconds is None else max(LEAST_SECONDS, SHARE * remaining.seconds)
    if seconds is not None and remaining.seconds is not None:
        seconds = min(seconds, remaining.seconds)
    return dataclasses.replace(
        remaining, seconds=seconds, work=None if remaining.work is None else max(0.01, SHARE * remaining.work)
    )


def _solve_above_target(
    search: Search, master: Master, priced: Bound | None, target: int, hard: bool, solver: Solver
) -> Answer:
    """Return the best plan over the columns that plans above `target` can use.

    LPs remove columns as long as that shrinks the master. Then the master is solved for a plan above the target, or, if
    `hard`, for any plan better than the incumbent.

    Args:
        search: The run.
        master: The integer master with its columns.
        priced: Its LP bound, if known.
        target: Value that the plan must exceed.
        hard: Whether the target was too difficult before.
        solver: The solver of the master.
    """
    while priced is not None:
        rows, cuts = priced.useful(target)
        assembled = _assemble_above_target(search, master, priced, target, int(rows.sum()))
        if assembled is not None:
            return assembled
        before = len(master.table) + len(master.cuts.job)
        master = build(search.space, master.table.keep(rows), 0, _alive(master, cuts), search.deadline)
        if len(master.table) + len(master.cuts.job) > SHRINK * before:
            break
        remaining = search.remaining()
        prices = None if remaining is None or not _answerable(master) else solve_lp(master, remaining.seconds)
        priced = None if prices is None else price(master, prices)
        if priced is not None and priced.value <= target:
            return Answer("infeasible", None, None, {})
    remaining = _limits_of_master(search)
    if not _answerable(master):
        return Answer("infeasible", None, None, {})
    if remaining is None:
        return Answer("limit", None, None, {})
    solution = solver(master, search.lower if hard else target, remaining)
    plan = None if solution.use is None else plan_of(master, solution.use)
    return Answer(solution.status, plan, solution.bound, solution.work)


def _assemble_above_target(search: Search, master: Master, priced: Bound, target: int, columns: int) -> Answer | None:
    """Return the best plan above `target` assembled from `columns` configurations; None if they are too many."""
    remaining = search.remaining()
    if columns > search.most_assembled or remaining is None:
        return None
    most = MOST_STATES if remaining.work is None else min(MOST_STATES, int(remaining.work / WORK_OF_STATE))
    try:
        result, states = assemble(master, priced, target, most, search.deadline)
    except TooManyStates as too_many:
        search.most_assembled = columns - 1
        search.spend({WORK: too_many.states * WORK_OF_STATE})
        return None
    work = {WORK: states * WORK_OF_STATE, "assemblies": 1}
    if result is None:
        return Answer("infeasible", None, None, work)
    value, use = result
    return Answer("optimal", plan_of(master, use), value, work)


def _alive(master: Master, cuts: BoolArray) -> list[dict[int, int]]:
    """Return, for each job, pattern -> the best speed of its remaining cuts."""
    alive: list[dict[int, int]] = [{} for _ in range(master.space.total)]
    remaining_part = master.cuts.keep(cuts)
    for job, pattern, speed in zip(
        remaining_part.job.tolist(), remaining_part.pattern.tolist(), remaining_part.speed.tolist(), strict=True
    ):
        alive[job][pattern] = max(alive[job].get(pattern, 0), speed)
    return alive


def _has_all_classes(space: Space, table: Table) -> bool:
    """Return whether every class still has a configuration."""
    return len(np.unique(table.group)) == len(space.classes)


def _answerable(master: Master) -> bool:
    """Return whether the master has any plan: every class needs a configuration and every running job a cut."""
    jobs = np.unique(master.cuts.job)
    return (
        _has_all_classes(master.space, master.table)
        and int((jobs < master.space.running).sum()) == master.space.running
    )


def check_size(instance: Instance) -> None:
    """Refuse jobs whose tasks are too many to list."""
    parts = ((instance.job_workers + 1) * (instance.job_ps + 1)).max(initial=0)
    if parts > 1024:
        raise TooLarge(f"job_workers, job_ps: a job has {parts} parts; exact solvers take at most 1024")
