"""The linear program of an order of events, in one HiGHS model that grows and shrinks with the order.

An event is the next arrival, or the finish of a job that is present. Between two events is a stage. For a given order

    min   sum over stages of L_k * (jobs present)                       (the flow time)
    s.t.  sum_c use[c, r] x_kjc <= L_k          stage k, resource r      (time-shared capacity)
          sum_c x_kjc           <= L_k          stage k, job j           (one configuration at a time)
          sum_k,c speed[c] x_kjc + residual_j >= work_j
          sum of L_k in the gap between two arrivals = the gap
          x, L >= 0

is exact. `residual_j` is the work of job j that remains after the last event: 0 once its finish is among the events.
For a prefix of an order the LP is a relaxation; the caller strengthens it by a convex piecewise linear cost of every
residual (`tails`). After a finish the last stage is *open*: its final event is undecided, and jobs may finish
in it, so each job is charged only for the time that it works there.

A stage begins with the configurations of the pool; others enter when their reduced cost is negative. The returned
bound is the dual objective, not the primal one, less the largest effect of the solver's tolerances.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from mlsched.core.errors import BackendError
from mlsched.core.fields import FloatArray, IntArray
from mlsched.solvers.backends.highs import run_lp
from mlsched.solvers.workers._fluid import Fluid, new_highs
from mlsched.solvers.workers._tails import SEGMENTS, Tail

#: A configuration enters when its reduced cost per unit of time is below minus this.
ENTERS = 1e-9
#: If primal and dual objective differ by more than this share, the LP is solved again without a warm start.
AGREE = 1e-7
FINISH, ARRIVE = 0, 1
#: (FINISH, job) or (ARRIVE, job).
Event = tuple[int, int]


@dataclasses.dataclass
class Stage:
    """Rows and columns of a stage: `length` the column of L, `rows` its first row (resources, then jobs present)."""

    present: list[int]
    length: int
    rows: int
    entries: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    open: bool = False


@dataclasses.dataclass
class _Mark:
    """The state of the LP before an event, to which `pop` returns."""

    columns: int
    rows: int
    stages: int
    event: Event
    basis: Any
    reopens: bool
    gap_row: int | None


@dataclasses.dataclass(frozen=True)
class Solved:
    """An optimal LP: its value, a proven bound on it, and its solution."""

    value: float
    bound: float
    columns: FloatArray
    rows: FloatArray

    @property
    def agrees(self) -> bool:
        """Return whether the bound proves the value."""
        return abs(self.value - self.bound) <= AGREE * max(1.0, abs(self.value))


class EventLP:
    """The LP of the events pushed so far. Jobs must arrive in order; the last arrival opens an endless gap."""

    def __init__(self, fluid: Fluid) -> None:
        import highspy

        self.fluid = fluid
        self.pool = [set(k.base.tolist()) for k in fluid.kinds]
        self.highs = new_highs()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self.highs.setOptionValue(name, 1e-9)
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.present: list[int] = []
        self.arrived = 0
        self.stages: list[Stage] = []
        #: For every event pushed, the stage that it ends; None without one.
        self.closed: list[Stage | None] = []
        self.marks: list[_Mark] = []
        self.work_row: dict[int, int] = {}
        self.residual: dict[int, int] = {}
        self.columns = self.rows = 0
        self.gap_row: int | None = None
        self.gaps: list[tuple[int, float]] = []
        self.limits: dict[int, FloatArray] = {}
        self.offset = 0.0
        self.longest = float(fluid.work.sum() + fluid.arrival[-1]) if fluid.jobs else 0.0
        self.solves = self.orders = 0
        self.iterations = 0

    # ---- the order ----

    def push(self, event: Event) -> None:
        """Append an event: it ends the open stage, or a new one. After a finish a new stage is open."""
        kind, job = event
        mark = _Mark(
            self.columns,
            self.rows,
            len(self.stages),
            event,
            self.highs.getBasis() if self.solves else None,
            False,
            self.gap_row,
        )
        self.marks.append(mark)
        if self.stages and self.stages[-1].open:
            self._set_stage_open(self.stages[-1], False)
            mark.reopens = True
            self.closed.append(self.stages[-1])
        elif self.arrived and not (kind == ARRIVE and self._gap_to_next_arrival() == 0):
            self._add_stage()
            self.closed.append(self.stages[-1])
        else:
            self.closed.append(None)
        if kind == ARRIVE:
            self.gap_row = None
            self.present.append(job)
            self.arrived += 1
            self._add_residual_row(job)
        else:
            self.present.remove(job)
            self._bound_residual(job, np.zeros(SEGMENTS), np.zeros(SEGMENTS))
            if self.arrived < self.fluid.jobs or self.present:
                self._add_stage()
                self._set_stage_open(self.stages[-1], True)

    def pop(self) -> None:
        """Remove the last event."""
        mark = self.marks.pop()
        self.closed.pop()
        kind, job = mark.event
        if kind == ARRIVE:
            self.present.remove(job)
            self.arrived -= 1
            del self.work_row[job], self.residual[job]
            self.limits.pop(job, None)
        else:
            self.present.append(job)
            self.present.sort()
        del self.stages[mark.stages :]
        for stage in self.stages:
            stage.entries = [e for e in stage.entries if e[0] < mark.columns]
        if self.columns > mark.columns:
            self.highs.deleteCols(self.columns - mark.columns, np.arange(mark.columns, self.columns, dtype=np.int32))
        if self.rows > mark.rows:
            self.highs.deleteRows(self.rows - mark.rows, np.arange(mark.rows, self.rows, dtype=np.int32))
        self.columns, self.rows, self.gap_row = mark.columns, mark.rows, mark.gap_row
        self.gaps = [g for g in self.gaps if g[0] < self.rows]
        if mark.reopens:
            self._set_stage_open(self.stages[-1], True)
        if mark.basis is not None:
            self.highs.setBasis(mark.basis)

    def _gap_to_next_arrival(self) -> float:
        """Return the time between the latest arrival and the next."""
        return float(self.fluid.arrival[self.arrived] - self.fluid.arrival[self.arrived - 1])

    def _add_stage(self) -> None:
        """Add a stage in which the present jobs work, in the gap after the latest arrival."""
        fluid, resources = self.fluid, self.fluid.resources
        lower: list[float] = []
        upper: list[float] = []
        last = self.arrived >= fluid.jobs
        if self.gap_row is None and not last:
            self.gap_row = self.rows
            gap = self._gap_to_next_arrival()
            self.gaps.append((self.rows, gap))
            lower.append(gap)
            upper.append(gap)
        first = self.rows + len(lower)
        lower += [-math.inf] * (resources + len(self.present))
        upper += [0.0] * (resources + len(self.present))
        none = np.zeros(0, dtype=np.int32)
        self.highs.addRows(
            len(lower), np.array(lower), np.array(upper), 0, np.zeros(len(lower), dtype=np.int32), none, np.zeros(0)
        )
        self.rows += len(lower)
        stage = Stage(list(self.present), self.columns, first)
        own = np.arange(first, self.rows)
        index, value = own, np.full(len(own), -1.0)
        if self.gap_row is not None:
            index, value = np.append(own, self.gap_row), np.append(value, 1.0)
        starts, indices, values = [0], [index], [value]
        starts.append(len(index))
        costs = [float(len(self.present))]
        self.stages.append(stage)
        for at, job in enumerate(self.present):
            for c in sorted(self.pool[fluid.kind[job]]):
                i, v = self._column_of_configuration(stage, at, job, c)
                starts.append(starts[-1] + len(i))
                indices.append(i)
                values.append(v)
                costs.append(0.0)
                stage.entries.append((self.columns + len(costs) - 1, job, c))
        count = len(costs)
        self.highs.addCols(
            count,
            np.array(costs),
            np.zeros(count),
            np.full(count, math.inf),
            starts[-1],
            np.array(starts[:-1], dtype=np.int32),
            np.concatenate(indices).astype(np.int32),
            np.concatenate(values),
        )
        self.columns += count

    def _column_of_configuration(
        self, stage: Stage, at: int, job: int, configuration: int
    ) -> tuple[IntArray, FloatArray]:
        """Return row indices and coefficients of a job's configuration in a stage."""
        kind, resources = self.fluid.of(job), self.fluid.resources
        rows = [*range(stage.rows, stage.rows + resources), stage.rows + resources + at, self.work_row[job]]
        return np.array(rows), np.concatenate([kind.use[configuration], [1.0, kind.speed[configuration]]])

    def _set_stage_open(self, stage: Stage, open_: bool) -> None:
        """Charge a stage by its length, or, while it is open, by the time that jobs work in it."""
        stage.open = open_
        index = np.array([stage.length, *(e[0] for e in stage.entries)], dtype=np.int32)
        cost = np.full(len(index), 1.0 if open_ else 0.0)
        cost[0] = 0.0 if open_ else float(len(stage.present))
        self.highs.changeColsCost(len(index), index, cost)

    def _add_residual_row(self, job: int) -> None:
        """Add the row of a job's work and the columns of its residual."""
        work = float(self.fluid.work[job])
        self.highs.addRow(work, math.inf, 0, np.zeros(0, dtype=np.int32), np.zeros(0))
        self.work_row[job], self.residual[job] = self.rows, self.columns
        row = np.full(SEGMENTS, self.rows, dtype=np.int32)
        self.highs.addCols(
            SEGMENTS,
            np.zeros(SEGMENTS),
            np.zeros(SEGMENTS),
            np.zeros(SEGMENTS),
            SEGMENTS,
            np.arange(SEGMENTS, dtype=np.int32),
            row,
            np.ones(SEGMENTS),
        )
        self.limits[job] = np.zeros(SEGMENTS)
        self.rows += 1
        self.columns += SEGMENTS

    # ---- what follows the order ----

    def set_tails(self, tails: dict[int, Tail], offset: float) -> None:
        """Charge `offset`, and the residuals of present jobs by `tails`; the residual of a job without a tail is 0."""
        self.offset = offset
        for job in self.present:
            tail = tails.get(job)
            if tail is None:
                self._bound_residual(job, np.zeros(SEGMENTS), np.zeros(SEGMENTS))
            else:
                self._bound_residual(job, tail.slope, tail.width)
                self.offset += tail.base

    def _bound_residual(self, job: int, slope: FloatArray, width: FloatArray) -> None:
        columns = np.arange(self.residual[job], self.residual[job] + SEGMENTS, dtype=np.int32)
        self.highs.changeColsCost(SEGMENTS, columns, slope)
        self.highs.changeColsBounds(SEGMENTS, columns, np.zeros(SEGMENTS), width)
        self.limits[job] = width

    # ---- solving ----

    def solve(self) -> Solved | None:
        """Return the optimum; None if the order is impossible, since a job would finish before its work can be done."""
        self.orders += 1
        solved = self._price_out_columns()
        if solved is None or not solved.agrees:
            # A warm start may fail: an LP that seems infeasible or inconsistent is solved again without it.
            self.highs.clearSolver()
            solved = self._price_out_columns()
        if solved is not None and not solved.agrees:
            raise BackendError(f"highs: primal {solved.value} and dual {solved.bound} of an order's LP disagree")
        return solved

    def _price_out_columns(self) -> Solved | None:
        while True:
            run_lp(self.highs)
            self.solves += 1
            self.iterations += max(0, self.highs.getInfo().simplex_iteration_count)
            if self.highs.getModelStatus() != self.optimal:
                return None
            solution = self.highs.getSolution()
            duals = np.array(solution.row_dual)
            slack, entered = self._enter_columns(duals)
            if not entered:
                break
        value = self.highs.getInfo().objective_function_value + self.offset
        reduced = np.array(solution.col_dual)
        bound = self.offset - slack * self.longest
        bound += sum(duals[row] * self.fluid.work[job] for job, row in self.work_row.items())
        bound += sum(duals[row] * gap for row, gap in self.gaps)
        residuals = np.zeros(len(reduced), dtype=bool)
        for job, first in self.residual.items():
            part = slice(first, first + SEGMENTS)
            residuals[part] = True
            bound += float(np.minimum(reduced[part], 0) @ self.limits[job])
        bound += float(np.minimum(reduced[~residuals], 0).sum()) * self.longest
        return Solved(value, float(bound), np.array(solution.col_value), duals)

    def _enter_columns(self, duals: FloatArray) -> tuple[float, bool]:
        """Add configurations of negative reduced cost; return the sum of these costs, and whether any was added."""
        fluid, resources = self.fluid, self.fluid.resources
        slack = 0.0
        new: list[tuple[Stage, int, int, int]] = []
        pairs: dict[int, list[tuple[Stage, int, int]]] = {}
        for stage in self.stages:
            for at, job in enumerate(stage.present):
                pairs.setdefault(fluid.kind[job], []).append((stage, at, job))
        for k, members in pairs.items():
            kind = fluid.kinds[k]
            first = np.array([s.rows for s, _, _ in members])
            own = np.array([s.rows + resources + at for s, at, _ in members])
            work = np.array([self.work_row[j] for _, _, j in members])
            cost = np.array([1.0 if s.open else 0.0 for s, _, _ in members])
            prices = duals[first[:, None] + np.arange(resources)]
            # Minus the reduced cost of each configuration for each (stage, job), shape (members, configurations).
            gain = duals[work][:, None] * kind.speed + prices @ kind.use.T + (duals[own] - cost)[:, None]
            best = gain.argmax(axis=1)
            most = gain[np.arange(len(members)), best]
            slack += float(np.maximum(most, 0).sum())
            for i in np.flatnonzero(most > ENTERS).tolist():
                stage, at, job = members[i]
                c = int(best[i])
                if not any(e[1] == job and e[2] == c for e in stage.entries):
                    new.append((stage, at, job, c))
        for stage, at, job, c in new:
            rows, values = self._column_of_configuration(stage, at, job, c)
            self.highs.addCol(1.0 if stage.open else 0.0, 0.0, math.inf, len(rows), rows.astype(np.int32), values)
            stage.entries.append((self.columns, job, c))
            self.columns += 1
        return slack, bool(new)
