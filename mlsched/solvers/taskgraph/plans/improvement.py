"""Better plans: neighbourhood search, and cutting planes if the bound is close or neighbourhoods have not helped.

Without cutting planes here: of `six-replicas` 1036 stays open, 1030 takes 1.2 times the work and the plan of 1037 is
101 instead of 100; on four `eight-replicas` the work is the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from mlsched.formulations.taskgraph._encoding import runs_of
from mlsched.formulations.taskgraph._pools import Pool
from mlsched.formulations.taskgraph._relaxation import LinearBound, Relaxed
from mlsched.formulations.taskgraph._time_indexed import TimeIndexed
from mlsched.solvers.taskgraph.plans.neighbourhoods import Neighbourhoods, drawn, staying
from mlsched.solvers.taskgraph.proofs.values import Values
from mlsched.solvers.taskgraph.state import State

#: The bound is close when it is within this share of the incumbent's value.
CLOSE = 0.04
#: Neighbourhood steps without a better plan before an attempt by cutting planes, for a distant and for a close bound;
#: and the number of these steps that still count after a failed attempt.
STALE, AGAIN = (10, 3), (5, 0)
#: Deterministic time of the first attempt at a plan of some value, its growth after each failure, and the time when
#: jobs are kept.
ATTEMPT, PATIENCE, NEAR = 5.0, 1.5, 8.0
#: Share of the jobs that are rescheduled, and the largest shift in time of the others.
ANEW, MOVE = 0.7, 3


class Improvement:
    """Steps that offer better plans of total_jct to a state, which must have an incumbent."""

    def __init__(self, state: State, shared: Sequence[Pool], linear: LinearBound | None) -> None:
        self._state, self._shared, self._linear = state, shared, linear
        self._rng = np.random.default_rng(state.limits.seed)
        self._neighbourhoods = Neighbourhoods(state)
        self._values = Values(state, shared, linear)
        self._stale = self._failed = 0
        self._work = ATTEMPT

    def stop(self) -> None:
        """End the running step and all later ones, from any thread."""
        self._values.stop()
        self._neighbourhoods.stop()

    def step(self) -> None:
        """Search one neighbourhood, or make one attempt by cutting planes."""
        state, before = self._state, self._state.upper
        close = state.incumbent - (state.lower or 0) <= CLOSE * state.incumbent
        if self._stale < STALE[close]:
            self._neighbourhoods.step()
            self._stale = 0 if state.upper != before else self._stale + 1
            return
        if close:
            self._attempt_value()
        else:
            self._attempt_near()
        self._stale = AGAIN[close] if state.upper == before else 0

    def _attempt_value(self) -> None:
        """Try a value: halfway to the bound at first, nearer to the incumbent after each failure."""
        state = self._state
        better = state.incumbent - 1
        value = better - (better - (state.lower or 0) + 1) // 2 ** (self._failed + 1)
        if self._values.ask(value, self._work):
            self._failed = 0
        else:
            self._failed, self._work = self._failed + 1, self._work * PATIENCE

    def _attempt_near(self) -> None:
        """Try any better value, while some jobs keep their nodes and their approximate times."""
        state, layout = self._state, self._state.layout
        assert state.plan is not None
        value, runs = state.incumbent - 1, runs_of(state.plan)
        anew = drawn(layout, runs, self._rng, max(2, round(ANEW * layout.jobs)))
        kept_runs = {(k, i): at for (k, i), at in runs.items() if layout.job[k] not in anew}
        windows = (self._linear.windows(value) if self._linear is not None else None) or Relaxed()
        earliest, latest = dict(windows.earliest), dict(windows.latest)
        for run, (_, start) in kept_runs.items():
            earliest[run] = max(earliest.get(run, 0), start - MOVE)
            latest[run] = min(latest.get(run, start + MOVE), start + MOVE)
        windows = dataclasses.replace(windows, earliest=earliest, latest=latest)
        # Counts are for proofs; without them cutting planes find more plans here. Jobs that stay name the nodes.
        built = TimeIndexed(staying(layout, kept_runs), value, windows, self._shared, counting=False, named=True)
        if built.reason is None:
            built.cp.add(built.terms["total_jct"] <= value - built.constant["total_jct"])
        self._values.search(built, NEAR)
