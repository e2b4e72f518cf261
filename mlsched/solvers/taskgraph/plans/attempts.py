"""Plans of a given total_jct or makespan, by cutting planes on the time-indexed model.

Where the bound is close, a value between it and the incumbent is asked for, with windows of starts as narrow as that
makes them: that often ends within seconds, with a plan or with a proof that there is none. Where it is not, some jobs
are kept near their places and times and the others are asked to make the plan better.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Collection, Sequence

import numpy as np

from mlsched.core.formulation import Limits
from mlsched.formulations.taskgraph._bounds import Pool
from mlsched.formulations.taskgraph._hint import Runs, runs_of
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._relaxation import Relaxed
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed, size
from mlsched.solvers.backends.process import Apart, Ended
from mlsched.solvers.taskgraph.best import Best
from mlsched.solvers.taskgraph.bounds.relaxation import relax
from mlsched.solvers.taskgraph.plans.neighbourhoods import drawn, staying
from mlsched.solvers.taskgraph.proofs.cutting_planes import counted, parameters

#: The bound is close when it is within this share of the incumbent's value.
CLOSE = 0.04
#: Deterministic time: of the first attempt at a plan of some value, which grows with each that ends in nothing, and
#: beside kept jobs.
ATTEMPT, PATIENCE, NEAR = 5.0, 1.5, 8.0
#: How many times longer the next value takes to refute, at least (skipping too far costs all the time that is left).
#: And the deterministic time that is at hand for it where there are no limits.
GROWTH, EASY = 2.0, 5.0
#: The share of the jobs that are asked anew, and how far in time the others may move.
ANEW, MOVE = 0.7, 3


class Attempts:
    """Attempts at better plans of `best`, which must know one, and at proofs that there are none."""

    def __init__(self, best: Best, shared: Sequence[Pool]) -> None:
        self._best, self._shared = best, shared
        self._rng = np.random.default_rng(best.limits.seed)
        self._work, self._failed = ATTEMPT, 0
        self._search: Apart | None = None
        #: The linear relaxation of the value that was asked for last.
        self._relaxed: tuple[int, Relaxed | None] | None = None

    @property
    def close(self) -> bool:
        """Whether the bound is close."""
        return self._best.plan_value - self._best.lower <= CLOSE * self._best.plan_value

    def stop(self) -> None:
        """End the attempt under way, from any thread."""
        if self._search is not None:
            self._search.stop()

    def step(self) -> None:
        """One attempt."""
        if self.close:
            self.anywhere()
        else:
            self._near()

    def from_below(self) -> None:
        """Refute values from the bound on, in windows made for them, until one is attained or the limits are reached.

        Each value takes longer than the one before by about the same factor, so all before the last take as long as it
        does: as far as there is time to, values are skipped, up to a third of the way to the incumbent.
        """
        best, step, growth = self._best, 1, GROWTH
        known: tuple[int, float] | None = None
        while not best.closed and not best.over:
            third = -(-(best.plan_value - best.lower) // 3)
            value = min(best.plan_value - 1, best.lower + min(step, third) - 1)
            made = TimeIndexed(best.layout, value, None, self._shared, best.objective)
            begun = time.perf_counter()
            ended = self._ask(made, value, None)
            if ended.status == "INFEASIBLE":
                best.raise_to(value + 1)
                left = best.left()
                cost = ended.work if left.seconds is None else time.perf_counter() - begun
                if known is not None:
                    growth = max(GROWTH, (cost / known[1]) ** (1 / (value - known[0])))
                known = value, max(cost, 0.01)
                step = _reach(left, known[1], growth)
            elif ended.status not in ("OPTIMAL", "FEASIBLE"):
                return

    def anywhere(self) -> None:
        """Ask for a value: halfway to the bound at first, nearer to the incumbent after each failure."""
        best = self._best
        better = best.plan_value - 1
        value = better - (better - best.lower + 1) // 2 ** (self._failed + 1)
        relaxed = self._relax(value) if best.objective == "total_jct" else None
        ended = Ended("INFEASIBLE")
        if relaxed is None or relaxed.bound <= value:
            made = TimeIndexed(best.layout, value, relaxed, self._shared, best.objective)
            ended = self._ask(made, value, self._work)
        if ended.status == "INFEASIBLE":
            best.raise_to(value + 1)
        if ended.status in ("INFEASIBLE", "OPTIMAL", "FEASIBLE"):
            self._failed = 0
        else:
            self._failed, self._work = self._failed + 1, self._work * PATIENCE

    def _near(self) -> None:
        """Any better value, while some jobs keep their nodes and about their times."""
        best, layout = self._best, self._best.layout
        assert best.plan is not None
        value = best.plan_value - 1
        runs = runs_of(best.plan)
        anew = drawn(layout, runs, self._rng, max(2, round(ANEW * layout.jobs)))
        self._ask(_Near(layout, value, self._relax(value), self._shared, runs, anew), value, NEAR)

    def _relax(self, value: int) -> Relaxed | None:
        """The linear relaxation of plans of a value; attempts at the same value share it."""
        if self._relaxed is None or self._relaxed[0] != value:
            found = relax(self._best.layout, list(self._shared), value, self._best.left().seconds, 1)
            self._relaxed = value, found
        return self._relaxed[1]

    def _ask(self, made: TimeIndexed, value: int, work: float | None) -> Ended:
        """Search a plan of at most a value within deterministic time `work`, or what is left; offer what is found."""
        best = self._best
        if made.reason is not None:
            return Ended("INFEASIBLE")
        made.cp.add(made.terms[best.objective] <= value - made.constant[best.objective])
        limits = best.left()
        most = limits.work if work is None else min(work, limits.work or work)
        limits = dataclasses.replace(limits, work=most, seed=int(self._rng.integers(2**31)))
        self._search = Apart(made.cp, parameters(limits), lambda _: None)
        ended = counted(self._search, best)
        if ended.solution:
            best.offer(made.plan(ended.solution))
        return ended


class _Near(TimeIndexed):
    """The model in which all jobs but those `anew` keep their nodes and start at about their times."""

    #: Counts are for proofs; without them more plans are found here.
    counting = False

    def __init__(
        self,
        layout: Layout,
        upper: int,
        relaxed: Relaxed | None,
        shared: Sequence[Pool],
        runs: Runs,
        anew: Collection[int],
    ) -> None:
        kept = {(k, i): at for (k, i), at in runs.items() if layout.job[k] not in anew}
        windows = Relaxed(0, {}, {}, {}) if relaxed is None else relaxed
        earliest, latest = dict(windows.earliest), dict(windows.latest)
        for run, (_, start) in kept.items():
            earliest[run] = max(earliest.get(run, 0), start - MOVE)
            latest[run] = min(latest.get(run, start + MOVE), start + MOVE)
        windows = dataclasses.replace(windows, earliest=earliest, latest=latest)
        super().__init__(staying(layout, kept), upper, windows, shared)

    def _break_symmetry(self) -> None:
        """Jobs that stay name the nodes."""


def _reach(left: Limits, cost: float, growth: float) -> int:
    """How many values further half of what is left is enough for, at least one, if the last took `cost` of it."""
    room = left.seconds if left.seconds is not None else left.work if left.work is not None else EASY
    return max(1, int(math.log(room / 2 / cost, growth)))


def possible(best: Best, most: int) -> bool:
    """Whether the model has at most so many variables."""
    return size(best.layout, best.plan_value, best.objective) <= most
